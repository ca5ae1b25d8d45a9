/* Handles that nobody gave out, near to those that somebody did: every kind, generations next to the living
 * ones, indices inside and outside the tables, and random bits. Each must be answered, and the living objects
 * must not notice. The layout of the bits (kind 4, generation 36, index 24; a lease's index is core 12, rung
 * 4, record 8) is the library's own business; this test knows it in order to be a good forger. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "support.h"

enum { SHAPE = 128, LANE = 1, MODEL = 2, LEASE = 3, OP = 4, TOKENIZER = 5 };

static char* folder;
static anelane_lane lane;
static anelane_model model;
static anelane_tokenizer tokenizer;
static anelane_op op;
static anelane_lease lease;

static uint64_t make(uint64_t kind, uint64_t generation, uint64_t index) {
  return kind << 60 | (generation & ((UINT64_C(1) << 36) - 1)) << 24 | index;
}

static bool is_alive(uint64_t bits) {
  return bits == lane.bits || bits == model.bits || bits == tokenizer.bits || bits == op.bits ||
         bits == lease.bits;
}

static int set_up(void** state) {
  const int32_t ids[] = {2, 40, 41, 42, 3};
  const anelane_tokens item = {ids, 5};
  anelane_error err = NEW_ERROR();
  (void)state;
  folder = make_folder();
  write_tiny(path_in(folder, "tiny"), NULL);
  lane = open_in(folder);
  model = load_into(lane, path_in(folder, "tiny"));
  assert_status(ANELANE_OK, anelane_tokenizer_load(path_in(folder, "tiny"), &tokenizer, &err), &err);
  assert_status(ANELANE_OK, anelane_start_embed(model, &item, 1, in_ms(BOUND_MS), NULL, NULL, &op, &err),
                &err);
  assert_status(ANELANE_OK, anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
  /* A second record of the lease's book has been used and given back: its generation is even now. */
  anelane_lease other;
  assert_status(ANELANE_OK, anelane_lease_acquire(model, SHAPE, in_ms(BOUND_MS), &lease, &err), &err);
  assert_status(ANELANE_OK, anelane_lease_acquire(model, SHAPE, in_ms(BOUND_MS), &other, &err), &err);
  anelane_lease_release(other);
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  anelane_lease_release(lease);
  anelane_op_release(op);
  anelane_tokenizer_release(tokenizer);
  close_lane(lane);
  remove_folder(folder);
  return 0;
}

static void expect(anelane_status got, uint64_t bits, const char* call) {
  if (got == ANELANE_BAD_HANDLE || got == ANELANE_LEASE_EXPIRED) return;
  fail_msg("%s(%016llx) answered %s", call, (unsigned long long)bits, anelane_status_name(got));
}

/* Every function that takes a handle, with these bits for it. */
static void try_all(uint64_t bits) {
  const int32_t one = 5;
  const anelane_tokens item = {&one, 1};
  const char* text = "x";
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  anelane_model_info info = {.struct_size = sizeof info};
  anelane_port port = {.struct_size = sizeof port};
  anelane_tensor tensor = {0};
  anelane_model model_out;
  anelane_lease lease_out;
  anelane_op op_out;
  int32_t ids[4];
  float row[TINY_DIM];
  const float* floats;
  const void* bytes;
  size_t count, cols;
  uint64_t ms;
  int fd;
  if (is_alive(bits)) return;
#define TRY(name, ...) expect(name(__VA_ARGS__), bits, #name)
  TRY(anelane_lane_close, (anelane_lane){bits}, 0, NULL);
  TRY(anelane_lane_get_stats, (anelane_lane){bits}, &stats, NULL);
  TRY(anelane_lane_describe, (anelane_lane){bits}, NULL, 0, &count, NULL);
  TRY(anelane_lane_event_fd, (anelane_lane){bits}, &fd, NULL);
  TRY(anelane_lane_next_completion, (anelane_lane){bits}, &op_out, NULL, NULL);
  TRY(anelane_model_load, (anelane_lane){bits}, "x", NULL, 0, &model_out, NULL);
  TRY(anelane_start_load, (anelane_lane){bits}, "x", NULL, 0, NULL, NULL, &op_out, NULL);
  TRY(anelane_model_retire, (anelane_model){bits}, 0, NULL);
  TRY(anelane_model_get_info, (anelane_model){bits}, &info, NULL);
  TRY(anelane_model_ports, (anelane_model){bits}, SHAPE, &port, 1, &count, NULL);
  TRY(anelane_predict, (anelane_model){bits}, SHAPE, &ms, NULL);
  TRY(anelane_admit, (anelane_model){bits}, SHAPE, 0, NULL);
  TRY(anelane_lease_acquire, (anelane_model){bits}, SHAPE, 0, &lease_out, NULL);
  TRY(anelane_embed, (anelane_model){bits}, &item, 1, row, 0, NULL, 0, NULL);
  TRY(anelane_embed_texts, (anelane_model){bits}, &text, 1, row, 0, NULL, 0, NULL);
  TRY(anelane_start_lease, (anelane_model){bits}, SHAPE, 0, NULL, NULL, &op_out, NULL);
  TRY(anelane_start_embed, (anelane_model){bits}, &item, 1, 0, NULL, NULL, &op_out, NULL);
  TRY(anelane_start_retire, (anelane_model){bits}, 0, NULL, NULL, &op_out, NULL);
  TRY(anelane_lease_map, (anelane_lease){bits}, 0, &tensor, NULL);
  TRY(anelane_run, (anelane_lease){bits}, &tensor, 1, &tensor, 1, 0, NULL);
  TRY(anelane_start_run, (anelane_lease){bits}, &tensor, 1, 0, NULL, NULL, &op_out, NULL);
  TRY(anelane_op_wait, (anelane_op){bits}, 0, NULL);
  TRY(anelane_op_cancel, (anelane_op){bits});
  TRY(anelane_op_model, (anelane_op){bits}, &model_out, NULL);
  TRY(anelane_op_lease, (anelane_op){bits}, &lease_out, NULL);
  TRY(anelane_op_floats, (anelane_op){bits}, &floats, &count, &cols, NULL);
  TRY(anelane_op_output, (anelane_op){bits}, 0, &bytes, &count, NULL);
  TRY(anelane_tokenize, (anelane_tokenizer){bits}, "x", 1, ids, 4, &count, NULL);
  anelane_lease_release((anelane_lease){bits});
  anelane_op_release((anelane_op){bits});
  anelane_tokenizer_release((anelane_tokenizer){bits});
}

