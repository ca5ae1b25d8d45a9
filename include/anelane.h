/* clang-format off */
/* libanelane: the Neural Engine lane of this machine, as an embeddable library.
 *
 * A *lane* is the one owner of the Neural Engine for this user. A *model* is a checkpoint, or a set of your own
 * programs, loaded into it and served by a worker process of its own. A *shape* (or rung) is one sequence width of the model's ladder; it must be
 * *resident* (all its layer programs loaded) before it can run. A *lease* pins a resident shape.
 *
 * Threads.   Every function may be called from any thread at any time, lane_close included. Nothing of yours is
 *            called while the library holds a lock. Callbacks come on the library's completion thread, except the
 *            log hook. Blocking calls and lane_close inside a callback answer ANELANE_WRONG_THREAD.
 * Blocking.  Said of each function. Every wait is bounded: by the deadline given, by the lane's admission bound,
 *            or by the bounds of the library itself.
 * Deadlines. Absolute nanoseconds of anelane_now_ns(); 0 = do not wait; ANELANE_NO_DEADLINE = only the lane's own
 *            bounds. A lease of a resident shape needs no waiting and ignores it; work on the engine does not.
 * Errors.    Each function returns a status and, where `err` is not NULL, fills it in (set struct_size first). Outputs
 *            are untouched on error unless said.
 * Handles.   Values, not pointers: copy them freely. A stale, forged or foreign handle answers ANELANE_BAD_HANDLE;
 *            after lane_close, handles of that lane answer ANELANE_CLOSED or ANELANE_BAD_HANDLE. Two kinds are
 *            remembered longer. A lease that has ended, in whatever way, answers ANELANE_LEASE_EXPIRED, after
 *            lane_close too (and so does a forged one that looks like a lease). A retired model answers
 *            ANELANE_RETIRED until its lane is closed or 256 others were retired after it.
 * Fork.      In a forked child every call answers ANELANE_FORKED; the child can exec or exit freely.
 * Host.      No signal handler is installed, no stream written, no foreign child reaped. The host may see one
 *            SIGCHLD for each worker that ends, and may reap it: both are harmless. exit() without close is fine.
 */
/* clang-format on */
#ifndef ANELANE_H
#define ANELANE_H
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ANELANE_API __attribute__((visibility("default")))
#else
#define ANELANE_API
#endif

/* What anelane_abi_version() of a fitting library returns. */
#define ANELANE_ABI_VERSION 1u
#define ANELANE_NO_DEADLINE UINT64_MAX

/* ---- numbers; never reused, and unknown ones stay legal in every language ---- */
typedef int32_t anelane_status;
enum {
  ANELANE_OK = 0,
  ANELANE_INVALID_ARGUMENT = 1, /* a parameter is wrong; the message names it */
  ANELANE_BAD_HANDLE = 2,       /* stale, forged, null, or of another kind; see "Handles" above */
  ANELANE_CLOSED = 3,           /* the lane is closed or closing */
  ANELANE_LANE_BUSY = 4,        /* another process holds the lane: holder_pid */
  ANELANE_UNSUPPORTED = 5,      /* not in this build, on this system or for this kind of model */
  ANELANE_MODEL_INVALID = 6, /* a broken checkpoint or program: the message names file and field or tensor; or
                                its files have changed since the load, and its worker had to be replaced */
  ANELANE_MODEL_UNSUPPORTED = 7, /* an architecture that this version does not serve */
  ANELANE_INVALID_SEQUENCE = 8,  /* no tokens, or an id outside the vocabulary: item */
  ANELANE_SEQUENCE_TOO_LONG = 9, /* longer than the model's ceiling: item, limit. Nothing is ever truncated */
  ANELANE_SHAPE_UNKNOWN = 10,    /* not a rung of the model's ladder */
  ANELANE_SHAPE_COMPILING = 11,  /* not ready in time; ask again after retry_after_ms */
  ANELANE_RESOURCES_EXHAUSTED = 12, /* no room on the engine (retry_after_ms), or never (permanent) */
  ANELANE_TEMP_SPACE_LOW = 13,      /* a compile needs more free space in the temp folder */
  ANELANE_COMPILE_FAILED = 14,      /* the engine refuses the program for good */
  ANELANE_DEADLINE_EXCEEDED = 15,
  ANELANE_CANCELLED = 16,
  ANELANE_RETIRED = 17, /* the model was retired */
  ANELANE_PAUSED = 18,
  ANELANE_ENGINE_CRASHED = 19,     /* the worker died or broke; a new one is started by itself */
  ANELANE_ENGINE_UNAVAILABLE = 20, /* no engine: worker missing, framework missing or changed */
  ANELANE_PROTOCOL = 21,           /* library and worker do not fit together */
  ANELANE_IO = 22,
  ANELANE_OUT_OF_MEMORY = 23,
  ANELANE_INTERNAL = 24,      /* a defect of this library: please report the message */
  ANELANE_LEASE_EXPIRED = 25, /* released, not used for lease_max_ms, or its shape is gone */
  ANELANE_FORKED = 26,        /* a call in a forked child */
  ANELANE_WRONG_THREAD = 27,  /* a blocking call in a callback */
  ANELANE_PENDING = 28        /* not finished yet */
};

