//! What a run without blocking ends with.
use crate::error::{check, Result};
use crate::model::ModelInner;
use crate::operation::Outcome;
use crate::sys;
use std::ptr::null;
use std::sync::Arc;

/// The output ports of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunOutputs(Vec<(u32, Vec<u8>)>);

impl RunOutputs {
    /// The bytes of an output port; `None`: it is none.
    #[must_use]
    pub fn port(&self, port: u32) -> Option<&[u8]> {
        self.0.iter().find(|(index, _)| *index == port).map(|(_, bytes)| bytes.as_slice())
    }
    /// All of them, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[u8])> {
        self.0.iter().map(|(index, bytes)| (*index, bytes.as_slice()))
    }
}

/// What is needed when it ends.
pub struct Run {
    pub(crate) model: Arc<ModelInner>,
    pub(crate) ports: Vec<u32>,
}

impl Outcome for RunOutputs {
    #[doc(hidden)]
    type Context = Run;
    fn take(op: sys::anelane_op, run: &Run) -> Result<RunOutputs> {
        // The memory is the operation's, and goes with the lane.
        let _reading = run.model.lane().reading()?;
        let copy = |&port: &u32| {
            let (mut data, mut bytes) = (null(), 0);
            // SAFETY: places for what the operation has; its bytes stay until it is released.
            let output: &[u8] = unsafe {
                check(|error| sys::anelane_op_output(op, port, &mut data, &mut bytes, error))?;
                if data.is_null() {
                    &[]
                } else {
                    std::slice::from_raw_parts(data.cast(), bytes)
                }
            };
            Ok((port, output.to_vec()))
        };
        run.ports.iter().map(copy).collect::<Result<_>>().map(RunOutputs)
    }
}
