/* soak MODEL_DIR SECONDS: a host's long life in short. Threads embed golden texts and check every vector, one
 * thread kills workers, lanes are closed and opened again; at the end of every round the process must be what
 * it was after the first: the same descriptors, threads, children, shared memory and files, and no more
 * memory. Not a test of ctest: it takes as long as it is told to (scripts/soak). Exit 0: all rounds were
 * right. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

enum { THREADS = 4, DIM = 384, ROUND_S = 20, KILL_EVERY_MS = 3000, ROUNDS_TO_SETTLE = 3 };
#define LEAST_COSINE 0.9999
#define GROWTH_KB_MAX 16384

static atomic_int stop;
static atomic_ulong right, wrong, crashed;

static void sleep_ms(long ms) {
  nanosleep(&(struct timespec){.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}, NULL);
}

/* Vectors are right, or the call says that the worker died; anything else counts as wrong and is printed. */
static void* embed_on_and_on(void* argument) {
  const anelane_model model = *(anelane_model*)argument;
  unsigned random = (unsigned)(uintptr_t)pthread_self();
  while (!stop) {
    float row[DIM];
    size_t ids, dim;
    anelane_error err = NEW_ERROR();
    random = random * 1664525u + 1013904223u;
    const size_t pick = (random >> 8) % golden_count();
    anelane_tokens item = {golden_ids(pick, &ids), 0};
    item.count = ids;
    const anelane_status status = anelane_embed(model, &item, 1, row, 0, NULL, in_ms(BOUND_MS), &err);
    if (status == ANELANE_OK && cosine_of(row, golden_vector(pick, &dim), DIM) >= LEAST_COSINE) {
      right++;
    } else if (status == ANELANE_ENGINE_CRASHED) {
      crashed++;
    } else {
      char text[1024];
      wrong++;
      anelane_error_text(&err, text, sizeof text);
      fprintf(stderr, "soak: golden text %zu: %s\n", pick, status == ANELANE_OK ? "a wrong vector" : text);
    }
  }
  return NULL;
}

static long resident_kb(void) {
  long pages = 0, resident = 0;
  FILE* file = fopen("/proc/self/statm", "re");
  if (file == NULL || fscanf(file, "%ld %ld", &pages, &resident) != 2) resident = -1;
  if (file != NULL) fclose(file);
  return resident * (sysconf(_SC_PAGESIZE) / 1024);
}

/* One lane from open to close. */
static void round_of(const char* folder, const char* model_dir, long seconds) {
  const anelane_lane lane = open_in(folder);
  anelane_model model = load_into(lane, model_dir);
  pthread_t threads[THREADS];
  stop = 0;
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, embed_on_and_on, &model), 0);
  for (long ms = 0; ms < seconds * 1000; ms += KILL_EVERY_MS) {
    pid_t pids[4];
    sleep_ms(KILL_EVERY_MS);
    if (children_of_self(pids, 4) > 0) kill(pids[0], SIGKILL);
  }
  stop = 1;
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  close_lane(lane);
}

static long total_seconds;
static const char* model_folder;

static void rounds(void** state) {
  char* folder = make_folder();
  const uint64_t end = in_ms((uint64_t)total_seconds * 1000);
  char* before = NULL;
  long settled_kb = 0, last_kb = 0;
  (void)state;
  golden_count();
  for (int round = 1; anelane_now_ns() < end || round <= ROUNDS_TO_SETTLE + 1; round++) {
    round_of(folder, model_folder, ROUND_S);
    last_kb = resident_kb();
    printf("round %d: %lu right, %lu wrong, %lu told of a crash, %ld kB resident\n", round, right, wrong,
           crashed, last_kb);
    fflush(stdout);
    assert_int_equal(wrong, 0);
    if (before == NULL)
      before = inventory(folder);
    else
      assert_nothing_left(before, folder);
    if (round == ROUNDS_TO_SETTLE) settled_kb = last_kb;
  }
  if (last_kb - settled_kb > GROWTH_KB_MAX) fail_msg("grew by %ld kB", last_kb - settled_kb);
  assert_true(right > 0);
  free(before);
  remove_folder(folder);
}

int main(int argc, char** argv) {
  if (argc != 3 || (total_seconds = atol(argv[2])) <= 0) {
    fprintf(stderr, "usage: soak MODEL_DIR SECONDS\n");
    return 2;
  }
  model_folder = argv[1];
  const struct CMUnitTest tests[] = {cmocka_unit_test(rounds)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