typedef int32_t anelane_class; /* is it worth asking again? */
enum { ANELANE_PERMANENT = 0, ANELANE_TRANSIENT = 1 };

typedef int32_t anelane_engine;
enum { ANELANE_ENGINE_AUTO = 0, ANELANE_ENGINE_APPLE = 1, ANELANE_ENGINE_SOFT = 2 };

typedef int32_t anelane_worker_mode;
enum {
  ANELANE_WORKER_PROCESS = 0, /* a process for each model: may die without hurting the host */
  ANELANE_WORKER_THREAD = 1   /* for hosts that may not start processes: a stuck engine keeps its slots */
};

typedef int32_t anelane_dtype;
enum { ANELANE_F16 = 1, ANELANE_F32 = 2, ANELANE_I32 = 3, ANELANE_I8 = 4, ANELANE_U8 = 5 };

typedef int32_t anelane_model_kind;
enum { ANELANE_EMBEDDER = 1, ANELANE_RERANKER = 2, ANELANE_PROGRAM = 3 };

typedef int32_t anelane_log_level;
enum {
  ANELANE_LOG_DEBUG = 0,
  ANELANE_LOG_INFO = 1,
  ANELANE_LOG_WARN = 2,
  ANELANE_LOG_ERROR = 3,
  ANELANE_LOG_OFF = 4
};

/* ---- handles; {0} is null ---- */
typedef struct anelane_lane {
  uint64_t bits;
} anelane_lane;
typedef struct anelane_model {
  uint64_t bits;
} anelane_model;
typedef struct anelane_lease {
  uint64_t bits;
} anelane_lease;
typedef struct anelane_op {
  uint64_t bits;
} anelane_op;
typedef struct anelane_tokenizer {
  uint64_t bits;
} anelane_tokenizer;

/* ---- errors: caller-owned, fixed size, nothing to free ---- */
typedef struct anelane_error {
  uint32_t struct_size; /* in: sizeof(anelane_error); 0: nothing is filled in */
  anelane_status status;
  anelane_class error_class;
  uint32_t safe_to_retry;  /* 1: the same request may be sent again without harm */
  uint64_t retry_after_ms; /* 0: none known */
  uint64_t lane_id;        /* 0: none */
  uint64_t limit;          /* the limit that was exceeded, or a byte offset; 0: none */
  int64_t item;            /* index of the offending item; -1: none */
  uint32_t shape;          /* 0: none */
  uint32_t holder_pid;     /* ANELANE_LANE_BUSY: who holds the lane; 0: unknown */
  char model[64];
  char message[256]; /* one line: what happened and what to do; of a longer one the middle is left out */
} anelane_error;

/* ---- callbacks ---- */
/* While a shape becomes resident: layer of layers, and the time left as far as anybody knows (0: unknown).
   Completion thread. */
typedef void (*anelane_progress_fn)(void* user, uint32_t shape, uint32_t layer, uint32_t layers,
                                    uint64_t ms_left);
