/* Lanes, models and their log, with failures told in the library's own words. Any thread for the log, else
 * the main thread. */
#define _GNU_SOURCE
#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOG_LINES_MAX = 20000 };

uint64_t in_ms(uint64_t ms) {
  return anelane_now_ns() + ms * 1000000u;
}

anelane_lane_options options_in(const char* folder) {
  anelane_lane_options options;
  anelane_lane_options_init(&options, sizeof options);
  options.engine = ANELANE_ENGINE_SOFT;
  options.lock_dir = folder;
  return options;
}

anelane_lane open_in(const char* folder) {
  const anelane_lane_options options = options_in(folder);
  anelane_lane lane = {0};
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  return lane;
}

anelane_model load_into(anelane_lane lane, const char* path) {
  anelane_model model = {0};
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_model_load(lane, path, NULL, in_ms(BOUND_MS), &model, &err), &err);
  return model;
}

void close_lane(anelane_lane lane) {
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_lane_close(lane, in_ms(BOUND_MS), &err), &err);
}

void check_status(anelane_status expected, anelane_status status, const anelane_error* err, const char* what,
                  const char* file, int line) {
  char text[1024] = "";
  if (status == expected) return;
  if (err != NULL && status != ANELANE_OK) anelane_error_text(err, text, sizeof text);
  print_error("%s\n  expected %s, got %s: %s\n", what, anelane_status_name(expected),
              anelane_status_name(status), text);
  _fail(file, line);
}

void check_says(const anelane_error* err, const char* part, const char* file, int line) {
  if (strstr(err->message, part) != NULL) return;
  print_error("\"%s\" is not in the message \"%s\"\n", part, err->message);
  _fail(file, line);
}

static pthread_mutex_t log_mutex = PTHREAD_MUTEX_INITIALIZER;
static char* log_lines[LOG_LINES_MAX];
static size_t log_count;

static void on_log(void* user, anelane_log_level level, const char* line) {
  (void)user, (void)level;
  pthread_mutex_lock(&log_mutex);
  if (log_count < LOG_LINES_MAX) log_lines[log_count++] = strdup(line);
  pthread_mutex_unlock(&log_mutex);
}

void start_log(void) {
  assert_int_equal(anelane_set_log(on_log, NULL, ANELANE_LOG_INFO), ANELANE_OK);
}

size_t logged(const char* part, char* line, size_t cap) {
  size_t count = 0;
  pthread_mutex_lock(&log_mutex);
  for (size_t i = 0; i < log_count; i++) {
    if (strstr(log_lines[i], part) == NULL) continue;
    count++;
    if (line != NULL) snprintf(line, cap, "%s", log_lines[i]);
  }
  pthread_mutex_unlock(&log_mutex);
  return count;
}

void clear_log(void) {
  pthread_mutex_lock(&log_mutex);
  while (log_count > 0) free(log_lines[--log_count]);
  pthread_mutex_unlock(&log_mutex);
}
