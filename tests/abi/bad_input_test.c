/* Bad input gets a clear error that names the file, field, item or limit, and nothing is lost: after each
 * refusal the lane serves as before. One lane and a good tiny model stay open all the time. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

static char* folder;
static anelane_lane lane;
static anelane_model good;
static float good_row[TINY_DIM];

static const int32_t ids[] = {2, 40, 41, 42, 3};

static void embed_good(float* row) {
  const anelane_tokens item = {ids, 5};
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_embed(good, &item, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
}

static int set_up(void** state) {
  (void)state;
  folder = make_folder();
  write_tiny(path_in(folder, "good"), NULL);
  lane = open_in(folder);
  good = load_into(lane, path_in(folder, "good"));
  embed_good(good_row);
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  close_lane(lane);
  remove_folder(folder);
  return 0;
}

/* Nothing is lost: the good model still gives the same vector. */
static int still_serves(void** state) {
  float row[TINY_DIM];
  (void)state;
  embed_good(row);
  return memcmp(row, good_row, sizeof row);
}

/* inspect and load refuse alike, and both messages hold both parts. */
static void refuse_checkpoint(const char* flaw, anelane_status status, const char* first,
                              const char* second) {
  const char* path = path_in(folder, flaw);
  anelane_error err = NEW_ERROR();
  anelane_model model = {5};
  write_tiny(path, flaw);
  assert_status(status, anelane_model_load(lane, path, NULL, in_ms(BOUND_MS), &model, &err), &err);
  assert_says(&err, first);
  assert_says(&err, second);
  assert_int_equal(err.error_class, ANELANE_PERMANENT);
  assert_int_equal(model.bits, 5);
}

static void a_missing_tensor_is_named(void** state) {
  (void)state;
  refuse_checkpoint("missing-tensor", ANELANE_MODEL_INVALID, "model.safetensors",
                    "encoder.layer.1.output.dense.weight");
}

static void a_tensor_of_another_type_is_named_with_both_types(void** state) {
  (void)state;
  refuse_checkpoint("wrong-dtype", ANELANE_MODEL_UNSUPPORTED, "encoder.layer.1.output.dense.weight", "I64");
}

static void a_tensor_of_another_shape_is_named_with_both_shapes(void** state) {
  (void)state;
  refuse_checkpoint("wrong-shape", ANELANE_MODEL_INVALID, "encoder.layer.1.output.dense.weight", "127");
}

static void hostile_weight_files_are_refused(void** state) {
  const char* const flaws[] = {"truncated-header", "truncated-data", "huge-header", "overlap",
                               "huge-offset",      "huge-shape",     "no-weights"};
  (void)state;
  for (size_t i = 0; i < sizeof flaws / sizeof flaws[0]; i++) {
    const char* path = path_in(folder, flaws[i]);
    anelane_error err = NEW_ERROR();
    anelane_model model;
    anelane_model_info info = {.struct_size = sizeof info};
    write_tiny(path, flaws[i]);
    const anelane_status status = anelane_model_load(lane, path, NULL, in_ms(BOUND_MS), &model, &err);
    print_message("%s: %s\n", flaws[i], err.message);
    assert_true(status == ANELANE_MODEL_INVALID || status == ANELANE_IO);
    assert_says(&err, "model.safetensors");
    assert_int_equal(anelane_model_inspect(path, &info, &err), status);
    assert_says(&err, "model.safetensors");
  }
}

static void an_unknown_architecture_is_unsupported(void** state) {
  (void)state;
  refuse_checkpoint("unknown-architecture", ANELANE_MODEL_UNSUPPORTED, "config.json", "WarpForTimeTravel");
}

static void a_broken_config_names_file_and_field(void** state) {
  (void)state;
  refuse_checkpoint("field-type", ANELANE_MODEL_INVALID, "config.json", "hidden_size");
  refuse_checkpoint("field-range", ANELANE_MODEL_INVALID, "config.json", "num_hidden_layers");
  refuse_checkpoint("config-syntax", ANELANE_MODEL_INVALID, "config.json", "byte");
}

