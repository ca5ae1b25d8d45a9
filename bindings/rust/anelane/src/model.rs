//! A loaded model.
use crate::embeddings::Embeddings;
use crate::error::{check, Error, Result};
use crate::info::{sized, ModelInfo, Port};
use crate::input::{c_path, tokens, Texts};
use crate::lane::LaneInner;
use crate::lease::Lease;
use crate::mapping::Looks;
use crate::operation::{Awaited, Operation, Outcome, Start};
use crate::progress::Registered;
use crate::{library, sys, Code, Deadline};
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::Arc;
use std::time::Duration;

/// A model as its owners share it. Not for other crates, which cannot name it.
pub struct ModelInner {
    raw: sys::anelane_model,
    lane: Arc<LaneInner>,
    dim: usize,
    looks: Looks,
    _progress: Option<Arc<Registered>>,
}

impl ModelInner {
    pub(crate) fn lane(&self) -> &Arc<LaneInner> {
        &self.lane
    }
    pub(crate) fn looks(&self) -> &Looks {
        &self.looks
    }
    pub(crate) fn ports(&self, shape: u32) -> Result<Vec<Port>> {
        let mut raw = [sized!(anelane_port); 4];
        let mut count = 0;
        let mut ask = |out: &mut [sys::anelane_port]| {
            // SAFETY: structs that say their size.
            check(|error| unsafe {
                sys::anelane_model_ports(self.raw, shape, out.as_mut_ptr(), out.len(), &mut count, error)
            })
            .map(|()| count)
        };
        let known = ask(&mut raw)?;
        let all = |raw: &[sys::anelane_port]| {
            raw.iter().enumerate().map(|(i, port)| Port::from_raw(i, port)).collect()
        };
        if known <= raw.len() {
            return Ok(all(&raw[..known]));
        }
        let mut more = vec![sized!(anelane_port); known];
        let known = ask(&mut more)?.min(more.len());
        Ok(all(&more[..known]))
    }
}

impl Drop for ModelInner {
    fn drop(&mut self) {
        // SAFETY: plain values. Blocking is refused on the completion thread, so there the end is only started; of a
        // lane that is closed, both are refused and nothing is left to end.
        unsafe {
            if sys::anelane_model_retire(self.raw, 0, null_mut()) != sys::ANELANE_WRONG_THREAD {
                return;
            }
            let mut op = sys::anelane_op { bits: 0 };
            if sys::anelane_start_retire(
                self.raw,
                sys::ANELANE_NO_DEADLINE,
                None,
                null_mut(),
                &mut op,
                null_mut(),
            ) == sys::ANELANE_OK
            {
                sys::anelane_op_release(op);
            }
        }
    }
}

/// A loaded checkpoint or program. When it, its leases and its operations are dropped it is retired, without waiting
/// for work that is running.
#[derive(Clone)]
pub struct Model {
    inner: Arc<ModelInner>,
}

/// What a checkpoint folder would serve. Needs no lane.
///
/// # Errors
/// As `anelane_model_inspect`.
pub fn inspect(path: impl AsRef<Path>) -> Result<ModelInfo> {
    library::ready()?;
    let path = c_path(path.as_ref())?;
    let mut raw = sized!(anelane_model_info);
    // SAFETY: a C string, and a struct that says its size.
    check(|error| unsafe { sys::anelane_model_inspect(path.as_ptr(), &mut raw, error) })?;
    Ok(ModelInfo::from_raw(&raw))
}

fn info_of(model: sys::anelane_model) -> Result<sys::anelane_model_info> {
    let mut raw = sized!(anelane_model_info);
    // SAFETY: a struct that says its size.
    check(|error| unsafe { sys::anelane_model_get_info(model, &mut raw, error) })?;
    Ok(raw)
}

fn statuses(each: Option<&mut [Code]>) -> *mut sys::anelane_status {
    each.map_or(null_mut(), |codes| codes.as_mut_ptr().cast()) // Code is transparent
}

impl Model {
    pub(crate) fn from_raw(
        raw: sys::anelane_model,
        lane: Arc<LaneInner>,
        progress: Option<Arc<Registered>>,
    ) -> Result<Model> {
        // The owner first: whatever fails from here on retires it.
        let mut inner = ModelInner { raw, lane, dim: 0, looks: Looks::default(), _progress: progress };
        inner.dim = info_of(raw)?.dim as usize;
        Ok(Model { inner: Arc::new(inner) })
    }

