//! Operations for event loops: their ends are told by a descriptor and fetched from the lane, not by a waker.
//!
//! The library is given no callback but a number of the caller's, the key, so no thread of its own runs anything here.
//! Whoever started an operation owns it, as always; a completion only names it.
use crate::error::{check, Error, Result};
use crate::lane::LaneInner;
use crate::operation::{Outcome, Owned, Start, StartCall};
use crate::{sys, Code, Deadline, Embeddings, Lane, Lease, Model, ModelOptions, RunOutputs};
use std::ffi::c_void;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Arc;

/// The end goes into the lane's queue, under this key.
pub(crate) struct Queue(pub(crate) usize);

impl Start for Queue {
    type Started<T: Outcome> = Queued<T>;
    fn start<T: Outcome>(
        self,
        lane: &Arc<LaneInner>,
        context: T::Context,
        call: impl StartCall,
    ) -> Result<Queued<T>> {
        let mut op = sys::anelane_op { bits: 0 };
        check(|error| call(None, self.0 as *mut c_void, &mut op, error))?;
        Ok(Queued(Owned::new(op, context, lane)))
    }
}

/// An operation whose end is told by [`Lane::next_completion`], from one of the `queue_…` methods. Dropped before its end
/// it is cancelled, and nobody is told.
#[must_use = "an operation that is dropped is cancelled"]
pub struct Queued<T: Outcome>(Owned<T>);

impl<T: Outcome> Queued<T> {
    /// Asks for the end [`Code::CANCELLED`]. It ends once, in one way or the other. Many at once:
    /// [`cancel_all`](crate::cancel_all).
    pub fn cancel(&self) {
        self.0.cancel();
    }
    /// Its result, once, where it has ended; it does not wait for that.
    ///
    /// # Errors
    /// The operation's own; [`Code::PENDING`]: it has not ended; [`Code::INVALID_ARGUMENT`]: its result was taken
    /// already.
    pub fn take(&mut self) -> Result<T> {
        self.0.wait(Deadline::NOW)
    }
    /// Blocks until the end and gives the result, once. Its completion comes all the same.
    ///
    /// # Errors
    /// As [`Operation::wait`](crate::Operation::wait).
    pub fn wait(&mut self, deadline: impl Into<Deadline>) -> Result<T> {
        self.0.wait(deadline.into())
    }
    /// The handle, which stays owned, for calls of [`sys`].
    #[must_use]
    pub fn raw(&self) -> sys::anelane_op {
        self.0.raw()
    }
}

impl<T: Outcome> std::fmt::Debug for Queued<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Queued").field("bits", &self.raw().bits).finish()
    }
}

/// An operation has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    op: u64,
    key: usize,
}

impl Completion {
    /// What was given when it was started.
    #[must_use]
    pub fn key(&self) -> usize {
        self.key
    }
    /// It is that operation's. Of a lane that only one part of the program uses, the key says so as well.
    #[must_use]
    pub fn is_of<T: Outcome>(&self, operation: &Queued<T>) -> bool {
        self.op == operation.raw().bits
    }
}

