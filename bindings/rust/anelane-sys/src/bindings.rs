// Made from include/anelane.h by bindings/rust/generate, with bindgen 0.60.1: do not edit.

pub const ANELANE_ABI_VERSION: u32 = 1;
pub const ANELANE_LANE_PREWARM: u32 = 1;
pub const ANELANE_LANE_APPLE_IN_MEMORY: u32 = 2;
pub const ANELANE_LANE_APPLE_CLIENT: u32 = 4;
pub const ANELANE_LANE_MIL_IOS18: u32 = 8;
pub const ANELANE_LANE_MIL_IOS16: u32 = 16;
pub type anelane_status = i32;
pub const ANELANE_OK: anelane_status = 0;
pub const ANELANE_INVALID_ARGUMENT: anelane_status = 1;
pub const ANELANE_BAD_HANDLE: anelane_status = 2;
pub const ANELANE_CLOSED: anelane_status = 3;
pub const ANELANE_LANE_BUSY: anelane_status = 4;
pub const ANELANE_UNSUPPORTED: anelane_status = 5;
pub const ANELANE_MODEL_INVALID: anelane_status = 6;
pub const ANELANE_MODEL_UNSUPPORTED: anelane_status = 7;
pub const ANELANE_INVALID_SEQUENCE: anelane_status = 8;
pub const ANELANE_SEQUENCE_TOO_LONG: anelane_status = 9;
pub const ANELANE_SHAPE_UNKNOWN: anelane_status = 10;
pub const ANELANE_SHAPE_COMPILING: anelane_status = 11;
pub const ANELANE_RESOURCES_EXHAUSTED: anelane_status = 12;
pub const ANELANE_TEMP_SPACE_LOW: anelane_status = 13;
pub const ANELANE_COMPILE_FAILED: anelane_status = 14;
pub const ANELANE_DEADLINE_EXCEEDED: anelane_status = 15;
pub const ANELANE_CANCELLED: anelane_status = 16;
pub const ANELANE_RETIRED: anelane_status = 17;
pub const ANELANE_PAUSED: anelane_status = 18;
pub const ANELANE_ENGINE_CRASHED: anelane_status = 19;
pub const ANELANE_ENGINE_UNAVAILABLE: anelane_status = 20;
pub const ANELANE_PROTOCOL: anelane_status = 21;
pub const ANELANE_IO: anelane_status = 22;
pub const ANELANE_OUT_OF_MEMORY: anelane_status = 23;
pub const ANELANE_INTERNAL: anelane_status = 24;
pub const ANELANE_LEASE_EXPIRED: anelane_status = 25;
pub const ANELANE_FORKED: anelane_status = 26;
pub const ANELANE_WRONG_THREAD: anelane_status = 27;
pub const ANELANE_PENDING: anelane_status = 28;
pub type anelane_class = i32;
pub const ANELANE_PERMANENT: anelane_class = 0;
pub const ANELANE_TRANSIENT: anelane_class = 1;
pub type anelane_engine = i32;
pub const ANELANE_ENGINE_AUTO: anelane_engine = 0;
pub const ANELANE_ENGINE_APPLE: anelane_engine = 1;
pub const ANELANE_ENGINE_SOFT: anelane_engine = 2;
pub type anelane_worker_mode = i32;
pub const ANELANE_WORKER_PROCESS: anelane_worker_mode = 0;
pub const ANELANE_WORKER_THREAD: anelane_worker_mode = 1;
pub type anelane_dtype = i32;
pub const ANELANE_F16: anelane_dtype = 1;
pub const ANELANE_F32: anelane_dtype = 2;
pub const ANELANE_I32: anelane_dtype = 3;
pub const ANELANE_I8: anelane_dtype = 4;
pub const ANELANE_U8: anelane_dtype = 5;
pub type anelane_model_kind = i32;
pub const ANELANE_EMBEDDER: anelane_model_kind = 1;
pub const ANELANE_RERANKER: anelane_model_kind = 2;
pub const ANELANE_PROGRAM: anelane_model_kind = 3;
pub type anelane_log_level = i32;
pub const ANELANE_LOG_DEBUG: anelane_log_level = 0;
pub const ANELANE_LOG_INFO: anelane_log_level = 1;
pub const ANELANE_LOG_WARN: anelane_log_level = 2;
pub const ANELANE_LOG_ERROR: anelane_log_level = 3;
pub const ANELANE_LOG_OFF: anelane_log_level = 4;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_lane {
    pub bits: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_model {
    pub bits: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_lease {
    pub bits: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_op {
    pub bits: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_tokenizer {
    pub bits: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_error {
    pub struct_size: u32,
    pub status: anelane_status,
    pub error_class: anelane_class,
    pub safe_to_retry: u32,
    pub retry_after_ms: u64,
    pub lane_id: u64,
    pub limit: u64,
    pub item: i64,
    pub shape: u32,
    pub holder_pid: u32,
    pub model: [core::ffi::c_char; 64usize],
    pub message: [core::ffi::c_char; 256usize],
}
pub type anelane_progress_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut core::ffi::c_void, shape: u32, layer: u32, layers: u32, ms_left: u64),
>;
pub type anelane_done_fn = ::core::option::Option<
    unsafe extern "C" fn(user: *mut core::ffi::c_void, op: anelane_op, status: anelane_status),
>;
pub type anelane_log_fn = ::core::option::Option<
    unsafe extern "C" fn(
        user: *mut core::ffi::c_void,
        level: anelane_log_level,
        line: *const core::ffi::c_char,
    ),
>;
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_lane_options {
    pub struct_size: u32,
    pub engine: anelane_engine,
    pub worker_mode: anelane_worker_mode,
    pub flags: u32,
    pub executable_budget: u32,
    pub shapes_per_model: u32,
    pub shapes_total: u32,
    pub max_waiting: u32,
    pub settle_ms: u32,
    pub handoff_ms: u32,
    pub lease_max_ms: u32,
    pub soft_threads: u32,
    pub admission_bound_ms: u64,
    pub drain_ms: u64,
    pub lock_dir: *const core::ffi::c_char,
    pub cache_dir: *const core::ffi::c_char,
    pub temp_dir: *const core::ffi::c_char,
    pub worker_path: *const core::ffi::c_char,
    pub record_path: *const core::ffi::c_char,
    pub reserved: [u64; 4usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_model_options {
    pub struct_size: u32,
    pub flags: u32,
    pub rung_count: u32,
    pub reserved0: u32,
    pub rungs: *const u32,
    pub name: *const core::ffi::c_char,
    pub numerics: *const core::ffi::c_char,
    pub progress: anelane_progress_fn,
    pub progress_user: *mut core::ffi::c_void,
    pub reserved: [u64; 4usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_tokens {
    pub ids: *const i32,
    pub count: u64,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_tensor {
    pub data: *mut core::ffi::c_void,
    pub bytes: u64,
    pub port: u32,
    pub reserved: u32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_connection {
    pub input: *const core::ffi::c_char,
    pub output: *const core::ffi::c_char,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_layer {
    pub mil: *const core::ffi::c_char,
    pub mil_bytes: u64,
    pub weights: *const core::ffi::c_void,
    pub weight_bytes: u64,
    pub connect: *const anelane_connection,
    pub connect_count: u32,
    pub reserved: u32,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_program_rung {
    pub shape: u32,
    pub layer_count: u32,
    pub layers: *const anelane_layer,
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_program {
    pub struct_size: u32,
    pub rung_count: u32,
    pub rungs: *const anelane_program_rung,
    pub reserved: [u64; 2usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_port {
    pub struct_size: u32,
    pub dtype: anelane_dtype,
    pub rank: u32,
    pub is_output: u32,
    pub dims: [u64; 5usize],
    pub strides: [u64; 5usize],
    pub bytes: u64,
    pub name: [core::ffi::c_char; 64usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_model_info {
    pub struct_size: u32,
    pub kind: anelane_model_kind,
    pub engine: anelane_engine,
    pub dim: u32,
    pub ceiling: u32,
    pub layers: u32,
    pub rung_count: u32,
    pub rungs: [u32; 16usize],
    pub cached_rungs: u32,
    pub host_bytes: u64,
    pub first_ready_ms: u64,
    pub architecture: [core::ffi::c_char; 64usize],
    pub vector_space: [core::ffi::c_char; 80usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_lane_stats {
    pub struct_size: u32,
    pub budget: u32,
    pub reserved_programs: u32,
    pub resident: u32,
    pub leased: u32,
    pub waiting: u32,
    pub models: u32,
    pub compiling_shape: u32,
    pub compiling_ms: u64,
    pub compiling_predicted_ms: u64,
    pub admitted: u64,
    pub loaded: u64,
    pub compiled: u64,
    pub evicted: u64,
    pub refused: u64,
    pub restarts: u64,
    pub answered: u64,
    pub cancelled: u64,
    pub compiling_model: [core::ffi::c_char; 64usize],
}
#[repr(C)]
#[derive(Debug, Copy, Clone)]
pub struct anelane_holder {
    pub struct_size: u32,
    pub held: u32,
    pub pid: u32,
    pub record_stale: u32,
    pub since_unix_ms: i64,
    pub program: [core::ffi::c_char; 256usize],
}

functions! {
    pub fn anelane_abi_version() -> u32;
    pub fn anelane_version() -> *const core::ffi::c_char;
    pub fn anelane_now_ns() -> u64;
    pub fn anelane_status_name(status: anelane_status) -> *const core::ffi::c_char;
    pub fn anelane_error_text(error: *const anelane_error, buf: *mut core::ffi::c_char, cap: usize) -> usize;
    pub fn anelane_set_log(
        fn_: anelane_log_fn,
        user: *mut core::ffi::c_void,
        min_level: anelane_log_level,
    ) -> anelane_status;
    pub fn anelane_lane_options_init(options: *mut anelane_lane_options, size: usize);
    pub fn anelane_lane_open(
        options: *const anelane_lane_options,
        deadline: u64,
        out: *mut anelane_lane,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_lane_close(lane: anelane_lane, deadline: u64, err: *mut anelane_error) -> anelane_status;
    pub fn anelane_lane_get_stats(
        lane: anelane_lane,
        out: *mut anelane_lane_stats,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_lane_describe(
        lane: anelane_lane,
        buf: *mut core::ffi::c_char,
        cap: usize,
        len: *mut usize,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_replay(
        path: *const core::ffi::c_char,
        steps: *mut u64,
        buf: *mut core::ffi::c_char,
        cap: usize,
        len: *mut usize,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_lane_holder(
        lock_dir: *const core::ffi::c_char,
        out: *mut anelane_holder,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_lane_peek(
        lock_dir: *const core::ffi::c_char,
        buf: *mut core::ffi::c_char,
        cap: usize,
        len: *mut usize,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_lane_event_fd(
        lane: anelane_lane,
        fd: *mut core::ffi::c_int,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_lane_next_completion(
        lane: anelane_lane,
        out: *mut anelane_op,
        user: *mut *mut core::ffi::c_void,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_model_options_init(options: *mut anelane_model_options, size: usize);
    pub fn anelane_model_inspect(
        path: *const core::ffi::c_char,
        out: *mut anelane_model_info,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_model_load(
        lane: anelane_lane,
        path: *const core::ffi::c_char,
        options: *const anelane_model_options,
        deadline: u64,
        out: *mut anelane_model,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_model_load_program(
        lane: anelane_lane,
        program: *const anelane_program,
        options: *const anelane_model_options,
        deadline: u64,
        out: *mut anelane_model,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_model_retire(
        model: anelane_model,
        deadline: u64,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_model_get_info(
        model: anelane_model,
        out: *mut anelane_model_info,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_model_ports(
        model: anelane_model,
        shape: u32,
        out: *mut anelane_port,
        cap: usize,
        count: *mut usize,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_mil_check(
        path: *const core::ffi::c_char,
        weights: *const core::ffi::c_char,
        buf: *mut core::ffi::c_char,
        cap: usize,
        len: *mut usize,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_predict(
        model: anelane_model,
        shape: u32,
        ready_in_ms: *mut u64,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_admit(
        model: anelane_model,
        shape: u32,
        deadline: u64,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_lease_acquire(
        model: anelane_model,
        shape: u32,
        deadline: u64,
        out: *mut anelane_lease,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_lease_map(
        lease: anelane_lease,
        port: u32,
        out: *mut anelane_tensor,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_lease_release(lease: anelane_lease);
    pub fn anelane_run(
        lease: anelane_lease,
        in_: *const anelane_tensor,
        n_in: usize,
        out: *const anelane_tensor,
        n_out: usize,
        deadline: u64,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_embed(
        model: anelane_model,
        items: *const anelane_tokens,
        count: usize,
        out: *mut f32,
        row_stride: usize,
        item_status: *mut anelane_status,
        deadline: u64,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_embed_texts(
        model: anelane_model,
        utf8: *const *const core::ffi::c_char,
        count: usize,
        out: *mut f32,
        row_stride: usize,
        item_status: *mut anelane_status,
        deadline: u64,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_tokenizer_load(
        path: *const core::ffi::c_char,
        out: *mut anelane_tokenizer,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_tokenize(
        tokenizer: anelane_tokenizer,
        utf8: *const core::ffi::c_char,
        bytes: usize,
        ids: *mut i32,
        cap: usize,
        count: *mut usize,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_tokenizer_release(tokenizer: anelane_tokenizer);
    pub fn anelane_start_load(
        lane: anelane_lane,
        path: *const core::ffi::c_char,
        options: *const anelane_model_options,
        deadline: u64,
        fn_: anelane_done_fn,
        user: *mut core::ffi::c_void,
        out: *mut anelane_op,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_start_lease(
        model: anelane_model,
        shape: u32,
        deadline: u64,
        fn_: anelane_done_fn,
        user: *mut core::ffi::c_void,
        out: *mut anelane_op,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_start_run(
        lease: anelane_lease,
        in_: *const anelane_tensor,
        n_in: usize,
        deadline: u64,
        fn_: anelane_done_fn,
        user: *mut core::ffi::c_void,
        out: *mut anelane_op,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_start_embed(
        model: anelane_model,
        items: *const anelane_tokens,
        count: usize,
        deadline: u64,
        fn_: anelane_done_fn,
        user: *mut core::ffi::c_void,
        out: *mut anelane_op,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_start_embed_texts(
        model: anelane_model,
        utf8: *const *const core::ffi::c_char,
        count: usize,
        deadline: u64,
        fn_: anelane_done_fn,
        user: *mut core::ffi::c_void,
        out: *mut anelane_op,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_start_retire(
        model: anelane_model,
        deadline: u64,
        fn_: anelane_done_fn,
        user: *mut core::ffi::c_void,
        out: *mut anelane_op,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_op_wait(op: anelane_op, deadline: u64, err: *mut anelane_error) -> anelane_status;
    pub fn anelane_op_cancel(op: anelane_op) -> anelane_status;
    pub fn anelane_op_cancel_many(ops: *const anelane_op, count: usize) -> anelane_status;
    pub fn anelane_op_model(
        op: anelane_op,
        out: *mut anelane_model,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_op_lease(
        op: anelane_op,
        out: *mut anelane_lease,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_op_floats(
        op: anelane_op,
        data: *mut *const f32,
        rows: *mut usize,
        cols: *mut usize,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_op_output(
        op: anelane_op,
        port: u32,
        data: *mut *const core::ffi::c_void,
        bytes: *mut usize,
        err: *mut anelane_error,
    ) -> anelane_status;
    pub fn anelane_op_release(op: anelane_op);
}
