/* Prewarm through a real lane and real workers (L9): a new model's small shapes become resident by
 * themselves, once for each worker, compiled the first time and loaded from the cache the next; its end is
 * logged once. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixtures.h"
#include "support.h"

static anelane_lane open_prewarming(const char* folder, anelane_worker_mode mode) {
  anelane_lane_options options = options_in(folder);
  anelane_lane lane = {0};
  anelane_error err = NEW_ERROR();
  options.flags = ANELANE_LANE_PREWARM;
  options.worker_mode = mode;
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  return lane;
}

static void wait_for_line(const char* part) {
  for (uint64_t end = in_ms(BOUND_MS); logged(part, NULL, 0) == 0;) {
    assert_true(anelane_now_ns() < end);
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  }
}

static anelane_lane_stats stats_of(anelane_lane lane) {
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  return stats;
}

static void check_predicted_resident(anelane_model model, uint32_t shape) {
  uint64_t ms = 1;
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_predict(model, shape, &ms, &err), &err);
  assert_int_equal(ms, 0);
}

static void prewarmed(anelane_worker_mode mode) {
  char* folder = make_folder();
  char line[1024];
  anelane_error err = NEW_ERROR();
  write_tiny(path_in(folder, "tiny"), NULL);
  for (int life = 0; life < 2; life++) {
    clear_log();
    const anelane_lane lane = open_prewarming(folder, mode);
    const anelane_model model = load_into(lane, path_in(folder, "tiny"));
    wait_for_line("direct-ANE prewarm ");
    assert_int_equal(logged("direct-ANE prewarm finished: lane=tiny loaded=[128, 256]", line, sizeof line),
                     1);
    assert_non_null(strstr(line, life == 0 ? "loaded_from_cache=0 compiled=2 already_resident=[]"
                                           : "loaded_from_cache=2 compiled=0 already_resident=[]"));
    assert_non_null(strstr(line, "skipped_for_budget=[] failed=[] total_ms="));
    assert_int_equal(stats_of(lane).resident, 2);
    check_predicted_resident(model, 128);
    check_predicted_resident(model, 256);
    /* Nothing more comes of it, also when the model works. */
    int32_t id = 40;
    float row[TINY_DIM];
    const anelane_tokens item = {&id, 1};
    assert_status(ANELANE_OK, anelane_embed(model, &item, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
    assert_int_equal(logged("direct-ANE prewarm ", NULL, 0), 1);
    assert_int_equal(stats_of(lane).admitted, 2);
    close_lane(lane);
    assert_int_equal(logged("direct-ANE prewarm ", NULL, 0), 1);
  }
  remove_folder(folder);
}

static void L9_1_by_a_worker_process(void** state) {
  (void)state;
  prewarmed(ANELANE_WORKER_PROCESS);
}

static void L9_1_by_a_worker_thread(void** state) {
  (void)state;
  prewarmed(ANELANE_WORKER_THREAD);
}

static void without_the_flag_nothing_is_loaded(void** state) {
  char* folder = make_folder();
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  clear_log();
  const anelane_lane lane = open_in(folder);
  (void)load_into(lane, path_in(folder, "tiny"));
  nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL);
  assert_int_equal(stats_of(lane).resident, 0);
  close_lane(lane);
  assert_int_equal(logged("direct-ANE prewarm ", NULL, 0), 0);
  remove_folder(folder);
}

int main(void) {
  start_log();
  const struct CMUnitTest tests[] = {cmocka_unit_test(L9_1_by_a_worker_process),
                                     cmocka_unit_test(L9_1_by_a_worker_thread),
                                     cmocka_unit_test(without_the_flag_nothing_is_loaded)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
