/* A host that runs with its standard streams closed, as some daemons do: whatever opens a descriptor next
 * gets the number 0, 1 or 2, and the host's own printf would go into it. The host is this program itself in
 * another process; it reports through descriptor REPORT_FD. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

enum { REPORT_FD = 9 };
extern char** environ;
static char self[4096];

static void report(const char* what, const char* detail) {
  dprintf(REPORT_FD, "%s: %s\n", what, detail);
}

/* Nothing stays at 0, 1 and 2, and what the host writes there goes nowhere. A descriptor may be there for a
 * moment: other threads of the library open files, too. */
static int check_closed(const char* when) {
  int wrong = 0;
  for (int fd = 0; fd <= 2; fd++) {
    const uint64_t enough = in_ms(2000);
    bool closed = false;
    while (!closed && anelane_now_ns() < enough)
      closed = fcntl(fd, F_GETFD) < 0 && write(fd, "host output\n", 12) < 0 && errno == EBADF;
    if (closed) continue;
    char path[64], target[256] = "?";
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    (void)!readlink(path, target, sizeof target - 1);
    report(when, target);
    wrong++;
  }
  return wrong;
}

static int failed(const char* what, anelane_status status, const anelane_error* err) {
  if (status == ANELANE_OK) return check_closed(what);
  report(what, err->message);
  return 1;
}

/* The whole life of a lane, with host output in between; both worker modes. */
static int role_closed(const char* folder, anelane_worker_mode mode) {
  const int32_t ids[] = {2, 40, 41, 42, 3};
  const anelane_tokens item = {ids, 5};
  float row[2][TINY_DIM];
  anelane_lane_options options = options_in(folder);
  anelane_lane lane;
  anelane_model model;
  anelane_op op;
  anelane_error err = NEW_ERROR();
  int wrong = 0;
  for (int fd = 0; fd <= 2; fd++) close(fd);
  wrong += check_closed("before");
  options.worker_mode = mode;
  wrong += failed("open", anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  wrong += failed(
      "load", anelane_model_load(lane, path_in(folder, "tiny"), NULL, in_ms(BOUND_MS), &model, &err), &err);
  for (int i = 0; i < 2; i++)
    wrong += failed("embed", anelane_embed(model, &item, 1, row[i], 0, NULL, in_ms(BOUND_MS), &err), &err);
  if (memcmp(row[0], row[1], sizeof row[0]) != 0) report("embed", "different vectors"), wrong++;
  wrong +=
      failed("start", anelane_start_embed(model, &item, 1, in_ms(BOUND_MS), NULL, NULL, &op, &err), &err);
  wrong += failed("wait", anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
  anelane_op_release(op);
  wrong += failed("retire", anelane_model_retire(model, in_ms(BOUND_MS), &err), &err);
  wrong += failed("close", anelane_lane_close(lane, in_ms(BOUND_MS), &err), &err);
  return wrong != 0;
}

static void run_role(const char* mode) {
  char* folder = make_folder();
  char text[8192];
  size_t got = 0;
  int ends[2], status;
  pid_t pid;
  char* arguments[] = {self, (char*)mode, folder, NULL};
  posix_spawn_file_actions_t actions;
  write_tiny(path_in(folder, "tiny"), NULL);
  assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], REPORT_FD);
  assert_int_equal(posix_spawn(&pid, self, &actions, NULL, arguments, environ), 0);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  for (ssize_t n; (n = read(ends[0], text + got, sizeof text - 1 - got)) > 0;) got += (size_t)n;
  text[got] = '\0';
  close(ends[0]);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  print_message("%s", text);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  /* What the host wrote is nowhere: the record beside the lock is whole. */
  FILE* record = fopen(path_in(folder, "lane.json"), "rb");
  assert_non_null(record);
  text[fread(text, 1, sizeof text - 1, record)] = '\0';
  fclose(record);
  assert_null(strstr(text, "host output"));
  remove_folder(folder);
}

static void closed_standard_streams_stay_closed_and_untouched(void** state) {
  (void)state;
  run_role("process");
}

static void closed_standard_streams_stay_closed_in_thread_mode(void** state) {
  (void)state;
  run_role("thread");
}

int main(int argc, char** argv) {
  if (argc == 3)
    return role_closed(argv[2],
                       strcmp(argv[1], "thread") == 0 ? ANELANE_WORKER_THREAD : ANELANE_WORKER_PROCESS);
  if (readlink("/proc/self/exe", self, sizeof self - 1) <= 0) return 1;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(closed_standard_streams_stay_closed_and_untouched),
      cmocka_unit_test(closed_standard_streams_stay_closed_in_thread_mode),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
