/* Leases and runs on the caller's own tensors: layouts as described, copied or mapped memory with the same
 * bits, every wrong tensor refused by name, expiry, eviction never under a lease. A tiny model keeps it
 * quick. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "fixtures.h"
#include "support.h"

enum { SHAPE = 128, PORTS_MAX = 8, LEASE_MAX_MS = 700 };

static char* folder;
static anelane_lane lane;
static anelane_model model;
static anelane_port ports[PORTS_MAX];
static size_t port_count, inputs;

static int set_up(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_lane_options options;
  (void)state;
  folder = make_folder();
  write_tiny(path_in(folder, "tiny"), NULL);
  options = options_in(folder);
  options.lease_max_ms = LEASE_MAX_MS;
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  model = load_into(lane, path_in(folder, "tiny"));
  for (int i = 0; i < PORTS_MAX; i++) ports[i].struct_size = sizeof ports[i];
  assert_status(ANELANE_OK, anelane_model_ports(model, SHAPE, ports, PORTS_MAX, &port_count, &err), &err);
  while (inputs < port_count && !ports[inputs].is_output) inputs++;
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  remove_folder(folder);
  return 0;
}

static anelane_lease lease_shape(void) {
  anelane_lease lease;
  anelane_error err = NEW_ERROR();
  assert_status(ANELANE_OK, anelane_lease_acquire(model, SHAPE, in_ms(BOUND_MS), &lease, &err), &err);
  return lease;
}

/* Tensors of the caller's own for every port: inputs filled with small fp16 values, outputs zero. */
static void make_tensors(anelane_tensor* tensors) {
  for (size_t i = 0; i < port_count; i++) {
    tensors[i] =
        (anelane_tensor){.data = calloc(1, ports[i].bytes), .bytes = ports[i].bytes, .port = (uint32_t)i};
    if (ports[i].is_output) continue;
    uint16_t* halves = tensors[i].data;
    for (size_t k = 0; k < ports[i].bytes / 2; k++)
      halves[k] = (uint16_t)(0x2c00 + (k * 37 + i) % 1024); /* 0.06 … 0.12 */
  }
}

static void free_tensors(anelane_tensor* tensors) {
  for (size_t i = 0; i < port_count; i++) free(tensors[i].data);
}

static void ports_come_inputs_first_and_add_up(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_port one = {.struct_size = sizeof one};
  size_t count = 0;
  (void)state;
  assert_true(port_count >= 2 && port_count <= PORTS_MAX);
  assert_true(inputs >= 1 && inputs < port_count);
  for (size_t i = 0; i < port_count; i++) {
    uint64_t last = 0;
    assert_int_equal(ports[i].is_output, i >= inputs);
    assert_int_equal(ports[i].dtype, ANELANE_F16);
    assert_true(ports[i].rank >= 1 && ports[i].rank <= 5);
    for (uint32_t d = 0; d < ports[i].rank; d++) {
      assert_true(ports[i].dims[d] >= 1);
      last += (ports[i].dims[d] - 1) * ports[i].strides[d];
    }
    assert_true(last + 2 <= ports[i].bytes);
    assert_true(strlen(ports[i].name) > 0);
  }
  assert_status(ANELANE_OK, anelane_model_ports(model, SHAPE, &one, 1, &count, &err), &err);
  assert_int_equal(count, port_count);
  assert_string_equal(one.name, ports[0].name);
  anelane_port second_unset[2] = {{.struct_size = sizeof one}};
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_model_ports(model, SHAPE, second_unset, 2, &count, &err),
                &err);
  assert_non_null(strstr(err.message, "out[1].struct_size"));
  assert_status(ANELANE_OK, anelane_model_ports(model, SHAPE, NULL, 0, &count, &err), &err);
  assert_int_equal(count, port_count);
  assert_status(ANELANE_SHAPE_UNKNOWN, anelane_model_ports(model, 33, NULL, 0, &count, &err), &err);
}