    /// What it is.
    ///
    /// # Errors
    /// It is retired, or its lane closed.
    pub fn info(&self) -> Result<ModelInfo> {
        Ok(ModelInfo::from_raw(&info_of(self.inner.raw)?))
    }
    /// The tensors that [`Lease::run`] takes and gives at this shape, inputs first.
    ///
    /// # Errors
    /// As `anelane_model_ports`.
    pub fn ports(&self, shape: u32) -> Result<Vec<Port>> {
        self.inner.ports(shape)
    }
    /// Ends it, for all who have it, and waits for that until the deadline.
    ///
    /// # Errors
    /// [`Code::DEADLINE_EXCEEDED`]: it goes on without the caller.
    pub fn retire(&self, deadline: impl Into<Deadline>) -> Result<()> {
        let deadline = deadline.into().ns();
        // SAFETY: plain values.
        check(|error| unsafe { sys::anelane_model_retire(self.inner.raw, deadline, error) })
    }
    /// Without blocking.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start_retire(&self, deadline: impl Into<Deadline>) -> Result<Operation<()>> {
        self.begin_retire(Awaited, deadline.into())
    }
    pub(crate) fn begin_retire<S: Start>(&self, start: S, deadline: Deadline) -> Result<S::Started<()>> {
        let (raw, deadline) = (self.inner.raw, deadline.ns());
        // SAFETY: all pointers are valid for the call.
        start.start(&self.inner.lane, (), |done, user, op, error| unsafe {
            sys::anelane_start_retire(raw, deadline, done, user, op, error)
        })
    }

    /// How long until the shape is resident, were it asked for now; zero: it is. Starts and promises nothing.
    ///
    /// # Errors
    /// As `anelane_predict`.
    pub fn predict(&self, shape: u32) -> Result<Duration> {
        let mut ms = 0;
        // SAFETY: a place for a number.
        check(|error| unsafe { sys::anelane_predict(self.inner.raw, shape, &mut ms, error) })?;
        Ok(Duration::from_millis(ms))
    }
    /// Makes the shape resident and pins nothing.
    ///
    /// # Errors
    /// [`Code::SHAPE_COMPILING`] at once, with `retry_after`, where it cannot be ready in time.
    pub fn admit(&self, shape: u32, deadline: impl Into<Deadline>) -> Result<()> {
        let deadline = deadline.into().ns();
        // SAFETY: plain values.
        check(|error| unsafe { sys::anelane_admit(self.inner.raw, shape, deadline, error) })
    }
    /// Makes the shape resident and pins it.
    ///
    /// # Errors
    /// As [`admit`](Model::admit).
    pub fn lease(&self, shape: u32, deadline: impl Into<Deadline>) -> Result<Lease> {
        let deadline = deadline.into().ns();
        let mut raw = sys::anelane_lease { bits: 0 };
        // SAFETY: a place for a handle.
        check(|error| unsafe {
            sys::anelane_lease_acquire(self.inner.raw, shape, deadline, &mut raw, error)
        })?;
        Ok(Lease::from_raw(raw, shape, Arc::clone(&self.inner)))
    }
    /// Without blocking.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start_lease(&self, shape: u32, deadline: impl Into<Deadline>) -> Result<Operation<Lease>> {
        self.begin_lease(Awaited, shape, deadline.into())
    }
    pub(crate) fn begin_lease<S: Start>(
        &self,
        start: S,
        shape: u32,
        deadline: Deadline,
    ) -> Result<S::Started<Lease>> {
        let (raw, deadline) = (self.inner.raw, deadline.ns());
        let context = (Arc::clone(&self.inner), shape);
        // SAFETY: all pointers are valid for the call.
        start.start(&self.inner.lane, context, |done, user, op, error| unsafe {
            sys::anelane_start_lease(raw, shape, deadline, done, user, op, error)
        })
    }

    /// One vector for each text, in their order. Nothing is truncated: a text that is too long refuses the call.
    ///
    /// # Errors
    /// As `anelane_embed_texts`, and [`Code::INVALID_ARGUMENT`] for a text that holds NUL.
    pub fn embed<T: AsRef<str>>(&self, texts: &[T]) -> Result<Embeddings> {
        self.embed_by(texts, Deadline::NONE)
    }
    /// The same until a deadline.
    ///
    /// # Errors
    /// As [`embed`](Model::embed).
    pub fn embed_by<T: AsRef<str>>(&self, texts: &[T], deadline: impl Into<Deadline>) -> Result<Embeddings> {
        let c_texts = Texts::new(texts)?;
        // SAFETY: `out` has room for all rows.
        self.embed_fresh(texts.len(), deadline.into(), |out, deadline, error| unsafe {
            sys::anelane_embed_texts(
                self.inner.raw,
                c_texts.as_ptr(),
                texts.len(),
                out,
                0,
                null_mut(),
                deadline,
                error,
            )
        })
    }
    /// The same into memory of one's own: `dim` floats for each text; what is behind them is left alone.
    ///
    /// # Errors
    /// As [`embed`](Model::embed); an `out` that is too small is refused with the floats needed as `limit`.
    pub fn embed_into<T: AsRef<str>>(
        &self,
        texts: &[T],
        out: &mut [f32],
        deadline: impl Into<Deadline>,
    ) -> Result<()> {
        self.texts_into(texts, out, None, deadline.into())
    }
    /// The same, with a code for each text: rows whose code is [`Code::OK`] are valid even when the call fails.
    ///
    /// # Errors
    /// As [`embed_into`](Model::embed_into).
    pub fn embed_each<T: AsRef<str>>(
        &self,
        texts: &[T],
        out: &mut [f32],
        each: &mut [Code],
        deadline: impl Into<Deadline>,
    ) -> Result<()> {
        self.texts_into(texts, out, Some(each), deadline.into())
    }
    /// One vector for each sequence of token ids, special tokens included.
    ///
    /// # Errors
    /// As `anelane_embed`.
    pub fn embed_ids<T: AsRef<[i32]>>(
        &self,
        items: &[T],
        deadline: impl Into<Deadline>,
    ) -> Result<Embeddings> {
        let items = tokens(items);
        // SAFETY: `out` has room for all rows.
        self.embed_fresh(items.len(), deadline.into(), |out, deadline, error| unsafe {
            sys::anelane_embed(
                self.inner.raw,
                items.as_ptr(),
                items.len(),
                out,
                0,
                null_mut(),
                deadline,
                error,
            )
        })
    }
    /// The same into memory of one's own.
    ///
    /// # Errors
    /// As [`embed_ids`](Model::embed_ids) and [`embed_into`](Model::embed_into).
    pub fn embed_ids_into<T: AsRef<[i32]>>(
        &self,
        items: &[T],
        out: &mut [f32],
        deadline: impl Into<Deadline>,
    ) -> Result<()> {
        self.check_room(items.len(), out.len(), None)?;
        let (items, deadline) = (tokens(items), deadline.into().ns());
        // SAFETY: `out` has room for all rows.
        check(|error| unsafe {
            let (raw, out) = (self.inner.raw, out.as_mut_ptr());
            sys::anelane_embed(raw, items.as_ptr(), items.len(), out, 0, null_mut(), deadline, error)
        })
    }
    /// Without blocking; texts are copied.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start_embed<T: AsRef<str>>(
        &self,
        texts: &[T],
        deadline: impl Into<Deadline>,
    ) -> Result<Operation<Embeddings>> {
        self.begin_embed(Awaited, texts, deadline.into())
    }
    pub(crate) fn begin_embed<S: Start, T: AsRef<str>>(
        &self,
        start: S,
        texts: &[T],
        deadline: Deadline,
    ) -> Result<S::Started<Embeddings>> {
        let (c_texts, deadline) = (Texts::new(texts)?, deadline.ns());
        let context = Arc::clone(&self.inner);
        // SAFETY: all pointers are valid for the call.
        start.start(&self.inner.lane, context, |done, user, op, error| unsafe {
            let raw = self.inner.raw;
            sys::anelane_start_embed_texts(
                raw,
                c_texts.as_ptr(),
                texts.len(),
                deadline,
                done,
                user,
                op,
                error,
            )
        })
    }
    /// Without blocking; ids are copied.
    ///
    /// # Errors
    /// It could not be started.
    pub fn start_embed_ids<T: AsRef<[i32]>>(
        &self,
        items: &[T],
        deadline: impl Into<Deadline>,
    ) -> Result<Operation<Embeddings>> {
        self.begin_embed_ids(Awaited, items, deadline.into())
    }
    pub(crate) fn begin_embed_ids<S: Start, T: AsRef<[i32]>>(
        &self,
        start: S,
        items: &[T],
        deadline: Deadline,
    ) -> Result<S::Started<Embeddings>> {
        let (items, deadline) = (tokens(items), deadline.ns());
        let context = Arc::clone(&self.inner);
        // SAFETY: all pointers are valid for the call.
        start.start(&self.inner.lane, context, |done, user, op, error| unsafe {
            sys::anelane_start_embed(
                self.inner.raw,
                items.as_ptr(),
                items.len(),
                deadline,
                done,
                user,
                op,
                error,
            )
        })
    }
    /// The handle, which stays owned, for calls of [`sys`].
    #[must_use]
    pub fn raw(&self) -> sys::anelane_model {
        self.inner.raw
    }

    /// `call` writes all `rows` where it answers OK.
    fn embed_fresh(
        &self,
        rows: usize,
        deadline: Deadline,
        call: impl FnOnce(*mut f32, u64, *mut sys::anelane_error) -> sys::anelane_status,
    ) -> Result<Embeddings> {
        let dim = self.inner.dim;
        let mut data = Vec::<f32>::new();
        let floats = rows.checked_mul(dim).filter(|&floats| data.try_reserve_exact(floats).is_ok());
        let Some(floats) = floats else {
            let message = "there is no memory for what this call makes";
            return Err(Error::own(Code::OUT_OF_MEMORY, "OUT_OF_MEMORY", message).transient());
        };
        data.resize(floats, 0.0);
        check(|error| call(data.as_mut_ptr(), deadline.ns(), error))?;
        Ok(Embeddings::new(data, rows, dim))
    }
    fn texts_into<T: AsRef<str>>(
        &self,
        texts: &[T],
        out: &mut [f32],
        each: Option<&mut [Code]>,
        deadline: Deadline,
    ) -> Result<()> {
        self.check_room(texts.len(), out.len(), each.as_deref().map(<[Code]>::len))?;
        let c_texts = Texts::new(texts)?;
        // SAFETY: `out` has room for all rows, `each` (or null) for all codes.
        check(|error| unsafe {
            let (raw, each) = (self.inner.raw, statuses(each));
            let out = out.as_mut_ptr();
            sys::anelane_embed_texts(raw, c_texts.as_ptr(), texts.len(), out, 0, each, deadline.ns(), error)
        })
    }
    fn check_room(&self, rows: usize, floats: usize, codes: Option<usize>) -> Result<()> {
        if codes.is_some_and(|codes| codes != rows) {
            return Err(Error::invalid("`each` needs one place for each text"));
        }
        let needed = rows.saturating_mul(self.inner.dim);
        if floats < needed {
            return Err(Error::invalid("`out` is too small: it needs `limit` floats").with_limit(needed));
        }
        Ok(())
    }
}

