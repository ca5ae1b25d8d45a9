/* Every function with nothing, with handles that nobody gave out, and with structs of the wrong size: an
 * answer each time, never a crash, and outputs stay as they were. No lane is opened here but for handles of
 * the wrong kind. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support.h"

static void abi_version_and_names(void** state) {
  (void)state;
  assert_int_equal(anelane_abi_version(), ANELANE_ABI_VERSION);
  assert_true(strlen(anelane_version()) >= 5);
  assert_string_equal(anelane_status_name(ANELANE_OK), "OK");
  assert_string_equal(anelane_status_name(ANELANE_SHAPE_COMPILING), "SHAPE_COMPILING");
  assert_string_equal(anelane_status_name(ANELANE_PENDING), "PENDING");
  assert_string_equal(anelane_status_name(ANELANE_PENDING + 1), "UNKNOWN");
  assert_string_equal(anelane_status_name(-1), "UNKNOWN");
  assert_string_equal(anelane_status_name(INT32_MAX), "UNKNOWN");
  for (anelane_status s = ANELANE_OK; s <= ANELANE_PENDING; s++)
    assert_string_not_equal(anelane_status_name(s), "UNKNOWN");
  const uint64_t first = anelane_now_ns();
  assert_true(anelane_now_ns() >= first);
}

static void error_text_is_bounded_and_whole(void** state) {
  (void)state;
  anelane_error err = NEW_ERROR();
  char text[1024], small[8];
  assert_int_equal(anelane_error_text(NULL, text, sizeof text), 0);
  assert_string_equal(text, "");
  assert_int_equal(anelane_lane_open(NULL, 0, NULL, &err), ANELANE_INVALID_ARGUMENT);
  const size_t length = anelane_error_text(&err, text, sizeof text);
  assert_int_equal(length, strlen(text));
  assert_non_null(strstr(text, "INVALID_ARGUMENT"));
  assert_non_null(strstr(text, err.message));
  assert_null(strchr(text, '\n'));
  memset(small, '#', sizeof small);
  assert_int_equal(anelane_error_text(&err, small, 5), length);
  assert_memory_equal(small, text, 4);
  assert_int_equal(small[4], '\0');
  assert_int_equal(small[5], '#');
  assert_int_equal(anelane_error_text(&err, NULL, 0), length);
  /* A struct that is not zero-terminated is read no further than it goes. */
  memset(err.message, 'm', sizeof err.message);
  memset(err.model, 'n', sizeof err.model);
  assert_true(anelane_error_text(&err, text, sizeof text) < sizeof text);
}

static void option_defaults_fill_what_the_caller_has(void** state) {
  (void)state;
  anelane_lane_options lane;
  memset(&lane, 0xee, sizeof lane);
  anelane_lane_options_init(&lane, sizeof lane);
  assert_int_equal(lane.struct_size, sizeof lane);
  assert_int_equal(lane.executable_budget, 100);
  assert_int_equal(lane.shapes_per_model, 4);
  assert_int_equal(lane.shapes_total, 8);
  assert_int_equal(lane.lease_max_ms, 30000);
  assert_int_equal(lane.admission_bound_ms, 600000);
  assert_null(lane.lock_dir);
  assert_null(lane.record_path);
  for (size_t i = 0; i < 4; i++) assert_int_equal(lane.reserved[i], 0);
  anelane_model_options model;
  memset(&model, 0xee, sizeof model);
  anelane_model_options_init(&model, sizeof model);
  assert_int_equal(model.struct_size, sizeof model);
  assert_int_equal(model.rung_count, 0);
  assert_null(model.progress);
  /* An older header, with a shorter struct: nothing behind it is written. */
  memset(&lane, 0xee, sizeof lane);
  anelane_lane_options_init(&lane, offsetof(anelane_lane_options, lock_dir));
  assert_int_equal(lane.struct_size, offsetof(anelane_lane_options, lock_dir));
  assert_int_equal(((unsigned char*)&lane.lock_dir)[0], 0xee);
  anelane_lane_options_init(NULL, sizeof lane);
  anelane_model_options_init(NULL, 0);
  /* A newer header, with a longer struct: its unknown rest is zero. */
  unsigned char longer[sizeof lane + 32];
  memset(longer, 0xee, sizeof longer);
  anelane_lane_options_init((anelane_lane_options*)(void*)longer, sizeof longer);
  for (size_t i = sizeof lane; i < sizeof longer; i++) assert_int_equal(longer[i], 0);
}

