//! libanelane for Rust: the Neural Engine lane of this machine, with owners, errors as values and futures.
//!
//! ```no_run
//! # fn main() -> anelane::Result<()> {
//! let lane = anelane::Lane::open(&anelane::LaneOptions::new(), anelane::Deadline::NONE)?;
//! let model = lane.load("models/all-MiniLM-L6-v2")?;
//! let vectors = model.embed(&["A cat sleeps by the window.", "A kitten is napping in the sun."])?;
//! let cosine: f32 = vectors.row(0).iter().zip(vectors.row(1)).map(|(a, b)| a * b).sum();
//! println!("cosine {cosine:.2}");
//! # Ok(())
//! # }
//! ```
//!
//! **Owners.** [`Lane`], [`Model`], [`Lease`], [`Operation`] and [`Tokenizer`] give back what they own once, when they
//! are dropped, in any order: a model keeps its lane open, a lease its model. [`Lane::close`] does not wait for that;
//! whatever is used afterwards answers an error.
//!
//! **Threads.** The C interface may be called from any thread at any time, and handles are plain values; so everything
//! here is `Send` and `Sync`. Blocking calls within a callback of the library (a waker, a progress closure) answer
//! [`Code::WRONG_THREAD`].
//!
//! **Time.** Calls take a [`Deadline`], or what can become one: a `Duration` from now, or an `Instant`. The short forms
//! ([`Model::embed`], [`Lane::load`]) wait as long as the lane's own bounds allow.
//!
//! **Futures.** Every `start_…` method gives an [`Operation`], which is a future for any executor (or none:
//! [`Operation::wait`]). It ends exactly once. Dropping it cancels it. Event loops that know descriptors have
//! [`Lane::event_fd`] and the `queue_…` methods.
//!
//! **The library** is linked, or loaded at run time with the feature `runtime` ([`load_library`]).

mod cancel;
mod deadline;
mod embeddings;
mod error;
mod f16;
mod info;
mod input;
mod lane;
mod lease;
mod library;
mod mapping;
mod model;
mod numbers;
mod operation;
mod options;
mod program;
mod progress;
mod queue;
mod retry;
mod run;
mod tokenizer;

pub use anelane_sys as sys;
pub use cancel::{cancel_all, Cancel};
pub use deadline::Deadline;
pub use embeddings::Embeddings;
pub use error::{Error, Result};
pub use f16::{f16_from_f32, f32_from_f16};
pub use info::{Holder, LaneStats, ModelInfo, Port};
pub use lane::{holder, peek, replay, Lane};
pub use lease::Lease;
pub use library::{load_library, set_log, version};
pub use mapping::{Element, PortMap};
pub use model::{inspect, Model};
pub use numbers::{Class, Code, Dtype, Engine, LogLevel, ModelKind, WorkerMode};
pub use operation::{Operation, Outcome};
pub use options::{LaneOptions, ModelOptions};
pub use program::{mil_check, Layer, Program, Rung};
pub use progress::Progress;
pub use queue::{Completion, Queued};
pub use retry::retry;
pub use run::RunOutputs;
pub use tokenizer::Tokenizer;

/// The contract of the header, "every function may be called from any thread at any time", said to the compiler: this
/// stops compiling when an owner loses it.
const _: () = {
    const fn shared<T: Send + Sync + Unpin + 'static>() {}
    shared::<Lane>();
    shared::<Model>();
    shared::<Lease>();
    shared::<Tokenizer>();
    shared::<Operation<Embeddings>>();
    shared::<Operation<Model>>();
    shared::<Operation<Lease>>();
    shared::<Operation<RunOutputs>>();
    shared::<Operation<()>>();
    shared::<Queued<Embeddings>>();
    shared::<Queued<Model>>();
    shared::<Queued<Lease>>();
    shared::<Queued<RunOutputs>>();
    shared::<Queued<()>>();
    shared::<Error>();
    const fn borrowed<T: Send + Sync>() {}
    borrowed::<PortMap<'_>>();
};