static void paths_that_are_no_checkpoint_are_named(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_model model;
  anelane_model_info info = {.struct_size = sizeof info};
  const char* file = path_in(folder, "a-file");
  const char* hollow = path_in(folder, "hollow");
  const char* paths[] = {path_in(folder, "none"), file, hollow, ""};
  (void)state;
  write_text(file, "not a folder");
  mkdir(hollow, 0700);
  for (size_t i = 0; i < 4; i++) {
    const anelane_status status = anelane_model_load(lane, paths[i], NULL, in_ms(BOUND_MS), &model, &err);
    print_message("%s: %s\n", anelane_status_name(status), err.message);
    assert_int_not_equal(status, ANELANE_OK);
    assert_says(&err, paths[i]);
    assert_int_equal(err.error_class, ANELANE_PERMANENT);
    assert_int_equal(anelane_model_inspect(paths[i], &info, &err), status);
  }
}

static void an_empty_list_is_no_work(void** state) {
  anelane_error err = NEW_ERROR();
  float row[TINY_DIM];
  const anelane_status tokens = anelane_embed(good, NULL, 0, row, 0, NULL, in_ms(BOUND_MS), &err);
  const anelane_status texts = anelane_embed_texts(good, NULL, 0, row, 0, NULL, in_ms(BOUND_MS), &err);
  (void)state;
  /* A clear answer, and the same from both. */
  assert_int_equal(tokens, texts);
  assert_true(tokens == ANELANE_INVALID_ARGUMENT);
  assert_says(&err, "count");
}

static void l2_3_an_empty_sequence_names_its_item(void** state) {
  const anelane_tokens items[] = {{ids, 5}, {ids, 0}, {ids, 5}};
  anelane_error err = NEW_ERROR();
  anelane_status each[3] = {ANELANE_PENDING, ANELANE_PENDING, ANELANE_PENDING};
  float rows[3 * TINY_DIM] = {0};
  (void)state;
  assert_status(ANELANE_INVALID_SEQUENCE, anelane_embed(good, items, 3, rows, 0, each, in_ms(BOUND_MS), &err),
                &err);
  assert_int_equal(err.item, 1);
  assert_int_not_equal(each[0], ANELANE_OK); /* refused before anything runs */
  assert_int_not_equal(each[1], ANELANE_OK);
}

static void l2_3_a_sequence_over_the_ceiling_names_item_and_limit(void** state) {
  int32_t many[TINY_CEILING + 1];
  anelane_error err = NEW_ERROR();
  float rows[2 * TINY_DIM];
  (void)state;
  for (int i = 0; i <= TINY_CEILING; i++) many[i] = 7;
  anelane_tokens items[] = {{ids, 5}, {many, TINY_CEILING + 1}};
  assert_status(ANELANE_SEQUENCE_TOO_LONG,
                anelane_embed(good, items, 2, rows, 0, NULL, in_ms(BOUND_MS), &err), &err);
  assert_int_equal(err.item, 1);
  assert_int_equal(err.limit, TINY_CEILING);
  items[1].count = TINY_CEILING; /* exactly the ceiling is served */
  assert_status(ANELANE_OK, anelane_embed(good, items, 2, rows, 0, NULL, in_ms(BOUND_MS), &err), &err);
}

static void ids_outside_the_vocabulary_name_their_item(void** state) {
  const int32_t bad[] = {-1, INT32_MIN, 1000000, INT32_MAX};
  anelane_error err = NEW_ERROR();
  float rows[2 * TINY_DIM];
  (void)state;
  for (size_t i = 0; i < 4; i++) {
    const int32_t sequence[] = {2, bad[i], 3};
    const anelane_tokens items[] = {{ids, 5}, {sequence, 3}};
    assert_status(ANELANE_INVALID_SEQUENCE,
                  anelane_embed(good, items, 2, rows, 0, NULL, in_ms(BOUND_MS), &err), &err);
    assert_int_equal(err.item, 1);
  }
}

static void bad_texts_name_their_item(void** state) {
  const char* const invalid[] = {"fine", "also fine", "not \xff fine"};
  const char* const missing[] = {"fine", NULL};
  char longest[4 * TINY_CEILING];
  const char* const over[] = {"fine", longest};
  anelane_error err = NEW_ERROR();
  float rows[3 * TINY_DIM];
  (void)state;
  assert_status(ANELANE_INVALID_ARGUMENT,
                anelane_embed_texts(good, invalid, 3, rows, 0, NULL, in_ms(BOUND_MS), &err), &err);
  assert_int_equal(err.item, 2);
  assert_says(&err, "UTF-8");
  assert_status(ANELANE_INVALID_ARGUMENT,
                anelane_embed_texts(good, missing, 2, rows, 0, NULL, in_ms(BOUND_MS), &err), &err);
  assert_int_equal(err.item, 1);
  for (size_t i = 0; i < sizeof longest; i++) longest[i] = i % 2 == 0 ? '!' : ' ';
  longest[sizeof longest - 1] = '\0';
  assert_status(ANELANE_SEQUENCE_TOO_LONG,
                anelane_embed_texts(good, over, 2, rows, 0, NULL, in_ms(BOUND_MS), &err), &err);
  assert_int_equal(err.item, 1);
  assert_int_equal(err.limit, TINY_CEILING);
}