/* An operation has ended; comes exactly once. Completion thread. */
typedef void (*anelane_done_fn)(void* user, anelane_op op, anelane_status status);
/* One line of log, without newline. Any library thread, several at once; must not call back into the library,
   and must not block: the lane waits for it. */
typedef void (*anelane_log_fn)(void* user, anelane_log_level level, const char* line);

/* ---- options; initialise with the _init function, then change what you need ---- */
typedef struct anelane_lane_options {
  uint32_t struct_size;
  anelane_engine engine; /* AUTO: the Neural Engine where there is one, else software */
  anelane_worker_mode worker_mode;
  uint32_t flags;              /* ANELANE_LANE_* bits, see below */
  uint32_t executable_budget;  /* layer programs resident at once; 100 */
  uint32_t shapes_per_model;   /* resident shapes of one model; 4 */
  uint32_t shapes_total;       /* resident shapes in the lane; 8 */
  uint32_t max_waiting;        /* requests that may wait; 65536 */
  uint32_t settle_ms;          /* pause before a compile, so that cheaper ones may go first; 50 */
  uint32_t handoff_ms;         /* protection of a fresh shape for those that waited for it; 250 */
  uint32_t lease_max_ms;       /* a lease without a run expires after this; 30000 */
  uint32_t soft_threads;       /* threads of the software engine; 0 = one for each core */
  uint64_t admission_bound_ms; /* longest wait for a shape; 600000 */
  uint64_t drain_ms;           /* longest wait for running work at retirement; 600000 */
  /* Absolute paths: a host's current folder may change. */
  const char* lock_dir;    /* NULL: /run/user/UID/anelane, else the cache folder in HOME */
  const char* cache_dir;   /* compiled programs of the software engine; NULL: see below */
  const char* temp_dir;    /* NULL: the system's */
  const char* worker_path; /* NULL: ANELANE_WORKER, then beside the library, then ../libexec/anelane */
  const char* record_path; /* file for a record of all decisions (anelane_replay); NULL: none */
  uint64_t reserved[4];
} anelane_lane_options;
/* cache_dir NULL: "programs" beside the lock where lock_dir is given, else $XDG_CACHE_HOME/anelane/programs
   (~/.cache/anelane/programs; macOS: ~/Library/Caches/anelane/programs), which a restart of the machine
   leaves alone: the lock's own default place may be memory. Entries that nobody used for 14 days are removed,
   and those of an older system once a newer one has started its own;
   the whole folder may be removed while no lane is open. On a home folder that lies on the network, name a
   local one. */
/* Load the small shapes of a model in the background once it is ready, into free room only. */
#define ANELANE_LANE_PREWARM 1u
/* How the Neural Engine is reached, and in which dialect its programs are written. Leave these out unless
   `anelane doctor` or a bug report says so: the system decides, and falls back from the first route to the
   second. At most one of each pair; the software engine takes no notice. */
#define ANELANE_LANE_APPLE_IN_MEMORY 2u
#define ANELANE_LANE_APPLE_CLIENT 4u
#define ANELANE_LANE_MIL_IOS18 8u  /* macOS 15 and later */
#define ANELANE_LANE_MIL_IOS16 16u /* systems before */

typedef struct anelane_model_options {
  uint32_t struct_size;
  uint32_t flags;      /* 0 */
  uint32_t rung_count; /* 0: the default ladder 128, 256, …, cut at the model's ceiling */
  uint32_t reserved0;
  const uint32_t*
      rungs;        /* ascending, multiples of 32, the last one the ceiling; of a program: some of its own */
  const char* name; /* for logs and errors; NULL: a program's own (in program.json), else the folder's */
  const char* numerics;         /* software engine: NULL or "fast"; "lattice" */
  anelane_progress_fn progress; /* NULL: none */
  void* progress_user;
  uint64_t reserved[4];
} anelane_model_options;

