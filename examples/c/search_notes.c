/* Embeds a folder of notes and finds those that mean what you ask for.
 *
 *     search_notes MODEL_FOLDER NOTES_FOLDER QUESTION… [--top N] [--lock-dir FOLDER]
 *
 * Reads *.txt and *.md below NOTES_FOLDER, in pieces that fit the model, cut between paragraphs where it can
 * and between words where it must. Files that cannot be read, or are not UTF-8, are named and left out.
 * --lock-dir is a lane of its own in that folder, rather than the user's.
 */
#define _DEFAULT_SOURCE /* fts */
#include <anelane.h>
#include <errno.h>
#include <fts.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { BATCH = 64, SHOWN = 70 }; /* pieces in one call, characters of a hit */
#define MS_NS UINT64_C(1000000)
#define PATIENCE_NS (600000 * MS_NS) /* for one call: a compile, and the queue before it */

struct piece {
  char *path, *text;
  const float* vector;
  double cosine; /* with the question at hand */
};
struct notes {
  anelane_tokenizer tokenizer;
  size_t special, room; /* tokens that every text has, and what is left for its words */
  struct piece* pieces;
  size_t count;
};

static anelane_error error = {.struct_size = sizeof error}; /* of the last call that failed */

static void fail(const char* what, const char* why) {
  fprintf(stderr, "search_notes: %s%s\n", what, why);
  exit(1);
}
static void check(anelane_status status) {
  char text[1024];
  if (status == ANELANE_OK) return;
  anelane_error_text(&error, text, sizeof text);
  fail(text, "");
}
static void* need(void* memory) {
  if (memory == NULL) fail("there is no memory", "");
  return memory;
}
/* The library takes absolute paths only, as it does not know whose folder a relative one begins at. */
static char* absolute(const char* path) {
  if (*path == '/') return need(strdup(path));
  char* here = getcwd(NULL, 0);
  if (here == NULL) fail("the current folder: ", strerror(errno));
  const size_t bytes = strlen(here) + strlen(path) + 2;
  char* whole = need(malloc(bytes));
  snprintf(whole, bytes, "%s/%s", here, path);
  free(here);
  return whole;
}
static void leave_out(const char* path, const char* why) {
  fprintf(stderr, "search_notes: left out: %s: %s\n", path, why);
}

/* ---- notes */
static size_t tokens(const struct notes* notes, const char* begin, const char* end) {
  size_t count;
  check(anelane_tokenize(notes->tokenizer, begin, (size_t)(end - begin), NULL, 0, &count, &error));
  return count - notes->special;
}
static void add_piece(struct notes* notes, const char* path, const char* begin, const char* end) {
  const size_t n = notes->count++;
  if ((n & (n - 1)) == 0) /* full: the room doubles at the powers of two */
    notes->pieces = need(realloc(notes->pieces, 2 * (n + 1) * sizeof *notes->pieces));
  notes->pieces[n].path = need(strdup(path));
  notes->pieces[n].text = need(strndup(begin, (size_t)(end - begin)));
}
/* Words are what lies between spaces and control characters; they are moved together, one space apart. A
 * paragraph ends at a line without words. */
