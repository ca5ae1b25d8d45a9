/* The stand-in for Apple's AppleNeuralEngine.framework: what tests may set, ask and count.
 *
 * libane_standin.so has the framework's classes with its selectors and type encodings, the C functions of
 * IOSurface that a caller needs, and a daemon with a vault on disk that all processes share. It computes
 * through the soft engine. Open it with dlopen after (or together with) libobjc and gnustep-base; it is
 * linked to both.
 *
 * Where a Mac is asked for something that Linux does not have:
 *   confstr(_CS_DARWIN_USER_TEMP_DIR)      standin_user_temp_dir()
 *   objc_autoreleasePoolPush, …Pop         exported here (libobjc of gcc has none)
 *   CFRetain, CFRelease                    exported here; a CF object is the Foundation object itself
 *   kIOSurface… keys                       exported here as pointers to NSString
 * A BOOL of these classes is a C bool, as its encoding "B" says (gcc's own BOOL would be "C"): every method
 * is registered by hand with the encoding of the framework.
 *
 * KNOBS. Each is looked up, at every use, in this order: standin_set(), the control file, the environment. In
 * the environment knob `pool_limit` is ANE_STANDIN_POOL_LIMIT; the control file (named by
 * ANE_STANDIN_CONTROL, read again whenever it changes) has lines `knob=value`. Those marked (load) are read
 * once, when the library is loaded.
 *
 *   root             folder of the daemon: vault, pool file, temp folder; default /tmp/ane-standin-<uid>
 *   stats            prefix of the counter file; "<stats>.<pid>" is always up to date, after kill -9 too
 * (load) system           27 (default) or 26: which generation of rules, codes and texts; 27's selectors
 * (load) os_build         default 26A434 for 27, 25D125 for 26. Another build is another vault, the old one
 * is dropped signing_id       whose vault; default: file name of the executable. "none": no identity, code 7
 *   temp_dir         the user's temp folder, what confstr says on a Mac; default <root>/tmp
 *   pool_limit       live programs of the machine; default 118
 *   reclaim_ms       how long after the last release a place comes back to the pool; default 0 (0.15 to 0.3 s
 * are reported of the original) threads          of the soft engine; default 1 old_machine      1: rejects
 * program(1.3) (an M1 on an old system); only in system 26 now_offset_s     seconds added to the daemon's
 * clock: ages vault entries vault_bytes_max  storage pressure: least recently used entries go until the vault
 * fits; 0 = none vault_full       1: the vault takes nothing; a compile succeeds and leaves nothing
 *   attributes       spoils modelAttributes: "zero_strides", "drop:KEY", "string:KEY" (value becomes a
 * string), several joined by "," hide_class       class names joined by ","; they do not exist (load)
 *   hide_selector    Class.selector joined by "," (load)
 *   encoding         Class.selector=types joined by ";" (load)
 *   fail_compile, fail_load, fail_evaluate, fail_unload
 *                    N:DOMAIN:CODE:TEXT joined by ";". N: the number of the call since the knob got this
 * value
 *                    ("3"), from it on ("3+"), or "*". DOMAIN: ane, compiler, espresso or the whole name.
 * TEXT may have colons. "N:nil" returns NO and leaves the error alone. Nothing is done in the daemon. raise
 * SELECTOR joined by ",": raises an NSException in it. "3@SELECTOR": only in the third call stall_compile_ms,
 * stall_load_ms, stall_evaluate_ms sleeps in the daemon before the work kill_compile, kill_load,
 * kill_evaluate N: kill -9 of the own process in that call (numbers as for fail_…)
 *
 * NOT IMITATED: programs of several functions (the soft compiler takes one: procedure 0), completion handlers
 * (kept, never called), shared events, performance statistics, device information, the virtual client, state;
 * `program` of an in-memory model is nil. These classes do not exist here.
 */
#ifndef ANELANE_TESTS_STANDIN_H
#define ANELANE_TESTS_STANDIN_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define STANDIN_EXPORT __attribute__((visibility("default")))

/* What bytes look like that nobody wrote: a fresh surface, and the padding of output rows after an evaluate.
 */
#define STANDIN_FRESH_SURFACE 0xEB
#define STANDIN_OUTPUT_PADDING 0xFF

/* The counters of one process, and the whole of its counter file. */
struct StandinCounters {
  uint64_t bytes; /* of this struct */
  int64_t pid;

  /* Must be zero in a caller that keeps the rules. */
  int64_t autoreleased_without_pool;
  int64_t unbalanced_locks;       /* unlock without lock, or with other options */
  int64_t evaluated_while_locked; /* surfaces that the CPU had locked during an evaluate */
  int64_t dirty_padding_rows;     /* input rows whose padding is neither zero nor left by an evaluate */
  int64_t aliased_surfaces;       /* one surface as input and output of one call */
  int64_t overlapping_calls;      /* compile, load, unload or purge while another of them ran */
  int64_t unloaded_by_nobody;     /* models that were released while their program was loaded */

  /* Alive now. */
  int64_t pools_alive; /* made by objc_autoreleasePoolPush */
  int64_t surfaces_alive;
  int64_t surface_objects_alive;
  int64_t requests_alive;
  int64_t descriptors_alive;
  int64_t in_memory_models_alive;
  int64_t client_models_alive;
  int64_t programs_alive;    /* places taken in the pool */
  int64_t temporaries_alive; /* autoreleased by compiles, not drained yet */

  /* Calls; …_done: those that returned YES. */
  int64_t exists;
  int64_t compiles, compiles_done; /* of the daemon: a load that compiles counts here too */
  int64_t loads, loads_done;
  int64_t evaluates, evaluates_done;
  int64_t unloads, unloads_done;
  int64_t purges;
  int64_t raised; /* exceptions on purpose */
};

/* In-process override of a knob; NULL takes the override away. */
STANDIN_EXPORT void standin_set(const char* knob, const char* value);
STANDIN_EXPORT void standin_counters(struct StandinCounters* out);
/* The counters of a process, alive or dead, from its counter file. */
STANDIN_EXPORT bool standin_read_counters(const char* path, struct StandinCounters* out);
/* Without a slash at the end; good until the next call in this thread. */
STANDIN_EXPORT const char* standin_user_temp_dir(void);
/* Places of the machine's pool that some process holds. */
STANDIN_EXPORT uint32_t standin_pool_in_use(void);
/* The file that a vault entry is: client = the entry of an _ANEModel (its cacheURLIdentifier). */
STANDIN_EXPORT bool standin_vault_file(bool client, const char* identifier, char* out, size_t room);

STANDIN_EXPORT void* objc_autoreleasePoolPush(void);
STANDIN_EXPORT void objc_autoreleasePoolPop(void* pool);

#ifdef __cplusplus
}
#endif
#endif
