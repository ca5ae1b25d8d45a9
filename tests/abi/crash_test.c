/* The worker is killed in the middle of a call, between calls and while it is stopped. The caller gets
 * ENGINE_CRASHED in bounded time, the next call works on a new worker, and after close nothing is left. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

enum { DIM = 384, BATCH = 512 };
/* How long a caller may be left in the dark about a worker that is gone. */
#define BOUNDED_MS 5000u

static void sleep_ms(long ms) {
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

struct call {
  anelane_model model;
  anelane_status status;
  anelane_error err;
  uint64_t ended_ns;
  _Atomic int begun;
};

/* A batch that takes seconds: so many sequences of 512 tokens that a kill always falls into its middle. */
static void* long_call(void* argument) {
  struct call* call = argument;
  static int32_t ids[512];
  anelane_tokens items[BATCH];
  float* rows = malloc(sizeof(float) * BATCH * DIM);
  for (int i = 0; i < 512; i++) ids[i] = 2000 + i;
  for (int i = 0; i < BATCH; i++) items[i] = (anelane_tokens){ids, 512};
  call->begun = 1;
  call->status = anelane_embed(call->model, items, BATCH, rows, 0, NULL, in_ms(BOUND_MS), &call->err);
  call->ended_ns = anelane_now_ns();
  free(rows);
  return NULL;
}

static void embed_hello(anelane_model model, float* row) {
  const char* text = "hello";
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
}

static void kill_in_the_middle(int signal_number) {
  char* folder = make_folder();
  char* scratch = make_folder();
  char* before = inventory(scratch);
  const anelane_lane lane = open_in(folder);
  struct call call = {.model = load_into(lane, test_model()), .err = NEW_ERROR()};
  float first[DIM], after[DIM];
  pthread_t thread;
  embed_hello(call.model, first);
  const pid_t worker = only_child();
  assert_int_equal(pthread_create(&thread, NULL, long_call, &call), 0);
  while (!call.begun) sleep_ms(1);
  sleep_ms(300);
  const uint64_t killed_ns = anelane_now_ns();
  assert_int_equal(kill(worker, signal_number), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  const uint64_t ms = (call.ended_ns - killed_ns) / 1000000;
  print_message("signal %d: %s after %llu ms: %s\n", signal_number, anelane_status_name(call.status),
                (unsigned long long)ms, call.err.message);
  assert_true(call.ended_ns > killed_ns);
  assert_int_equal(call.status, ANELANE_ENGINE_CRASHED);
  assert_int_equal(call.err.error_class, ANELANE_TRANSIENT);
  assert_int_equal(call.err.safe_to_retry, 1);
  assert_true(ms < BOUNDED_MS);
  embed_hello(call.model, after); /* the next call works */
  assert_memory_equal(first, after, sizeof first);
  assert_true(only_child() != worker);
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  assert_int_equal(stats.restarts, 1);
  close_lane(lane);
  assert_nothing_left(before, scratch);
  free(before);
  remove_folder(scratch);
  remove_folder(folder);
}

static void l6_kill_9_in_the_middle_of_an_embed(void** state) {
  (void)state;
  kill_in_the_middle(SIGKILL);
}

static void l6_a_worker_that_faults_in_the_middle(void** state) {
  (void)state;
  kill_in_the_middle(SIGSEGV);
}

static void l6_a_worker_that_dies_while_idle_costs_the_next_caller_nothing_or_one_error(void** state) {
  char* folder = make_folder();
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, test_model());
  const char* text = "hello";
  float first[DIM], row[DIM];
  anelane_error err = NEW_ERROR();
  (void)state;
  embed_hello(model, first);
  assert_int_equal(kill(only_child(), SIGKILL), 0);
  anelane_status status = anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(BOUND_MS), &err);
  print_message("first call: %s\n", anelane_status_name(status));
  assert_true(status == ANELANE_OK || status == ANELANE_ENGINE_CRASHED);
  embed_hello(model, row);
  assert_memory_equal(first, row, sizeof first);
  close_lane(lane);
  remove_folder(folder);
}

