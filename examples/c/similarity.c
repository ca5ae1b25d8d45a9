/* Which sentences mean nearly the same? Embeds some, prints the matrix of their cosines and the nearest
 * pairs.
 *
 *     similarity MODEL_DIR [CACHE_DIR]
 *
 * CACHE_DIR is where the software engine keeps its compiled programs (default: the user's own). The first run
 * compiles the model's programs, the next ones find them there; the last line says which it was, and how long
 * it took.
 */
#include <anelane.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const char* const sentences[] = {
    "The cat sleeps on the warm windowsill.",        "A kitten is napping in the sunshine by the window.",
    "The central bank raised interest rates again.", "Borrowing money has become more expensive this year.",
    "She fixed the bicycle with a borrowed wrench.", "He repaired his bike using a friend's tools.",
    "Tomorrow it will rain in the mountains.",       "The recipe needs two eggs and a cup of flour.",
};
enum { COUNT = sizeof sentences / sizeof sentences[0], PAIRS = 3 };
#define MINUTE_NS UINT64_C(60000000000)

/* Every call of the library answers a status; this example stops at the first that is not OK. */
static void check(anelane_status status, const anelane_error* error) {
  char text[1024];
  if (status == ANELANE_OK) return;
  anelane_error_text(error, text, sizeof text);
  fprintf(stderr, "similarity: %s\n", text);
  exit(1);
}

static double cosine(const float* a, const float* b, uint32_t dim) {
  double dot = 0, aa = 0, bb = 0;
  for (uint32_t i = 0; i < dim; i++) {
    dot += (double)a[i] * b[i];
    aa += (double)a[i] * a[i];
    bb += (double)b[i] * b[i];
  }
  return dot / sqrt(aa * bb);
}

static void print_matrix(double matrix[COUNT][COUNT]) {
  printf("      ");
  for (int i = 0; i < COUNT; i++) printf("   [%d]", i + 1);
  printf("\n");
  for (int i = 0; i < COUNT; i++) {
    printf("  [%d] ", i + 1);
    for (int k = 0; k < COUNT; k++) printf(" %5.2f", matrix[i][k]);
    printf("  %s\n", sentences[i]);
  }
}

/* The PAIRS largest values above the diagonal; each is set to -2 once it is printed. */
static void print_nearest(double matrix[COUNT][COUNT]) {
  for (int n = 0; n < PAIRS; n++) {
    int a = 0, b = 1;
    for (int i = 0; i < COUNT; i++)
      for (int k = i + 1; k < COUNT; k++)
        if (matrix[i][k] > matrix[a][b]) a = i, b = k;
    printf("  %.3f  [%d] %s\n         [%d] %s\n", matrix[a][b], a + 1, sentences[a], b + 1, sentences[b]);
    matrix[a][b] = -2;
  }
}

int main(int argc, char** argv) {
  anelane_error error = {.struct_size = sizeof error};
  anelane_lane_options options;
  anelane_model_info info = {.struct_size = sizeof info};
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  anelane_lane lane;
  anelane_model model;
  double matrix[COUNT][COUNT];
  if (argc < 2 || argc > 3) {
    fprintf(stderr, "usage: similarity MODEL_DIR [CACHE_DIR]\n");
    return 2;
  }
  const uint64_t start = anelane_now_ns();
  anelane_lane_options_init(&options, sizeof options);
  if (argc == 3) options.cache_dir = argv[2];
  /* The lane may be another program's: a minute of patience, then the error names the holder. */
  check(anelane_lane_open(&options, start + MINUTE_NS, &lane, &error), &error);
  check(anelane_model_load(lane, argv[1], NULL, ANELANE_NO_DEADLINE, &model, &error), &error);
  check(anelane_model_get_info(model, &info, &error), &error);

  float* vectors = malloc(sizeof(float) * COUNT * info.dim);
  if (vectors == NULL) return 1;
  check(anelane_embed_texts(model, sentences, COUNT, vectors, 0, NULL, ANELANE_NO_DEADLINE, &error), &error);
  const double ms = (double)(anelane_now_ns() - start) / 1e6;
  check(anelane_lane_get_stats(lane, &stats, &error), &error);
  check(anelane_lane_close(lane, ANELANE_NO_DEADLINE, &error), &error);

  for (int i = 0; i < COUNT; i++)
    for (int k = 0; k < COUNT; k++)
      matrix[i][k] = cosine(vectors + i * info.dim, vectors + k * info.dim, info.dim);
  free(vectors);
  printf("Cosines of %d sentences (%s, %u numbers each):\n", COUNT, info.architecture, info.dim);
  print_matrix(matrix);
  printf("Nearest pairs:\n");
  print_nearest(matrix);
  printf("Engine that ran: %s\n",
         info.engine == ANELANE_ENGINE_APPLE ? "apple (Neural Engine)" : "soft (software, on the processor)");
  printf("From opening the lane to the vectors: %.0f ms, %s (shapes compiled: %llu, from the cache: %llu)\n",
         ms, stats.compiled > 0 ? "cold" : "cached", (unsigned long long)stats.compiled,
         (unsigned long long)stats.loaded);
  return 0;
}
