/* L3.3: a resident shape is leased and given back without a system call, an allocation or a clock read. Each
 * is counted: system calls by the kernel, which hands every one of this thread to a signal handler while it
 * is told to; allocations and clock reads by functions of this program that stand before the C library's.
 * Each counter is first shown to count. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

enum { LEASES = 100000, DISPATCH = 59 /* PR_SET_SYSCALL_USER_DISPATCH */, ON = 1, OFF = 0 };

static volatile char selector; /* of the kernel: 0 allow, 1 hand over */
static volatile sig_atomic_t syscalls;
static _Thread_local unsigned long allocations, clock_reads;

#pragma GCC visibility push(default) /* so that the library finds them */
int clock_gettime(clockid_t clock, struct timespec* out) {
  ++clock_reads;
  return (int)syscall(SYS_clock_gettime, clock, out);
}

#ifndef __SANITIZE_THREAD__ /* it has functions of its own there */
extern void* __libc_malloc(size_t size);
extern void* __libc_calloc(size_t count, size_t size);
extern void* __libc_realloc(void* old, size_t size);
void* malloc(size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
#endif
#pragma GCC visibility pop

/* The way back from a signal is a system call too, so the counting ends here. */
static void on_syscall(int number) {
  (void)number;
  selector = 0;
  ++syscalls;
}

static void a_resident_shape_is_leased_by_memory_alone(void** state) {
  char* folder = make_folder();
  anelane_error err = NEW_ERROR();
  struct sigaction action = {.sa_handler = on_syscall};
  int wrong = 0;
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, path_in(folder, "tiny"));
  anelane_lease lease, held;
  /* One lease is held throughout: the first after a quiet time wakes the lane thread. */
  assert_status(ANELANE_OK, anelane_lease_acquire(model, 128, in_ms(BOUND_MS), &held, &err), &err);
  assert_int_equal(sigaction(SIGSYS, &action, NULL), 0);
  assert_int_equal(prctl(DISPATCH, ON, 0L, 0L, &selector), 0);

  selector = 1;
  syscall(SYS_getppid);
  selector = 0;
  assert_int_equal(syscalls, 1);
  unsigned long before = clock_reads;
  (void)anelane_now_ns();
  assert_int_equal(clock_reads - before, 1);
#ifndef __SANITIZE_THREAD__
  before = allocations;
  assert_int_equal(anelane_predict(model, 4711, &(uint64_t){0}, &err), ANELANE_SHAPE_UNKNOWN);
  assert_true(allocations > before);
#endif

  /* A call that goes well fills `err` in too. */
  assert_int_equal(anelane_lease_acquire(model, 4711, 0, &lease, &err), ANELANE_SHAPE_UNKNOWN);
  allocations = clock_reads = 0;
  syscalls = 0;
  selector = 1;
  for (int i = 0; i < LEASES; i++) {
    wrong += anelane_lease_acquire(model, 128, ANELANE_NO_DEADLINE, &lease, &err) != ANELANE_OK;
    anelane_lease_release(lease);
  }
  selector = 0;
  const unsigned long clocks = clock_reads, allocated = allocations;
  assert_int_equal(prctl(DISPATCH, OFF, 0L, 0L, 0L), 0);
  assert_int_equal(wrong, 0);
  assert_int_equal(err.status, ANELANE_OK);
  assert_string_equal(err.message, "");
  assert_int_equal(syscalls, 0);
  assert_int_equal(allocated, 0);
  assert_int_equal(clocks, 0);
  anelane_lease_release(held);
  close_lane(lane);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_resident_shape_is_leased_by_memory_alone)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