static void add_pieces(struct notes* notes, const char* path, char* text, const char* end) {
  char *piece = text, *paragraph = text, *to = text;
  size_t before = 0, within = 0; /* tokens of the piece before and within its last paragraph */
  for (const char* from = text;;) {
    size_t lines = 0;
    for (; from < end && (unsigned char)*from <= ' '; from++) lines += *from == '\n';
    if (from == end) break;
    if (to > text) *to++ = ' ';
    char* word = to;
    if (lines > 1) {
      paragraph = word;
      before += within;
      within = 0;
    }
    while (from < end && (unsigned char)*from > ' ') *to++ = *from++;
    size_t cost = tokens(notes, word, to);
    while (piece < word && before + within + cost > notes->room) {
      char* cut = piece < paragraph ? paragraph : word;
      add_piece(notes, path, piece, cut - 1);
      if (cut == word) within = 0;
      before = 0;
      piece = paragraph = cut;
    }
    while (cost > notes->room) { /* a word that is too long by itself: halves, between characters */
      char* part = to;
      while (tokens(notes, word, part) > notes->room)
        for (part = word + (part - word) / 2; (*part & 0xc0) == 0x80;) part--;
      add_piece(notes, path, word, part);
      piece = paragraph = word = part;
      cost = tokens(notes, word, to);
    }
    within += cost;
  }
  if (piece < to) add_piece(notes, path, piece, to);
}
/* `name` is the path below the folder. */
static void read_note(struct notes* notes, const char* path, const char* name) {
  enum { STEP = 65536 };
  FILE* file = fopen(path, "rb");
  char* text = NULL;
  size_t bytes = 0, got = file == NULL ? 0 : STEP, count;
  for (; got == STEP; bytes += got) {
    text = need(realloc(text, bytes + STEP));
    got = fread(text + bytes, 1, STEP, file);
  }
  if (file == NULL || ferror(file)) {
    leave_out(path, strerror(errno));
  } else if (anelane_tokenize(notes->tokenizer, path, strlen(path), NULL, 0, &count, &error) != ANELANE_OK ||
             anelane_tokenize(notes->tokenizer, text, bytes, NULL, 0, &count, &error) != ANELANE_OK) {
    leave_out(path, error.message); /* not UTF-8, and where */
  } else {
    const int marked = bytes >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0; /* a byte order mark */
    add_pieces(notes, name, text + (marked ? 3 : 0), text + bytes);
  }
  if (file != NULL) fclose(file);
  free(text);
}
/* Links to files are followed, those to folders are not; what begins with a dot is hidden. */
static void read_notes(struct notes* notes, char* folder) {
  struct stat info;
  FTSENT* entry;
  FTS* tree = need(fts_open((char*[]){folder, NULL}, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, NULL));
  while ((entry = fts_read(tree)) != NULL) {
    const char *path = entry->fts_path, *name = path + strlen(folder), *kind = strrchr(path, '.');
    if (entry->fts_level > 0 && entry->fts_name[0] == '.')
      fts_set(tree, entry, FTS_SKIP);
    else if (entry->fts_info == FTS_DNR)
      leave_out(path, strerror(entry->fts_errno));
    else if (kind != NULL && (strcmp(kind, ".txt") == 0 || strcmp(kind, ".md") == 0) &&
             stat(path, &info) == 0 && S_ISREG(info.st_mode))
      read_note(notes, path, name + (*name == '/'));
  }
  fts_close(tree);
}

/* ---- the engine */
/* Asks again when the error says that it helps, as docs/waits.md tells. */
static void embed(anelane_model model, const char* const* texts, size_t count, float* out) {
  const uint64_t deadline = anelane_now_ns() + PATIENCE_NS;
  while (anelane_embed_texts(model, texts, count, out, 0, NULL, deadline, &error) != ANELANE_OK) {
    const uint64_t ms = error.retry_after_ms;
    const struct timespec pause = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000 * MS_NS)};
    if (error.error_class != ANELANE_TRANSIENT || !error.safe_to_retry || ms == 0 ||
        anelane_now_ns() + ms * MS_NS >= deadline)
      check(error.status);
    nanosleep(&pause, NULL);
  }
}
/* Says why it takes so long, but nothing for the first second of a shape: most waits are shorter. */
static void progress(void* start, uint32_t shape, uint32_t layer, uint32_t layers, uint64_t ms_left) {
  uint64_t* start_ns = start;
  (void)ms_left;
  if (layer <= 1) *start_ns = anelane_now_ns();
  if (anelane_now_ns() - *start_ns < 1000 * MS_NS) return;
  fprintf(stderr, "preparing the model for this machine, once: shape %u, layer %u of %u\n", shape, layer,
          layers);
}
static double cosine(const float* a, const float* b, size_t dim) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < dim; i++) {
    dot += (double)a[i] * b[i];
    aa += (double)a[i] * a[i];
    bb += (double)b[i] * b[i];
  }
  return dot / sqrt(aa * bb);
}
static int nearer(const void* a, const void* b) {
  const struct piece *x = a, *y = b;
  const int by_path = strcmp(x->path, y->path);
  if (x->cosine != y->cosine) return x->cosine > y->cosine ? -1 : 1;
  return by_path != 0 ? by_path : x->vector < y->vector ? -1 : 1;
}
static void show(const struct piece* piece) {
  int bytes = 0;
  for (int n = 0; piece->text[bytes] != 0; bytes++)
    if ((piece->text[bytes] & 0xc0) != 0x80 && ++n > SHOWN) break;
  printf("  %.3f  %s: %.*s\n", piece->cosine, piece->path, bytes, piece->text);
}
static int usage(void) {
  fprintf(stderr,
          "usage: search_notes MODEL_FOLDER NOTES_FOLDER QUESTION... [--top N] [--lock-dir FOLDER]\n");
  return 2;
}

