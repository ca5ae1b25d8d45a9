/* The real model against an independent implementation of the same weights (tests/data/minilm_golden.jsonl):
 * every golden text, in one call and alone, as text and as token ids, in both worker modes. One lane for each
 * test. */
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "support.h"

#define LEAST_COSINE 0.9999
enum { DIM = 384 };

static char* folder;

static int set_up(void** state) {
  (void)state;
  folder = make_folder();
  start_log();
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

static anelane_lane open_mode(anelane_worker_mode mode) {
  anelane_lane_options options = options_in(folder);
  anelane_lane lane = {0};
  anelane_error err = NEW_ERROR();
  options.worker_mode = mode;
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  return lane;
}

/* Every golden sequence in one call, by its ids; returns the rows. */
static float* embed_all(anelane_model model) {
  const size_t count = golden_count();
  anelane_tokens* items = malloc(count * sizeof *items);
  float* rows = malloc(count * DIM * sizeof *rows);
  anelane_error err = NEW_ERROR();
  for (size_t i = 0; i < count; i++) {
    size_t ids;
    items[i].ids = golden_ids(i, &ids);
    items[i].count = ids;
  }
  assert_status(ANELANE_OK, anelane_embed(model, items, count, rows, 0, NULL, in_ms(BOUND_MS), &err), &err);
  free(items);
  return rows;
}

static void golden_texts_cover_the_lengths(void** state) {
  const size_t wanted[] = {127, 128, 129, 256, 257, 512};
  bool seen[513] = {false};
  (void)state;
  assert_true(golden_count() >= 60);
  for (size_t i = 0; i < golden_count(); i++) {
    size_t ids = 0, dim = 0;
    golden_ids(i, &ids);
    golden_vector(i, &dim);
    assert_int_equal(dim, DIM);
    assert_true(ids >= 1 && ids <= 512);
    seen[ids] = true;
  }
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++)
    if (!seen[wanted[i]]) fail_msg("no golden text of %zu tokens", wanted[i]);
}

static void vectors_are_those_of_an_independent_implementation(void** state) {
  const anelane_lane lane = open_mode(ANELANE_WORKER_PROCESS);
  const anelane_model model = load_into(lane, test_model());
  float* rows = embed_all(model);
  double worst = 1;
  size_t worst_at = 0;
  (void)state;
  for (size_t i = 0; i < golden_count(); i++) {
    size_t dim;
    const double cosine = cosine_of(rows + i * DIM, golden_vector(i, &dim), DIM);
    if (cosine < worst) worst = cosine, worst_at = i;
  }
  print_message("least cosine of %zu texts: %.7f (text %zu)\n", golden_count(), worst, worst_at);
  assert_true(worst >= LEAST_COSINE);
  free(rows);
  close_lane(lane);
}

/* As texts, and in another order: each text gets its own vector, although long and short ones go to different
 * shapes. */
static void texts_give_the_vectors_of_their_ids_in_the_order_of_the_input(void** state) {
  const anelane_lane lane = open_mode(ANELANE_WORKER_PROCESS);
  const anelane_model model = load_into(lane, test_model());
  const size_t count = golden_count();
  float* by_ids = embed_all(model);
  float* by_text = malloc(count * (DIM + 3) * sizeof *by_text);
  const char** texts = malloc(count * sizeof *texts);
  size_t* index = malloc(count * sizeof *index);
  size_t used = 0;
  anelane_error err = NEW_ERROR();
  (void)state;
  for (size_t i = count; i-- > 0;) {
    size_t bytes;
    if (!golden_is_c_string(i)) continue;
    texts[used] = golden_text(i, &bytes);
    index[used++] = i;
  }
  assert_true(used >= 60);
  for (size_t i = 0; i < count * (DIM + 3); i++) by_text[i] = 42;
  assert_status(ANELANE_OK,
                anelane_embed_texts(model, texts, used, by_text, DIM + 3, NULL, in_ms(BOUND_MS), &err), &err);
  for (size_t i = 0; i < used; i++) {
    const float* row = by_text + i * (DIM + 3);
    assert_memory_equal(row, by_ids + index[i] * DIM, DIM * sizeof(float));
    assert_true(row[DIM] == 42 && row[DIM + 2] == 42); /* nothing is written between rows */
  }
  free(by_ids);
  free(by_text);
  free(texts);
  free(index);
  close_lane(lane);
}

