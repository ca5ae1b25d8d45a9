"""Declarations of include/anelane.h for ctypes, made by scripts/make-python-abi: change that, never this file."""
from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_uint32,
    c_uint64,
    c_void_p,
)
from typing import Any

ANELANE_ABI_VERSION = 1
ANELANE_NO_DEADLINE = 2**64 - 1
ANELANE_LANE_PREWARM = 1
ANELANE_LANE_APPLE_IN_MEMORY = 2
ANELANE_LANE_APPLE_CLIENT = 4
ANELANE_LANE_MIL_IOS18 = 8
ANELANE_LANE_MIL_IOS16 = 16
ANELANE_OK = 0
ANELANE_INVALID_ARGUMENT = 1
ANELANE_BAD_HANDLE = 2
ANELANE_CLOSED = 3
ANELANE_LANE_BUSY = 4
ANELANE_UNSUPPORTED = 5
ANELANE_MODEL_INVALID = 6
ANELANE_MODEL_UNSUPPORTED = 7
ANELANE_INVALID_SEQUENCE = 8
ANELANE_SEQUENCE_TOO_LONG = 9
ANELANE_SHAPE_UNKNOWN = 10
ANELANE_SHAPE_COMPILING = 11
ANELANE_RESOURCES_EXHAUSTED = 12
ANELANE_TEMP_SPACE_LOW = 13
ANELANE_COMPILE_FAILED = 14
ANELANE_DEADLINE_EXCEEDED = 15
ANELANE_CANCELLED = 16
ANELANE_RETIRED = 17
ANELANE_PAUSED = 18
ANELANE_ENGINE_CRASHED = 19
ANELANE_ENGINE_UNAVAILABLE = 20
ANELANE_PROTOCOL = 21
ANELANE_IO = 22
ANELANE_OUT_OF_MEMORY = 23
ANELANE_INTERNAL = 24
ANELANE_LEASE_EXPIRED = 25
ANELANE_FORKED = 26
ANELANE_WRONG_THREAD = 27
ANELANE_PENDING = 28
ANELANE_PERMANENT = 0
ANELANE_TRANSIENT = 1
ANELANE_ENGINE_AUTO = 0
ANELANE_ENGINE_APPLE = 1
ANELANE_ENGINE_SOFT = 2
ANELANE_WORKER_PROCESS = 0
ANELANE_WORKER_THREAD = 1
ANELANE_F16 = 1
ANELANE_F32 = 2
ANELANE_I32 = 3
ANELANE_I8 = 4
ANELANE_U8 = 5
ANELANE_EMBEDDER = 1
ANELANE_RERANKER = 2
ANELANE_PROGRAM = 3
ANELANE_LOG_DEBUG = 0
ANELANE_LOG_INFO = 1
ANELANE_LOG_WARN = 2
ANELANE_LOG_ERROR = 3
ANELANE_LOG_OFF = 4

# The handles are structs of one number.


class anelane_lane(Structure):
    _fields_ = [
        ("bits", c_uint64),
    ]


class anelane_model(Structure):
    _fields_ = [
        ("bits", c_uint64),
    ]


class anelane_lease(Structure):
    _fields_ = [
        ("bits", c_uint64),
    ]


class anelane_op(Structure):
    _fields_ = [
        ("bits", c_uint64),
    ]


class anelane_tokenizer(Structure):
    _fields_ = [
        ("bits", c_uint64),
    ]


class anelane_error(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("status", c_int32),
        ("error_class", c_int32),
        ("safe_to_retry", c_uint32),
        ("retry_after_ms", c_uint64),
        ("lane_id", c_uint64),
        ("limit", c_uint64),
        ("item", c_int64),
        ("shape", c_uint32),
        ("holder_pid", c_uint32),
        ("model", c_char * 64),
        ("message", c_char * 256),
    ]


class anelane_lane_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("engine", c_int32),
        ("worker_mode", c_int32),
        ("flags", c_uint32),
        ("executable_budget", c_uint32),
        ("shapes_per_model", c_uint32),
        ("shapes_total", c_uint32),
        ("max_waiting", c_uint32),
        ("settle_ms", c_uint32),
        ("handoff_ms", c_uint32),
        ("lease_max_ms", c_uint32),
        ("soft_threads", c_uint32),
        ("admission_bound_ms", c_uint64),
        ("drain_ms", c_uint64),
        ("lock_dir", c_char_p),
        ("cache_dir", c_char_p),
        ("temp_dir", c_char_p),
        ("worker_path", c_char_p),
        ("record_path", c_char_p),
        ("reserved", c_uint64 * 4),
    ]


anelane_progress_fn = CFUNCTYPE(None, c_void_p, c_uint32, c_uint32, c_uint32, c_uint64)
anelane_done_fn = CFUNCTYPE(None, c_void_p, anelane_op, c_int32)
anelane_log_fn = CFUNCTYPE(None, c_void_p, c_int32, c_char_p)


class anelane_model_options(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("flags", c_uint32),
        ("rung_count", c_uint32),
        ("reserved0", c_uint32),
        ("rungs", POINTER(c_uint32)),
        ("name", c_char_p),
        ("numerics", c_char_p),
        ("progress", anelane_progress_fn),
        ("progress_user", c_void_p),
        ("reserved", c_uint64 * 4),
    ]


