/* Cancelling through the C ABI: ten thousand waiting requests at once, and while a compile hangs. Numbers are
 * scripts/bench's business; here everything is answered, once, and nothing wakes up for it in vain. */
#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

enum { MANY = 10000, LAYERS = 2 };

static atomic_int cancelled, otherwise;

static void on_done(void* user, anelane_op op, anelane_status status) {
  (void)user, (void)op;
  atomic_fetch_add(status == ANELANE_CANCELLED ? &cancelled : &otherwise, 1);
}

static void wait_for_answers(int count) {
  for (int i = 0; i < (int)BOUND_MS && atomic_load(&cancelled) + atomic_load(&otherwise) < count; i++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  assert_int_equal(atomic_load(&otherwise), 0);
  assert_int_equal(atomic_load(&cancelled), count);
}

/* How often the threads of this process but the calling one have gone to sleep by themselves. */
static unsigned long sleeps_of_others(void) {
  unsigned long all = 0, n;
  char path[64], line[256];
  DIR* tasks = opendir("/proc/self/task");
  assert_non_null(tasks);
  for (const struct dirent* task; (task = readdir(tasks)) != NULL;) {
    if (task->d_name[0] == '.' || atoi(task->d_name) == (int)gettid()) continue;
    snprintf(path, sizeof path, "/proc/self/task/%.20s/status", task->d_name);
    FILE* status = fopen(path, "re");
    if (status == NULL) continue;
    while (fgets(line, sizeof line, status) != NULL)
      if (sscanf(line, "voluntary_ctxt_switches: %lu", &n) == 1) all += n;
    fclose(status);
  }
  closedir(tasks);
  return all;
}

static uint32_t waiting_in(anelane_lane lane) {
  anelane_error err = NEW_ERROR();
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  return stats.waiting;
}

static void ten_thousand_are_cancelled_with_one_wake_up(void** state) {
  char* folder = make_folder();
  anelane_error err = NEW_ERROR();
  anelane_lane lane;
  anelane_lease lease;
  anelane_op* ops = calloc(MANY, sizeof *ops);
  (void)state;
  atomic_store(&cancelled, 0);
  write_tiny(path_in(folder, "tiny"), NULL);
  anelane_lane_options options = options_in(folder);
  options.executable_budget = LAYERS; /* one shape */
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  const anelane_model model = load_into(lane, path_in(folder, "tiny"));
  assert_status(ANELANE_OK, anelane_lease_acquire(model, 128, in_ms(BOUND_MS), &lease, &err), &err);
  for (int i = 0; i < MANY; i++)
    assert_status(ANELANE_OK,
                  anelane_start_lease(model, 256, ANELANE_NO_DEADLINE, on_done, NULL, &ops[i], &err), &err);
  while (waiting_in(lane) < MANY) continue;
  const unsigned long before = sleeps_of_others();
  assert_int_equal(anelane_op_cancel_many(ops, MANY), ANELANE_OK);
  wait_for_answers(MANY);
  /* The lane thread once, the completion thread once; and some for what else may happen on a lane. */
  assert_in_range(sleeps_of_others() - before, 1, 20);
  assert_int_equal(waiting_in(lane), 0);
  assert_int_equal(anelane_op_cancel_many(ops, MANY), ANELANE_OK); /* ended: passed over */
  for (int i = 0; i < MANY; i++) anelane_op_release(ops[i]);
  ops[0].bits = FORGED;
  assert_int_equal(anelane_op_cancel_many(ops, MANY), ANELANE_OK); /* stale or forged: passed over */
  assert_int_equal(anelane_op_cancel_many(NULL, 0), ANELANE_OK);
  assert_int_equal(anelane_op_cancel_many(NULL, 1), ANELANE_INVALID_ARGUMENT);
  wait_for_answers(MANY);
  anelane_lease_release(lease);
  close_lane(lane);
  free(ops);
  remove_folder(folder);
}

static void a_hung_compile_holds_up_no_cancel(void** state) {
  enum { ROUNDS = 50 };
  char* folder = make_folder();
  anelane_error err = NEW_ERROR();
  anelane_op first, op;
  (void)state;
  atomic_store(&cancelled, 0);
  write_tiny(path_in(folder, "tiny"), NULL);
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, path_in(folder, "tiny"));
  const pid_t worker = only_child();
  assert_int_equal(kill(worker, SIGSTOP), 0);
  assert_status(ANELANE_OK, anelane_start_lease(model, 128, in_ms(BOUND_MS), NULL, NULL, &first, &err), &err);
  for (int i = 1; i <= ROUNDS; i++) {
    assert_status(ANELANE_OK, anelane_start_lease(model, 128, in_ms(BOUND_MS), on_done, NULL, &op, &err),
                  &err);
    assert_int_equal(anelane_op_cancel(op), ANELANE_OK);
    wait_for_answers(i);
    anelane_op_release(op);
  }
  assert_int_equal(kill(worker, SIGCONT), 0); /* and the one that was not cancelled gets its shape */
  assert_status(ANELANE_OK, anelane_op_wait(first, in_ms(BOUND_MS), &err), &err);
  anelane_op_release(first);
  close_lane(lane);
  remove_folder(folder);
}

/* A cancel may come before the lane has even looked at the request. */
static void a_cancel_right_after_the_start_is_not_lost(void** state) {
  enum { ROUNDS = 500, LEASES = 2 };
  char* folder = make_folder();
  anelane_error err = NEW_ERROR();
  anelane_lane lane;
  anelane_lease lease;
  (void)state;
  atomic_store(&cancelled, 0);
  write_tiny(path_in(folder, "tiny"), NULL);
  anelane_lane_options options = options_in(folder);
  options.executable_budget = LAYERS;
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  const anelane_model model = load_into(lane, path_in(folder, "tiny"));
  assert_status(ANELANE_OK, anelane_lease_acquire(model, 128, in_ms(BOUND_MS), &lease, &err), &err);
  static int32_t ids[200];
  const anelane_tokens long_text = {.ids = ids,
                                    .count = 200}; /* needs shape 256, for which there is no room */
  for (int i = 0; i < ROUNDS; i++) {
    anelane_op ops[LEASES];
    assert_status(ANELANE_OK,
                  anelane_start_lease(model, 256, ANELANE_NO_DEADLINE, on_done, NULL, &ops[0], &err), &err);
    assert_status(
        ANELANE_OK,
        anelane_start_embed(model, &long_text, 1, ANELANE_NO_DEADLINE, on_done, NULL, &ops[1], &err), &err);
    for (int k = 0; k < LEASES; k++) assert_int_equal(anelane_op_cancel(ops[k]), ANELANE_OK);
    for (int k = 0; k < LEASES; k++) anelane_op_release(ops[k]);
  }
  wait_for_answers(ROUNDS * LEASES);
  anelane_lease_release(lease);
  close_lane(lane);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(ten_thousand_are_cancelled_with_one_wake_up),
      cmocka_unit_test(a_cancel_right_after_the_start_is_not_lost),
      cmocka_unit_test(a_hung_compile_holds_up_no_cancel),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