static void a_stride_shorter_than_a_row_is_refused(void** state) {
  const anelane_tokens item = {ids, 5};
  anelane_error err = NEW_ERROR();
  float rows[TINY_DIM];
  (void)state;
  assert_status(ANELANE_INVALID_ARGUMENT,
                anelane_embed(good, &item, 1, rows, TINY_DIM - 1, NULL, in_ms(BOUND_MS), &err), &err);
  assert_says(&err, "row_stride");
}

static void ladders_that_cannot_be_are_refused(void** state) {
  const uint32_t unordered[] = {128, 64}, odd[] = {100}, beyond[] = {128, 512}, zero[] = {0},
                 twice[] = {64, 64};
  const struct {
    const uint32_t* rungs;
    uint32_t count;
  } cases[] = {{unordered, 2}, {odd, 1}, {beyond, 2}, {zero, 1}, {twice, 2}, {NULL, 2}, {unordered, 17}};
  anelane_error err = NEW_ERROR();
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
    anelane_model_options options;
    anelane_model model;
    anelane_model_options_init(&options, sizeof options);
    options.rungs = cases[i].rungs;
    options.rung_count = cases[i].count;
    if (cases[i].count == 17) { /* more than an info struct can hold */
      static uint32_t many[17];
      for (uint32_t k = 0; k < 17; k++) many[k] = 32 * (k + 1);
      options.rungs = many;
    }
    assert_status(ANELANE_INVALID_ARGUMENT,
                  anelane_model_load(lane, path_in(folder, "good"), &options, in_ms(BOUND_MS), &model, &err),
                  &err);
    assert_says(&err, "rung");
  }
}

static void a_shape_off_the_ladder_is_unknown(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_lease lease;
  uint64_t ms;
  (void)state;
  assert_status(ANELANE_SHAPE_UNKNOWN, anelane_admit(good, 96, in_ms(1000), &err), &err);
  assert_int_equal(err.shape, 96);
  assert_status(ANELANE_SHAPE_UNKNOWN, anelane_lease_acquire(good, 0, in_ms(1000), &lease, &err), &err);
  assert_status(ANELANE_SHAPE_UNKNOWN, anelane_predict(good, UINT32_MAX, &ms, &err), &err);
}

static void workers_that_are_none_are_unavailable(void** state) {
  char* other = make_folder();
  const char* script = path_in(other, "other-worker");
  const char* paths[] = {path_in(other, "none"), other, path_in(other, "no-program"), script};
  (void)state;
  write_text(path_in(other, "no-program"), "text");
  write_text(script, "#!/bin/sh\nexit 0\n");
  chmod(script, 0700);
  for (size_t i = 0; i < 4; i++) {
    anelane_lane_options options = options_in(other);
    anelane_lane bad = {0};
    anelane_model model;
    anelane_error err = NEW_ERROR();
    options.worker_path = paths[i];
    anelane_status status = anelane_lane_open(&options, in_ms(BOUND_MS), &bad, &err);
    if (status == ANELANE_OK)
      status = anelane_model_load(bad, path_in(folder, "good"), NULL, in_ms(BOUND_MS), &model, &err);
    print_message("%s: %s\n", anelane_status_name(status), err.message);
    assert_int_equal(status, ANELANE_ENGINE_UNAVAILABLE);
    assert_int_equal(err.error_class, ANELANE_PERMANENT); /* nobody should try /bin/true again and again */
    assert_says(&err, paths[i]);
    if (bad.bits != 0) close_lane(bad);
  }
  remove_folder(other);
}