/* ---- data ---- */
typedef struct anelane_tokens {
  const int32_t* ids;
  uint64_t count;
} anelane_tokens;
typedef struct anelane_tensor {
  void* data; /* in the port's layout; NULL: the bytes are (or shall stay) in the mapped port */
  uint64_t bytes;
  uint32_t port; /* index as given by anelane_model_ports */
  uint32_t reserved;
} anelane_tensor;
/* A model of your own programs in memory: what program.json says in a folder (docs/programs.md). */
typedef struct anelane_connection {
  const char* input;  /* of this layer */
  const char* output; /* of an earlier one: its name, or "LAYER.NAME" */
} anelane_connection;
typedef struct anelane_layer {
  const char* mil; /* the text */
  uint64_t mil_bytes;
  const void* weights; /* the bytes of the weight file; NULL: none */
  uint64_t weight_bytes;
  const anelane_connection* connect; /* NULL: by names alone */
  uint32_t connect_count;
  uint32_t reserved; /* 0 */
} anelane_layer;
typedef struct anelane_program_rung {
  uint32_t shape; /* its width: a name for it, from 1 */
  uint32_t layer_count;
  const anelane_layer* layers;
} anelane_program_rung;
typedef struct anelane_program {
  uint32_t struct_size;
  uint32_t rung_count; /* at most 16, all with as many layers */
  const anelane_program_rung* rungs;
  uint64_t reserved[2]; /* 0 */
} anelane_program;
typedef struct anelane_port {
  uint32_t struct_size;
  anelane_dtype dtype;
  uint32_t rank;
  uint32_t is_output;  /* 0: input */
  uint64_t dims[5];    /* elements */
  uint64_t strides[5]; /* bytes */
  uint64_t bytes;      /* of the whole buffer */
  char name[64];
} anelane_port;
typedef struct anelane_model_info {
  uint32_t struct_size;
  anelane_model_kind kind;
  anelane_engine engine; /* the one that really runs; AUTO from anelane_model_inspect */
  uint32_t dim;          /* floats of one vector */
  uint32_t ceiling;      /* longest sequence in tokens */
  uint32_t layers;       /* programs of one resident shape */
  uint32_t rung_count;
  uint32_t rungs[16];      /* the ladder */
  uint32_t cached_rungs;   /* bit i: rungs[i] is known to be compiled; 0 from anelane_model_inspect */
  uint64_t host_bytes;     /* memory that the worker needs beside the engine's */
  uint64_t first_ready_ms; /* predicted wait for the smallest shape, were it asked for now */
  char architecture[64];
  char vector_space[80]; /* vectors are comparable only where this is equal; "" from anelane_model_inspect */
} anelane_model_info;
typedef struct anelane_lane_stats {
  uint32_t struct_size;
  uint32_t budget, reserved_programs; /* layer programs: allowed, charged */
  uint32_t resident, leased;          /* shapes, now; leased: by at least one lease */
  uint32_t waiting;                   /* requests */
  uint32_t models;                    /* loaded and not retired */
  uint32_t compiling_shape;           /* what is being compiled; 0: nothing */
  uint64_t compiling_ms;              /* for how long already */
  uint64_t compiling_predicted_ms;    /* how long it was said to take; 0: nobody knew */
  /* Counted since the lane was opened; they only grow. */
  uint64_t admitted;  /* times that a shape became resident: loaded + compiled */
  uint64_t loaded;    /* of these, with every program from the cache */
  uint64_t compiled;  /* of these, with at least one program compiled */
  uint64_t evicted;   /* times that a shape was evicted to make room */
  uint64_t refused;   /* times that the engine had no room for a shape, before others were evicted for it */
  uint64_t restarts;  /* workers started in place of one that died */
  uint64_t answered;  /* requests that ended without a lease: admits done, refusals, cancelled ones */
  uint64_t cancelled; /* requests cancelled while they waited */
  char compiling_model[64];
} anelane_lane_stats;
typedef struct anelane_holder {
  uint32_t struct_size;
  uint32_t held;         /* 1: somebody holds the lane */
  uint32_t pid;          /* advice from the record beside the lock; 0: unknown */
  uint32_t record_stale; /* 1: the record is missing or of somebody else */
  int64_t since_unix_ms;
  char program[256];
} anelane_holder;

