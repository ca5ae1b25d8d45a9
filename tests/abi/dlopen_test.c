/* A host that knows the library by dlopen alone: 1,000 embeds from 8 threads over mixed lengths, every vector
 * checked against an independent implementation, and after close nothing is left: no child, thread,
 * descriptor, shared memory, socket or file in the temporary folder. The program does not link libanelane.
 * Orphans would become its children (PR_SET_CHILD_SUBREAPER), so a worker's worker would be seen too. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fixtures.h"
#include "support.h"

#ifdef __SANITIZE_THREAD__ /* ten times slower */
enum { THREADS = 8, EMBEDS = 4, DIM = 384 };
#else
enum { THREADS = 8, EMBEDS = 125, DIM = 384 };
#endif
#define LEAST_COSINE 0.9999

/* The functions that this program uses, each a pointer of its own name. */
// clang-format off
#define FUNCTIONS(X) \
  X(anelane_abi_version) \
  X(anelane_now_ns) \
  X(anelane_error_text) \
  X(anelane_set_log) \
  X(anelane_lane_options_init) \
  X(anelane_lane_open) \
  X(anelane_lane_close) \
  X(anelane_lane_get_stats) \
  X(anelane_model_load) \
  X(anelane_embed) \
  X(anelane_embed_texts)
// clang-format on
static struct {
#define MEMBER(name) __typeof__(&name) name;
  FUNCTIONS(MEMBER)
} api;

