/* Lanes between processes and within one: busy, shared, second start from the cache, exit without close,
 * fork. The second processes are this program itself with a role as its argument, so each is a whole new
 * host. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

enum { DIM = 384 };
extern char** environ;
static const char* self;

/* Starts this program as `role folder`, with a pipe from its stdout. */
static pid_t start_role(const char* role, const char* folder, int* out) {
  int pipe_ends[2];
  posix_spawn_file_actions_t actions;
  pid_t pid;
  char* arguments[] = {(char*)self, (char*)role, (char*)folder, NULL};
  assert_int_equal(pipe(pipe_ends), 0);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  posix_spawn_file_actions_addclose(&actions, pipe_ends[0]);
  posix_spawn_file_actions_addclose(&actions, pipe_ends[1]);
  assert_int_equal(posix_spawn(&pid, self, &actions, NULL, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  *out = pipe_ends[0];
  return pid;
}

/* Reads a role's whole output and its exit code. */
static int finish_role(pid_t pid, int out, char* text, size_t cap) {
  size_t got = 0;
  int status;
  for (ssize_t n; (n = read(out, text + got, cap - 1 - got)) > 0;) got += (size_t)n;
  text[got] = '\0';
  close(out);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* ---- roles: what a second process does. They print, and exit with 0 or 1. ---- */

/* Embeds, prints the vector's bytes and the admission line. */
static int role_embed(const char* folder) {
  const char* text = "the same text in every process";
  float row[DIM];
  char line[512] = "";
  start_log();
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, test_model());
  anelane_error err = NEW_ERROR();
  if (anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(BOUND_MS), &err) != ANELANE_OK) return 1;
  for (size_t i = 0; i < sizeof row; i++) printf("%02x", ((unsigned char*)row)[i]);
  if (logged("shape admission: shape=128 ", line, sizeof line) != 1) return 1;
  printf("\n%s\n", line);
  return anelane_lane_close(lane, in_ms(BOUND_MS), NULL) != ANELANE_OK;
}

/* Holds the lane with a loaded model until it is killed, or for a minute. */
static int role_hold(const char* folder) {
  const anelane_lane lane = open_in(folder);
  load_into(lane, test_model());
  printf("held\n");
  fflush(stdout);
  sleep(60);
  return 1;
}

/* Leaves through exit() with a lane open and a model loaded: no close, and no harm. */
static int role_exit_without_close(const char* folder) {
  float row[DIM];
  const char* text = "hello";
  const anelane_model model = load_into(open_in(folder), test_model());
  const anelane_status status = anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(BOUND_MS), NULL);
  printf("embedded\n");
  exit(status != ANELANE_OK);
}

/* ---- tests ---- */

static void f11_l8_4_the_second_process_compiles_nothing_and_gives_the_same_bits(void** state) {
  char* folder = make_folder();
  char cold[8192], cached[8192];
  int out;
  (void)state;
  pid_t pid = start_role("embed", folder, &out);
  assert_int_equal(finish_role(pid, out, cold, sizeof cold), 0);
  pid = start_role("embed", folder, &out);
  assert_int_equal(finish_role(pid, out, cached, sizeof cached), 0);
  print_message("%s%s", strchr(cold, '\n') + 1, strchr(cached, '\n') + 1);
  assert_non_null(strstr(cold, "layers_loaded=6 cache_hit=0 compiled=6 "));
  assert_non_null(strstr(cached, "layers_loaded=6 cache_hit=6 compiled=0 "));
  assert_memory_equal(cold, cached, DIM * sizeof(float) * 2);
  remove_folder(folder);
}