static void the_tokenizer_gives_the_golden_ids(void** state) {
  anelane_tokenizer tokenizer;
  anelane_error err = NEW_ERROR();
  int32_t ids[512];
  size_t count = 0;
  (void)state;
  assert_status(ANELANE_OK, anelane_tokenizer_load(test_model(), &tokenizer, &err), &err);
  for (size_t i = 0; i < golden_count(); i++) {
    size_t expected;
    const int32_t* right = golden_ids(i, &expected);
    size_t bytes;
    const char* text = golden_text(i, &bytes);
    assert_status(ANELANE_OK, anelane_tokenize(tokenizer, text, bytes, ids, 512, &count, &err), &err);
    assert_int_equal(count, expected);
    assert_memory_equal(ids, right, count * sizeof *ids);
    /* The count alone, and a buffer that is too short. */
    memset(ids, 0x55, sizeof ids);
    assert_status(ANELANE_OK, anelane_tokenize(tokenizer, text, bytes, NULL, 0, &count, &err), &err);
    assert_int_equal(count, expected);
    assert_status(ANELANE_OK, anelane_tokenize(tokenizer, text, bytes, ids, 1, &count, &err), &err);
    assert_int_equal(count, expected);
    assert_int_equal(ids[0], right[0]);
    assert_int_equal(ids[1], 0x55555555);
  }
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_tokenize(tokenizer, "abc\xff", 4, ids, 512, &count, &err),
                &err);
  assert_int_equal(err.limit, 3);
  anelane_tokenizer_release(tokenizer);
  assert_int_equal(anelane_tokenize(tokenizer, "abc", 3, ids, 512, &count, &err), ANELANE_BAD_HANDLE);
}

static void thread_mode_gives_the_same_bits(void** state) {
  float* rows[2];
  (void)state;
  for (int mode = 0; mode < 2; mode++) {
    const anelane_lane lane = open_mode(mode == 0 ? ANELANE_WORKER_PROCESS : ANELANE_WORKER_THREAD);
    const anelane_model model = load_into(lane, test_model());
    pid_t pids[1];
    rows[mode] = embed_all(model);
    assert_int_equal(children_of_self(pids, 1), mode == 0 ? 1 : 0);
    close_lane(lane);
  }
  assert_memory_equal(rows[0], rows[1], golden_count() * DIM * sizeof(float));
  free(rows[0]);
  free(rows[1]);
}

static void item_status_tells_each_row(void** state) {
  const anelane_lane lane = open_mode(ANELANE_WORKER_PROCESS);
  const anelane_model model = load_into(lane, test_model());
  anelane_status each[4] = {ANELANE_PENDING, ANELANE_PENDING, ANELANE_PENDING, ANELANE_PENDING};
  const char* const texts[] = {"a", "b", "c", "d"};
  float rows[4 * DIM];
  anelane_error err = NEW_ERROR();
  (void)state;
  assert_status(ANELANE_OK, anelane_embed_texts(model, texts, 4, rows, 0, each, in_ms(BOUND_MS), &err), &err);
  for (int i = 0; i < 4; i++) assert_int_equal(each[i], ANELANE_OK);
  const char* const bad[] = {"a", "\xff", "c", "d"};
  assert_status(ANELANE_INVALID_ARGUMENT,
                anelane_embed_texts(model, bad, 4, rows, 0, each, in_ms(BOUND_MS), &err), &err);
  for (int i = 0; i < 4; i++) assert_int_equal(each[i], ANELANE_INVALID_ARGUMENT); /* no row was written */
  const anelane_tokens empty[2] = {{.ids = (const int32_t[]){101, 102}, .count = 2}, {0}};
  assert_status(ANELANE_INVALID_SEQUENCE,
                anelane_embed(model, empty, 2, rows, 0, each, in_ms(BOUND_MS), &err), &err);
  for (int i = 0; i < 2; i++) assert_int_equal(each[i], ANELANE_INVALID_SEQUENCE);
  close_lane(lane);
}

static void info_says_what_runs(void** state) {
  const anelane_lane lane = open_mode(ANELANE_WORKER_PROCESS);
  const anelane_model model = load_into(lane, test_model());
  anelane_model_info info = {.struct_size = sizeof info}, inspected = {.struct_size = sizeof inspected};
  anelane_error err = NEW_ERROR();
  (void)state;
  assert_status(ANELANE_OK, anelane_model_get_info(model, &info, &err), &err);
  assert_status(ANELANE_OK, anelane_model_inspect(test_model(), &inspected, &err), &err);
  assert_int_equal(info.kind, ANELANE_EMBEDDER);
  assert_int_equal(info.engine, ANELANE_ENGINE_SOFT);
  assert_int_equal(inspected.engine, ANELANE_ENGINE_AUTO);
  assert_int_equal(info.dim, DIM);
  assert_int_equal(info.ceiling, 512);
  assert_int_equal(info.layers, 6);
  assert_int_equal(info.rungs[0], 128);
  assert_true(info.rung_count >= 2 && info.rungs[info.rung_count - 1] == 512);
  assert_true(strlen(info.vector_space) > 0);
  assert_string_equal(inspected.vector_space, "");
  assert_int_equal(inspected.dim, DIM);
  assert_memory_equal(info.rungs, inspected.rungs, sizeof info.rungs);
  close_lane(lane);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(golden_texts_cover_the_lengths),
      cmocka_unit_test(vectors_are_those_of_an_independent_implementation),
      cmocka_unit_test(texts_give_the_vectors_of_their_ids_in_the_order_of_the_input),
      cmocka_unit_test(the_tokenizer_gives_the_golden_ids),
      cmocka_unit_test(thread_mode_gives_the_same_bits),
      cmocka_unit_test(item_status_tells_each_row),
      cmocka_unit_test(info_says_what_runs),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
