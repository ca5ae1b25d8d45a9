//! Options of lanes and models: what is not set stays the library's default.
use crate::error::Result;
use crate::input::{c_path, c_text};
use crate::numbers::{Engine, WorkerMode};
use crate::progress::{self, Progress};
use crate::sys;
use std::ffi::{c_char, CString};
use std::path::PathBuf;
use std::sync::Arc;

fn pointer(text: &Option<CString>) -> *const c_char {
    text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr())
}

macro_rules! lane_options {
    (numbers { $($(#[$doc:meta])* $name:ident: $type:ty,)* } paths { $($(#[$path_doc:meta])* $path:ident,)* }) => {
        /// How a lane is opened: `LaneOptions::new().engine(Engine::SOFT).lock_dir("/some/folder")`.
        #[derive(Clone, Debug, Default)]
        pub struct LaneOptions {
            engine: Option<Engine>,
            worker_mode: Option<WorkerMode>,
            $($name: Option<$type>,)*
            $($path: Option<PathBuf>,)*
        }
        impl LaneOptions {
            /// The library's defaults.
            #[must_use]
            pub fn new() -> LaneOptions {
                LaneOptions::default()
            }
            /// Which engine; [`Engine::AUTO`].
            #[must_use]
            pub fn engine(mut self, engine: Engine) -> LaneOptions {
                self.engine = Some(engine);
                self
            }
            /// Processes or threads; [`WorkerMode::PROCESS`].
            #[must_use]
            pub fn worker_mode(mut self, mode: WorkerMode) -> LaneOptions {
                self.worker_mode = Some(mode);
                self
            }
            $($(#[$doc])* #[must_use] pub fn $name(mut self, value: $type) -> LaneOptions {
                self.$name = Some(value);
                self
            })*
            $($(#[$path_doc])* #[must_use] pub fn $path(mut self, path: impl Into<PathBuf>) -> LaneOptions {
                self.$path = Some(path.into());
                self
            })*

            /// `call` gets them as C takes them.
            pub(crate) fn with_raw<R>(&self, call: impl FnOnce(&sys::anelane_lane_options) -> R) -> Result<R> {
                struct Paths { $($path: Option<CString>),* }
                let paths = Paths { $($path: self.$path.as_deref().map(c_path).transpose()?),* };
                // SAFETY: zero is a value of every field; then the library fills in the whole.
                let mut raw: sys::anelane_lane_options = unsafe { std::mem::zeroed() };
                unsafe { sys::anelane_lane_options_init(&mut raw, std::mem::size_of_val(&raw)) };
                if let Some(engine) = self.engine { raw.engine = engine.0; }
                if let Some(mode) = self.worker_mode { raw.worker_mode = mode.0; }
                $(if let Some(value) = self.$name { raw.$name = value; })*
                $(raw.$path = pointer(&paths.$path);)*
                Ok(call(&raw))
            }
        }
    };
}

lane_options! {
    numbers {
        /// Bits of `sys::ANELANE_LANE_…`.
        flags: u32,
        /// Layer programs resident at once; 100.
        executable_budget: u32,
        /// Resident shapes of one model; 4.
        shapes_per_model: u32,
        /// Resident shapes in the lane; 8.
        shapes_total: u32,
        /// Requests that may wait; 65536.
        max_waiting: u32,
        /// Pause before a compile, so that cheaper ones may go first; 50.
        settle_ms: u32,
        /// Protection of a fresh shape for those that waited for it; 250.
        handoff_ms: u32,
        /// A lease without a run expires after this; 30000.
        lease_max_ms: u32,
        /// Threads of the software engine; 0 = one for each core.
        soft_threads: u32,
        /// Longest wait for a shape; 600000.
        admission_bound_ms: u64,
        /// Longest wait for running work at retirement; 600000.
        drain_ms: u64,
    }
    paths {
        /// Where the lane's lock is.
        lock_dir,
        /// Compiled programs of the software engine.
        cache_dir,
        /// The folder for temporary files.
        temp_dir,
        /// The worker's executable.
        worker_path,
        /// A file for a record of all decisions ([`replay`](crate::replay)).
        record_path,
    }
}

/// How a model is loaded.
#[derive(Clone, Default)]
pub struct ModelOptions {
    rungs: Vec<u32>,
    name: Option<String>,
    numerics: Option<String>,
    progress: Option<progress::Closure>,
}

impl ModelOptions {
    /// The library's defaults.
    #[must_use]
    pub fn new() -> ModelOptions {
        ModelOptions::default()
    }
    /// The ladder: ascending, multiples of 32, the last one the ceiling. Of a model of programs, some of its own.
    #[must_use]
    pub fn rungs(mut self, rungs: impl Into<Vec<u32>>) -> ModelOptions {
        self.rungs = rungs.into();
        self
    }
    /// For logs and errors; the folder's name.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> ModelOptions {
        self.name = Some(name.into());
        self
    }
    /// Software engine: `"fast"` or `"lattice"`.
    #[must_use]
    pub fn numerics(mut self, numerics: impl Into<String>) -> ModelOptions {
        self.numerics = Some(numerics.into());
        self
    }
    /// Told while a shape becomes resident, on the library's completion thread; until the model is dropped.
    #[must_use]
    pub fn progress(mut self, closure: impl Fn(Progress) + Send + Sync + 'static) -> ModelOptions {
        self.progress = Some(Arc::new(closure));
        self
    }

    /// `call` gets them as C takes them. What keeps the progress closure is for the model to keep.
    pub(crate) fn with_raw<R>(
        &self,
        call: impl FnOnce(&sys::anelane_model_options, Option<progress::Registered>) -> R,
    ) -> Result<R> {
        let name = self.name.as_deref().map(c_text).transpose()?;
        let numerics = self.numerics.as_deref().map(c_text).transpose()?;
        // SAFETY: zero is a value of every field; then the library fills in the whole.
        let mut raw: sys::anelane_model_options = unsafe { std::mem::zeroed() };
        unsafe { sys::anelane_model_options_init(&mut raw, std::mem::size_of_val(&raw)) };
        raw.rung_count = self.rungs.len() as u32;
        raw.rungs = if self.rungs.is_empty() { std::ptr::null() } else { self.rungs.as_ptr() };
        raw.name = pointer(&name);
        raw.numerics = pointer(&numerics);
        let registered = self.progress.clone().map(progress::register);
        if let Some(registered) = &registered {
            raw.progress = Some(progress::on_progress);
            raw.progress_user = registered.user();
        }
        Ok(call(&raw, registered))
    }
}

impl std::fmt::Debug for ModelOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ModelOptions")
            .field("rungs", &self.rungs)
            .field("name", &self.name)
            .field("numerics", &self.numerics)
            .field("progress", &self.progress.is_some())
            .finish()
    }
}
