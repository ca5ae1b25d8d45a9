/* The daemon that all processes share: it compiles staged folders into the vault, loads and evaluates. */
#ifndef ANELANE_TESTS_STANDIN_DAEMON_H
#define ANELANE_TESTS_STANDIN_DAEMON_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What can come out of a call; errors.m makes codes and texts of it, for both generations of the system. */
enum StandinOutcome {
  STANDIN_OK,
  STANDIN_NO_IDENTITY,
  STANDIN_INVALID_MODEL,
  STANDIN_INVALID_MIL,
  STANDIN_COMPILATION_FAILURE,
  STANDIN_INVALID_SOURCE, /* the wrong kind of model for the compiler */
  STANDIN_FILE_ACCESS,
  STANDIN_FILE_NOT_FOUND,
  STANDIN_NO_RESOURCES,
  STANDIN_BAD_IMAGE,
  STANDIN_PROGRAM_GONE,
  STANDIN_SMALL_SURFACE,
  STANDIN_BAD_INDEX,
  STANDIN_NEEDS_ENTITLEMENT,
  STANDIN_MAP_REFUSED,
  STANDIN_CHAINING_REFUSED,
  STANDIN_UNSUPPORTED
};

/* A folder to compile. Hashes: what the caller's dictionary promised (system 27, in-memory route only). */
struct StandinBundle {
  const char* folder;
  const char* mil_name;
  bool in_memory;
  bool url_was_set; /* setModelURL: */
  bool redirected;  /* TMPDIR is not the user's temp folder */
  size_t hash_count;
  const char* const* hash_names; /* relative paths */
  const char* const* hashes;     /* uppercase hex */
};

/* One program, or the room for one: what a compile's temporaries and the loaded model share. Counted. */
struct StandinProgram;
struct StandinProgram* standin_program_make(void);
void standin_program_retain(struct StandinProgram* program);
void standin_program_release(struct StandinProgram* program);

bool standin_daemon_exists(bool client, const char* id);
void standin_daemon_purge(bool client, const char* id);
enum StandinOutcome standin_daemon_compile(bool client, const char* id, const struct StandinBundle* bundle);
/* Loads what the vault holds; FILE_NOT_FOUND when it holds nothing. */
enum StandinOutcome standin_daemon_load(bool client, const char* id, struct StandinProgram* into);
/* Evaluates no more; the place in the pool comes back with the last reference. */
void standin_daemon_unload(struct StandinProgram* program);
bool standin_daemon_is_loaded(const struct StandinProgram* program);

struct StandinPort {
  const char* name; /* of MIL */
  const char* type; /* "Float16", … */
  size_t rank;
  uint64_t dims[5], strides[5]; /* bytes */
  uint64_t bytes;
};
size_t standin_program_ports(const struct StandinProgram* program, bool output);
struct StandinPort standin_program_port(const struct StandinProgram* program, bool output, size_t index);
const char* standin_program_function(const struct StandinProgram* program);

struct StandinSpan {
  void* data;
  size_t bytes;
};
/* Spans in the order of the ports. Output padding is poisoned. */
enum StandinOutcome standin_daemon_evaluate(struct StandinProgram* program, const struct StandinSpan* in,
                                            size_t in_count, const struct StandinSpan* out, size_t out_count);

/* Counts a caller inside compile, load, unload or purge: more than one at once breaks a rule. */
void standin_lifecycle_enter(void);
void standin_lifecycle_leave(void);

/* SHA-256 in uppercase hex over up to two pieces; `out` has room for 65. */
void standin_sha256(const void* a, size_t a_bytes, const void* b, size_t b_bytes, char* out);
/* Whose vault; false: no code signing identity. */
bool standin_signing_id(char* out, size_t room);
bool standin_temp_is_redirected(void);
/* Where NSTemporaryDirectory() points on a Mac: TMPDIR if set, else the user's own; without a slash at the
 * end. */
const char* standin_temporary_directory(void);

#ifdef __cplusplus
}
#endif
#endif
