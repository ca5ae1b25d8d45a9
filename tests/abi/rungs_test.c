/* Which shape serves which length, from the shortest to the model's ceiling, and that what no shape can serve
 * never reaches the worker. A lane for each test, with a model of one layer whose ladder ends at 8192. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

static char* folder;
static anelane_lane lane;

static int before_all(void** state) {
  (void)state;
  start_log();
  return 0;
}

static int set_up(void** state) {
  (void)state;
  clear_log();
  folder = make_folder();
  write_long(path_in(folder, "long"));
  lane = open_in(folder);
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  close_lane(lane);
  remove_folder(folder);
  return 0;
}

/* `count` tokens, others than those of another seed. */
static int32_t* some_ids(size_t count, int seed) {
  int32_t* ids = malloc(count * sizeof *ids);
  for (size_t i = 0; i < count; i++) ids[i] = (int32_t)(5 + (i * 7 + (size_t)seed * 13) % 90);
  return ids;
}

static anelane_lane_stats stats_now(void) {
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  return stats;
}

static size_t admissions_of(unsigned shape) {
  char part[64];
  snprintf(part, sizeof part, "shape admission: shape=%u ", shape);
  return logged(part, NULL, 0);
}

/* Bytes in this process' sockets that the other end has not read yet. */
static int unread_by_others(void) {
  int sum = 0;
  for (int fd = 0; fd < 256; fd++) {
    struct stat what;
    int bytes = 0;
    if (fstat(fd, &what) == 0 && S_ISSOCK(what.st_mode) && ioctl(fd, TIOCOUTQ, &bytes) == 0) sum += bytes;
  }
  return sum;
}

static void S004_each_sequence_is_served_by_its_own_rung_in_the_order_of_the_input(void** state) {
  const anelane_model model = load_into(lane, path_in(folder, "long"));
  const size_t lengths[] = {300, 1, 200, 8192};
  const unsigned shapes[] = {512, 128, 256, 8192};
  anelane_tokens items[4];
  float together[4][LONG_DIM], alone[4][LONG_DIM];
  anelane_error err = NEW_ERROR();
  (void)state;
  for (int i = 0; i < 4; i++) items[i] = (anelane_tokens){some_ids(lengths[i], i), lengths[i]};
  assert_status(ANELANE_OK, anelane_embed(model, items, 4, &together[0][0], 0, NULL, in_ms(BOUND_MS), &err),
                &err);
  for (int i = 0; i < 4; i++) assert_int_equal(admissions_of(shapes[i]), 1);
  assert_int_equal(stats_now().admitted, 4);
  assert_int_equal(stats_now().resident, 4);
  for (int i = 0; i < 4; i++) {
    assert_status(ANELANE_OK, anelane_embed(model, &items[i], 1, alone[i], 0, NULL, in_ms(BOUND_MS), &err),
                  &err);
    assert_memory_equal(together[i], alone[i], sizeof alone[i]);
    for (int k = 0; k < i; k++) assert_memory_not_equal(alone[i], alone[k], sizeof alone[i]);
  }
  assert_int_equal(stats_now().admitted, 4); /* alone they used the same shapes */
  assert_int_equal(logged("shape_not_admitted", NULL, 0), 0);
  for (int i = 0; i < 4; i++) free((void*)(uintptr_t)items[i].ids);
}

/* The worker is stopped, so that whatever is sent to it stays in the socket to be counted. */
static void S071_too_long_is_refused_with_nothing_sent_and_the_ceiling_itself_is_served(void** state) {
  const anelane_model model = load_into(lane, path_in(folder, "long"));
  int32_t* ids = some_ids(LONG_CEILING + 1, 1);
  anelane_tokens items[2] = {{ids, 1}, {ids, LONG_CEILING + 1}};
  float rows[2][LONG_DIM], cut[LONG_DIM];
  anelane_error err = NEW_ERROR();
  (void)state;
  const pid_t worker = only_child();
  assert_int_equal(kill(worker, SIGSTOP), 0);
  memset(rows, 0x55, sizeof rows);
  assert_status(ANELANE_SEQUENCE_TOO_LONG,
                anelane_embed(model, items, 2, &rows[0][0], 0, NULL, in_ms(BOUND_MS), &err), &err);
  assert_int_equal(err.item, 1);
  assert_int_equal(err.limit, LONG_CEILING);
  assert_int_equal(err.error_class, ANELANE_PERMANENT);
  for (size_t i = 0; i < sizeof rows; i++) assert_int_equal(((unsigned char*)rows)[i], 0x55);
  assert_int_equal(stats_now().waiting, 0);
  assert_int_equal(unread_by_others(), 0);
  /* The counter counts: a sequence that is not too long does reach the worker. */
  assert_int_not_equal(ANELANE_OK, anelane_embed(model, items, 1, rows[0], 0, NULL, in_ms(100), &err));
  for (int i = 0; i < 10000 && unread_by_others() == 0; i++) usleep(1000);
  assert_true(unread_by_others() > 0);
  assert_int_equal(kill(worker, SIGCONT), 0);
  /* 8192 tokens are served as 8192 tokens: one token less is another vector. */
  items[1].count = LONG_CEILING;
  assert_status(ANELANE_OK, anelane_embed(model, &items[1], 1, rows[0], 0, NULL, in_ms(BOUND_MS), &err),
                &err);
  items[1].count = LONG_CEILING - 1;
  assert_status(ANELANE_OK, anelane_embed(model, &items[1], 1, cut, 0, NULL, in_ms(BOUND_MS), &err), &err);
  assert_memory_not_equal(rows[0], cut, sizeof cut);
  assert_int_equal(admissions_of(8192), 1);
  free(ids);
}

static void S011_a_model_that_is_not_known_is_unsupported_and_no_worker_is_asked(void** state) {
  anelane_model model = {5};
  anelane_error err = NEW_ERROR();
  pid_t children[4];
  (void)state;
  write_tiny(path_in(folder, "unknown"), "unknown-architecture");
  assert_status(ANELANE_MODEL_UNSUPPORTED,
                anelane_model_load(lane, path_in(folder, "unknown"), NULL, in_ms(BOUND_MS), &model, &err),
                &err);
  assert_says(&err, "WarpForTimeTravel");
  assert_int_equal(err.error_class, ANELANE_PERMANENT);
  assert_int_equal(model.bits, 5);
  assert_int_equal(children_of_self(children, 4), 0); /* there was nobody to send anything to */
  assert_int_equal(logged("ane-direct", NULL, 0), 0);
  assert_int_equal(stats_now().models, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(S004_each_sequence_is_served_by_its_own_rung_in_the_order_of_the_input,
                                      set_up, tear_down),
      cmocka_unit_test_setup_teardown(
          S071_too_long_is_refused_with_nothing_sent_and_the_ceiling_itself_is_served, set_up, tear_down),
      cmocka_unit_test_setup_teardown(S011_a_model_that_is_not_known_is_unsupported_and_no_worker_is_asked,
                                      set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, before_all, NULL);
}
