/* See CAnelane.h. Here and not in Swift because the library runs on systems whose Swift has no atomics of its
 * own (before macOS 15).
 *
 * A pending operation is a handle and a flag, both sequentially consistent: whoever starts writes the handle
 * and then reads the flag, whoever cancels writes the flag and then reads the handle. At least one of them
 * sees the other, so no cancellation is lost; both may, and cancelling twice is harmless. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "CAnelane.h"

/* A few words that the system does not have: nothing that this process does would work any more. */
static void* words(size_t size) {
  void* memory = calloc(1, size);
  if (memory == NULL) abort();
  return memory;
}

struct canelane_pending {
  _Atomic(uint64_t) op;
  atomic_bool cancelled;
};
canelane_pending* canelane_pending_new(void) {
  return words(sizeof(canelane_pending));
}
void canelane_pending_free(canelane_pending* pending) {
  free(pending);
}
bool canelane_pending_started(canelane_pending* pending, anelane_op op) {
  atomic_store(&pending->op, op.bits);
  return atomic_load(&pending->cancelled);
}
anelane_op canelane_pending_cancel(canelane_pending* pending) {
  atomic_store(&pending->cancelled, true);
  return (anelane_op){atomic_load(&pending->op)};
}
bool canelane_pending_is_cancelled(const canelane_pending* pending) {
  return atomic_load(&((canelane_pending*)pending)->cancelled);
}

struct canelane_gate {
  pthread_mutex_t mutex;
  pthread_cond_t empty;
  uint64_t inside;
  bool shut;
};
canelane_gate* canelane_gate_new(void) {
  canelane_gate* gate = words(sizeof *gate);
  pthread_mutex_init(&gate->mutex, NULL);
  pthread_cond_init(&gate->empty, NULL);
  return gate;
}
void canelane_gate_free(canelane_gate* gate) {
  pthread_cond_destroy(&gate->empty);
  pthread_mutex_destroy(&gate->mutex);
  free(gate);
}
bool canelane_gate_enter(canelane_gate* gate) {
  pthread_mutex_lock(&gate->mutex);
  const bool in = !gate->shut;
  if (in) gate->inside++;
  pthread_mutex_unlock(&gate->mutex);
  return in;
}
void canelane_gate_leave(canelane_gate* gate) {
  pthread_mutex_lock(&gate->mutex);
  if (--gate->inside == 0) pthread_cond_broadcast(&gate->empty);
  pthread_mutex_unlock(&gate->mutex);
}
bool canelane_gate_shut(canelane_gate* gate, uint64_t wait_ns) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until); /* the only clock of condition variables on macOS */
  until.tv_sec += (time_t)(wait_ns / 1000000000u);
  until.tv_nsec += (long)(wait_ns % 1000000000u);
  if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
  pthread_mutex_lock(&gate->mutex);
  const bool was = gate->shut;
  gate->shut = true;
  int waited = 0;
  while (gate->inside > 0 && waited == 0) waited = pthread_cond_timedwait(&gate->empty, &gate->mutex, &until);
  const bool done = gate->inside == 0;
  gate->shut = done || was;
  pthread_mutex_unlock(&gate->mutex);
  return done;
}
void canelane_gate_open(canelane_gate* gate) {
  pthread_mutex_lock(&gate->mutex);
  gate->shut = false;
  pthread_mutex_unlock(&gate->mutex);
}

struct canelane_lock {
  pthread_mutex_t mutex;
};
canelane_lock* canelane_lock_new(void) {
  canelane_lock* lock = words(sizeof *lock);
  pthread_mutex_init(&lock->mutex, NULL);
  return lock;
}
void canelane_lock_free(canelane_lock* lock) {
  pthread_mutex_destroy(&lock->mutex);
  free(lock);
}
void canelane_lock_take(canelane_lock* lock) {
  pthread_mutex_lock(&lock->mutex);
}
void canelane_lock_give(canelane_lock* lock) {
  pthread_mutex_unlock(&lock->mutex);
}

struct work {
  void (*fn)(void* user);
  void* user;
};
static void* work_on(void* argument) {
  const struct work work = *(struct work*)argument;
  free(argument);
  work.fn(work.user);
  return NULL;
}
bool canelane_thread(void (*fn)(void* user), void* user) {
  struct work* work = words(sizeof *work);
  *work = (struct work){fn, user};
  pthread_t thread;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  const int refused = pthread_create(&thread, &attributes, work_on, work);
  pthread_attr_destroy(&attributes);
  if (refused != 0) free(work);
  return refused == 0;
}