static void load_api(void) {
  void* library = dlopen(ANELANE_LIBRARY, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    exit(1);
  }
#define FIND(name)                              \
  *(void**)(&api.name) = dlsym(library, #name); \
  assert_non_null(*(void**)(&api.name));
  FUNCTIONS(FIND)
  assert_int_equal(dlclose(library), 0); /* the library keeps itself */
}

/* What the library complains about goes to stderr, for whoever has to find out why this test failed. */
static void on_log(void* user, anelane_log_level level, const char* line) {
  (void)user, (void)level;
  fprintf(stderr, "%s\n", line);
}

static void require(anelane_status status, const anelane_error* err) {
  char text[1024];
  if (status == ANELANE_OK) return;
  api.anelane_error_text(err, text, sizeof text);
  fprintf(stderr, "%s\n", text);
  abort(); /* cmocka's fail belongs to the main thread */
}

struct job {
  anelane_model model;
  unsigned seed;
  double worst;
  size_t embeds, sequences;
};

static unsigned next(unsigned* state) {
  *state = *state * 1664525u + 1013904223u;
  return *state >> 8;
}

/* Calls of one or two sequences, picked by a generator of its own; most are short, as the software engine
 * computes a whole shape for each, and half of them are texts. */
static void* embed_many(void* argument) {
  struct job* job = argument;
  unsigned random = job->seed;
  job->worst = 1;
  for (; job->embeds < EMBEDS; job->embeds++) {
    anelane_tokens items[2];
    const char* texts[2];
    size_t picks[2], ids, bytes, dim;
    float rows[2 * DIM];
    bool as_text = true;
    anelane_error err = NEW_ERROR();
    const size_t count = next(&random) % 8 == 0 ? 2 : 1;
    const size_t longest = next(&random) % 8 == 0 ? 512 : 128;
    for (size_t i = 0; i < count; i++) {
      do {
        picks[i] = next(&random) % golden_count();
        items[i].ids = golden_ids(picks[i], &ids);
        items[i].count = ids;
      } while (ids > longest);
      texts[i] = golden_text(picks[i], &bytes);
      as_text = as_text && golden_is_c_string(picks[i]);
    }
    const uint64_t deadline = api.anelane_now_ns() + BOUND_MS * UINT64_C(1000000);
    if (as_text && next(&random) % 2 == 0)
      require(api.anelane_embed_texts(job->model, texts, count, rows, 0, NULL, deadline, &err), &err);
    else
      require(api.anelane_embed(job->model, items, count, rows, 0, NULL, deadline, &err), &err);
    for (size_t i = 0; i < count; i++) {
      const double cosine = cosine_of(rows + i * DIM, golden_vector(picks[i], &dim), DIM);
      if (cosine < job->worst) job->worst = cosine;
    }
    job->sequences += count;
  }
  return NULL;
}

static void* no_work(void* nothing) {
  return nothing;
}

static void a_thousand_embeds_from_eight_threads_and_nothing_left(void** state) {
  char* folder = make_folder();
  char* temp = make_folder();
  anelane_error err = NEW_ERROR();
  anelane_lane_options options;
  anelane_lane lane;
  struct job jobs[THREADS] = {0};
  pthread_t threads[THREADS];
  double worst = 1;
  size_t sequences = 0;
  (void)state;
  golden_count(); /* reads its file before the inventory is taken */
  setenv("TMPDIR", temp, 1);
  load_api();
  assert_int_equal(api.anelane_abi_version(), ANELANE_ABI_VERSION);
  assert_int_equal(api.anelane_set_log(on_log, NULL, ANELANE_LOG_WARN), ANELANE_OK);
  /* The first thread of a program brings one of ThreadSanitizer's own. */
  assert_int_equal(pthread_create(&threads[0], NULL, no_work, NULL), 0);
  assert_int_equal(pthread_join(threads[0], NULL), 0);
  char* before = inventory(temp);
  api.anelane_lane_options_init(&options, sizeof options);
  options.lock_dir = folder;
  options.temp_dir = temp;
  options.engine = ANELANE_ENGINE_SOFT;
  const uint64_t deadline = api.anelane_now_ns() + BOUND_MS * UINT64_C(1000000);
  require(api.anelane_lane_open(&options, deadline, &lane, &err), &err);
  require(api.anelane_model_load(lane, test_model(), NULL, deadline, &jobs[0].model, &err), &err);
  char* during = inventory(temp);
  assert_string_not_equal(before, during); /* the inventory sees a lane */
  free(during);
  for (unsigned i = 0; i < THREADS; i++) {
    jobs[i].model = jobs[0].model;
    jobs[i].seed = 1000 + i;
    assert_int_equal(pthread_create(&threads[i], NULL, embed_many, &jobs[i]), 0);
  }
  for (unsigned i = 0; i < THREADS; i++) {
    assert_int_equal(pthread_join(threads[i], NULL), 0);
    assert_int_equal(jobs[i].embeds, EMBEDS);
    if (jobs[i].worst < worst) worst = jobs[i].worst;
    sequences += jobs[i].sequences;
  }
  print_message("%d embeds of %zu sequences from %d threads, least cosine %.7f\n", THREADS * EMBEDS,
                sequences, THREADS, worst);
  assert_true(worst >= LEAST_COSINE);
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  require(api.anelane_lane_get_stats(lane, &stats, &err), &err);
  assert_int_equal(stats.restarts, 0);
  assert_int_equal(stats.leased, 0);
  assert_int_equal(stats.waiting, 0);
  require(api.anelane_lane_close(lane, api.anelane_now_ns() + BOUND_MS * UINT64_C(1000000), &err), &err);
  assert_nothing_left(before, temp);
  free(before);
  unsetenv("TMPDIR");
  remove_folder(temp);
  remove_folder(folder);
}

/* One visit of a host that unloads what it has used: a lane, and now and then a model and an embedding. */
static void visit(const char* folder, bool work, bool close_it) {
  static const int32_t ids[] = {2, 40, 41, 42, 3};
  const anelane_tokens item = {ids, 5};
  float row[TINY_DIM];
  anelane_error err = NEW_ERROR();
  anelane_lane_options options;
  anelane_lane lane;
  anelane_model model;
  load_api(); /* which ends with a dlclose: nothing more may come from this visit's handle */
  const uint64_t deadline = api.anelane_now_ns() + BOUND_MS * UINT64_C(1000000);
  api.anelane_lane_options_init(&options, sizeof options);
  options.lock_dir = folder;
  options.engine = ANELANE_ENGINE_SOFT;
  require(api.anelane_lane_open(&options, deadline, &lane, &err), &err);
  if (work) {
    require(api.anelane_model_load(lane, path_in(folder, "tiny"), NULL, deadline, &model, &err), &err);
    require(api.anelane_embed(model, &item, 1, row, 0, NULL, deadline, &err), &err);
  }
  if (close_it) require(api.anelane_lane_close(lane, deadline, &err), &err);
}

static void f68_f70_a_hundred_visits_with_close_leave_nothing(void** state) {
  char* folder = make_folder();
  char* before = NULL;
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  for (int i = 0; i < 100; i++) {
    visit(folder, i % 10 == 0, true);
    if (i == 0) before = inventory(folder);
  }
  assert_nothing_left(before, folder);
  free(before);
  remove_folder(folder);
}

/* The lane of the first visit stays open and is the lane of all others. The end of the process is the end of
 * it, quick and in good order, and the next process gets it. */
static void f68_f70_a_hundred_visits_without_close_end_with_the_process(void** state) {
  char* folder = make_folder();
  int status = 0;
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  char* arguments[] = {"dlopen_test", folder, NULL};
  pid_t pid;
  assert_int_equal(posix_spawn(&pid, "/proc/self/exe", NULL, NULL, arguments, environ), 0);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  visit(folder, true, true);
  /* Its workers have become ours, being orphans, and are gone. */
  for (int i = 0; i < 1000 && waitpid(-1, NULL, WNOHANG) >= 0; i++)
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
  assert_int_equal(children_of_self(&pid, 1), 0);
  remove_folder(folder);
}

int main(int argc, char** argv) {
  if (argc == 2) {
    for (int i = 0; i < 100; i++) visit(argv[1], i % 50 == 0, false);
    return 0;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_thousand_embeds_from_eight_threads_and_nothing_left),
      cmocka_unit_test(f68_f70_a_hundred_visits_with_close_leave_nothing),
      cmocka_unit_test(f68_f70_a_hundred_visits_without_close_end_with_the_process),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