/* Each of these is called with a handle that is null, then forged. */
static void forged_handles_are_bad_handles(void** state) {
  (void)state;
  const uint64_t bits[] = {0, 1, FORGED, UINT64_MAX};
  for (size_t i = 0; i < sizeof bits / sizeof bits[0]; i++) {
    const anelane_lane lane = {bits[i]};
    const anelane_model model = {bits[i]};
    const anelane_lease lease = {bits[i]};
    const anelane_op op = {bits[i]};
    const anelane_tokenizer tokenizer = {bits[i]};
    anelane_error err = NEW_ERROR();
    anelane_lane_stats stats = {.struct_size = sizeof stats};
    anelane_model_info info = {.struct_size = sizeof info};
    anelane_port port = {.struct_size = sizeof port};
    anelane_tensor tensor = {0};
    anelane_model model_out = {77};
    anelane_lease lease_out = {77};
    anelane_op op_out = {77};
    int fd = 77;
    size_t count = 77, rows = 77, cols = 77;
    uint64_t ms = 77;
    int32_t ids[4];
    float row[4];
    void* user = NULL;
    const float* floats = NULL;
    const void* bytes = NULL;
    const int32_t one = 1;
    const anelane_tokens item = {&one, 1};
    const char* text = "x";
#define BAD(call) assert_status(ANELANE_BAD_HANDLE, (call), &err)
    BAD(anelane_lane_close(lane, 0, &err));
    BAD(anelane_lane_get_stats(lane, &stats, &err));
    BAD(anelane_lane_describe(lane, NULL, 0, &count, &err));
    BAD(anelane_lane_event_fd(lane, &fd, &err));
    BAD(anelane_lane_next_completion(lane, &op_out, &user, &err));
    BAD(anelane_model_load(lane, "x", NULL, 0, &model_out, &err));
    BAD(anelane_start_load(lane, "x", NULL, 0, NULL, NULL, &op_out, &err));
    BAD(anelane_model_retire(model, 0, &err));
    BAD(anelane_model_get_info(model, &info, &err));
    BAD(anelane_model_ports(model, 128, &port, 1, &count, &err));
    BAD(anelane_predict(model, 128, &ms, &err));
    BAD(anelane_admit(model, 128, 0, &err));
    BAD(anelane_lease_acquire(model, 128, 0, &lease_out, &err));
    BAD(anelane_embed(model, &item, 1, row, 0, NULL, 0, &err));
    BAD(anelane_embed_texts(model, &text, 1, row, 0, NULL, 0, &err));
    BAD(anelane_start_lease(model, 128, 0, NULL, NULL, &op_out, &err));
    BAD(anelane_start_embed(model, &item, 1, 0, NULL, NULL, &op_out, &err));
    BAD(anelane_start_embed_texts(model, &text, 1, 0, NULL, NULL, &op_out, &err));
    BAD(anelane_start_retire(model, 0, NULL, NULL, &op_out, &err));
    BAD(anelane_lease_map(lease, 0, &tensor, &err));
    BAD(anelane_run(lease, &tensor, 1, &tensor, 1, 0, &err));
    BAD(anelane_start_run(lease, &tensor, 1, 0, NULL, NULL, &op_out, &err));
    BAD(anelane_op_wait(op, 0, &err));
    BAD(anelane_op_cancel(op));
    BAD(anelane_op_model(op, &model_out, &err));
    BAD(anelane_op_lease(op, &lease_out, &err));
    BAD(anelane_op_floats(op, &floats, &rows, &cols, &err));
    BAD(anelane_op_output(op, 0, &bytes, &count, &err));
    BAD(anelane_tokenize(tokenizer, "x", 1, ids, 4, &count, &err));
    anelane_lease_release(lease);
    anelane_op_release(op);
    anelane_tokenizer_release(tokenizer);
    /* The same with err NULL, and outputs untouched. */
    assert_int_equal(anelane_lane_close(lane, 0, NULL), ANELANE_BAD_HANDLE);
    assert_int_equal(anelane_embed(model, &item, 1, row, 0, NULL, 0, NULL), ANELANE_BAD_HANDLE);
    assert_int_equal(anelane_run(lease, NULL, 0, NULL, 0, 0, NULL), ANELANE_BAD_HANDLE);
    assert_int_equal(anelane_op_wait(op, 0, NULL), ANELANE_BAD_HANDLE);
    assert_true(model_out.bits == 77 && lease_out.bits == 77 && op_out.bits == 77);
    assert_true(fd == 77 && count == 77 && rows == 77 && cols == 77 && ms == 77);
  }
}