int main(int argc, char** argv) {
  anelane_lane_options lane_options;
  anelane_model_options model_options;
  anelane_lane_options_init(&lane_options, sizeof lane_options);
  anelane_model_options_init(&model_options, sizeof model_options);
  int count = 0; /* of words: model, notes, questions; they stay in argv */
  long top = 3;
  const char* lock_dir = NULL;
  for (int i = 1; i < argc; i++) {
    char* rest = "";
    if (strncmp(argv[i], "--", 2) != 0)
      argv[count++] = argv[i];
    else if (strcmp(argv[i], "--lock-dir") == 0 && i + 1 < argc)
      lock_dir = argv[++i];
    else if (strcmp(argv[i], "--top") != 0 || i + 1 == argc || (top = strtol(argv[++i], &rest, 10)) < 1 ||
             *rest != 0)
      return usage();
  }
  if (count < 3) return usage();
  const size_t questions = (size_t)count - 2;

  struct stat info;
  struct notes notes = {0};
  anelane_model_info model_info = {.struct_size = sizeof model_info};
  if (stat(argv[1], &info) != 0 || !S_ISDIR(info.st_mode)) fail("there is no folder ", argv[1]);
  check(anelane_model_inspect(argv[0], &model_info, &error));
  check(anelane_tokenizer_load(argv[0], &notes.tokenizer, &error));
  notes.special = tokens(&notes, "", "");
  notes.room = model_info.ceiling - notes.special;
  read_notes(&notes, argv[1]);
  if (notes.count == 0) fail("there is no text in *.txt and *.md files below ", argv[1]);

  anelane_lane lane;
  anelane_model model;
  char* lock_path = lock_dir == NULL ? NULL : absolute(lock_dir);
  const uint64_t now = anelane_now_ns();
  uint64_t shape_start_ns = now;
  lane_options.lock_dir = lock_path;
  model_options.progress = progress;
  model_options.progress_user = &shape_start_ns;
  check(anelane_lane_open(&lane_options, now + 10000 * MS_NS, &lane, &error));
  check(anelane_model_load(lane, argv[0], &model_options, now + PATIENCE_NS, &model, &error));
  const size_t dim = model_info.dim, pieces = notes.count;
  float* asked = need(malloc(questions * dim * sizeof *asked));
  float* vectors = need(malloc(pieces * dim * sizeof *vectors));
  embed(model, (const char* const*)argv + 2, questions, asked);
  for (size_t first = 0; first < pieces; first += BATCH) {
    const char* texts[BATCH];
    const size_t batch = pieces - first < BATCH ? pieces - first : BATCH;
    for (size_t i = 0; i < batch; i++) {
      texts[i] = notes.pieces[first + i].text;
      notes.pieces[first + i].vector = vectors + (first + i) * dim;
    }
    embed(model, texts, batch, vectors + first * dim);
  }
  check(anelane_lane_close(lane, ANELANE_NO_DEADLINE, &error));

  for (size_t q = 0; q < questions; q++) {
    for (size_t i = 0; i < pieces; i++)
      notes.pieces[i].cosine = cosine(asked + q * dim, notes.pieces[i].vector, dim);
    qsort(notes.pieces, pieces, sizeof *notes.pieces, nearer);
    printf("%s\n", argv[2 + q]);
    for (size_t i = 0; i < pieces && i < (size_t)top; i++) show(&notes.pieces[i]);
  }

  for (size_t i = 0; i < pieces; i++) {
    free(notes.pieces[i].path);
    free(notes.pieces[i].text);
  }
  free(notes.pieces);
  free(vectors);
  free(asked);
  free(lock_path);
  anelane_tokenizer_release(notes.tokenizer);
  return 0;
}
