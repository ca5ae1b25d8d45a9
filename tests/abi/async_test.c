/* The asynchronous forms: the callback comes once and after *out, results belong to the operation, cancel
 * asks only, event loops have a descriptor, and what must not be done in a callback is answered. A tiny model
 * keeps it quick. */
#define _GNU_SOURCE
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

static char* folder;
static anelane_lane lane;
static anelane_model model;
static const int32_t ids[] = {2, 40, 41, 42, 3};
static const anelane_tokens item = {ids, 5};
static float right[TINY_DIM];

static int set_up(void** state) {
  anelane_error err = NEW_ERROR();
  (void)state;
  folder = make_folder();
  write_tiny(path_in(folder, "tiny"), NULL);
  lane = open_in(folder);
  model = load_into(lane, path_in(folder, "tiny"));
  assert_status(ANELANE_OK, anelane_embed(model, &item, 1, right, 0, NULL, in_ms(BOUND_MS), &err), &err);
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  close_lane(lane);
  remove_folder(folder);
  return 0;
}

/* What a callback saw; `ended` last. */
struct seen {
  pthread_t thread;
  anelane_op op;
  anelane_status status;
  atomic_int calls;
  atomic_int ended;
  anelane_op* out; /* where start wrote the handle */
  int out_was_written;
  anelane_status inside[4];
};

static void on_done(void* user, anelane_op op, anelane_status status) {
  struct seen* seen = user;
  seen->thread = pthread_self();
  seen->op = op;
  seen->status = status;
  if (seen->out != NULL) seen->out_was_written = seen->out->bits == op.bits;
  atomic_fetch_add(&seen->calls, 1);
  atomic_store(&seen->ended, 1);
}

static void wait_for(struct seen* seen) {
  for (int i = 0; i < 60000 && !atomic_load(&seen->ended); i++)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  assert_int_equal(atomic_load(&seen->ended), 1);
}

static void a_callback_comes_once_and_finds_the_handle_written(void** state) {
  anelane_op op = {0};
  struct seen seen = {.out = &op};
  anelane_error err = NEW_ERROR();
  const float* floats;
  size_t rows, cols;
  (void)state;
  assert_status(ANELANE_OK, anelane_start_embed(model, &item, 1, in_ms(BOUND_MS), on_done, &seen, &op, &err),
                &err);
  wait_for(&seen);
  assert_int_equal(seen.status, ANELANE_OK);
  assert_int_equal(seen.out_was_written, 1);
  assert_true(seen.op.bits == op.bits);
  assert_false(pthread_equal(seen.thread, pthread_self()));
  assert_status(ANELANE_OK, anelane_op_wait(op, 0, &err), &err);
  assert_status(ANELANE_OK, anelane_op_floats(op, &floats, &rows, &cols, &err), &err);
  assert_int_equal(rows, 1);
  assert_int_equal(cols, TINY_DIM);
  assert_memory_equal(floats, right, sizeof right);
  /* What this operation does not have. */
  anelane_model no_model;
  anelane_lease no_lease;
  const void* bytes;
  size_t size;
  assert_int_not_equal(anelane_op_model(op, &no_model, &err), ANELANE_OK);
  assert_int_not_equal(anelane_op_lease(op, &no_lease, &err), ANELANE_OK);
  assert_int_not_equal(anelane_op_output(op, 0, &bytes, &size, &err), ANELANE_OK);
  anelane_op_release(op);
  assert_status(ANELANE_BAD_HANDLE, anelane_op_wait(op, 0, &err), &err);
  anelane_op_release(op);
  assert_int_equal(seen.calls, 1);
}

static void inputs_are_copied_before_start_returns(void** state) {
  anelane_op ops[16];
  anelane_error err = NEW_ERROR();
  (void)state;
  for (int i = 0; i < 16; i++) {
    int32_t* mine = malloc(sizeof ids);
    anelane_tokens* tokens = malloc(sizeof *tokens);
    memcpy(mine, ids, sizeof ids);
    *tokens = (anelane_tokens){mine, 5};
    assert_status(ANELANE_OK,
                  anelane_start_embed(model, tokens, 1, in_ms(BOUND_MS), NULL, NULL, &ops[i], &err), &err);
    memset(mine, 0x7f, sizeof ids);
    free(mine);
    free(tokens);
  }
  for (int i = 0; i < 16; i++) {
    const float* floats;
    size_t rows, cols;
    assert_status(ANELANE_OK, anelane_op_wait(ops[i], in_ms(BOUND_MS), &err), &err);
    assert_status(ANELANE_OK, anelane_op_floats(ops[i], &floats, &rows, &cols, &err), &err);
    assert_memory_equal(floats, right, sizeof right);
    anelane_op_release(ops[i]);
  }
  /* Their ends were queued for an event loop, which never came. */
  for (anelane_op op; anelane_lane_next_completion(lane, &op, NULL, &err) == ANELANE_OK;) continue;
}

