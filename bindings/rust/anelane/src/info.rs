//! What models, ports, lanes and their holders say of themselves.
use crate::error::text_in;
use crate::numbers::{Dtype, Engine, ModelKind};
use crate::sys;
use std::time::Duration;

/// What a model is.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ModelInfo {
    /// What it does.
    pub kind: ModelKind,
    /// The engine that really runs; [`Engine::AUTO`] from [`inspect`](crate::inspect).
    pub engine: Engine,
    /// Floats of one vector.
    pub dim: usize,
    /// Longest sequence in tokens.
    pub ceiling: usize,
    /// Programs of one resident shape.
    pub layers: u32,
    /// The ladder.
    pub rungs: Vec<u32>,
    /// Those rungs that are known to be compiled.
    pub cached_rungs: Vec<u32>,
    /// Memory that the worker needs beside the engine's.
    pub host_bytes: u64,
    /// Predicted wait for the smallest shape, were it asked for now.
    pub first_ready: Duration,
    /// The checkpoint's architecture.
    pub architecture: String,
    /// Vectors are comparable only where this is equal; empty from [`inspect`](crate::inspect).
    pub vector_space: String,
}

impl ModelInfo {
    pub(crate) fn from_raw(raw: &sys::anelane_model_info) -> ModelInfo {
        let rungs: Vec<u32> = raw.rungs.iter().copied().take(raw.rung_count as usize).collect();
        let cached = |&(i, _): &(usize, &u32)| raw.cached_rungs >> i & 1 != 0;
        ModelInfo {
            kind: ModelKind(raw.kind),
            engine: Engine(raw.engine),
            dim: raw.dim as usize,
            ceiling: raw.ceiling as usize,
            layers: raw.layers,
            cached_rungs: rungs.iter().enumerate().filter(cached).map(|(_, &rung)| rung).collect(),
            rungs,
            host_bytes: raw.host_bytes,
            first_ready: Duration::from_millis(raw.first_ready_ms),
            architecture: text_in(&raw.architecture).to_owned(),
            vector_space: text_in(&raw.vector_space).to_owned(),
        }
    }
}

/// One tensor that a shape takes or gives.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Port {
    /// The number by which it is called.
    pub index: u32,
    /// `"a00_x"`.
    pub name: String,
    /// Its elements.
    pub dtype: Dtype,
    /// An output, else an input.
    pub is_output: bool,
    /// Elements in each dimension.
    pub dims: Vec<u64>,
    /// Bytes from one element to the next, in each dimension.
    pub strides: Vec<u64>,
    /// Of the whole buffer.
    pub bytes: usize,
}

impl Port {
    pub(crate) fn from_raw(index: usize, raw: &sys::anelane_port) -> Port {
        let rank = (raw.rank as usize).min(raw.dims.len());
        Port {
            index: index as u32,
            name: text_in(&raw.name).to_owned(),
            dtype: Dtype(raw.dtype),
            is_output: raw.is_output != 0,
            dims: raw.dims[..rank].to_vec(),
            strides: raw.strides[..rank].to_vec(),
            bytes: raw.bytes as usize,
        }
    }
}

/// A snapshot of a lane, consistent in itself. The last eight only grow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[allow(missing_docs)] // the header says what they are
pub struct LaneStats {
    pub budget: u32,
    pub reserved_programs: u32,
    pub resident: u32,
    pub leased: u32,
    pub waiting: u32,
    pub models: u32,
    pub compiling_shape: Option<u32>,
    pub compiling_model: Option<String>,
    pub compiling: Duration,
    pub compiling_predicted: Option<Duration>,
    pub admitted: u64,
    pub loaded: u64,
    pub compiled: u64,
    pub evicted: u64,
    pub refused: u64,
    pub restarts: u64,
    pub answered: u64,
    pub cancelled: u64,
}

impl LaneStats {
    pub(crate) fn from_raw(raw: &sys::anelane_lane_stats) -> LaneStats {
        LaneStats {
            budget: raw.budget,
            reserved_programs: raw.reserved_programs,
            resident: raw.resident,
            leased: raw.leased,
            waiting: raw.waiting,
            models: raw.models,
            compiling_shape: Some(raw.compiling_shape).filter(|&shape| shape != 0),
            compiling_model: Some(text_in(&raw.compiling_model))
                .filter(|model| !model.is_empty())
                .map(str::to_owned),
            compiling: Duration::from_millis(raw.compiling_ms),
            compiling_predicted: Some(raw.compiling_predicted_ms)
                .filter(|&ms| ms != 0)
                .map(Duration::from_millis),
            admitted: raw.admitted,
            loaded: raw.loaded,
            compiled: raw.compiled,
            evicted: raw.evicted,
            refused: raw.refused,
            restarts: raw.restarts,
            answered: raw.answered,
            cancelled: raw.cancelled,
        }
    }
}

/// Who holds a lane.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Holder {
    /// Somebody does.
    pub held: bool,
    /// Advice from the record beside the lock.
    pub pid: Option<u32>,
    /// The record is missing or of somebody else.
    pub record_stale: bool,
    /// Since when, in milliseconds of the Unix epoch.
    pub since_unix_ms: i64,
    /// The holder's program.
    pub program: String,
}

impl Holder {
    pub(crate) fn from_raw(raw: &sys::anelane_holder) -> Holder {
        Holder {
            held: raw.held != 0,
            pid: Some(raw.pid).filter(|&pid| pid != 0),
            record_stale: raw.record_stale != 0,
            since_unix_ms: raw.since_unix_ms,
            program: text_in(&raw.program).to_owned(),
        }
    }
}

/// A zeroed struct of the C interface that says its size.
macro_rules! sized {
    ($type:ident) => {{
        // SAFETY: numbers and arrays of numbers: zero is a value of each.
        let mut raw: $crate::sys::$type = unsafe { std::mem::zeroed() };
        raw.struct_size = std::mem::size_of::<$crate::sys::$type>() as u32;
        raw
    }};
}
pub(crate) use sized;
