//! Many operations cancelled at once.
use crate::operation::{Operation, Outcome};
use crate::queue::Queued;
use crate::sys;

mod sealed {
    pub trait Handle {
        fn handle(&self) -> crate::sys::anelane_op;
    }
}

/// What can be cancelled: [`Operation`] and [`Queued`], whatever they end with.
pub trait Cancel: sealed::Handle {}

impl<T: Outcome> sealed::Handle for Operation<T> {
    fn handle(&self) -> sys::anelane_op {
        self.raw()
    }
}
impl<T: Outcome> sealed::Handle for Queued<T> {
    fn handle(&self) -> sys::anelane_op {
        self.raw()
    }
}
impl<T: Outcome> Cancel for Operation<T> {}
impl<T: Outcome> Cancel for Queued<T> {}

/// Asks for the end [`Code::CANCELLED`](crate::Code::CANCELLED) of all of them, which costs the lane one wake-up instead of
/// one each. Those that have ended are passed over. Of one kind, or of several:
///
/// ```no_run
/// # fn f(model: &anelane::Model) -> anelane::Result<()> {
/// # let deadline = anelane::Deadline::NONE;
/// let many = [model.start_embed(&["A cat."], deadline)?, model.start_embed(&["A dog."], deadline)?];
/// anelane::cancel_all(&many);
/// let lease = model.start_lease(128, deadline)?;
/// anelane::cancel_all([&many[0] as &dyn anelane::Cancel, &lease]);
/// # Ok(())
/// # }
/// ```
pub fn cancel_all<'a, C: Cancel + ?Sized + 'a>(operations: impl IntoIterator<Item = &'a C>) {
    let handles: Vec<_> = operations.into_iter().map(sealed::Handle::handle).collect();
    // Operations are proof that the library is there; without one nothing is called.
    if !handles.is_empty() {
        // SAFETY: plain values, as many as are said.
        unsafe { sys::anelane_op_cancel_many(handles.as_ptr(), handles.len()) };
    }
}
