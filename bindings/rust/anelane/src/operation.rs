//! Something that was asked for without waiting, as a future.
//!
//! Two owners: the `Operation`, and the library, which has one count of `Shared` from a start that was answered OK until
//! its callback, which comes exactly once. The callback marks the end and wakes whoever polled last; an `Operation` that
//! is dropped takes its waker back first, so nobody is woken for what is gone.
//!
//! States: running, ended, taken. The result is taken by the first poll or wait that sees the end. Threads: any; the
//! callback comes on the library's completion thread and holds the lock for two assignments. Under the lock nothing of the
//! executor's is run: a waker that is cloned, woken or dropped may do what it likes.
use crate::error::{check, Error, Result};
use crate::lane::LaneInner;
use crate::library::contained;
use crate::{sys, Code, Deadline};
use std::ffi::c_void;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

#[derive(Default)]
struct State {
    ended: bool,
    waker: Option<Waker>,
}

#[derive(Default)]
struct Shared(Mutex<State>);

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

mod sealed {
    pub trait Sealed {}
}
/// What an operation can end with: [`Embeddings`](crate::Embeddings), [`Model`](crate::Model),
/// [`Lease`](crate::Lease), [`RunOutputs`](crate::RunOutputs), or nothing.
pub trait Outcome: Sized + sealed::Sealed {
    #[doc(hidden)]
    type Context;
    #[doc(hidden)]
    fn take(op: sys::anelane_op, context: &Self::Context) -> Result<Self>;
}
impl sealed::Sealed for crate::Embeddings {}
impl sealed::Sealed for crate::Model {}
impl sealed::Sealed for crate::Lease {}
impl sealed::Sealed for crate::RunOutputs {}
impl sealed::Sealed for () {}

/// The owner of an operation's handle, whoever is told of its end.
pub(crate) struct Owned<T: Outcome> {
    op: sys::anelane_op,
    taken: bool,
    context: T::Context,
    // After the context: a model goes before its lane.
    _lane: Arc<LaneInner>,
}

impl<T: Outcome> Owned<T> {
    pub(crate) fn new(op: sys::anelane_op, context: T::Context, lane: &Arc<LaneInner>) -> Owned<T> {
        Owned { op, taken: false, context, _lane: Arc::clone(lane) }
    }
    pub(crate) fn raw(&self) -> sys::anelane_op {
        self.op
    }
    pub(crate) fn cancel(&self) {
        // SAFETY: a plain value.
        unsafe { sys::anelane_op_cancel(self.op) };
    }
    pub(crate) fn wait(&mut self, deadline: Deadline) -> Result<T> {
        self.not_taken()?;
        // SAFETY: plain values.
        let ended = check(|error| unsafe { sys::anelane_op_wait(self.op, deadline.ns(), error) });
        match ended {
            Err(error) if error.code() == Code::PENDING || error.code() == Code::WRONG_THREAD => Err(error),
            ended => {
                self.taken = true;
                ended.and_then(|()| T::take(self.op, &self.context))
            }
        }
    }
    fn not_taken(&self) -> Result<()> {
        if self.taken {
            return Err(Error::invalid("the result of this operation was taken already"));
        }
        Ok(())
    }
}

impl<T: Outcome> Drop for Owned<T> {
    fn drop(&mut self) {
        // SAFETY: plain values; a handle that stands for nothing any more is passed over.
        unsafe {
            // Where the result was taken, asking for the end would wake the lane for nothing. The form for many looks
            // whether it has ended.
            if !self.taken {
                sys::anelane_op_cancel_many(&self.op, 1);
            }
            sys::anelane_op_release(self.op);
        }
    }
}

/// One of the anelane_start_ functions with what it needs: told whom to tell of the end, it starts.
pub(crate) trait StartCall:
    FnOnce(
    sys::anelane_done_fn,
    *mut c_void,
    *mut sys::anelane_op,
    *mut sys::anelane_error,
) -> sys::anelane_status
{
}

impl<F> StartCall for F where
    F: FnOnce(
        sys::anelane_done_fn,
        *mut c_void,
        *mut sys::anelane_op,
        *mut sys::anelane_error,
    ) -> sys::anelane_status
{
}

/// Who is told of the end: a waker ([`Awaited`]) or the lane's queue ([`Queue`](crate::queue::Queue)).
pub(crate) trait Start {
    type Started<T: Outcome>;
    fn start<T: Outcome>(
        self,
        lane: &Arc<LaneInner>,
        context: T::Context,
        call: impl StartCall,
    ) -> Result<Self::Started<T>>;
}

