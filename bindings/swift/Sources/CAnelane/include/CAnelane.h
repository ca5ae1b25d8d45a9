/* The C interface for Swift: the header itself, a table of its functions, and the few lines that Swift cannot
 * say on every system that the library runs on (atomics, a gate, a thread). */
#ifndef CANELANE_H
#define CANELANE_H
#if defined(__has_include) && __has_include("../../../../../include/anelane.h")
#include "../../../../../include/anelane.h" /* a checkout: the header of this very version */
#else
#include <anelane.h>
#endif

/* ---- the table: each function by its own type, so that no signature is written twice ---- */
/* Exactly the names of the header; a test compares them with the library's list of exports. */
/* clang-format off */
#define CANELANE_FUNCTIONS(X) \
  X(abi_version) X(version) X(now_ns) X(status_name) X(error_text) X(set_log) X(lane_options_init) \
  X(lane_open) X(lane_close) X(lane_get_stats) X(lane_describe) X(replay) X(lane_holder) X(lane_peek) \
  X(lane_event_fd) X(lane_next_completion) X(model_options_init) X(model_inspect) X(model_load) \
  X(model_load_program) X(model_retire) X(model_get_info) X(model_ports) X(mil_check) X(predict) \
  X(admit) X(lease_acquire) X(lease_map) X(lease_release) X(run) X(embed) X(embed_texts) \
  X(tokenizer_load) X(tokenize) X(tokenizer_release) X(start_load) X(start_lease) X(start_run) \
  X(start_embed) X(start_embed_texts) X(start_retire) X(op_wait) X(op_cancel) X(op_cancel_many) \
  X(op_model) X(op_lease) X(op_floats) X(op_output) X(op_release)
/* clang-format on */

typedef struct canelane_functions {
#define CANELANE_FIELD(name) __typeof__(&anelane_##name) name;
  CANELANE_FUNCTIONS(CANELANE_FIELD)
#undef CANELANE_FIELD
} canelane_functions;

/* Opens the library at `path`, or finds it in the process where path is NULL. NULL: `why` says why, in at
   most `cap` bytes. What was opened stays open: operations may be under way. Never freed. */
const canelane_functions* canelane_open(const char* path, char* why, size_t cap);
/* The names of the table, one after the other, NULL behind the last. */
const char* canelane_function_name(size_t index);

/* ---- an operation that may be cancelled before its handle is known ---- */
typedef struct canelane_pending canelane_pending;
canelane_pending* canelane_pending_new(void);
void canelane_pending_free(canelane_pending* pending);
/* Tells the handle; true: it was cancelled meanwhile, and the caller has to pass that on. */
bool canelane_pending_started(canelane_pending* pending, anelane_op op);
/* The handle to cancel; null: it is not known yet, and canelane_pending_started will say so. */
anelane_op canelane_pending_cancel(canelane_pending* pending);
bool canelane_pending_is_cancelled(const canelane_pending* pending);

/* ---- a gate: many inside at once, and one that shuts it once nobody is ---- */
typedef struct canelane_gate canelane_gate;
canelane_gate* canelane_gate_new(void);
void canelane_gate_free(canelane_gate* gate);
bool canelane_gate_enter(canelane_gate* gate); /* false: shut */
void canelane_gate_leave(canelane_gate* gate);
/* Waits until nobody is inside, for at most so long; false: somebody is, and the gate is open again. */
bool canelane_gate_shut(canelane_gate* gate, uint64_t wait_ns);
void canelane_gate_open(canelane_gate* gate);

/* ---- a lock ---- */
typedef struct canelane_lock canelane_lock;
canelane_lock* canelane_lock_new(void);
void canelane_lock_free(canelane_lock* lock);
void canelane_lock_take(canelane_lock* lock);
void canelane_lock_give(canelane_lock* lock);

/* Calls fn(user) on a thread of its own; false: there is none, and fn is not called. */
bool canelane_thread(void (*fn)(void* user), void* user);

#endif