static void f71_l1_a_busy_lane_names_its_holder_and_is_free_after_its_death(void** state) {
  char* folder = make_folder();
  const anelane_lane_options options = options_in(folder);
  anelane_lane lane = {9};
  anelane_error err = NEW_ERROR();
  anelane_holder holder = {.struct_size = sizeof holder};
  char text[64], line[8];
  int out;
  (void)state;
  const pid_t pid = start_role("hold", folder, &out);
  assert_int_equal(read(out, line, 5), 5);
  const uint64_t start = anelane_now_ns();
  assert_status(ANELANE_LANE_BUSY, anelane_lane_open(&options, 0, &lane, &err), &err);
  assert_true(anelane_now_ns() - start < UINT64_C(1000000000));
  assert_int_equal(err.holder_pid, pid);
  assert_says(&err, "lane_test");
  assert_int_equal(err.error_class, ANELANE_TRANSIENT);
  assert_int_equal(lane.bits, 9);
  assert_status(ANELANE_LANE_BUSY, anelane_lane_open(&options, in_ms(200), &lane, &err), &err);
  assert_status(ANELANE_OK, anelane_lane_holder(folder, &holder, &err), &err);
  assert_int_equal(holder.held, 1);
  assert_int_equal(holder.pid, pid);
  assert_int_equal(holder.record_stale, 0);
  assert_non_null(strstr(holder.program, "lane_test"));
  assert_true(llabs(holder.since_unix_ms / 1000 - time(NULL)) < 120);
  /* kill -9 of the owner: its worker goes within a second, and with it the lane. */
  assert_int_equal(kill(pid, SIGKILL), 0);
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(5000), &lane, &err), &err);
  assert_int_equal(finish_role(pid, out, text, sizeof text), 1000 + SIGKILL);
  close_lane(lane);
  assert_status(ANELANE_OK, anelane_lane_holder(folder, &holder, &err), &err);
  assert_int_equal(holder.held, 0);
  remove_folder(folder);
}

static void the_same_folder_again_is_the_same_lane_counted(void** state) {
  char* folder = make_folder();
  char* scratch = make_folder();
  char* before = inventory(scratch);
  anelane_lane_options options = options_in(folder);
  anelane_error err = NEW_ERROR();
  const anelane_lane first = open_in(folder);
  const anelane_lane second = open_in(folder);
  anelane_lane third = {0};
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  (void)state;
  options.executable_budget = 12;
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_lane_open(&options, 0, &third, &err), &err);
  assert_says(&err, "executable_budget");
  const anelane_model model = load_into(first, test_model());
  close_lane(first);
  assert_status(ANELANE_OK, anelane_lane_get_stats(second, &stats, &err), &err);
  assert_int_equal(stats.models, 1);
  float row[DIM];
  const char* text = "hello";
  assert_status(ANELANE_OK, anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
  close_lane(second);
  assert_true(anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(BOUND_MS), &err) != ANELANE_OK);
  assert_true(err.status == ANELANE_CLOSED || err.status == ANELANE_BAD_HANDLE);
  assert_nothing_left(before, scratch);
  free(before);
  remove_folder(scratch);
  remove_folder(folder);
}

static void exit_without_close_is_fine(void** state) {
  char* folder = make_folder();
  char text[64];
  int out;
  (void)state;
  const pid_t pid = start_role("exit", folder, &out);
  assert_int_equal(finish_role(pid, out, text, sizeof text), 0);
  /* Its worker notices, and the lane is free at once or within a second. */
  const anelane_lane_options options = options_in(folder);
  anelane_lane lane;
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(3000), &lane, &err), &err);
  close_lane(lane);
  remove_folder(folder);
}

static void f64_a_forked_child_is_told_so_and_disturbs_nobody(void** state) {
  char* folder = make_folder();
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, test_model());
  const char* text = "hello";
  float row[DIM], again[DIM];
  anelane_error err = NEW_ERROR();
  int status;
  (void)state;
  assert_status(ANELANE_OK, anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
  const pid_t child = fork();
  if (child == 0) {
    anelane_lane_stats stats = {.struct_size = sizeof stats};
    anelane_lane other;
    const anelane_lane_options options = options_in(folder);
    int wrong = 0;
    wrong += anelane_embed_texts(model, &text, 1, again, 0, NULL, in_ms(1000), NULL) != ANELANE_FORKED;
    wrong += anelane_lane_get_stats(lane, &stats, NULL) != ANELANE_FORKED;
    wrong += anelane_lane_open(&options, 0, &other, NULL) != ANELANE_FORKED;
    wrong += anelane_lane_close(lane, in_ms(1000), NULL) != ANELANE_FORKED;
    _exit(wrong);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_status(ANELANE_OK, anelane_embed_texts(model, &text, 1, again, 0, NULL, in_ms(BOUND_MS), &err),
                &err);
  assert_memory_equal(row, again, sizeof row);
  close_lane(lane);
  remove_folder(folder);
}

static void close_answers_those_who_wait(void** state) {
  char* folder = make_folder();
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, test_model());
  anelane_op ops[8];
  anelane_error err = NEW_ERROR();
  static int32_t ids[512];
  anelane_tokens items[32];
  (void)state;
  for (int i = 0; i < 512; i++) ids[i] = 1000 + i;
  for (int i = 0; i < 32; i++) items[i] = (anelane_tokens){ids, 512};
  for (int i = 0; i < 8; i++)
    assert_status(ANELANE_OK,
                  anelane_start_embed(model, items, 32, in_ms(BOUND_MS), NULL, NULL, &ops[i], &err), &err);
  const uint64_t start = anelane_now_ns();
  anelane_lane_close(lane, in_ms(100), &err);
  assert_true(anelane_now_ns() - start < UINT64_C(10000000000));
  for (int i = 0; i < 8; i++) {
    const anelane_status status = anelane_op_wait(ops[i], 0, &err);
    assert_true(status == ANELANE_CLOSED || status == ANELANE_BAD_HANDLE || status == ANELANE_OK);
    anelane_op_release(ops[i]);
  }
  pid_t left[1];
  assert_int_equal(children_of_self(left, 1), 0);
  remove_folder(folder);
}