/* ================================================================ library */
/* ABI number of this library: equal to ANELANE_ABI_VERSION of a header that fits. Never fails or blocks. */
ANELANE_API uint32_t anelane_abi_version(void);
/* "0.1.0+<build>". Static string. */
ANELANE_API const char* anelane_version(void);
/* The clock of every deadline: monotonic nanoseconds; stops while the machine sleeps. */
ANELANE_API uint64_t anelane_now_ns(void);
/* "SHAPE_COMPILING" for 11. Static string; "UNKNOWN" for a number that this build does not know. */
ANELANE_API const char* anelane_status_name(anelane_status status);
/* All that *error says, on one line. Writes at most cap bytes, NUL included; returns the length needed
   without NUL. error NULL: "". */
ANELANE_API size_t anelane_error_text(const anelane_error* error, char* buf, size_t cap);
/* Where log lines of at least min_level go; NULL: nowhere (the default). Before the first lane is opened;
   INVALID_ARGUMENT later. */
ANELANE_API anelane_status anelane_set_log(anelane_log_fn fn, void* user, anelane_log_level min_level);

/* =================================================================== lane */
/* Fills `size` bytes (sizeof of your header's struct) with the defaults. */
ANELANE_API void anelane_lane_options_init(anelane_lane_options* options, size_t size);
/* Takes the lane of this user (options NULL: defaults). Another process holds it: waits until the deadline
   (NO_DEADLINE: for admission_bound_ms), then LANE_BUSY names the holder. The same lock_dir again in this
   process is the same lane, counted; the options must agree (INVALID_ARGUMENT names the one that does not).
   Starts one thread, and no worker yet. */
ANELANE_API anelane_status anelane_lane_open(const anelane_lane_options* options, uint64_t deadline,
                                             anelane_lane* out, anelane_error* err);
/* Gives one open back; the last one answers all waiting calls with CLOSED, ends the workers in good order
   until the deadline (for 2 s at most) and by force then (at most 1 s more), and returns after the last
   callback. Nothing is left behind: no process, thread, descriptor, shared memory or temporary file. Workers
   that are threads cannot be forced; one that is stuck in its engine is waited for until the deadline, for 30
   s at most, and left to itself (DEADLINE_EXCEEDED, as for a process that the system itself does not let end,
   say on a file server that is gone: the lane stays busy until then). A second close of a handle: BAD_HANDLE.
 */
ANELANE_API anelane_status anelane_lane_close(anelane_lane lane, uint64_t deadline, anelane_error* err);
/* A snapshot; consistent in itself. Set out->struct_size first. Waits for the lane thread (microseconds). */
ANELANE_API anelane_status anelane_lane_get_stats(anelane_lane lane, anelane_lane_stats* out,
                                                  anelane_error* err);
/* JSON: options, models with their slots, queue, learned costs. *len = bytes needed without NUL; a buffer
   that is too small gets the beginning and a NUL, and the status is still OK. buf may be NULL with cap 0. */
ANELANE_API anelane_status anelane_lane_describe(anelane_lane lane, char* buf, size_t cap, size_t* len,
                                                 anelane_error* err);
/* Feeds a record (anelane_lane_options.record_path) through the scheduler of this library, without a lane.
   *steps = events fed; buf gets the first difference between what was decided then and now, with its line, as
   anelane_lane_describe does: "" when there is none. Reads the file into memory. IO; INVALID_ARGUMENT names
   the line of what is no record, or not whole. steps and len may be NULL. */
ANELANE_API anelane_status anelane_replay(const char* path, uint64_t* steps, char* buf, size_t cap,
                                          size_t* len, anelane_error* err);
/* Who holds the lane at lock_dir (NULL: the default)? Set out->struct_size. Needs no lane, creates and
   changes nothing: of a folder that is not there, nobody holds the lane. */
ANELANE_API anelane_status anelane_lane_holder(const char* lock_dir, anelane_holder* out, anelane_error* err);
/* What the lane at lock_dir (NULL: the default) does, whoever holds it, as JSON: "held"; "holder" with "pid",
   "program", "since_unix_ms" and "alive" (false: its workers still end), or null; "lane" as from
   anelane_lane_describe, or null where it is not known; "as_of_unix_ms", when that was so: a lane writes it
   down after changes, at most twice a second; "stale": true when the holder of now did not write it;
   "crash_loops": models whose workers ended before they served anything, each with "model", "crashes" and
   "retry_after_ms" (until one is started again; 0: now), held or not. buf, cap and len as there. Needs no
   lane, disturbs nobody, creates and changes nothing. */
