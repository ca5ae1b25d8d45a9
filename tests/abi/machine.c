/* Folders, children and the inventory of what a lane could leave behind. Everything here asks the kernel
 * (proc, shm, folders), never the library, so that a test sees what the library forgot, and so that a program
 * that knows the library by dlopen alone can use it. Failures end in cmocka's fail, or in exit(1) where a
 * test could not begin. Main thread. */
#define _GNU_SOURCE
#include <dirent.h>
#include <ftw.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "support.h"

enum { TEXT_MAX = 1 << 16 };

const char* test_model(void) {
  static char path[4096];
  const char* given = getenv("ANELANE_TEST_MODEL");
  snprintf(path, sizeof path, "%s", given != NULL ? given : ANELANE_SOURCE_DIR "/models/all-MiniLM-L6-v2");
  if (access(path_in(path, "model.safetensors"), R_OK) != 0) {
    fprintf(stderr, "no model in %s: run scripts/fetch-model, or set ANELANE_TEST_MODEL\n", path);
    exit(1);
  }
  return path;
}

char* make_folder(void) {
  char path[4096];
  const char* base = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/anelane-abi-XXXXXX", base != NULL && base[0] == '/' ? base : "/tmp");
  if (mkdtemp(path) == NULL) {
    perror(path);
    exit(1);
  }
  return strdup(path);
}

static int remove_entry(const char* path, const struct stat* info, int kind, struct FTW* where) {
  (void)info, (void)kind, (void)where;
  return remove(path);
}

void remove_folder(char* folder) {
  nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS);
  free(folder);
}

const char* path_in(const char* folder, const char* name) {
  static char paths[8][4400];
  static int next;
  char* path = paths[next++ & 7];
  snprintf(path, sizeof paths[0], "%s/%s", folder, name);
  return path;
}

void write_text(const char* path, const char* text) {
  FILE* file = fopen(path, "wb");
  assert_non_null(file);
  fputs(text, file);
  assert_int_equal(fclose(file), 0);
}

double cosine_of(const float* a, const float* b, size_t dim) {
  double dot = 0, aa = 0, bb = 0;
  for (size_t i = 0; i < dim; i++) {
    dot += (double)a[i] * b[i];
    aa += (double)a[i] * a[i];
    bb += (double)b[i] * b[i];
  }
  return dot / sqrt(aa * bb);
}

/* Parent of a process, and its state letter; -1 if it is gone. */
static pid_t parent_of(pid_t pid, char* state) {
  char path[64], text[1024];
  snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
  FILE* file = fopen(path, "re");
  if (file == NULL) return -1;
  const size_t got = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[got] = '\0';
  const char* after_name = strrchr(text, ')');
  int parent = -1;
  if (after_name == NULL || sscanf(after_name + 1, " %c %d", state, &parent) != 2) return -1;
  return parent;
}

size_t children_of_self(pid_t* out, size_t cap) {
  DIR* folder = opendir("/proc");
  assert_non_null(folder);
  size_t count = 0;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL;) {
    const int pid = atoi(entry->d_name);
    char state;
    if (pid > 0 && parent_of(pid, &state) == getpid()) {
      if (count < cap) out[count] = pid;
      count++;
    }
  }
  closedir(folder);
  return count;
}

pid_t only_child(void) {
  pid_t pids[4];
  const size_t count = children_of_self(pids, 4);
  if (count != 1) fail_msg("expected one child, found %zu", count);
  return pids[0];
}

static int by_text(const void* a, const void* b) {
  return strcmp(*(char* const*)a, *(char* const*)b);
}

/* Appends the sorted names of a folder that hold `only`; of symbolic links (descriptors) what they point to.
 */
static void append_listing(char* text, const char* title, const char* path, const char* only, bool resolve) {
  char* names[4096];
  size_t count = 0;
  DIR* folder = opendir(path);
  strcat(text, title);
  strcat(text, ":\n");
  if (folder == NULL) return;
  for (struct dirent* entry; (entry = readdir(folder)) != NULL && count < 4096;) {
    char name[4400], target[4096] = "";
    if (entry->d_name[0] == '.' && (entry->d_name[1] == '\0' || entry->d_name[1] == '.')) continue;
    if (strstr(entry->d_name, only) == NULL) continue;
    if (resolve && atoi(entry->d_name) == dirfd(folder)) continue;
    if (resolve) {
      const ssize_t got = readlinkat(dirfd(folder), entry->d_name, target, sizeof target - 1);
      if (got < 0) continue;
    }
    snprintf(name, sizeof name, "  %s %s\n", entry->d_name, target);
    names[count++] = strdup(name);
  }
  closedir(folder);
  qsort(names, count, sizeof names[0], by_text);
  for (size_t i = 0; i < count; i++) {
    if (strlen(text) + strlen(names[i]) + 1 < TEXT_MAX) strcat(text, names[i]);
    free(names[i]);
  }
}

char* inventory(const char* folder) {
  char* text = calloc(1, TEXT_MAX);
  pid_t pids[64];
  const size_t children = children_of_self(pids, 64);
  strcat(text, "children:\n");
  for (size_t i = 0; i < children && i < 64; i++) sprintf(text + strlen(text), "  %d\n", (int)pids[i]);
  append_listing(text, "threads", "/proc/self/task", "", false);
  append_listing(text, "descriptors", "/proc/self/fd", "", true);
  append_listing(text, "shared memory", "/dev/shm", "anelane", false);
  append_listing(text, "files", folder, "", false);
  return text;
}

void assert_nothing_left(const char* before, const char* folder) {
  char* now = NULL;
  for (int i = 0; i < 100; i++) {
    free(now);
    now = inventory(folder);
    if (strcmp(before, now) == 0) {
      free(now);
      return;
    }
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
  }
  print_error("before\n%s\nafter\n%s\n", before, now);
  free(now);
  fail_msg("something was left behind");
}