static void null_pointers_are_named(void** state) {
  char* folder = make_folder();
  anelane_error err = NEW_ERROR();
  anelane_holder holder = {.struct_size = sizeof holder};
  anelane_model_info info = {.struct_size = sizeof info};
  anelane_tokenizer tokenizer;
  const anelane_lane lane = open_in(folder);
  (void)state;
#define INVALID(call, name)                                 \
  do {                                                      \
    err = NEW_ERROR();                                      \
    assert_status(ANELANE_INVALID_ARGUMENT, (call), &err);  \
    assert_says(&err, name);                                \
    assert_int_equal(err.status, ANELANE_INVALID_ARGUMENT); \
    assert_int_equal(err.error_class, ANELANE_PERMANENT);   \
  } while (0)
  INVALID(anelane_lane_open(NULL, 0, NULL, &err), "out");
  INVALID(anelane_lane_get_stats(lane, NULL, &err), "out");
  INVALID(anelane_lane_event_fd(lane, NULL, &err), "fd");
  INVALID(anelane_lane_next_completion(lane, NULL, NULL, &err), "out");
  INVALID(anelane_lane_holder(folder, NULL, &err), "out");
  INVALID(anelane_lane_peek(folder, NULL, 1, NULL, &err), "buf");
  INVALID(anelane_model_inspect(NULL, &info, &err), "path");
  INVALID(anelane_replay(NULL, NULL, NULL, 0, NULL, &err), "path");
  INVALID(anelane_replay("x", NULL, NULL, 1, NULL, &err), "buf");
  INVALID(anelane_model_inspect("x", NULL, &err), "out");
  INVALID(anelane_model_load(lane, NULL, NULL, 0, &(anelane_model){0}, &err), "path");
  INVALID(anelane_model_load(lane, "x", NULL, 0, NULL, &err), "out");
  INVALID(anelane_start_load(lane, "x", NULL, 0, NULL, NULL, NULL, &err), "out");
  INVALID(anelane_tokenizer_load(NULL, &tokenizer, &err), "path");
  INVALID(anelane_tokenizer_load("x", NULL, &err), "out");
  assert_status(ANELANE_OK, anelane_lane_holder(folder, &holder, NULL), NULL);
  close_lane(lane);
  remove_folder(folder);
}

static void struct_sizes_that_cannot_be_are_refused(void** state) {
  char* folder = make_folder();
  anelane_lane_options options = options_in(folder);
  anelane_lane lane = {0};
  anelane_error err = NEW_ERROR();
  anelane_holder holder = {.struct_size = 0};
  anelane_model_info info = {.struct_size = 3};
  (void)state;
  options.struct_size = 0;
  INVALID(anelane_lane_open(&options, 0, &lane, &err), "struct_size");
  options.struct_size = 7;
  INVALID(anelane_lane_open(&options, 0, &lane, &err), "struct_size");
  INVALID(anelane_lane_holder(folder, &holder, &err), "struct_size");
  INVALID(anelane_model_inspect("x", &info, &err), "struct_size");
  /* An error struct of no size gets nothing written behind its head, and the status all the same. */
  anelane_error none;
  memset(&none, 0xee, sizeof none);
  none.struct_size = 0;
  assert_int_equal(anelane_lane_open(NULL, 0, NULL, &none), ANELANE_INVALID_ARGUMENT);
  for (size_t i = 4; i < sizeof none; i++) assert_int_equal(((unsigned char*)&none)[i], 0xee);
  /* One of an older, shorter header gets what fits. */
  none.struct_size = offsetof(anelane_error, model);
  assert_int_equal(anelane_lane_open(NULL, 0, NULL, &none), ANELANE_INVALID_ARGUMENT);
  assert_int_equal(none.status, ANELANE_INVALID_ARGUMENT);
  assert_int_equal(((unsigned char*)none.model)[0], 0xee);
  /* A longer option struct of a newer header is fine as long as what we do not know is zero. */
  struct {
    anelane_lane_options known;
    uint64_t more[2];
  } newer = {.known = options_in(folder)};
  newer.known.struct_size = sizeof newer;
  assert_status(ANELANE_OK, anelane_lane_open(&newer.known, in_ms(BOUND_MS), &lane, &err), &err);
  close_lane(lane);
  remove_folder(folder);
}