impl Outcome for Embeddings {
    #[doc(hidden)]
    type Context = Arc<ModelInner>;
    fn take(op: sys::anelane_op, model: &Arc<ModelInner>) -> Result<Embeddings> {
        let (mut data, mut rows, mut dim) = (null(), 0, 0);
        // The memory is the operation's, and goes with the lane.
        let _reading = model.lane.reading()?;
        // SAFETY: places for what the operation has; its floats stay until it is released.
        let floats: &[f32] = unsafe {
            check(|error| sys::anelane_op_floats(op, &mut data, &mut rows, &mut dim, error))?;
            if data.is_null() {
                &[]
            } else {
                std::slice::from_raw_parts(data, rows * dim)
            }
        };
        Ok(Embeddings::new(floats.to_vec(), rows, dim))
    }
}

/// What a model that is being loaded will need.
pub struct Loading {
    pub(crate) lane: Arc<LaneInner>,
    pub(crate) progress: Option<Arc<Registered>>,
}

impl Outcome for Model {
    #[doc(hidden)]
    type Context = Loading;
    fn take(op: sys::anelane_op, loading: &Loading) -> Result<Model> {
        let mut raw = sys::anelane_model { bits: 0 };
        // SAFETY: a place for a handle.
        check(|error| unsafe { sys::anelane_op_model(op, &mut raw, error) })?;
        Model::from_raw(raw, Arc::clone(&loading.lane), loading.progress.clone())
    }
}

impl Outcome for () {
    #[doc(hidden)]
    type Context = ();
    fn take(_: sys::anelane_op, (): &()) -> Result<()> {
        Ok(())
    }
}