/* The objects that live do, and nothing else is pinned. */
static void assert_unharmed(void) {
  anelane_error err = NEW_ERROR();
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  anelane_tensor tensor;
  anelane_lease more[2];
  const float* floats;
  size_t rows, cols, count;
  assert_status(ANELANE_OK, anelane_lease_map(lease, 0, &tensor, &err), &err);
  assert_status(ANELANE_OK, anelane_op_floats(op, &floats, &rows, &cols, &err), &err);
  assert_status(ANELANE_OK, anelane_tokenize(tokenizer, "x", 1, NULL, 0, &count, &err), &err);
  for (int i = 0; i < 2; i++)
    assert_status(ANELANE_OK, anelane_lease_acquire(model, SHAPE, 0, &more[i], &err), &err);
  assert_true(more[0].bits != more[1].bits && more[0].bits != lease.bits && more[1].bits != lease.bits);
  for (int i = 0; i < 2; i++) anelane_lease_release(more[i]);
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  assert_int_equal(stats.leased, 1);
  assert_int_equal(stats.restarts, 0);
}

static void leases_of_every_near_generation_are_refused(void** state) {
  (void)state;
  /* Even generations are those of records that nobody holds: 0 of one never used, 2 of one given back. */
  for (uint64_t record = 0; record < 4; record++)
    for (uint64_t rung = 0; rung < 3; rung++)
      for (uint64_t generation = 0; generation < 8; generation++)
        try_all(make(LEASE, generation, (lease.bits & 0xfff000) | rung << 8 | record));
  assert_unharmed();
}

static void every_kind_at_every_border_is_refused(void** state) {
  const uint64_t generations[] = {0, 1, 2, 3, 4, 5, (UINT64_C(1) << 36) - 2, (UINT64_C(1) << 36) - 1};
  const uint64_t indices[] = {0, 1, 2, 255, 256, 4095, 4096, 0xfff000, 0xfffffe, 0xffffff};
  (void)state;
  for (uint64_t kind = 0; kind < 16; kind++)
    for (size_t g = 0; g < sizeof generations / sizeof generations[0]; g++)
      for (size_t i = 0; i < sizeof indices / sizeof indices[0]; i++) {
        /* A handle of a living object under another kind is as foreign as any. */
        try_all(make(kind, generations[g], indices[i]));
        try_all((model.bits & ~(UINT64_C(15) << 60)) | (kind != MODEL ? kind : 0) << 60);
      }
  assert_unharmed();
}

static void random_bits_of_every_kind_are_refused(void** state) {
  uint64_t x = UINT64_C(0x9e3779b97f4a7c15);
  (void)state;
  for (int i = 0; i < 20000; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    /* Whole random, and random only above a small index, where tables have entries. */
    try_all((x & ~(UINT64_C(15) << 60)) | (uint64_t)(1 + i % 5) << 60);
    try_all(make((uint64_t)(1 + i % 5), 8 + (x >> 28), (x & 0x300) | (x & 3)));
  }
  assert_unharmed();
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(leases_of_every_near_generation_are_refused),
      cmocka_unit_test(every_kind_at_every_border_is_refused),
      cmocka_unit_test(random_bits_of_every_kind_are_refused),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