static void lane_options_are_checked_by_name(void** state) {
  char* folder = make_folder();
  anelane_error err = NEW_ERROR();
  anelane_lane lane = {99};
  (void)state;
#define REFUSED_FIELD(field, value)                               \
  do {                                                            \
    anelane_lane_options options = options_in(folder);            \
    options.field = (value);                                      \
    INVALID(anelane_lane_open(&options, 0, &lane, &err), #field); \
  } while (0)
  REFUSED_FIELD(engine, 3);
  REFUSED_FIELD(engine, -1);
  REFUSED_FIELD(worker_mode, 2);
  REFUSED_FIELD(flags, 0x80000000u);
  REFUSED_FIELD(executable_budget, 0);
  REFUSED_FIELD(shapes_per_model, 0);
  REFUSED_FIELD(shapes_total, 0);
  REFUSED_FIELD(max_waiting, 0);
  anelane_lane_options options = options_in(folder);
  options.reserved[3] = 1;
  INVALID(anelane_lane_open(&options, 0, &lane, &err), "reserved");
  assert_int_equal(lane.bits, 99);
  remove_folder(folder);
}

static void handles_of_another_kind_are_bad_handles(void** state) {
  char* folder = make_folder();
  const anelane_lane lane = open_in(folder);
  anelane_error err = NEW_ERROR();
  anelane_model_info info = {.struct_size = sizeof info};
  (void)state;
  assert_status(ANELANE_BAD_HANDLE, anelane_model_get_info((anelane_model){lane.bits}, &info, &err), &err);
  assert_status(ANELANE_BAD_HANDLE, anelane_op_wait((anelane_op){lane.bits}, 0, &err), &err);
  anelane_lease_release((anelane_lease){lane.bits});
  anelane_op_release((anelane_op){lane.bits});
  anelane_tokenizer_release((anelane_tokenizer){lane.bits});
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  close_lane(lane);
  /* Stale: the same lane again, and once closed, never anything else. */
  assert_status(ANELANE_BAD_HANDLE, anelane_lane_close(lane, 0, &err), &err);
  const anelane_lane next = open_in(folder);
  assert_true(next.bits != lane.bits);
  assert_status(ANELANE_BAD_HANDLE, anelane_lane_get_stats(lane, &stats, &err), &err);
  close_lane(next);
  remove_folder(folder);
}

static void the_log_hook_stands_before_the_first_lane(void** state) {
  (void)state;
  /* The lanes of the tests before this one have been opened in this process already. */
  assert_int_equal(anelane_set_log(NULL, NULL, ANELANE_LOG_INFO), ANELANE_INVALID_ARGUMENT);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(abi_version_and_names),
      cmocka_unit_test(error_text_is_bounded_and_whole),
      cmocka_unit_test(option_defaults_fill_what_the_caller_has),
      cmocka_unit_test(forged_handles_are_bad_handles),
      cmocka_unit_test(null_pointers_are_named),
      cmocka_unit_test(struct_sizes_that_cannot_be_are_refused),
      cmocka_unit_test(lane_options_are_checked_by_name),
      cmocka_unit_test(handles_of_another_kind_are_bad_handles),
      cmocka_unit_test(the_log_hook_stands_before_the_first_lane),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