ANELANE_API anelane_status anelane_lane_peek(const char* lock_dir, char* buf, size_t cap, size_t* len,
                                             anelane_error* err);
/* A descriptor that is readable while a completion waits for anelane_lane_next_completion. It belongs to the
   lane; do not close or read it. */
ANELANE_API anelane_status anelane_lane_event_fd(anelane_lane lane, int* fd, anelane_error* err);
/* The next ended operation that was started with fn == NULL, with its user pointer; PENDING when there is
   none. Never blocks. user may be NULL. */
ANELANE_API anelane_status anelane_lane_next_completion(anelane_lane lane, anelane_op* out, void** user,
                                                        anelane_error* err);

/* ================================================================= models */
ANELANE_API void anelane_model_options_init(anelane_model_options* options, size_t size);
/* Reads the headers of a model's folder (config.json and model.safetensors, or program.json and the texts
   that it names): what load would serve. No lane, no worker. Blocks for file reads. Set out->struct_size
   first. MODEL_INVALID, MODEL_UNSUPPORTED, IO. */
ANELANE_API anelane_status anelane_model_inspect(const char* path, anelane_model_info* out,
                                                 anelane_error* err);
/* Starts the model's worker and checks every tensor of the folder; compiles nothing yet. Blocks until loaded,
   failed or the deadline, at which the half-started worker is ended (and the reading of programs' texts,
   which goes on until the text at hand is read; a close waits for that). A worker has 10 s to start, however
   late the deadline is (ENGINE_CRASHED), and ten minutes for the checks. A model whose workers kept ending,
   in earlier processes too, before they served anything is not started for up to a minute (ENGINE_CRASHED
   with retry_after_ms). MODEL_INVALID and MODEL_UNSUPPORTED name file, field or tensor, expected and found;
   COMPILE_FAILED names the file, line and operation of a program that the engine's compiler does not take;
   ENGINE_UNAVAILABLE: no worker executable, one of another build, or a program that leaves at once. */
ANELANE_API anelane_status anelane_model_load(anelane_lane lane, const char* path,
                                              const anelane_model_options* options, uint64_t deadline,
                                              anelane_model* out, anelane_error* err);
/* The same for programs in memory, which are copied before this returns, and given to every worker that is
   started for the model: weights of hundreds of MB are better kept in files. Texts, and weights, of one
   address and length are taken as one file. A shape is a number from 1 to 2^30. Errors name
   "rung_64_layer_0.mil" and the like. */
ANELANE_API anelane_status anelane_model_load_program(anelane_lane lane, const anelane_program* program,
                                                      const anelane_model_options* options, uint64_t deadline,
                                                      anelane_model* out, anelane_error* err);
/* Takes no new work, lets running work end, ends the worker and gives its room back. Waits for that until the
   deadline; then it goes on without the caller (DEADLINE_EXCEEDED). Again: OK. Calls on the model answer
   RETIRED. */
ANELANE_API anelane_status anelane_model_retire(anelane_model model, uint64_t deadline, anelane_error* err);
/* Set out->struct_size first. Does not block. */
ANELANE_API anelane_status anelane_model_get_info(anelane_model model, anelane_model_info* out,
                                                  anelane_error* err);
/* The layouts that anelane_run takes at this shape: inputs first, then outputs; the index is the port number.
   At most cap are written (set struct_size of each), *count = how many there are. Does not block.
   An encoder has three, all fp16: 0 "a00_x", the activations after the embeddings' norm, one column for each
   token; 1 "a01_mask", 0 for a token and -10000 for padding; 2 "z00_y", the last layer's output, before
   pooling. A model of programs has those that no program of its own feeds or takes, sorted by name. */
ANELANE_API anelane_status anelane_model_ports(anelane_model model, uint32_t shape, anelane_port* out,
                                               size_t cap, size_t* count, anelane_error* err);