/// A future of any executor, or of none ([`wait`](Operation::wait)). It ends exactly once, cancelled or not. Dropped
/// before its end it is cancelled, and its result goes back where it came from.
#[must_use = "an operation that is dropped is cancelled"]
pub struct Operation<T: Outcome> {
    owned: Owned<T>,
    shared: Arc<Shared>,
}

// Nothing in it is pinned: the library knows `Shared`, which does not move.
impl<T: Outcome> Unpin for Operation<T> {}

unsafe extern "C" fn on_end(user: *mut c_void, _: sys::anelane_op, _: sys::anelane_status) {
    // SAFETY: the count that `start` left to the library; this comes once.
    let shared = unsafe { Arc::from_raw(user.cast::<Shared>().cast_const()) };
    let waker = {
        let mut state = shared.state();
        state.ended = true;
        state.waker.take()
    };
    contained(move || {
        if let Some(waker) = waker {
            waker.wake();
        }
    });
}

/// The end wakes whoever polled last.
pub(crate) struct Awaited;

impl Start for Awaited {
    type Started<T: Outcome> = Operation<T>;
    fn start<T: Outcome>(
        self,
        lane: &Arc<LaneInner>,
        context: T::Context,
        call: impl StartCall,
    ) -> Result<Operation<T>> {
        let shared = Arc::new(Shared::default());
        let for_library = Arc::into_raw(Arc::clone(&shared));
        let mut op = sys::anelane_op { bits: 0 };
        let started = check(|error| call(Some(on_end), for_library.cast_mut().cast(), &mut op, error));
        if let Err(error) = started {
            // SAFETY: the callback will not come; the count is ours.
            drop(unsafe { Arc::from_raw(for_library) });
            return Err(error);
        }
        Ok(Operation { owned: Owned::new(op, context, lane), shared })
    }
}

impl<T: Outcome> Operation<T> {
    /// Asks for the end [`Code::CANCELLED`]. It ends once, in one way or the other. Many at once:
    /// [`cancel_all`](crate::cancel_all).
    pub fn cancel(&self) {
        self.owned.cancel();
    }
    /// The end has been told.
    #[must_use]
    pub fn is_ended(&self) -> bool {
        self.shared.state().ended
    }
    /// Blocks until the end and gives the result, once.
    ///
    /// # Errors
    /// The operation's own; [`Code::PENDING`]: it has not ended by the deadline, and goes on;
    /// [`Code::WRONG_THREAD`]: within a callback; [`Code::INVALID_ARGUMENT`]: its result was taken already.
    pub fn wait(&mut self, deadline: impl Into<Deadline>) -> Result<T> {
        self.owned.wait(deadline.into())
    }
    /// The handle, which stays owned, for calls of [`sys`].
    #[must_use]
    pub fn raw(&self) -> sys::anelane_op {
        self.owned.raw()
    }

    fn is_ended_else_wakes(&self, new: &Waker) -> bool {
        {
            let state = self.shared.state();
            if state.ended || state.waker.as_ref().is_some_and(|waker| waker.will_wake(new)) {
                return state.ended;
            }
        }
        let new = new.clone();
        let mut state = self.shared.state();
        // What is not needed goes when the lock is free again.
        let (ended, unused) = match state.ended {
            true => (true, Some(new)),
            false => (false, state.waker.replace(new)),
        };
        drop(state);
        drop(unused);
        ended
    }
}

impl<T: Outcome> Future for Operation<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if let Err(error) = self.owned.not_taken() {
            return Poll::Ready(Err(error));
        }
        if !self.is_ended_else_wakes(context.waker()) {
            // The waker is in place; now look whether the end came just before. In a forked child it never comes, and
            // this is how a future says so. SAFETY: a plain value.
            let status = unsafe { sys::anelane_op_wait(self.raw(), 0, std::ptr::null_mut()) };
            if status == sys::ANELANE_PENDING || status == sys::ANELANE_WRONG_THREAD {
                return Poll::Pending;
            }
        }
        Poll::Ready(self.wait(Deadline::NOW)) // it has ended: nothing blocks, on any thread
    }
}

impl<T: Outcome> Drop for Operation<T> {
    fn drop(&mut self) {
        let waker = self.shared.state().waker.take();
        drop(waker);
    }
}

impl<T: Outcome> std::fmt::Debug for Operation<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation").field("bits", &self.raw().bits).field("ended", &self.is_ended()).finish()
    }
}
