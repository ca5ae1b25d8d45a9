/* Leases that nobody gave back, of lanes that were closed and of workers that died: they are gone with what
 * they were of, and take nothing from those that come after. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <time.h>

#include "fixtures.h"
#include "support.h"

enum { RECORDS = 256, SHAPE = 128 };

static char* folder;
static anelane_lane lane;
static anelane_model model;

static void open_lane(void) {
  anelane_error err = NEW_ERROR();
  anelane_lane_options options = options_in(folder);
  options.lease_max_ms = 600000; /* expiry is not what helps here */
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  model = load_into(lane, path_in(folder, "tiny"));
}

static int set_up(void** state) {
  (void)state;
  folder = make_folder();
  write_tiny(path_in(folder, "tiny"), NULL);
  open_lane();
  return 0;
}

static int tear_down(void** state) {
  (void)state;
  close_lane(lane);
  remove_folder(folder);
  return 0;
}

static void lease_all(anelane_lease* last) {
  anelane_error err = NEW_ERROR();
  for (int i = 0; i < RECORDS; i++)
    assert_status(ANELANE_OK, anelane_lease_acquire(model, SHAPE, in_ms(BOUND_MS), last, &err), &err);
}

static void an_expired_lease_is_told_so(anelane_lease lease) {
  anelane_error err = NEW_ERROR();
  anelane_tensor tensor;
  assert_status(ANELANE_LEASE_EXPIRED, anelane_lease_map(lease, 0, &tensor, &err), &err);
  anelane_lease_release(lease); /* and is given back without harm */
}

static void leases_of_a_closed_lane_are_gone(void** state) {
  anelane_lease old, fresh;
  anelane_error err = NEW_ERROR();
  (void)state;
  lease_all(&old);
  assert_status(ANELANE_RESOURCES_EXHAUSTED,
                anelane_lease_acquire(model, SHAPE, in_ms(BOUND_MS), &fresh, &err), &err);
  close_lane(lane);
  open_lane();
  lease_all(&fresh);
  an_expired_lease_is_told_so(old);
  anelane_lease_release(fresh);
}

static void leases_of_a_dead_worker_are_gone(void** state) {
  anelane_lease old, fresh;
  anelane_error err = NEW_ERROR();
  anelane_status status = ANELANE_PENDING;
  (void)state;
  lease_all(&old);
  assert_int_equal(kill(only_child(), SIGKILL), 0);
  for (int i = 0; i < 6000 && status != ANELANE_OK; i++) {
    status = anelane_lease_acquire(model, SHAPE, in_ms(BOUND_MS), &fresh, &err);
    /* Until the lane has heard of the death, the old life still counts. */
    if (status != ANELANE_OK) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
  }
  assert_status(ANELANE_OK, status, &err);
  an_expired_lease_is_told_so(old);
  anelane_lease_release(fresh);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(leases_of_a_closed_lane_are_gone, set_up, tear_down),
      cmocka_unit_test_setup_teardown(leases_of_a_dead_worker_are_gone, set_up, tear_down),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
