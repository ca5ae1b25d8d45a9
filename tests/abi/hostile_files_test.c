/* Files that are in the way, or may not grow: an error or a line in the log, never a hang and never a signal
 * that ends the host. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

static void pipes_in_the_lock_folder_are_passed_over(void** state) {
  char* folder = make_folder();
  anelane_error err = NEW_ERROR();
  anelane_holder holder = {.struct_size = sizeof holder};
  anelane_lane lane;
  anelane_lane_options options = options_in(folder);
  (void)state;
  assert_int_equal(mkfifo(path_in(folder, "lane.json.next"), 0600), 0);
  assert_int_equal(mkfifo(path_in(folder, "lane.crashes.json"), 0600), 0);
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(500), &lane, &err), &err);
  write_tiny(path_in(folder, "tiny"), NULL);
  load_into(lane, path_in(folder, "tiny"));
  close_lane(lane);
  unlink(path_in(folder, "lane.lock"));
  assert_int_equal(mkfifo(path_in(folder, "lane.lock"), 0600), 0);
  (void)anelane_lane_holder(folder, &holder, &err);
  assert_status(ANELANE_IO, anelane_lane_open(&options, in_ms(500), &lane, &err), &err);
  assert_says(&err, "lane.lock");
  remove_folder(folder);
}

static void a_file_size_limit_costs_a_record_and_no_host(void** state) {
  char* folder = make_folder();
  anelane_error err = NEW_ERROR();
  struct rlimit before, none;
  struct sigaction action;
  sigset_t mask;
  anelane_lane lane;
  anelane_lane_options options = options_in(folder);
  (void)state;
  char* record = strdup(path_in(folder, "record.jsonl"));
  options.record_path = record;
  assert_int_equal(sigaction(SIGXFSZ, NULL, &action), 0);
  assert_true(action.sa_handler == SIG_DFL); /* which would end this program */
  assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
  none = before;
  none.rlim_cur = 0;
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
  const anelane_status status = anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err);
  assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
  assert_status(ANELANE_OK, status, &err);
  assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
  assert_int_equal(sigismember(&mask, SIGXFSZ), 0);
  close_lane(lane);
  free(record);
  remove_folder(folder);
}

static void one_record_belongs_to_one_lane(void** state) {
  char* one = make_folder();
  char* other = make_folder();
  anelane_error err = NEW_ERROR();
  anelane_lane lane, second;
  char text[256] = "";
  anelane_lane_options options = options_in(one), others = options_in(other);
  (void)state;
  char* record = strdup(path_in(one, "record.jsonl"));
  options.record_path = others.record_path = record;
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_lane_open(&others, in_ms(BOUND_MS), &second, &err), &err);
  assert_says(&err, "record.jsonl");
  /* A child that was forked meanwhile and lives on does not keep it. */
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  close_lane(lane);
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  close_lane(lane);
  assert_int_equal(kill(child, SIGKILL), 0);
  assert_int_equal(waitpid(child, NULL, 0), child);
  assert_status(ANELANE_OK, anelane_replay(record, NULL, text, sizeof text, NULL, &err), &err);
  assert_string_equal(text, "");
  free(record);
  remove_folder(one);
  remove_folder(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pipes_in_the_lock_folder_are_passed_over),
      cmocka_unit_test(a_file_size_limit_costs_a_record_and_no_host),
      cmocka_unit_test(one_record_belongs_to_one_lane),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
