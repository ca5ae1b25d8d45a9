//! The numbers of the header. Constants rather than enums: a newer library may give numbers that this version does not
//! know, and they stay legal.
use crate::sys;

macro_rules! numbers {
    ($($(#[$doc:meta])* $type:ident { $($(#[$each:meta])* $name:ident = $value:ident),* $(,)? })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(transparent)]
        pub struct $type(pub i32);
        impl $type {
            $($(#[$each])* pub const $name: $type = $type(sys::$value);)*
        }
        impl std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                match self.0 {
                    $(sys::$value => f.write_str(stringify!($name)),)*
                    other => write!(f, concat!(stringify!($type), "({})"), other),
                }
            }
        }
    )*};
}

numbers! {
    /// What happened.
    Code {
        /// Done.
        OK = ANELANE_OK,
        /// A parameter is wrong; the message names it.
        INVALID_ARGUMENT = ANELANE_INVALID_ARGUMENT,
        /// Stale, forged, null, or of another kind.
        BAD_HANDLE = ANELANE_BAD_HANDLE,
        /// The lane is closed or closing.
        CLOSED = ANELANE_CLOSED,
        /// Another process holds the lane: [`Error::holder_pid`](crate::Error::holder_pid).
        LANE_BUSY = ANELANE_LANE_BUSY,
        /// Not in this build, on this system or for this kind of model.
        UNSUPPORTED = ANELANE_UNSUPPORTED,
        /// A broken checkpoint; the message names file and field or tensor.
        MODEL_INVALID = ANELANE_MODEL_INVALID,
        /// An architecture that this version does not serve.
        MODEL_UNSUPPORTED = ANELANE_MODEL_UNSUPPORTED,
        /// No tokens, or an id outside the vocabulary: `item`.
        INVALID_SEQUENCE = ANELANE_INVALID_SEQUENCE,
        /// Longer than the model's ceiling: `item`, `limit`. Nothing is ever truncated.
        SEQUENCE_TOO_LONG = ANELANE_SEQUENCE_TOO_LONG,
        /// Not a rung of the model's ladder.
        SHAPE_UNKNOWN = ANELANE_SHAPE_UNKNOWN,
        /// Not ready in time; ask again after `retry_after`.
        SHAPE_COMPILING = ANELANE_SHAPE_COMPILING,
        /// No room on the engine (`retry_after`), or never (permanent).
        RESOURCES_EXHAUSTED = ANELANE_RESOURCES_EXHAUSTED,
        /// A compile needs more free space in the temp folder.
        TEMP_SPACE_LOW = ANELANE_TEMP_SPACE_LOW,
        /// The engine refuses the program for good.
        COMPILE_FAILED = ANELANE_COMPILE_FAILED,
        /// It took longer than the deadline allows.
        DEADLINE_EXCEEDED = ANELANE_DEADLINE_EXCEEDED,
        /// Somebody cancelled it.
        CANCELLED = ANELANE_CANCELLED,
        /// The model was retired.
        RETIRED = ANELANE_RETIRED,
        /// The lane is paused.
        PAUSED = ANELANE_PAUSED,
        /// The worker died or broke; a new one is started by itself.
        ENGINE_CRASHED = ANELANE_ENGINE_CRASHED,
        /// No engine: worker missing, framework missing or changed.
        ENGINE_UNAVAILABLE = ANELANE_ENGINE_UNAVAILABLE,
        /// Library and worker, or library and crate, do not fit together.
        PROTOCOL = ANELANE_PROTOCOL,
        /// A file could not be read or written.
        IO = ANELANE_IO,
        /// There was no memory.
        OUT_OF_MEMORY = ANELANE_OUT_OF_MEMORY,
        /// A defect of the library: please report the message.
        INTERNAL = ANELANE_INTERNAL,
        /// Released, not used for `lease_max_ms`, or its shape is gone.
        LEASE_EXPIRED = ANELANE_LEASE_EXPIRED,
        /// A call in a forked child.
        FORKED = ANELANE_FORKED,
        /// A blocking call in a callback.
        WRONG_THREAD = ANELANE_WRONG_THREAD,
        /// Not finished yet.
        PENDING = ANELANE_PENDING,
    }
    /// Is it worth asking again?
    Class {
        /// Asking again changes nothing.
        PERMANENT = ANELANE_PERMANENT,
        /// It may well work later.
        TRANSIENT = ANELANE_TRANSIENT,
    }
    /// Where programs run.
    Engine {
        /// The Neural Engine where there is one, else software.
        AUTO = ANELANE_ENGINE_AUTO,
        /// The Neural Engine.
        APPLE = ANELANE_ENGINE_APPLE,
        /// The software engine.
        SOFT = ANELANE_ENGINE_SOFT,
    }
    /// How workers are kept.
    WorkerMode {
        /// A process for each model: may die without hurting the host.
        PROCESS = ANELANE_WORKER_PROCESS,
        /// A thread, for hosts that may not start processes.
        THREAD = ANELANE_WORKER_THREAD,
    }
    /// The elements of a port.
    Dtype {
        /// Half precision: `u16` here, see [`f32_from_f16`](crate::f32_from_f16).
        F16 = ANELANE_F16,
        /// Single precision.
        F32 = ANELANE_F32,
        /// Signed, 32 bits.
        I32 = ANELANE_I32,
        /// Signed, 8 bits.
        I8 = ANELANE_I8,
        /// Unsigned, 8 bits.
        U8 = ANELANE_U8,
    }
    /// What a model does.
    ModelKind {
        /// Sequences to vectors.
        EMBEDDER = ANELANE_EMBEDDER,
        /// Pairs to scores.
        RERANKER = ANELANE_RERANKER,
        /// Programs of one's own.
        PROGRAM = ANELANE_PROGRAM,
    }
    /// How much a line of the log matters.
    LogLevel {
        /// For those who look for a fault.
        DEBUG = ANELANE_LOG_DEBUG,
        /// What the lane does.
        INFO = ANELANE_LOG_INFO,
        /// Something went wrong and was made good.
        WARN = ANELANE_LOG_WARN,
        /// Something went wrong.
        ERROR = ANELANE_LOG_ERROR,
        /// Nothing at all.
        OFF = ANELANE_LOG_OFF,
    }
}
