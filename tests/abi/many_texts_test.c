/* Thousands of texts in one call: they travel in chunks, so the results must be put together in the order of
 * the input, others must get their turn in between, and one bad text among them must be named. The tiny
 * model: its texts are words of single letters. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "support.h"

enum { COUNT = 3000, DISTINCT = 120, LONGEST = 250 };

static char* folder;
static anelane_lane lane;
static anelane_model model;
static char texts[DISTINCT][2 * LONGEST + 1];
static float right[DISTINCT][TINY_DIM];
static const char* list[COUNT];

/* Which of the texts stands at place i: neighbours differ in length and in rung. */
static size_t which(size_t i) {
  return i * 97 % DISTINCT;
}

static int set_up(void** state) {
  anelane_error err = NEW_ERROR();
  (void)state;
  folder = make_folder();
  write_tiny(path_in(folder, "tiny"), NULL);
  lane = open_in(folder);
  model = load_into(lane, path_in(folder, "tiny"));
  for (size_t i = 0; i < DISTINCT; i++) {
    const size_t words = 1 + i * (LONGEST - 1) / (DISTINCT - 1);
    for (size_t w = 0; w < words; w++) {
      texts[i][2 * w] = (char)('a' + (i * 7 + w * w) % 26);
      texts[i][2 * w + 1] = w + 1 < words ? ' ' : '\0';
    }
    const char* text = texts[i];
    assert_status(ANELANE_OK, anelane_embed_texts(model, &text, 1, right[i], 0, NULL, in_ms(BOUND_MS), &err),
                  &err);
  }
  /* Texts that gave equal vectors could change places unseen. */
  for (size_t i = 1; i < DISTINCT; i++) assert_memory_not_equal(right[i], right[i - 1], sizeof right[0]);
  for (size_t i = 0; i < COUNT; i++) list[i] = texts[which(i)];
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  close_lane(lane);
  remove_folder(folder);
  return 0;
}

static void thousands_of_texts_come_back_in_the_order_of_the_input(void** state) {
  enum { STRIDE = TINY_DIM + 3 };
  float* rows = malloc(sizeof(float) * STRIDE * COUNT);
  anelane_status* statuses = malloc(sizeof *statuses * COUNT);
  anelane_error err = NEW_ERROR();
  (void)state;
  for (size_t i = 0; i < COUNT * STRIDE; i++) rows[i] = 7;
  assert_status(ANELANE_OK,
                anelane_embed_texts(model, list, COUNT, rows, STRIDE, statuses, in_ms(BOUND_MS), &err), &err);
  for (size_t i = 0; i < COUNT; i++) {
    assert_int_equal(statuses[i], ANELANE_OK);
    assert_memory_equal(rows + i * STRIDE, right[which(i)], sizeof right[0]);
    for (size_t k = TINY_DIM; k < STRIDE; k++) assert_true(rows[i * STRIDE + k] == 7.0f);
  }
  free(rows);
  free(statuses);
}

static void others_get_their_turn_between_the_chunks(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_op op;
  float row[TINY_DIM];
  size_t between = 0;
  const float* floats;
  size_t count, dim;
  (void)state;
  assert_status(ANELANE_OK,
                anelane_start_embed_texts(model, list, COUNT, in_ms(BOUND_MS), NULL, NULL, &op, &err), &err);
  while (anelane_op_wait(op, 0, &err) == ANELANE_PENDING) {
    assert_status(ANELANE_OK, anelane_embed_texts(model, list, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
    assert_memory_equal(row, right[which(0)], sizeof row);
    if (anelane_op_wait(op, 0, &err) == ANELANE_PENDING) between++;
  }
  print_message("%zu calls of others ended while the long one ran\n", between);
  assert_true(between >= 3);
  assert_status(ANELANE_OK, anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
  assert_status(ANELANE_OK, anelane_op_floats(op, &floats, &count, &dim, &err), &err);
  assert_int_equal(count, COUNT);
  for (size_t i = 0; i < COUNT; i++) assert_memory_equal(floats + i * dim, right[which(i)], sizeof right[0]);
  anelane_op_release(op);
}

static void a_bad_text_among_thousands_is_named_and_nothing_runs(void** state) {
  static char longer[2 * TINY_CEILING + 1];
  float* rows = malloc(sizeof(float) * TINY_DIM * COUNT);
  anelane_error err = NEW_ERROR();
  (void)state;
  for (size_t w = 0; w < TINY_CEILING; w++) memcpy(longer + 2 * w, "a ", 2);
  for (size_t i = 0; i < COUNT * TINY_DIM; i++) rows[i] = 7;
  list[2321] = longer;
  assert_status(ANELANE_SEQUENCE_TOO_LONG,
                anelane_embed_texts(model, list, COUNT, rows, 0, NULL, in_ms(BOUND_MS), &err), &err);
  list[2321] = texts[which(2321)];
  assert_int_equal(err.item, 2321);
  assert_int_equal(err.limit, TINY_CEILING);
  for (size_t i = 0; i < COUNT * TINY_DIM; i++) assert_true(rows[i] == 7.0f);
  free(rows);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(thousands_of_texts_come_back_in_the_order_of_the_input),
      cmocka_unit_test(others_get_their_turn_between_the_chunks),
      cmocka_unit_test(a_bad_text_among_thousands_is_named_and_nothing_runs),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
