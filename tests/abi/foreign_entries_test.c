/* The software engine's cache when somebody has been at it: whole and valid entries under each other's names,
 * as a careless copy or a restored backup leaves them. What is loaded must be what was asked for: such
 * entries are compiled anew, and the numbers are the right ones. */
#define _GNU_SOURCE
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixtures.h"
#include "support.h"

enum { ENTRIES_MAX = 16 };
static char* entries[ENTRIES_MAX]; /* the files of compiled programs */
static size_t entry_count;

static int collect(const char* path, const struct stat* info, int kind, struct FTW* where) {
  (void)info, (void)where;
  const size_t length = strlen(path), tail = strlen("/model.plan");
  if (kind == FTW_F && length > tail && strcmp(path + length - tail, "/model.plan") == 0 &&
      entry_count < ENTRIES_MAX)
    entries[entry_count++] = strdup(path);
  return 0;
}

/* One embed in a lane of its own; how many shapes were compiled. */
static uint64_t embed_once(const char* folder, float* row) {
  const int32_t ids[] = {2, 40, 41, 42, 3};
  const anelane_tokens item = {ids, 5};
  anelane_lane_options options = options_in(folder);
  anelane_lane_stats stats = {.struct_size = sizeof stats};
  anelane_lane lane;
  anelane_error err = NEW_ERROR();
  options.cache_dir = path_in(folder, "cache");
  assert_status(ANELANE_OK, anelane_lane_open(&options, in_ms(BOUND_MS), &lane, &err), &err);
  const anelane_model model = load_into(lane, path_in(folder, "tiny"));
  assert_status(ANELANE_OK, anelane_embed(model, &item, 1, row, 0, NULL, in_ms(BOUND_MS), &err), &err);
  assert_status(ANELANE_OK, anelane_lane_get_stats(lane, &stats, &err), &err);
  close_lane(lane);
  return stats.compiled;
}

static void swapped_entries_are_compiled_anew_and_never_used(void** state) {
  char* folder = make_folder();
  float right[TINY_DIM], row[TINY_DIM];
  (void)state;
  write_tiny(path_in(folder, "tiny"), NULL);
  assert_int_equal(embed_once(folder, right), 1);
  assert_int_equal(embed_once(folder, row), 0);
  assert_memory_equal(row, right, sizeof right);
  assert_int_equal(nftw(path_in(folder, "cache"), collect, 16, FTW_PHYS), 0);
  assert_int_equal(entry_count, 2); /* one for each layer of the one shape */
  /* Both layers take and give the same widths: each plan would run in the other's place. */
  const char* aside = path_in(folder, "aside");
  assert_int_equal(rename(entries[0], aside), 0);
  assert_int_equal(rename(entries[1], entries[0]), 0);
  assert_int_equal(rename(aside, entries[1]), 0);
  assert_int_equal(embed_once(folder, row), 1);
  assert_memory_equal(row, right, sizeof right);
  assert_int_equal(embed_once(folder, row), 0); /* and put right for good */
  assert_memory_equal(row, right, sizeof right);
  for (size_t i = 0; i < entry_count; i++) free(entries[i]);
  remove_folder(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(swapped_entries_are_compiled_anew_and_never_used)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
