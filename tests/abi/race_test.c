/* Calls that meet each other: an operation that starts while its lane is being closed, and a port that is
 * mapped while its lease is being released. Many rounds, each with another offset between the two. Threads
 * only count; the main thread asserts. */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixtures.h"
#include "support.h"

static const int32_t ids[] = {2, 40, 41, 42, 3};
static const anelane_tokens item = {ids, 5};

static void spin_ns(uint64_t ns) {
  for (const uint64_t until = anelane_now_ns() + ns; anelane_now_ns() < until;) continue;
}

/* ---- start against close ---- */

enum { STARTERS = 3, STARTS_MAX = 4000 };

struct started {
  atomic_int calls;
  int began; /* start said OK */
};
static struct starter {
  pthread_t thread;
  anelane_model model;
  int index;
  size_t count;
  anelane_status last; /* the first answer that was not OK */
  struct started starts[STARTS_MAX];
} starters[STARTERS];

static void on_done(void* user, anelane_op op, anelane_status status) {
  (void)op, (void)status;
  atomic_fetch_add(&((struct started*)user)->calls, 1);
}

static void* start_until_refused(void* argument) {
  struct starter* s = argument;
  s->last = ANELANE_OK;
  for (s->count = 0; s->count < STARTS_MAX && s->last == ANELANE_OK; s->count++) {
    struct started* one = &s->starts[s->count];
    anelane_op op = {0};
    /* Each in turn; a lease that nobody takes goes back with its operation. */
    s->last = (s->count + (size_t)s->index) % 2 == 0
                  ? anelane_start_embed(s->model, &item, 1, in_ms(BOUND_MS), on_done, one, &op, NULL)
                  : anelane_start_lease(s->model, 128, in_ms(BOUND_MS), on_done, one, &op, NULL);
    one->began = s->last == ANELANE_OK;
    if (one->began) anelane_op_release(op);
  }
  return NULL;
}

/* A lane whose worker is a thread, which comes and goes quickly, and nobody who has started anything. */
static anelane_lane open_for_starters(const char* folder) {
  anelane_lane_options options = options_in(folder);
  anelane_lane lane;
  anelane_error err = NEW_ERROR();
  options.worker_mode = ANELANE_WORKER_THREAD;
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  memset(starters, 0, sizeof starters);
  return lane;
}

static void f63_every_start_that_meets_a_close_is_called_back_once_or_refused(void** state) {
  enum { ROUNDS = 150, LEAST = 10 };
  char* folder = make_folder();
  size_t began = 0, refused = 0;
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  const uint64_t enough = in_ms(15000);
  for (int round = 0; round < ROUNDS && (round < LEAST || anelane_now_ns() < enough); round++) {
    const anelane_lane lane = open_for_starters(folder);
    const anelane_model model = load_into(lane, path_in(folder, "tiny"));
    for (int i = 0; i < STARTERS; i++) {
      starters[i].model = model;
      starters[i].index = i;
      assert_int_equal(pthread_create(&starters[i].thread, NULL, start_until_refused, &starters[i]), 0);
    }
    spin_ns((uint64_t)(round % 30) * 100000);
    close_lane(lane);
    for (int i = 0; i < STARTERS; i++) pthread_join(starters[i].thread, NULL);
    /* close has returned, so every callback has. */
    for (int i = 0; i < STARTERS; i++) {
      const struct starter* s = &starters[i];
      if (s->count < STARTS_MAX || s->last != ANELANE_OK)
        assert_true(s->last == ANELANE_CLOSED || s->last == ANELANE_BAD_HANDLE);
      for (size_t k = 0; k < s->count; k++) {
        assert_int_equal(s->starts[k].calls, s->starts[k].began);
        if (s->starts[k].began)
          began++;
        else
          refused++;
      }
    }
  }
  print_message("%zu operations began and ended, %zu were refused\n", began, refused);
  assert_true(began > 0 && refused > 0);
  remove_folder(folder);
}

/* The same with nobody called back: the end comes to those who wait, whatever the close did. */
static void* start_and_wait_until_refused(void* argument) {
  struct starter* s = argument;
  for (s->count = 0; s->count < STARTS_MAX; s->count++) {
    anelane_op op = {0};
    if (anelane_start_embed(s->model, &item, 1, in_ms(BOUND_MS), NULL, NULL, &op, NULL) != ANELANE_OK) break;
    s->last = anelane_op_wait(op, in_ms(BOUND_MS), NULL);
    anelane_op_release(op);
    if (s->last != ANELANE_OK && s->last != ANELANE_CLOSED) break;
  }
  return NULL;
}