static void an_event_loop_gets_every_completion_with_its_user_pointer(void** state) {
  enum { COUNT = 20 };
  int marks[COUNT] = {0};
  anelane_op ops[COUNT];
  anelane_error err = NEW_ERROR();
  int fd = -1, got = 0;
  (void)state;
  assert_status(ANELANE_OK, anelane_lane_event_fd(lane, &fd, &err), &err);
  assert_status(ANELANE_PENDING, anelane_lane_next_completion(lane, &ops[0], NULL, &err), &err);
  assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 0);
  for (int i = 0; i < COUNT; i++)
    assert_status(ANELANE_OK,
                  anelane_start_embed(model, &item, 1, in_ms(BOUND_MS), NULL, &marks[i], &ops[i], &err),
                  &err);
  while (got < COUNT) {
    anelane_op op;
    void* user = NULL;
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, BOUND_MS), 1);
    while (anelane_lane_next_completion(lane, &op, &user, &err) == ANELANE_OK) {
      const ptrdiff_t index = (int*)user - marks;
      assert_true(index >= 0 && index < COUNT);
      assert_true(ops[index].bits == op.bits);
      marks[index]++;
      assert_status(ANELANE_OK, anelane_op_wait(op, 0, &err), &err);
      anelane_op_release(op);
      got++;
    }
  }
  for (int i = 0; i < COUNT; i++) assert_int_equal(marks[i], 1);
  assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0), 0);
}

static void in_callback(void* user, anelane_op op, anelane_status status) {
  struct seen* seen = user;
  float row[TINY_DIM];
  seen->inside[0] = anelane_embed(model, &item, 1, row, 0, NULL, in_ms(1000), NULL);
  seen->inside[1] = anelane_lane_close(lane, in_ms(1000), NULL);
  seen->inside[2] = anelane_op_wait(op, in_ms(1000), NULL); /* it has ended already: fine */
  seen->inside[3] = anelane_admit(model, 128, in_ms(1000), NULL);
  anelane_op_release(op); /* in its own callback: fine */
  on_done(user, op, status);
}

static void blocking_calls_in_a_callback_are_answered_wrong_thread(void** state) {
  anelane_op op;
  struct seen seen = {0};
  anelane_error err = NEW_ERROR();
  (void)state;
  assert_status(ANELANE_OK,
                anelane_start_embed(model, &item, 1, in_ms(BOUND_MS), in_callback, &seen, &op, &err), &err);
  wait_for(&seen);
  assert_int_equal(seen.inside[0], ANELANE_WRONG_THREAD);
  assert_int_equal(seen.inside[1], ANELANE_WRONG_THREAD);
  assert_int_equal(seen.inside[2], ANELANE_OK);
  assert_int_equal(seen.inside[3], ANELANE_WRONG_THREAD);
  assert_status(ANELANE_BAD_HANDLE, anelane_op_wait(op, 0, &err), &err);
}