static void describe_and_stats_agree(void** state) {
  char* folder = make_folder();
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, test_model());
  const char* text = "hello";
  float row[DIM];
  anelane_error err = NEW_ERROR();
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  size_t needed = 0, again = 0;
  char small[8];
  (void)state;
  assert_status(ANELANE_OK, anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  assert_int_equal(stats.models, 1);
  assert_int_equal(stats.resident, 1);
  assert_int_equal(stats.reserved_programs, 6);
  assert_int_equal(stats.budget, 100);
  assert_int_equal(stats.admitted, 1);
  assert_int_equal(stats.compiled + stats.loaded, 1);
  assert_status(ANELANE_OK, anelane_lane_describe(lane, NULL, 0, &needed, &err), &err);
  assert_true(needed > 100);
  char* json = malloc(needed + 64);
  assert_status(ANELANE_OK, anelane_lane_describe(lane, json, needed + 64, &again, &err), &err);
  assert_int_equal(strlen(json), again);
  assert_int_equal(json[0], '{');
  assert_non_null(strstr(json, "all-MiniLM-L6-v2"));
  assert_status(ANELANE_OK, anelane_lane_describe(lane, small, sizeof small, &again, &err), &err);
  assert_int_equal(strlen(small), sizeof small - 1);
  assert_memory_equal(small, json, 2);
  free(json);
  close_lane(lane);
  remove_folder(folder);
}

static void stats_say_for_how_long_a_shape_has_been_compiled(void** state) {
  char* folder = make_folder();
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, test_model());
  const char* text = "hello";
  anelane_op op;
  anelane_error err = NEW_ERROR();
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  (void)state;
  const pid_t worker = only_child();
  assert_int_equal(kill(worker, SIGSTOP), 0); /* so that the compile lasts until it has been seen */
  const uint64_t start = anelane_now_ns(), end = in_ms(BOUND_MS);
  assert_status(ANELANE_OK,
                anelane_start_embed_texts(model, &text, 1, in_ms(BOUND_MS), NULL, NULL, &op, &err), &err);
  do {
    assert_true(anelane_now_ns() < end);
    assert_status(ANELANE_PENDING, anelane_op_wait(op, in_ms(5), &err), &err);
    assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
    assert_true(stats.compiling_ms <= (anelane_now_ns() - start) / 1000000);
  } while (stats.compiling_ms == 0);
  assert_int_equal(stats.compiling_shape, 128);
  assert_string_equal(stats.compiling_model, "all-MiniLM-L6-v2");
  assert_int_equal(kill(worker, SIGCONT), 0);
  assert_status(ANELANE_OK, anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  assert_int_equal(stats.compiling_shape, 0);
  anelane_op_release(op);
  close_lane(lane);
  remove_folder(folder);
}

int main(int argc, char** argv) {
  self = "/proc/self/exe";
  static char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  if (length > 0) self = path;
  if (argc == 3 && strcmp(argv[1], "embed") == 0) return role_embed(argv[2]);
  if (argc == 3 && strcmp(argv[1], "hold") == 0) return role_hold(argv[2]);
  if (argc == 3 && strcmp(argv[1], "exit") == 0) return role_exit_without_close(argv[2]);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(f11_l8_4_the_second_process_compiles_nothing_and_gives_the_same_bits),
      cmocka_unit_test(f71_l1_a_busy_lane_names_its_holder_and_is_free_after_its_death),
      cmocka_unit_test(the_same_folder_again_is_the_same_lane_counted),
      cmocka_unit_test(exit_without_close_is_fine),
      cmocka_unit_test(f64_a_forked_child_is_told_so_and_disturbs_nobody),
      cmocka_unit_test(close_answers_those_who_wait),
      cmocka_unit_test(describe_and_stats_agree),
      cmocka_unit_test(stats_say_for_how_long_a_shape_has_been_compiled),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