static void everybody_who_waits_is_told_of_the_close(void** state) {
  enum { ROUNDS = 60, LEAST = 10 };
  char* folder = make_folder();
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  const uint64_t enough = in_ms(15000);
  for (int round = 0; round < ROUNDS && (round < LEAST || anelane_now_ns() < enough); round++) {
    const anelane_lane lane = open_for_starters(folder);
    const anelane_model model = load_into(lane, path_in(folder, "tiny"));
    for (int i = 0; i < STARTERS; i++) {
      starters[i].model = model;
      assert_int_equal(pthread_create(&starters[i].thread, NULL, start_and_wait_until_refused, &starters[i]),
                       0);
    }
    spin_ns((uint64_t)(round % 20) * 150000);
    close_lane(lane);
    for (int i = 0; i < STARTERS; i++) {
      pthread_join(starters[i].thread, NULL);
      assert_true(starters[i].last == ANELANE_OK || starters[i].last == ANELANE_CLOSED);
    }
  }
  remove_folder(folder);
}

/* ---- lease_map against release ---- */

/* The two meet by spinning: a barrier that sleeps would part them by more than a mapping takes. */
struct mapper {
  anelane_lease lease;
  atomic_int round, begun, done; /* of the main thread, of the mapper (both); round -1: leave */
  size_t mapped, expired, exhausted, other;
};

static void spin_until(atomic_int* value, int wanted) {
  for (unsigned turns = 1; atomic_load(value) != wanted; turns++)
    if (turns % 200 == 0) sched_yield();
}

static void* map_each_lease(void* argument) {
  struct mapper* m = argument;
  for (int round = 1;; round++) {
    for (unsigned turns = 1; atomic_load(&m->round) < round; turns++) {
      if (atomic_load(&m->round) < 0) return NULL;
      if (turns % 200 == 0) sched_yield();
    }
    anelane_tensor tensor;
    atomic_store(&m->begun, round);
    const anelane_status status = anelane_lease_map(m->lease, 0, &tensor, NULL);
    if (status == ANELANE_OK)
      m->mapped++;
    else if (status == ANELANE_LEASE_EXPIRED)
      m->expired++;
    else if (status == ANELANE_RESOURCES_EXHAUSTED)
      m->exhausted++;
    else
      m->other++;
    atomic_store(&m->done, round);
  }
}

static void no_bay_is_lost_where_a_mapping_meets_a_release(void** state) {
  enum { ROUNDS = 100000, LEAST = 100, LEASES = 8 };
  char* folder = make_folder();
  static struct mapper mapper;
  pthread_t thread;
  anelane_lease leases[LEASES];
  anelane_tensor tensor;
  anelane_error err = NEW_ERROR();
  size_t fresh = 0, after = 0;
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, path_in(folder, "tiny"));
  assert_status(ANELANE_OK, anelane_admit(model, 128, in_ms(BOUND_MS), &err), &err);
  /* How many leases can map their ports at the same time, before and after. */
#define COUNT_BAYS(count)                                                                                  \
  for (int i = 0; i < LEASES; i++)                                                                         \
    assert_status(ANELANE_OK, anelane_lease_acquire(model, 128, in_ms(BOUND_MS), &leases[i], &err), &err); \
  while ((count) < LEASES && anelane_lease_map(leases[count], 0, &tensor, &err) == ANELANE_OK) (count)++;  \
  for (int i = 0; i < LEASES; i++) anelane_lease_release(leases[i])
  COUNT_BAYS(fresh);
  assert_true(fresh >= 1 && fresh < LEASES);
  assert_int_equal(pthread_create(&thread, NULL, map_each_lease, &mapper), 0);
  /* On a machine that is busy with other things each meeting may take as long as a time slice. */
  const uint64_t enough = in_ms(3000);
  for (int round = 1; round <= ROUNDS && (round <= LEAST || anelane_now_ns() < enough); round++) {
    assert_status(ANELANE_OK, anelane_lease_acquire(model, 128, in_ms(BOUND_MS), &mapper.lease, &err), &err);
    atomic_store(&mapper.round, round);
    spin_until(&mapper.begun, round);
    for (volatile int turns = round % 1000; turns > 0; turns--) continue;
    anelane_lease_release(mapper.lease);
    spin_until(&mapper.done, round);
  }
  atomic_store(&mapper.round, -1);
  pthread_join(thread, NULL);
  print_message("%zu mapped, %zu came too late, %zu found no bay\n", mapper.mapped, mapper.expired,
                mapper.exhausted);
  assert_int_equal(mapper.other, 0);
  assert_int_equal(mapper.exhausted, 0);
  assert_true(mapper.mapped > 0);
  COUNT_BAYS(after);
  assert_int_equal(after, fresh);
  close_lane(lane);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(f63_every_start_that_meets_a_close_is_called_back_once_or_refused),
      cmocka_unit_test(everybody_who_waits_is_told_of_the_close),
      cmocka_unit_test(no_bay_is_lost_where_a_mapping_meets_a_release),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