/* The worker of this build with one character of its build id changed: it runs, and must not be believed. */
static void make_foreign_worker(const char* path) {
  char* bytes = malloc(64u << 20);
  const char* version = anelane_version();
  FILE* file = fopen(ANELANE_WORKER_FILE, "rb");
  assert_non_null(file);
  const size_t size = fread(bytes, 1, 64u << 20, file);
  fclose(file);
  size_t changed = 0;
  for (char* at = bytes; (at = memmem(at, size - (size_t)(at - bytes), version, strlen(version))) != NULL;
       changed++)
    at[strlen(version) - 1] = at[strlen(version) - 1] == '0' ? '1' : '0';
  assert_true(changed > 0);
  file = fopen(path, "wb");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
  assert_int_equal(chmod(path, 0700), 0);
  free(bytes);
}

static void a_worker_of_another_build_is_refused_with_both_builds(void** state) {
  char* other = make_folder();
  const char* worker = path_in(other, "worker");
  anelane_lane_options options = options_in(other);
  anelane_lane foreign;
  anelane_model model;
  anelane_error err = NEW_ERROR();
  pid_t left[1];
  (void)state;
  make_foreign_worker(worker);
  options.worker_path = worker;
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &foreign, &err), &err);
  const anelane_status status =
      anelane_model_load(foreign, path_in(folder, "good"), NULL, in_ms(BOUND_MS), &model, &err);
  print_message("%s: %s\n", anelane_status_name(status), err.message);
  assert_true(status == ANELANE_ENGINE_UNAVAILABLE || status == ANELANE_PROTOCOL);
  assert_int_equal(err.error_class, ANELANE_PERMANENT);
  assert_says(&err, worker);
  assert_says(&err, anelane_version());
  close_lane(foreign);
  assert_int_equal(children_of_self(left, 1), 1); /* the good model's worker alone */
  remove_folder(other);
}

static void lock_folders_that_are_none_are_named(void** state) {
  char* other = make_folder();
  const char* file = path_in(other, "file");
  const char* loop = path_in(other, "loop");
  const char* nowhere = path_in(other, "nowhere");
  const char* paths[] = {file, path_in(file, "below"), "relative/folder",
                         loop, path_in(loop, "below"), nowhere};
  const char* says[] = {"Not a directory", "Not a directory", "absolute",
                        "circle",          "circle",          "leads nowhere"};
  (void)state;
  write_text(file, "");
  assert_int_equal(symlink(loop, loop), 0);
  assert_int_equal(symlink(path_in(other, "gone"), nowhere), 0);
  for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
    anelane_lane_options options = options_in(paths[i]);
    anelane_lane none = {0};
    anelane_error err = NEW_ERROR();
    const anelane_status status = anelane_lane_open(&options, 0, &none, &err);
    print_message("%s: %s\n", anelane_status_name(status), err.message);
    assert_true(status == ANELANE_IO || status == ANELANE_INVALID_ARGUMENT);
    assert_says(&err, paths[i]);
    assert_says(&err, says[i]);
    /* Looking says the same, or that nobody holds what is not there; and it creates nothing. */
    anelane_holder holder = {.struct_size = sizeof holder};
    assert_true(anelane_lane_holder(paths[i], &holder, NULL) != ANELANE_OK || holder.held == 0);
    assert_int_not_equal(access("relative/folder", F_OK), 0);
  }
  remove_folder(other);
}

int main(void) {
#define CASE(name) cmocka_unit_test_teardown(name, still_serves)
  const struct CMUnitTest tests[] = {
      CASE(a_missing_tensor_is_named),
      CASE(a_tensor_of_another_type_is_named_with_both_types),
      CASE(a_tensor_of_another_shape_is_named_with_both_shapes),
      CASE(hostile_weight_files_are_refused),
      CASE(an_unknown_architecture_is_unsupported),
      CASE(a_broken_config_names_file_and_field),
      CASE(paths_that_are_no_checkpoint_are_named),
      CASE(an_empty_list_is_no_work),
      CASE(l2_3_an_empty_sequence_names_its_item),
      CASE(l2_3_a_sequence_over_the_ceiling_names_item_and_limit),
      CASE(ids_outside_the_vocabulary_name_their_item),
      CASE(bad_texts_name_their_item),
      CASE(a_stride_shorter_than_a_row_is_refused),
      CASE(ladders_that_cannot_be_are_refused),
      CASE(a_shape_off_the_ladder_is_unknown),
      CASE(workers_that_are_none_are_unavailable),
      CASE(a_worker_of_another_build_is_refused_with_both_builds),
      CASE(lock_folders_that_are_none_are_named),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
