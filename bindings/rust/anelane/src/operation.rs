//! Something that was asked for without waiting, as a future.
//!
//! Two owners: the `Operation`, and the library, which has one count of `Shared` from a start that was answered OK until
//! its callback, which comes exactly once. The callback marks the end and wakes whoever polled last; an `Operation` that
//! is dropped takes its waker back first, so nobody is woken for what is gone.
//!
//! States: running, ended, taken. The result is taken by the first poll or wait that sees the end. Threads: any; the
//! callback comes on the library's completion thread and holds the lock for two assignments.
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

/// What an operation can end with: [`Embeddings`](crate::Embeddings), [`Model`](crate::Model),
/// [`Lease`](crate::Lease), [`RunOutputs`](crate::RunOutputs), or nothing. It is for this crate to implement.
pub trait Outcome: Sized {
    #[doc(hidden)]
    type Context;
    #[doc(hidden)]
    fn take(op: sys::anelane_op, context: &Self::Context) -> Result<Self>;
}

/// A future of any executor, or of none ([`wait`](Operation::wait)). It ends exactly once, cancelled or not. Dropped
/// before its end it is cancelled, and its result goes back where it came from.
#[must_use = "an operation that is dropped is cancelled"]
pub struct Operation<T: Outcome> {
    op: sys::anelane_op,
    shared: Arc<Shared>,
    taken: bool,
    context: T::Context,
    // After the context: a model goes before its lane.
    _lane: Arc<LaneInner>,
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

/// `call` is one of the anelane_start_ functions with what it needs.
pub(crate) fn start<T: Outcome>(
    lane: Arc<LaneInner>,
    context: T::Context,
    call: impl FnOnce(
        sys::anelane_done_fn,
        *mut c_void,
        *mut sys::anelane_op,
        *mut sys::anelane_error,
    ) -> sys::anelane_status,
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
    Ok(Operation { op, shared, taken: false, context, _lane: lane })
}

impl<T: Outcome> Operation<T> {
    /// Asks for the end [`Code::CANCELLED`]. It ends once, in one way or the other.
    pub fn cancel(&self) {
        // SAFETY: a plain value.
        unsafe { sys::anelane_op_cancel(self.op) };
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
        self.not_taken()?;
        let deadline = deadline.into().ns();
        // SAFETY: plain values.
        let ended = check(|error| unsafe { sys::anelane_op_wait(self.op, deadline, error) });
        match ended {
            Err(error) if error.code() == Code::PENDING || error.code() == Code::WRONG_THREAD => Err(error),
            ended => self.take(ended),
        }
    }
    /// The handle, which stays owned, for calls of [`sys`].
    #[must_use]
    pub fn raw(&self) -> sys::anelane_op {
        self.op
    }

    fn is_ended_else_wakes(&self, new: &Waker) -> bool {
        let old = {
            let mut state = self.shared.state();
            if state.ended {
                return true;
            }
            match &mut state.waker {
                Some(waker) if waker.will_wake(new) => None,
                waker => waker.replace(new.clone()),
            }
        };
        drop(old); // not under the lock: it is the executor's
        false
    }
    fn not_taken(&self) -> Result<()> {
        if self.taken {
            return Err(Error::invalid("the result of this operation was taken already"));
        }
        Ok(())
    }
    fn take(&mut self, ended: Result<()>) -> Result<T> {
        self.taken = true;
        ended.and_then(|()| T::take(self.op, &self.context))
    }
}

impl<T: Outcome> Future for Operation<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        if let Err(error) = self.not_taken() {
            return Poll::Ready(Err(error));
        }
        if !self.is_ended_else_wakes(context.waker()) {
            // The waker is in place; now look whether the end came just before. In a forked child it never comes, and
            // this is how a future says so. SAFETY: a plain value.
            let status = unsafe { sys::anelane_op_wait(self.op, 0, std::ptr::null_mut()) };
            if status == sys::ANELANE_PENDING || status == sys::ANELANE_WRONG_THREAD {
                return Poll::Pending;
            }
        }
        // SAFETY: a plain value. It has ended: nothing blocks, on any thread.
        let ended = check(|error| unsafe { sys::anelane_op_wait(self.op, 0, error) });
        Poll::Ready(self.take(ended))
    }
}

impl<T: Outcome> Drop for Operation<T> {
    fn drop(&mut self) {
        let (waker, ended) = {
            let mut state = self.shared.state();
            (state.waker.take(), state.ended)
        };
        drop(waker);
        // SAFETY: plain values; a handle that stands for nothing any more is passed over.
        unsafe {
            // One whose result was taken may not have been told yet; asking for its end would wake the lane for nothing.
            if !ended && !self.taken {
                sys::anelane_op_cancel(self.op);
            }
            sys::anelane_op_release(self.op);
        }
    }
}

impl<T: Outcome> std::fmt::Debug for Operation<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Operation").field("bits", &self.op.bits).field("ended", &self.is_ended()).finish()
    }
}