class anelane_tokens(Structure):
    _fields_ = [
        ("ids", POINTER(c_int32)),
        ("count", c_uint64),
    ]


class anelane_tensor(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("bytes", c_uint64),
        ("port", c_uint32),
        ("reserved", c_uint32),
    ]


class anelane_connection(Structure):
    _fields_ = [
        ("input", c_char_p),
        ("output", c_char_p),
    ]


class anelane_layer(Structure):
    _fields_ = [
        ("mil", c_char_p),
        ("mil_bytes", c_uint64),
        ("weights", c_void_p),
        ("weight_bytes", c_uint64),
        ("connect", POINTER(anelane_connection)),
        ("connect_count", c_uint32),
        ("reserved", c_uint32),
    ]


class anelane_program_rung(Structure):
    _fields_ = [
        ("shape", c_uint32),
        ("layer_count", c_uint32),
        ("layers", POINTER(anelane_layer)),
    ]


class anelane_program(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("rung_count", c_uint32),
        ("rungs", POINTER(anelane_program_rung)),
        ("reserved", c_uint64 * 2),
    ]


class anelane_port(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("dtype", c_int32),
        ("rank", c_uint32),
        ("is_output", c_uint32),
        ("dims", c_uint64 * 5),
        ("strides", c_uint64 * 5),
        ("bytes", c_uint64),
        ("name", c_char * 64),
    ]


class anelane_model_info(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("kind", c_int32),
        ("engine", c_int32),
        ("dim", c_uint32),
        ("ceiling", c_uint32),
        ("layers", c_uint32),
        ("rung_count", c_uint32),
        ("rungs", c_uint32 * 16),
        ("cached_rungs", c_uint32),
        ("host_bytes", c_uint64),
        ("first_ready_ms", c_uint64),
        ("architecture", c_char * 64),
        ("vector_space", c_char * 80),
    ]


class anelane_lane_stats(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("budget", c_uint32),
        ("reserved_programs", c_uint32),
        ("resident", c_uint32),
        ("leased", c_uint32),
        ("waiting", c_uint32),
        ("models", c_uint32),
        ("compiling_shape", c_uint32),
        ("compiling_ms", c_uint64),
        ("compiling_predicted_ms", c_uint64),
        ("admitted", c_uint64),
        ("loaded", c_uint64),
        ("compiled", c_uint64),
        ("evicted", c_uint64),
        ("refused", c_uint64),
        ("restarts", c_uint64),
        ("answered", c_uint64),
        ("cancelled", c_uint64),
        ("compiling_model", c_char * 64),
    ]


class anelane_holder(Structure):
    _fields_ = [
        ("struct_size", c_uint32),
        ("held", c_uint32),
        ("pid", c_uint32),
        ("record_stale", c_uint32),
        ("since_unix_ms", c_int64),
        ("program", c_char * 256),
    ]


