/* What lives on when callers are careless: completions that nobody fetches, operations released before their
 * end, lanes opened and closed all day, retired models. Measured in descriptors, threads and bytes of the
 * heap (mallinfo2), which a lane that lives on would show at once. */
#define _GNU_SOURCE
#include <malloc.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

static const int32_t ids[] = {2, 40, 41, 42, 3};
static const anelane_tokens item = {ids, 5};

static size_t heap_bytes(void) {
  malloc_trim(0);
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

/* A lane whose every end is left lying about: queued and never fetched, released while it runs, released
 * after its end, and one that ends with the close. */
static void careless_round(const char* folder) {
  anelane_lane_options options = options_in(folder);
  anelane_lane lane;
  anelane_op ops[6];
  anelane_error err = NEW_ERROR();
  options.worker_mode = ANELANE_WORKER_THREAD;
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  const anelane_model model = load_into(lane, path_in(folder, "tiny"));
  for (int i = 0; i < 6; i++)
    assert_status(ANELANE_OK,
                  anelane_start_embed(model, &item, 1, in_ms(BOUND_MS), NULL, NULL, &ops[i], &err), &err);
  anelane_op_release(ops[0]);
  anelane_op_release(ops[1]);
  for (int i = 2; i < 4; i++) assert_status(ANELANE_OK, anelane_op_wait(ops[i], in_ms(BOUND_MS), &err), &err);
  anelane_op_release(ops[2]);
  close_lane(lane);
  for (int i = 3; i < 6; i++) anelane_op_release(ops[i]);
}

static void two_hundred_careless_lanes_leave_nothing(void** state) {
  enum { LANES = 200, WARM = 20, SLACK = 256 * 1024 };
  char* folder = make_folder();
  char* before = NULL;
  size_t heap = 0;
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  for (int i = 0; i < LANES; i++) {
    careless_round(folder);
    if (i + 1 != WARM) continue;
    before = inventory(folder);
    heap = heap_bytes();
  }
  assert_nothing_left(before, folder);
  const size_t now = heap_bytes();
  print_message("heap after %d lanes %zu bytes, after %d %zu\n", WARM, heap, LANES, now);
  assert_true(now < heap + SLACK);
  free(before);
  remove_folder(folder);
}

static void releasing_an_operation_drops_its_queued_completion(void** state) {
  char* folder = make_folder();
  anelane_op early, late, kept, next;
  void* user = NULL;
  anelane_error err = NEW_ERROR();
  int fd = -1, mark = 0;
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, path_in(folder, "tiny"));
  assert_status(ANELANE_OK, anelane_lane_event_fd(lane, &fd, &err), &err);
  /* Released before its end: nobody will hear of it. */
  assert_status(ANELANE_OK, anelane_start_embed(model, &item, 1, in_ms(BOUND_MS), NULL, NULL, &early, &err),
                &err);
  anelane_op_release(early);
  /* Released after its end, which is queued. */
  assert_status(ANELANE_OK, anelane_start_embed(model, &item, 1, in_ms(BOUND_MS), NULL, NULL, &late, &err),
                &err);
  assert_status(ANELANE_OK, anelane_op_wait(late, in_ms(BOUND_MS), &err), &err);
  assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 1);
  anelane_op_release(late);
  assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 0);
  assert_status(ANELANE_PENDING, anelane_lane_next_completion(lane, &next, &user, &err), &err);
  /* The queue still works for those who keep their handles. */
  assert_status(ANELANE_OK, anelane_start_embed(model, &item, 1, in_ms(BOUND_MS), NULL, &mark, &kept, &err),
                &err);
  assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, BOUND_MS), 1);
  assert_status(ANELANE_OK, anelane_lane_next_completion(lane, &next, &user, &err), &err);
  assert_true(next.bits == kept.bits && user == &mark);
  anelane_op_release(kept);
  close_lane(lane);
  remove_folder(folder);
}

static void a_retired_model_gives_its_tokenizer_back_and_says_that_it_is_retired(void** state) {
  char* folder = make_folder();
  const char* text = "hello";
  static float row[384];
  size_t count = 0;
  uint64_t ms = 0;
  anelane_lease lease;
  anelane_error err = NEW_ERROR();
  (void)state;
  const anelane_lane lane = open_in(folder);
  const anelane_model model = load_into(lane, test_model());
  const size_t without = heap_bytes();
  assert_status(ANELANE_OK, anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
  const size_t with = heap_bytes();
  assert_status(ANELANE_OK, anelane_model_retire(model, in_ms(BOUND_MS), &err), &err);
  const size_t after = heap_bytes();
  print_message("heap %zu bytes, with the tokenizer %zu, after the retirement %zu\n", without, with, after);
  assert_true(with - without > 1000000); /* 30,522 entries */
  assert_true(after < without + (with - without) / 10);
  assert_status(ANELANE_RETIRED, anelane_embed_texts(model, &text, 1, row, 0, NULL, in_ms(BOUND_MS), &err),
                &err);
  assert_status(ANELANE_RETIRED, anelane_admit(model, 128, in_ms(BOUND_MS), &err), &err);
  assert_status(ANELANE_RETIRED, anelane_lease_acquire(model, 128, in_ms(BOUND_MS), &lease, &err), &err);
  assert_status(ANELANE_RETIRED, anelane_predict(model, 128, &ms, &err), &err);
  assert_status(ANELANE_OK, anelane_model_ports(model, 128, NULL, 0, &count, &err), &err); /* still known */
  assert_true(heap_bytes() < without + (with - without) / 10); /* nobody has read it again */
  close_lane(lane);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(two_hundred_careless_lanes_leave_nothing),
      cmocka_unit_test(releasing_an_operation_drops_its_queued_completion),
      cmocka_unit_test(a_retired_model_gives_its_tokenizer_back_and_says_that_it_is_retired),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