/* What can be said of one program without a lane, as JSON: "error", the compiler's own words with line and
   column, or null; "dialect"; "functions"; "inputs" and "outputs" with "name", "dtype", "dims", "bytes";
   "operations", how many of each; "weight_bytes"; "identifier", its name in the compile cache; "warnings"
   with "rule", "line", "column", "message": sound text that some engine is reported to refuse or to get wrong
   (docs/programs.md). Of a text that is no MIL, "error" alone. weights NULL: it has none. The compiler is
   that of the software engine, whatever the machine. buf, cap and len as in anelane_lane_describe. Blocks for
   file reads. IO. */
ANELANE_API anelane_status anelane_mil_check(const char* path, const char* weights, char* buf, size_t cap,
                                             size_t* len, anelane_error* err);

/* ============================================================== residency */
/* How long until the shape is resident, were it asked for now; 0 = resident. Where a part of it is not known
   yet (a first compile on the software engine, say) it is at least 250. Starts and promises nothing. */
ANELANE_API anelane_status anelane_predict(anelane_model model, uint32_t shape, uint64_t* ready_in_ms,
                                           anelane_error* err);
/* Makes the shape resident and pins nothing. Blocks until then; a wait that cannot end in time is refused at
   once: SHAPE_COMPILING with retry_after_ms. */
ANELANE_API anelane_status anelane_admit(anelane_model model, uint32_t shape, uint64_t deadline,
                                         anelane_error* err);
/* Makes the shape resident and pins it, in one ticket. A resident shape is leased on the spot, without a
   system call or an allocation. It expires after lease_max_ms without a run. Errors as anelane_admit. */
ANELANE_API anelane_status anelane_lease_acquire(anelane_model model, uint32_t shape, uint64_t deadline,
                                                 anelane_lease* out, anelane_error* err);
/* The port's bytes in the memory shared with the worker, for zero-copy runs with this lease. Valid until
   release, expiry or ENGINE_CRASHED (the mapping stays readable until the lane is closed). The ports of a few
   leases can be mapped at the same time; more: RESOURCES_EXHAUSTED. */
ANELANE_API anelane_status anelane_lease_map(anelane_lease lease, uint32_t port, anelane_tensor* out,
                                             anelane_error* err);
/* Gives the pin back. Idempotent; stale, expired, null: a no-op. Never blocks. */
ANELANE_API void anelane_lease_release(anelane_lease lease);
/* One evaluation of all layers on the caller's own tensors: every input port once, and the output ports
   wanted. Blocks until the reply or the deadline (DEADLINE_EXCEEDED: the late reply is dropped). It may have
   executed even on error, and is never repeated by the library; that is harmless (safe_to_retry). */
ANELANE_API anelane_status anelane_run(anelane_lease lease, const anelane_tensor* in, size_t n_in,
                                       const anelane_tensor* out, size_t n_out, uint64_t deadline,
                                       anelane_error* err);

/* ======================================================= vectors and text */
/* (Embedders only; a model of programs answers UNSUPPORTED.)
   One vector for each token sequence, in the order of the input: out has count rows of dim floats, row_stride
   floats apart (0: dim). Nothing is truncated: an empty or too long sequence refuses the call before anything
   runs (INVALID_SEQUENCE, SEQUENCE_TOO_LONG with item and limit). Blocks until done or the deadline.
   item_status (NULL, or count of them): rows whose status is OK are valid even when the call fails. A call
   that is refused as a whole gives every row its status. */
ANELANE_API anelane_status anelane_embed(anelane_model model, const anelane_tokens* items, size_t count,
                                         float* out, size_t row_stride, anelane_status* item_status,
                                         uint64_t deadline, anelane_error* err);
/* The same from UTF-8 texts (NUL-terminated), through the checkpoint's own tokenizer. "" is valid. */
ANELANE_API anelane_status anelane_embed_texts(anelane_model model, const char* const* utf8, size_t count,
                                               float* out, size_t row_stride, anelane_status* item_status,
                                               uint64_t deadline, anelane_error* err);
/* The tokenizer of a checkpoint folder. Needs no lane. Immutable: any number of threads may use it. */
ANELANE_API anelane_status anelane_tokenizer_load(const char* path, anelane_tokenizer* out,
                                                  anelane_error* err);
