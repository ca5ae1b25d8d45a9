/* What the programs of this folder share: folders, deadlines, and an inventory of everything that a lane
 * could leave behind. C11, and only the public header. */
#ifndef ANELANE_TESTS_ABI_SUPPORT_H
#define ANELANE_TESTS_ABI_SUPPORT_H
#include <anelane.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
/* cmocka.h needs the four above. */
#include <cmocka.h>

/* Generous: against hanging only. */
#define BOUND_MS 240000u

/* An error struct to fill in, as an expression. */
#define NEW_ERROR() ((anelane_error){.struct_size = sizeof(anelane_error)})

/* A non-null handle that no library gave out. */
#define FORGED UINT64_C(0x0123456789abcdef)

uint64_t in_ms(uint64_t ms);

/* all-MiniLM-L6-v2: ANELANE_TEST_MODEL, or models/ of the source folder. Ends the program with a message if
 * missing. */
const char* test_model(void);

/* A folder of mode 0700 below TMPDIR, new each time; remove_folder takes it away with everything in it.
 * Caller frees. */
char* make_folder(void);
void remove_folder(char* folder);
/* "folder/name", in a static buffer that the eighth next call uses again. */
const char* path_in(const char* folder, const char* name);
void write_text(const char* path, const char* text);

/* Defaults with lock, cache and temporary files in `folder`, on the software engine. */
anelane_lane_options options_in(const char* folder);
/* Opens a lane in `folder`, or fails the test. */
anelane_lane open_in(const char* folder);
anelane_model load_into(anelane_lane lane, const char* path);
void close_lane(anelane_lane lane);

/* Fails with the library's own words unless `status` is `expected`. */
#define assert_status(expected, status, err) \
  check_status((expected), (status), (err), #status, __FILE__, __LINE__)
void check_status(anelane_status expected, anelane_status status, const anelane_error* err, const char* what,
                  const char* file, int line);
/* Fails unless the message of `err` holds `part`. */
#define assert_says(err, part) check_says((err), (part), __FILE__, __LINE__)
void check_says(const anelane_error* err, const char* part, const char* file, int line);

double cosine_of(const float* a, const float* b, size_t dim);

/* Children of this process, zombies included; at most cap are written. */
size_t children_of_self(pid_t* out, size_t cap);
/* The one child that lives, or fails the test. */
pid_t only_child(void);

/* Threads, descriptors, children, shared memory and the files of a folder, as one text. Equal texts: nothing
 * came or went. */
char* inventory(const char* folder);
/* Fails with both texts unless the inventory is `before` again within two seconds (the kernel may be a moment
 * behind). */
void assert_nothing_left(const char* before, const char* folder);

/* Log lines of the library since start_log, for those who look for one. start_log before the first lane is
 * opened. */
void start_log(void);
/* How many lines hold `part`; the last of them is copied to `line` (may be NULL). */
size_t logged(const char* part, char* line, size_t cap);
void clear_log(void);

#endif