/// For event loops. See [`event_fd`](Lane::event_fd).
impl Lane {
    /// A descriptor that is readable while [`next_completion`](Lane::next_completion) has something, for `poll`, `epoll`,
    /// `kqueue` and their wrappers. It is a copy of one's own, which may outlive the lane (and hangs up when that is
    /// closed). Nothing is to be read from it: what is read is no longer told.
    ///
    /// ```no_run
    /// # fn readable(fd: &std::os::fd::OwnedFd) {}
    /// # fn f(lane: &anelane::Lane, model: &anelane::Model) -> anelane::Result<()> {
    /// let fd = lane.event_fd()?;
    /// let mut op = model.queue_embed(&["A cat."], anelane::Deadline::NONE, 7)?;
    /// readable(&fd); // the loop waits for this and all it has besides
    /// while let Some(ended) = lane.next_completion()? {
    ///     assert_eq!(ended.key(), 7);
    ///     println!("{:?}", op.take()?.row(0));
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The lane is closed; [`Code::IO`]: there is no descriptor left.
    pub fn event_fd(&self) -> Result<OwnedFd> {
        let _open = self.inner().reading()?; // a close waits for the copy
        let mut fd = -1;
        // SAFETY: a place for a number.
        check(|error| unsafe { sys::anelane_lane_event_fd(self.raw(), &mut fd, error) })?;
        // SAFETY: the lane's, which is not closed while it is copied.
        unsafe { BorrowedFd::borrow_raw(fd) }.try_clone_to_owned().map_err(|error| {
            Error::own(Code::IO, "IO", "cannot copy the lane's descriptor: close some, or raise the limit")
                .with_source(error)
        })
    }
    /// The next operation that has ended, of those that were started by a `queue_…` method; `None`: no other has. Never
    /// blocks.
    ///
    /// # Errors
    /// The lane is closed.
    pub fn next_completion(&self) -> Result<Option<Completion>> {
        let (mut op, mut key) = (sys::anelane_op { bits: 0 }, null_mut());
        // SAFETY: places for a handle and a pointer.
        let next =
            check(|error| unsafe { sys::anelane_lane_next_completion(self.raw(), &mut op, &mut key, error) });
        match next {
            Ok(()) => Ok(Some(Completion { op: op.bits, key: key as usize })),
            Err(error) if error.code() == Code::PENDING => Ok(None),
            Err(error) => Err(error),
        }
    }
    /// [`start_load`](Lane::start_load) for an event loop.
    ///
    /// # Errors
    /// It could not be started.
    pub fn queue_load(
        &self,
        path: impl AsRef<Path>,
        options: &ModelOptions,
        deadline: impl Into<Deadline>,
        key: usize,
    ) -> Result<Queued<Model>> {
        self.begin_load(Queue(key), path.as_ref(), options, deadline.into())
    }
}

/// For event loops. See [`Lane::event_fd`].
impl Model {
    /// [`start_embed`](Model::start_embed) for an event loop.
    ///
    /// # Errors
    /// It could not be started.
    pub fn queue_embed<T: AsRef<str>>(
        &self,
        texts: &[T],
        deadline: impl Into<Deadline>,
        key: usize,
    ) -> Result<Queued<Embeddings>> {
        self.begin_embed(Queue(key), texts, deadline.into())
    }
    /// [`start_embed_ids`](Model::start_embed_ids) for an event loop.
    ///
    /// # Errors
    /// It could not be started.
    pub fn queue_embed_ids<T: AsRef<[i32]>>(
        &self,
        items: &[T],
        deadline: impl Into<Deadline>,
        key: usize,
    ) -> Result<Queued<Embeddings>> {
        self.begin_embed_ids(Queue(key), items, deadline.into())
    }
    /// [`start_lease`](Model::start_lease) for an event loop.
    ///
    /// # Errors
    /// It could not be started.
    pub fn queue_lease(
        &self,
        shape: u32,
        deadline: impl Into<Deadline>,
        key: usize,
    ) -> Result<Queued<Lease>> {
        self.begin_lease(Queue(key), shape, deadline.into())
    }
    /// [`start_retire`](Model::start_retire) for an event loop.
    ///
    /// # Errors
    /// It could not be started.
    pub fn queue_retire(&self, deadline: impl Into<Deadline>, key: usize) -> Result<Queued<()>> {
        self.begin_retire(Queue(key), deadline.into())
    }
}

/// For event loops. See [`Lane::event_fd`].
impl Lease {
    /// [`start_run`](Lease::start_run) for an event loop.
    ///
    /// # Errors
    /// As [`start_run`](Lease::start_run).
    pub fn queue_run(
        &self,
        inputs: &[(u32, &[u8])],
        deadline: impl Into<Deadline>,
        key: usize,
    ) -> Result<Queued<RunOutputs>> {
        self.begin_run(Queue(key), inputs, deadline.into())
    }
}