static void copied_mapped_and_asynchronous_runs_give_the_same_bits(void** state) {
  anelane_tensor mine[PORTS_MAX], mapped[PORTS_MAX];
  anelane_error err = NEW_ERROR();
  const anelane_lease lease = lease_shape();
  (void)state;
  make_tensors(mine);
  assert_status(ANELANE_OK,
                anelane_run(lease, mine, inputs, mine + inputs, port_count - inputs, in_ms(BOUND_MS), &err),
                &err);
  const anelane_tensor* first = &mine[inputs];
  bool nonzero = false;
  for (size_t k = 0; k < first->bytes; k++) nonzero |= ((unsigned char*)first->data)[k] != 0;
  assert_true(nonzero);
  /* Mapped: written in place, no copies. */
  for (size_t i = 0; i < port_count; i++) {
    assert_status(ANELANE_OK, anelane_lease_map(lease, (uint32_t)i, &mapped[i], &err), &err);
    assert_int_equal(mapped[i].bytes, ports[i].bytes);
    assert_int_equal(mapped[i].port, i);
    assert_non_null(mapped[i].data);
    if (i < inputs) memcpy(mapped[i].data, mine[i].data, ports[i].bytes);
  }
  anelane_tensor by_mapping[PORTS_MAX];
  for (size_t i = 0; i < port_count; i++) by_mapping[i] = (anelane_tensor){.port = (uint32_t)i};
  assert_status(
      ANELANE_OK,
      anelane_run(lease, by_mapping, inputs, by_mapping + inputs, port_count - inputs, in_ms(BOUND_MS), &err),
      &err);
  for (size_t i = inputs; i < port_count; i++)
    assert_memory_equal(mapped[i].data, mine[i].data, ports[i].bytes);
  /* Asynchronous: the outputs are the operation's. */
  anelane_op op;
  assert_status(ANELANE_OK, anelane_start_run(lease, mine, inputs, in_ms(BOUND_MS), NULL, NULL, &op, &err),
                &err);
  assert_status(ANELANE_OK, anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
  for (size_t i = inputs; i < port_count; i++) {
    const void* data;
    size_t bytes;
    assert_status(ANELANE_OK, anelane_op_output(op, (uint32_t)i, &data, &bytes, &err), &err);
    assert_int_equal(bytes, ports[i].bytes);
    assert_memory_equal(data, mine[i].data, bytes);
  }
  anelane_op_release(op);
  anelane_lease_release(lease);
  free_tensors(mine);
}

static void wrong_tensors_are_refused(void** state) {
  anelane_tensor tensors[PORTS_MAX], bad[PORTS_MAX];
  anelane_error err = NEW_ERROR();
  const anelane_lease lease = lease_shape();
  (void)state;
  make_tensors(tensors);
#define REFUSED(in, n_in, out, n_out)                                                                      \
  assert_status(ANELANE_INVALID_ARGUMENT, anelane_run(lease, in, n_in, out, n_out, in_ms(BOUND_MS), &err), \
                &err)
  const anelane_tensor* out = tensors + inputs;
  memcpy(bad, tensors, sizeof bad);
  bad[0].bytes--;
  REFUSED(bad, inputs, out, 1);
  bad[0] = tensors[0];
  bad[0].port = (uint32_t)inputs; /* an output as an input */
  REFUSED(bad, inputs, out, 1);
  bad[0].port = 99;
  REFUSED(bad, inputs, out, 1);
  REFUSED(tensors, inputs - 1, out, 1); /* one is missing */
  REFUSED(NULL, inputs, out, 1);
  REFUSED(tensors, inputs, NULL, 1);
  REFUSED(tensors, inputs, tensors, 1); /* an input as an output */
  if (inputs > 1) {
    memcpy(bad, tensors, sizeof bad);
    bad[1] = bad[0]; /* the same one twice */
    REFUSED(bad, inputs, out, 1);
  }
  assert_status(ANELANE_OK, anelane_run(lease, tensors, inputs, out, 1, in_ms(BOUND_MS), &err), &err);
  anelane_tensor none;
  assert_int_not_equal(anelane_lease_map(lease, 99, &none, &err), ANELANE_OK);
  anelane_lease_release(lease);
  assert_status(ANELANE_LEASE_EXPIRED, anelane_run(lease, tensors, inputs, out, 1, in_ms(BOUND_MS), &err),
                &err);
  free_tensors(tensors);
}

/* Nothing is sent: a worker that stands still has got nothing to answer, and no run holds the shape. */
static void l5_4_a_deadline_that_has_passed_stops_a_run(void** state) {
  anelane_tensor tensors[PORTS_MAX];
  anelane_error err = NEW_ERROR();
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  const anelane_lease lease = lease_shape();
  const pid_t worker = only_child();
  (void)state;
  make_tensors(tensors);
  kill(worker, SIGSTOP);
  for (int i = 0; i < 2; i++) {
    anelane_op op;
    const uint64_t past = i == 0 ? 0 : anelane_now_ns();
    assert_status(ANELANE_DEADLINE_EXCEEDED,
                  anelane_run(lease, tensors, inputs, tensors + inputs, 1, past, &err), &err);
    assert_status(ANELANE_OK, anelane_start_run(lease, tensors, inputs, past, NULL, NULL, &op, &err), &err);
    assert_status(ANELANE_DEADLINE_EXCEEDED, anelane_op_wait(op, in_ms(BOUND_MS), &err), &err);
    anelane_op_release(op);
  }
  anelane_lease_release(lease);
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  kill(worker, SIGCONT);
  assert_int_equal(stats.leased, 0);
  free_tensors(tensors);
}

/* Of two leases one is run again and again, each time within its time; true: the other one has expired, and
 * it has not. */
static bool only_the_idle_one_expires(anelane_tensor* tensors, uint64_t ms) {
  anelane_error err = NEW_ERROR();
  const anelane_lease used = lease_shape(), idle = lease_shape();
  anelane_status of_used = ANELANE_OK;
  for (const uint64_t end = in_ms(ms); of_used == ANELANE_OK && anelane_now_ns() < end;) {
    nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
    of_used = anelane_run(used, tensors, inputs, tensors + inputs, 1, in_ms(BOUND_MS), &err);
  }
  const anelane_status of_idle =
      anelane_run(idle, tensors, inputs, tensors + inputs, 1, in_ms(BOUND_MS), &err);
  assert_true(of_used == ANELANE_OK || of_used == ANELANE_LEASE_EXPIRED);
  assert_true(of_idle == ANELANE_OK || of_idle == ANELANE_LEASE_EXPIRED);
  anelane_lease_release(idle);
  anelane_lease_release(used);
  return of_used == ANELANE_OK && of_idle == ANELANE_LEASE_EXPIRED;
}

static void l3_2_a_lease_without_a_run_expires(void** state) {
  anelane_tensor tensors[PORTS_MAX];
  anelane_error err = NEW_ERROR();
  uint64_t tries = 1;
  (void)state;
  make_tensors(tensors);
  /* A machine that is busy may have no time for our runs, or for the lane to look at its leases. */
  while (!only_the_idle_one_expires(tensors, tries * 2 * LEASE_MAX_MS)) assert_true(++tries <= 8);
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  assert_int_equal(stats.leased, 0);
  free_tensors(tensors);
}

struct blocked_run {
  anelane_lease lease;
  anelane_tensor tensors[PORTS_MAX];
  anelane_status status;
};

static void* run_until_it_ends(void* argument) {
  struct blocked_run* run = argument;
  run->status =
      anelane_run(run->lease, run->tensors, inputs, run->tensors + inputs, 1, ANELANE_NO_DEADLINE, NULL);
  return NULL;
}

/* And not that its worker ended, which it does with the lane. */
static void a_run_on_the_wire_is_told_of_the_close(void** state) {
  struct blocked_run run = {.status = ANELANE_OK};
  pthread_t thread;
  (void)state;
  run.lease = lease_shape();
  make_tensors(run.tensors);
  kill(only_child(), SIGSTOP);
  assert_int_equal(pthread_create(&thread, NULL, run_until_it_ends, &run), 0);
  nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
  close_lane(lane);
  pthread_join(thread, NULL);
  assert_int_equal(run.status, ANELANE_CLOSED);
  free_tensors(run.tensors);
}

static void predict_is_zero_for_a_resident_shape(void** state) {
  anelane_error err = NEW_ERROR();
  uint64_t ms = 77;
  (void)state;
  assert_status(ANELANE_OK, anelane_admit(model, SHAPE, in_ms(BOUND_MS), &err), &err);
  assert_status(ANELANE_OK, anelane_predict(model, SHAPE, &ms, &err), &err);
  assert_int_equal(ms, 0);
}

static void predict_of_a_cost_that_nobody_knows_is_not_zero(void** state) {
  anelane_error err = NEW_ERROR();
  anelane_model_info info = {.struct_size = sizeof info};
  uint64_t ms = 77;
  (void)state;
  /* Never compiled by anybody in this cache, and the software engine has no table of costs. */
  assert_status(ANELANE_OK, anelane_predict(model, 256, &ms, &err), &err);
  assert_int_equal(ms, 250);
  const anelane_model other = load_into(lane, path_in(folder, "tiny"));
  assert_status(ANELANE_OK, anelane_model_get_info(other, &info, &err), &err);
  assert_true(info.first_ready_ms > 0);
  assert_status(ANELANE_OK, anelane_model_retire(other, in_ms(BOUND_MS), &err), &err);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(predict_of_a_cost_that_nobody_knows_is_not_zero),
      cmocka_unit_test(ports_come_inputs_first_and_add_up),
      cmocka_unit_test(copied_mapped_and_asynchronous_runs_give_the_same_bits),
      cmocka_unit_test(wrong_tensors_are_refused),
      cmocka_unit_test(l5_4_a_deadline_that_has_passed_stops_a_run),
      cmocka_unit_test(l3_2_a_lease_without_a_run_expires),
      cmocka_unit_test(predict_is_zero_for_a_resident_shape),
      cmocka_unit_test(a_run_on_the_wire_is_told_of_the_close), /* the last: it closes the lane */
  };
  return cmocka_run_group_tests(tests, set_up, tear_down);
}