static void wait_is_pending_at_its_deadline_and_cancel_ends_the_operation(void** state) {
  enum { MANY = 4096 };
  static int32_t longest[TINY_CEILING];
  anelane_tokens* items = malloc(MANY * sizeof *items);
  anelane_op op;
  struct seen seen = {0};
  anelane_error err = NEW_ERROR();
  (void)state;
  for (int i = 0; i < TINY_CEILING; i++) longest[i] = 5 + i % 50;
  for (int i = 0; i < MANY; i++) items[i] = (anelane_tokens){longest, TINY_CEILING};
  assert_status(ANELANE_OK,
                anelane_start_embed(model, items, MANY, in_ms(BOUND_MS), on_done, &seen, &op, &err), &err);
  free(items);
  assert_status(ANELANE_PENDING, anelane_op_wait(op, 0, &err), &err);
  assert_int_equal(anelane_op_cancel(op), ANELANE_OK);
  const anelane_status status = anelane_op_wait(op, in_ms(BOUND_MS), &err);
  assert_true(status == ANELANE_CANCELLED || status == ANELANE_OK);
  wait_for(&seen);
  assert_int_equal(seen.status, status);
  assert_int_equal(seen.calls, 1);
  assert_int_equal(anelane_op_cancel(op), ANELANE_OK); /* again, and too late: no harm */
  anelane_op_release(op);
  float row[TINY_DIM];
  assert_status(ANELANE_OK, anelane_embed(model, &item, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
  assert_memory_equal(row, right, sizeof row);
}

static void a_deadline_that_has_passed_is_refused_only_if_it_must_wait(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_lease lease;
  (void)state;
  /* The shape is resident: a lease needs no waiting. */
  assert_status(ANELANE_OK, anelane_lease_acquire(model, 128, 0, &lease, &err), &err);
  anelane_lease_release(lease);
  anelane_lease_release(lease);
  /* Work on the engine is not begun: a worker that stands still has got nothing to answer. */
  const pid_t worker = only_child();
  kill(worker, SIGSTOP);
  for (int i = 0; i < 2; i++) {
    float row[TINY_DIM];
    anelane_op op;
    anelane_lane_stats stats = {.struct_size = sizeof stats};
    const uint64_t past = i == 0 ? 0 : anelane_now_ns();
    assert_status(ANELANE_DEADLINE_EXCEEDED, anelane_embed(model, &item, 1, row, 0, NULL, past, &err), &err);
    assert_status(ANELANE_OK, anelane_start_embed(model, &item, 1, past, NULL, NULL, &op, &err), &err);
    assert_status(ANELANE_DEADLINE_EXCEEDED, anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
    anelane_op_release(op);
    assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
    assert_int_equal(stats.leased, 0);
  }
  kill(worker, SIGCONT);
}

static void load_and_retire_by_operations(void** state) {
  anelane_op op;
  anelane_model other = {0}, again = {0};
  anelane_error err = NEW_ERROR();
  float row[TINY_DIM];
  (void)state;
  assert_status(
      ANELANE_OK,
      anelane_start_load(lane, path_in(folder, "tiny"), NULL, in_ms(BOUND_MS), NULL, NULL, &op, &err), &err);
  assert_status(ANELANE_OK, anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
  assert_status(ANELANE_OK, anelane_op_model(op, &other, &err), &err);
  assert_int_not_equal(anelane_op_model(op, &again, &err), ANELANE_OK); /* taken once */
  anelane_op_release(op);
  assert_status(ANELANE_OK, anelane_embed(other, &item, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
  assert_memory_equal(row, right, sizeof row); /* two workers, the same weights, the same bits */
  assert_status(ANELANE_OK, anelane_start_retire(other, in_ms(BOUND_MS), NULL, NULL, &op, &err), &err);
  assert_status(ANELANE_OK, anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
  anelane_op_release(op);
  assert_status(ANELANE_RETIRED, anelane_embed(other, &item, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
  assert_status(ANELANE_OK, anelane_model_retire(other, in_ms(BOUND_MS), &err), &err); /* again: OK */
  only_child();
  for (anelane_op left; anelane_lane_next_completion(lane, &left, NULL, &err) == ANELANE_OK;) continue;
}

static void a_result_that_nobody_takes_goes_with_the_operation(void** state) {
  anelane_op op;
  anelane_error err = NEW_ERROR();
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  (void)state;
  assert_status(ANELANE_OK, anelane_start_lease(model, 128, in_ms(BOUND_MS), NULL, NULL, &op, &err), &err);
  assert_status(ANELANE_OK, anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  assert_int_equal(stats.leased, 1);
  anelane_op_release(op);
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  assert_int_equal(stats.leased, 0);
  for (anelane_op left; anelane_lane_next_completion(lane, &left, NULL, &err) == ANELANE_OK;) continue;
}

struct progress {
  atomic_int calls, disordered;
  _Atomic uint32_t shape, last, layers;
};

static void on_progress(void* user, uint32_t shape, uint32_t layer, uint32_t layers, uint64_t ms_left) {
  struct progress* progress = user;
  (void)ms_left;
  if (shape == progress->shape && layer < progress->last) progress->disordered = 1;
  progress->shape = shape;
  progress->last = layer;
  progress->layers = layers;
  atomic_fetch_add(&progress->calls, 1);
}

static void f16_progress_names_layer_of_layers(void** state) {
  struct progress progress = {0};
  anelane_model_options options;
  anelane_model other;
  anelane_error err = NEW_ERROR();
  (void)state;
  anelane_model_options_init(&options, sizeof options);
  options.progress = on_progress;
  options.progress_user = &progress;
  assert_status(ANELANE_OK,
                anelane_model_load(lane, path_in(folder, "tiny"), &options, in_ms(BOUND_MS), &other, &err),
                &err);
  assert_status(ANELANE_OK, anelane_admit(other, 256, in_ms(BOUND_MS), &err), &err);
  for (const uint64_t end = in_ms(BOUND_MS); progress.last < 2 && anelane_now_ns() < end;)
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
  assert_true(progress.calls >= 1);
  assert_int_equal(progress.shape, 256);
  assert_int_equal(progress.layers, 2);
  assert_int_equal(progress.disordered, 0);
  assert_status(ANELANE_OK, anelane_model_retire(other, in_ms(BOUND_MS), &err), &err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_callback_comes_once_and_finds_the_handle_written),
      cmocka_unit_test(inputs_are_copied_before_start_returns),
      cmocka_unit_test(an_event_loop_gets_every_completion_with_its_user_pointer),
      cmocka_unit_test(blocking_calls_in_a_callback_are_answered_wrong_thread),
      cmocka_unit_test(wait_is_pending_at_its_deadline_and_cancel_ends_the_operation),
      cmocka_unit_test(a_deadline_that_has_passed_is_refused_only_if_it_must_wait),
      cmocka_unit_test(load_and_retire_by_operations),
      cmocka_unit_test(a_result_that_nobody_takes_goes_with_the_operation),
      cmocka_unit_test(f16_progress_names_layer_of_layers),
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