/* Token ids of one text of `bytes` bytes, special tokens included. At most cap are written, *count = how many
   there are (ids may be NULL with cap 0). Invalid UTF-8: INVALID_ARGUMENT with the byte offset in limit. */
ANELANE_API anelane_status anelane_tokenize(anelane_tokenizer tokenizer, const char* utf8, size_t bytes,
                                            int32_t* ids, size_t cap, size_t* count, anelane_error* err);
ANELANE_API void anelane_tokenizer_release(anelane_tokenizer tokenizer);

/* =========================================================== asynchronous
   The same operations without blocking: start_load reads no file before it returns, and what is wrong with
   the model is the operation's end. Inputs are copied before the call returns; results belong to the
   operation until anelane_op_release. *out is written before fn can run. fn NULL: the end is queued for
   anelane_lane_next_completion, and anelane_op_wait works in any case. */
ANELANE_API anelane_status anelane_start_load(anelane_lane lane, const char* path,
                                              const anelane_model_options* options, uint64_t deadline,
                                              anelane_done_fn fn, void* user, anelane_op* out,
                                              anelane_error* err);
ANELANE_API anelane_status anelane_start_lease(anelane_model model, uint32_t shape, uint64_t deadline,
                                               anelane_done_fn fn, void* user, anelane_op* out,
                                               anelane_error* err);
ANELANE_API anelane_status anelane_start_run(anelane_lease lease, const anelane_tensor* in, size_t n_in,
                                             uint64_t deadline, anelane_done_fn fn, void* user,
                                             anelane_op* out, anelane_error* err);
ANELANE_API anelane_status anelane_start_embed(anelane_model model, const anelane_tokens* items, size_t count,
                                               uint64_t deadline, anelane_done_fn fn, void* user,
                                               anelane_op* out, anelane_error* err);
ANELANE_API anelane_status anelane_start_embed_texts(anelane_model model, const char* const* utf8,
                                                     size_t count, uint64_t deadline, anelane_done_fn fn,
                                                     void* user, anelane_op* out, anelane_error* err);
ANELANE_API anelane_status anelane_start_retire(anelane_model model, uint64_t deadline, anelane_done_fn fn,
                                                void* user, anelane_op* out, anelane_error* err);
/* Waits for the end and gives the operation's own status and error; PENDING at the deadline, and the
   operation goes on. WRONG_THREAD in a callback (unless it has ended already). */
ANELANE_API anelane_status anelane_op_wait(anelane_op op, uint64_t deadline, anelane_error* err);
/* Asks for cancellation and returns at once; the operation ends CANCELLED, or as it would have. Its callback
   still comes, once. A compile that others need goes on; a reply on its way is drained. */
ANELANE_API anelane_status anelane_op_cancel(anelane_op op);
/* The same for many at once, which costs the lane one wake-up instead of one each. Handles that stand for no
   operation (any more) are passed over. */
ANELANE_API anelane_status anelane_op_cancel_many(const anelane_op* ops, size_t count);
/* The result of start_load, start_lease. Taken once each; what is not taken is retired or released with the
   operation. PENDING before the end. */
ANELANE_API anelane_status anelane_op_model(anelane_op op, anelane_model* out, anelane_error* err);
ANELANE_API anelane_status anelane_op_lease(anelane_op op, anelane_lease* out, anelane_error* err);
/* The vectors of start_embed: rows of cols floats, in the operation's memory until anelane_op_release. */
ANELANE_API anelane_status anelane_op_floats(anelane_op op, const float** data, size_t* rows, size_t* cols,
                                             anelane_error* err);
/* One output port of start_run. In the operation's memory, valid until anelane_op_release. */
ANELANE_API anelane_status anelane_op_output(anelane_op op, uint32_t port, const void** data, size_t* bytes,
                                             anelane_error* err);
/* Drops handle and results; does not cancel, and the callback still comes. Releasing the handle in its own
   callback is fine. */
ANELANE_API void anelane_op_release(anelane_op op);

#ifdef __cplusplus
}
#endif
#endif /* ANELANE_H */
