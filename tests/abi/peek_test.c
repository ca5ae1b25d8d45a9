/* What a lane writes down about itself for other processes: after changes, not more often than it says,
 * nothing while nothing happens, and nothing is left of it after the close. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "fixtures.h"
#include "support.h"

enum { EVERY_MS = 500, TEXT_MAX = 1 << 16 };

static void sleep_ms(long ms) {
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* When the state was written; 0: never. */
static int64_t written_ns(const char* folder) {
  struct stat info;
  if (stat(path_in(folder, "lane.state.json"), &info) != 0) return 0;
  return (int64_t)info.st_mtim.tv_sec * 1000000000 + info.st_mtim.tv_nsec;
}

static void peek(const char* folder, char* text) {
  anelane_error err = NEW_ERROR();
  size_t len = 0;
  assert_status(ANELANE_OK, anelane_lane_peek(folder, text, TEXT_MAX, &len, &err), &err);
  assert_int_equal(len, strlen(text));
}

/* Waits until the state that was written is that of now. Nothing changes meanwhile. */
static void wait_until_told(const char* folder, anelane_lane lane) {
  static char outside[TEXT_MAX], inside[TEXT_MAX];
  anelane_error err = NEW_ERROR();
  size_t len = 0;
  for (const uint64_t end = in_ms(BOUND_MS); anelane_now_ns() < end; sleep_ms(20)) {
    assert_status(ANELANE_OK, anelane_lane_describe(lane, inside, TEXT_MAX, &len, &err), &err);
    peek(folder, outside);
    outside[strlen(outside) - 1] = '\0';
    const char* seen = strstr(outside, "\"lane\":");
    assert_non_null(seen);
    if (strcmp(seen + strlen("\"lane\":"), inside) == 0) return;
  }
  fail_msg("%s\n%s", outside, inside);
}

static void embed_ids(anelane_model model, uint64_t count) {
  static int32_t ids[TINY_CEILING];
  float row[TINY_DIM];
  anelane_error err = NEW_ERROR();
  for (int i = 0; i < TINY_CEILING; i++) ids[i] = 40;
  const anelane_tokens item = {ids, count};
  assert_status(ANELANE_OK, anelane_embed(model, &item, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
}

static void what_is_seen_from_outside_is_what_the_lane_says(void** state) {
  char* folder = make_folder();
  static char outside[TEXT_MAX], inside[TEXT_MAX];
  anelane_error err = NEW_ERROR();
  size_t len = 0;
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  peek(folder, outside);
  assert_string_equal(outside,
                      "{\"held\":false,\"holder\":null,\"stale\":false,\"as_of_unix_ms\":null,"
                      "\"crash_loops\":[],\"lane\":null}");
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, path_in(folder, "tiny"));
  embed_ids(model, 5);
  wait_until_told(folder, lane);
  assert_status(ANELANE_OK, anelane_lane_describe(lane, inside, TEXT_MAX, &len, &err), &err);
  assert_non_null(strstr(inside, "\"costs\":[{\"shape\":128,\"cached\":true,\"load_ms\":"));
  assert_non_null(strstr(inside, "\"compile_measured\":true"));
  close_lane(lane);
  assert_int_equal(written_ns(folder), 0);
  remove_folder(folder);
}

static void an_idle_lane_writes_nothing_and_a_busy_one_not_more_than_it_says(void** state) {
  char* folder = make_folder();
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  anelane_lane_options options = options_in(folder);
  options.shapes_per_model = 1; /* each other call makes an admission and an eviction */
  options.settle_ms = 1;
  anelane_lane lane;
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  const anelane_model model = load_into(lane, path_in(folder, "tiny"));
  const uint64_t start = anelane_now_ns();
  int64_t last = written_ns(folder);
  unsigned writes = 0, calls = 0;
  while (anelane_now_ns() - start < UINT64_C(4) * EVERY_MS * 1000000) {
    embed_ids(model, calls++ % 2 == 0 ? 5 : 200);
    const int64_t now = written_ns(folder);
    writes += now != last;
    last = now;
  }
  print_message("%u calls, %u writes\n", calls, writes);
  assert_in_range(writes, 1, 6);
  wait_until_told(folder, lane);
  int64_t before;
  unsigned tries = 0;
  do { /* the last change may still be to be told, late on a busy machine */
    before = written_ns(folder);
    sleep_ms(2 * EVERY_MS);
    last = written_ns(folder);
  } while (last != before && ++tries < 10);
  assert_int_equal(last, before);
  embed_ids(model, 5);
  embed_ids(model, 200);
  wait_until_told(folder, lane);
  assert_true(written_ns(folder) > last);
  close_lane(lane);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_seen_from_outside_is_what_the_lane_says),
      cmocka_unit_test(an_idle_lane_writes_nothing_and_a_busy_one_not_more_than_it_says),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
