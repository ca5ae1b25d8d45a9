/* The golden vectors through the C interface. Every binding has a program like this one, and golden_test.py
 * compares what they write bit for bit.
 *
 *     golden_c MODEL_DIR TEXTS OUT FOLDER
 *
 * TEXTS holds one text on each line: UTF-8, lines end with "\n" and with nothing else (other characters that
 * some languages take for line ends belong to the text), an empty line is the empty text. OUT gets one vector
 * for each text, in their order: little-endian float32, nothing before, between or behind them. FOLDER is the
 * lane's own lock folder, with its compiled programs. One call embeds all texts: how a call is grouped must
 * not change a bit.
 */
#include <anelane.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXTS_MAX = 1000 };
#define BOUND_NS UINT64_C(240000000000)

static void check(anelane_status status, const anelane_error* error) {
  char text[1024];
  if (status == ANELANE_OK) return;
  anelane_error_text(error, text, sizeof text);
  fprintf(stderr, "golden_c: %s\n", text);
  exit(1);
}

static void fail(const char* path) {
  perror(path);
  exit(1);
}

/* The whole file, with NUL behind it. */
static char* read_file(const char* path) {
  FILE* f = fopen(path, "rb");
  if (f == NULL || fseek(f, 0, SEEK_END) != 0) fail(path);
  const long size = ftell(f);
  char* data = size < 0 ? NULL : malloc((size_t)size + 1);
  rewind(f);
  if (data == NULL || fread(data, 1, (size_t)size, f) != (size_t)size) fail(path);
  data[size] = 0;
  fclose(f);
  return data;
}

/* Cuts `data` at its line ends. */
static size_t split(char* data, const char** lines) {
  size_t count = 0;
  for (char* end; (end = strchr(data, '\n')) != NULL && count < TEXTS_MAX; data = end + 1) {
    *end = 0;
    lines[count++] = data;
  }
  return count;
}

static void write_floats(const char* path, const float* data, size_t count) {
  FILE* f = fopen(path, "wb");
  if (f == NULL) fail(path);
  for (size_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, data + i, sizeof bits);
    const unsigned char bytes[4] = {(unsigned char)bits, (unsigned char)(bits >> 8),
                                    (unsigned char)(bits >> 16), (unsigned char)(bits >> 24)};
    if (fwrite(bytes, 1, 4, f) != 4) fail(path);
  }
  if (fclose(f) != 0) fail(path);
}

int main(int argc, char** argv) {
  static const char* texts[TEXTS_MAX];
  anelane_error error = {.struct_size = sizeof error};
  anelane_model_info info = {.struct_size = sizeof info};
  anelane_lane_options options;
  anelane_lane lane;
  anelane_model model;
  if (argc != 5) {
    fprintf(stderr, "usage: golden_c MODEL_DIR TEXTS OUT FOLDER\n");
    return 2;
  }
  char* data = read_file(argv[2]);
  const size_t count = split(data, texts);
  const uint64_t deadline = anelane_now_ns() + BOUND_NS;
  anelane_lane_options_init(&options, sizeof options);
  options.engine = ANELANE_ENGINE_SOFT;
  options.lock_dir = argv[4];
  check(anelane_lane_open(&options, deadline, &lane, &error), &error);
  check(anelane_model_load(lane, argv[1], NULL, deadline, &model, &error), &error);
  check(anelane_model_get_info(model, &info, &error), &error);
  float* vectors = malloc(sizeof(float) * count * info.dim);
  if (vectors == NULL) fail("golden_c");
  check(anelane_embed_texts(model, texts, count, vectors, 0, NULL, deadline, &error), &error);
  check(anelane_lane_close(lane, deadline, &error), &error);
  write_floats(argv[3], vectors, count * info.dim);
  free(vectors);
  free(data);
  return 0;
}