# Each function: what it returns, and what it takes.
FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "anelane_abi_version": (c_uint32, []),
    "anelane_version": (c_char_p, []),
    "anelane_now_ns": (c_uint64, []),
    "anelane_status_name": (c_char_p, [c_int32]),
    "anelane_error_text": (c_size_t, [POINTER(anelane_error), c_char_p, c_size_t]),
    "anelane_set_log": (c_int32, [anelane_log_fn, c_void_p, c_int32]),
    "anelane_lane_options_init": (None, [POINTER(anelane_lane_options), c_size_t]),
    "anelane_lane_open": (c_int32, [
        POINTER(anelane_lane_options), c_uint64, POINTER(anelane_lane), POINTER(anelane_error),
    ]),
    "anelane_lane_close": (c_int32, [anelane_lane, c_uint64, POINTER(anelane_error)]),
    "anelane_lane_get_stats": (c_int32, [anelane_lane, POINTER(anelane_lane_stats), POINTER(anelane_error)]),
    "anelane_lane_describe": (c_int32, [
        anelane_lane, c_char_p, c_size_t, POINTER(c_size_t), POINTER(anelane_error),
    ]),
    "anelane_replay": (c_int32, [
        c_char_p, POINTER(c_uint64), c_char_p, c_size_t, POINTER(c_size_t), POINTER(anelane_error),
    ]),
    "anelane_lane_holder": (c_int32, [c_char_p, POINTER(anelane_holder), POINTER(anelane_error)]),
    "anelane_lane_peek": (c_int32, [c_char_p, c_char_p, c_size_t, POINTER(c_size_t), POINTER(anelane_error)]),
    "anelane_lane_event_fd": (c_int32, [anelane_lane, POINTER(c_int), POINTER(anelane_error)]),
    "anelane_lane_next_completion": (c_int32, [
        anelane_lane, POINTER(anelane_op), POINTER(c_void_p), POINTER(anelane_error),
    ]),
    "anelane_model_options_init": (None, [POINTER(anelane_model_options), c_size_t]),
    "anelane_model_inspect": (c_int32, [c_char_p, POINTER(anelane_model_info), POINTER(anelane_error)]),
    "anelane_model_load": (c_int32, [
        anelane_lane, c_char_p, POINTER(anelane_model_options), c_uint64, POINTER(anelane_model),
        POINTER(anelane_error),
    ]),
    "anelane_model_load_program": (c_int32, [
        anelane_lane, POINTER(anelane_program), POINTER(anelane_model_options), c_uint64, POINTER(anelane_model),
        POINTER(anelane_error),
    ]),
    "anelane_model_retire": (c_int32, [anelane_model, c_uint64, POINTER(anelane_error)]),
    "anelane_model_get_info": (c_int32, [anelane_model, POINTER(anelane_model_info), POINTER(anelane_error)]),
    "anelane_model_ports": (c_int32, [
        anelane_model, c_uint32, POINTER(anelane_port), c_size_t, POINTER(c_size_t), POINTER(anelane_error),
    ]),
    "anelane_mil_check": (c_int32, [
        c_char_p, c_char_p, c_char_p, c_size_t, POINTER(c_size_t), POINTER(anelane_error),
    ]),
    "anelane_predict": (c_int32, [anelane_model, c_uint32, POINTER(c_uint64), POINTER(anelane_error)]),
    "anelane_admit": (c_int32, [anelane_model, c_uint32, c_uint64, POINTER(anelane_error)]),
    "anelane_lease_acquire": (c_int32, [
        anelane_model, c_uint32, c_uint64, POINTER(anelane_lease), POINTER(anelane_error),
    ]),
    "anelane_lease_map": (c_int32, [anelane_lease, c_uint32, POINTER(anelane_tensor), POINTER(anelane_error)]),
    "anelane_lease_release": (None, [anelane_lease]),
    "anelane_run": (c_int32, [
        anelane_lease, POINTER(anelane_tensor), c_size_t, POINTER(anelane_tensor), c_size_t, c_uint64,
        POINTER(anelane_error),
    ]),
    "anelane_embed": (c_int32, [
        anelane_model, POINTER(anelane_tokens), c_size_t, POINTER(c_float), c_size_t, POINTER(c_int32), c_uint64,
        POINTER(anelane_error),
    ]),
    "anelane_embed_texts": (c_int32, [
        anelane_model, POINTER(c_char_p), c_size_t, POINTER(c_float), c_size_t, POINTER(c_int32), c_uint64,
        POINTER(anelane_error),
    ]),
    "anelane_tokenizer_load": (c_int32, [c_char_p, POINTER(anelane_tokenizer), POINTER(anelane_error)]),
    "anelane_tokenize": (c_int32, [
        anelane_tokenizer, c_char_p, c_size_t, POINTER(c_int32), c_size_t, POINTER(c_size_t),
        POINTER(anelane_error),
    ]),
    "anelane_tokenizer_release": (None, [anelane_tokenizer]),
    "anelane_start_load": (c_int32, [
        anelane_lane, c_char_p, POINTER(anelane_model_options), c_uint64, anelane_done_fn, c_void_p,
        POINTER(anelane_op), POINTER(anelane_error),
    ]),
    "anelane_start_lease": (c_int32, [
        anelane_model, c_uint32, c_uint64, anelane_done_fn, c_void_p, POINTER(anelane_op), POINTER(anelane_error),
    ]),
    "anelane_start_run": (c_int32, [
        anelane_lease, POINTER(anelane_tensor), c_size_t, c_uint64, anelane_done_fn, c_void_p, POINTER(anelane_op),
        POINTER(anelane_error),
    ]),
    "anelane_start_embed": (c_int32, [
        anelane_model, POINTER(anelane_tokens), c_size_t, c_uint64, anelane_done_fn, c_void_p, POINTER(anelane_op),
        POINTER(anelane_error),
    ]),
    "anelane_start_embed_texts": (c_int32, [
        anelane_model, POINTER(c_char_p), c_size_t, c_uint64, anelane_done_fn, c_void_p, POINTER(anelane_op),
        POINTER(anelane_error),
    ]),
    "anelane_start_retire": (c_int32, [
        anelane_model, c_uint64, anelane_done_fn, c_void_p, POINTER(anelane_op), POINTER(anelane_error),
    ]),
    "anelane_op_wait": (c_int32, [anelane_op, c_uint64, POINTER(anelane_error)]),
    "anelane_op_cancel": (c_int32, [anelane_op]),
    "anelane_op_cancel_many": (c_int32, [POINTER(anelane_op), c_size_t]),
    "anelane_op_model": (c_int32, [anelane_op, POINTER(anelane_model), POINTER(anelane_error)]),
    "anelane_op_lease": (c_int32, [anelane_op, POINTER(anelane_lease), POINTER(anelane_error)]),
    "anelane_op_floats": (c_int32, [
        anelane_op, POINTER(POINTER(c_float)), POINTER(c_size_t), POINTER(c_size_t), POINTER(anelane_error),
    ]),
    "anelane_op_output": (c_int32, [
        anelane_op, c_uint32, POINTER(c_void_p), POINTER(c_size_t), POINTER(anelane_error),
    ]),
    "anelane_op_release": (None, [anelane_op]),
}