/* A worker that does not move: the deadline ends the call, and close ends the worker by force. */
static void a_stopped_worker_keeps_nobody_waiting(void** state) {
  char* folder = make_folder();
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, test_model());
  const char* text = "hello";
  float row[DIM];
  anelane_error err = NEW_ERROR();
  pid_t left[1];
  (void)state;
  embed_hello(model, row);
  assert_int_equal(kill(only_child(), SIGSTOP), 0);
  const uint64_t start = anelane_now_ns();
  assert_status(ANELANE_DEADLINE_EXCEEDED,
                anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(500), &err), &err);
  assert_true(anelane_now_ns() - start < BOUNDED_MS * UINT64_C(1000000));
  const uint64_t closing = anelane_now_ns();
  anelane_lane_close(lane, in_ms(1000), NULL);
  assert_true(anelane_now_ns() - closing < BOUNDED_MS * UINT64_C(1000000));
  assert_int_equal(children_of_self(left, 1), 0);
  remove_folder(folder);
}

/* L6.4: after five deaths within a minute the next start waits; the answer says how long, in words and as a
 * number, and why. */
static void l6_4_a_worker_that_keeps_dying_is_told_with_the_time_to_come_back(void** state) {
  char* folder = make_folder();
  char number[32];
  const int32_t ids[] = {2, 40, 41, 42, 3};
  const anelane_tokens item = {ids, 5};
  float row[TINY_DIM];
  anelane_error err = NEW_ERROR();
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, path_in(folder, "tiny"));
  const uint64_t until = in_ms(30000);
  do {
    pid_t pid;
    if (children_of_self(&pid, 1) == 1) kill(pid, SIGKILL);
    sleep_ms(20);
    anelane_embed(model, &item, 1, row, 0, NULL, in_ms(1), &err);
  } while ((err.status != ANELANE_ENGINE_CRASHED || err.retry_after_ms <= 1000) && anelane_now_ns() < until);
  print_message("%s\n", err.message);
  assert_int_equal(err.status, ANELANE_ENGINE_CRASHED);
  assert_int_equal(err.error_class, ANELANE_TRANSIENT);
  assert_true(err.retry_after_ms > 1000 && err.retry_after_ms <= 61000);
  snprintf(number, sizeof number, " %llu ms", (unsigned long long)err.retry_after_ms);
  assert_says(&err, number);
  assert_says(&err, "Why: ");
  close_lane(lane);
  remove_folder(folder);
}

/* A program that never says HELLO is ended when the caller's time is over, not when the library's is. */
static void a_launch_is_given_up_at_the_callers_deadline(void** state) {
  char* folder = make_folder();
  const char* script = path_in(folder, "worker");
  anelane_lane_options options = options_in(folder);
  anelane_lane lane;
  anelane_model model;
  anelane_error err = NEW_ERROR();
  pid_t left[1];
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  write_text(script, "#!/bin/sh\nexec sleep 60\n");
  chmod(script, 0700);
  options.worker_path = script;
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  const uint64_t start = anelane_now_ns();
  assert_status(ANELANE_DEADLINE_EXCEEDED,
                anelane_model_load(lane, path_in(folder, "tiny"), NULL, in_ms(200), &model, &err), &err);
  assert_says(&err, "later");
  assert_true(err.retry_after_ms > 0);
  while (children_of_self(left, 1) > 0 && anelane_now_ns() - start < BOUNDED_MS * UINT64_C(1000000))
    sleep_ms(10);
  assert_int_equal(children_of_self(left, 1), 0);
  close_lane(lane);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(l6_kill_9_in_the_middle_of_an_embed),
      cmocka_unit_test(l6_a_worker_that_faults_in_the_middle),
      cmocka_unit_test(l6_a_worker_that_dies_while_idle_costs_the_next_caller_nothing_or_one_error),
      cmocka_unit_test(a_stopped_worker_keeps_nobody_waiting),
      cmocka_unit_test(l6_4_a_worker_that_keeps_dying_is_told_with_the_time_to_come_back),
      cmocka_unit_test(a_launch_is_given_up_at_the_callers_deadline),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
