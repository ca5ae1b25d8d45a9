//! A pinned shape, and runs on one's own tensors.
//!
//! One word says who is at the memory of the lease's ports: so many runs, and so many mapped ports, which are never both
//! there but in a run that has borrowed all of them; no port can be mapped during a run. And two things that stay: a port
//! was mapped once (`WAS_MAPPED`), and nobody may look or run any more (`IN_DOUBT`: a run failed whose late reply may
//! still be written; or the memory is looked at by others).
use crate::error::{check, Error, Result};
use crate::mapping::{Look, PortMap, Refused};
use crate::model::ModelInner;
use crate::operation::{Awaited, Operation, Outcome, Start};
use crate::run::{Run, RunOutputs};
use crate::{sys, Code, Deadline};
use std::ops::Range;
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

const RUN: u64 = 1;
const MAP: u64 = 1 << 24;
const COUNT: u64 = (1 << 24) - 1;
const WAS_MAPPED: u64 = 1 << 48;
const IN_DOUBT: u64 = 1 << 49;

fn runs(word: u64) -> u64 {
    word & COUNT
}
fn maps(word: u64) -> u64 {
    (word / MAP) & COUNT
}

/// A pinned shape. It expires after `lease_max_ms` without a run.
///
/// It is released once, and its mapped ports go before it:
///
/// ```compile_fail,E0382
/// # fn f(lease: anelane::Lease) {
/// lease.release();
/// lease.release();
/// # }
/// ```
/// ```compile_fail,E0505
/// # fn f(lease: anelane::Lease) -> anelane::Result<()> {
/// let port = lease.map(0)?;
/// lease.release();
/// port.as_slice::<u16>()?;
/// # Ok(())
/// # }
/// ```
/// ```compile_fail,E0499
/// # fn f(lease: anelane::Lease) -> anelane::Result<()> {
/// let mut port = lease.map(0)?;
/// let one = port.as_mut_slice::<u16>()?;
/// let two = port.as_mut_slice::<u16>()?;
/// one[0] = two[0];
/// # Ok(())
/// # }
/// ```
pub struct Lease {
    raw: sys::anelane_lease,
    shape: u32,
    word: AtomicU64,
    /// The memory of all its ports, once one was mapped.
    lent: OnceLock<Range<usize>>,
    model: Arc<ModelInner>,
}

/// A run, while it lasts.
struct Running<'a>(&'a Lease);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.word.fetch_sub(RUN, Ordering::Release);
    }
}

impl Lease {
    pub(crate) fn from_raw(raw: sys::anelane_lease, shape: u32, model: Arc<ModelInner>) -> Lease {
        Lease { raw, shape, word: AtomicU64::new(0), lent: OnceLock::new(), model }
    }
    pub(crate) fn model(&self) -> &ModelInner {
        &self.model
    }
    pub(crate) fn in_doubt(&self) -> bool {
        self.word.load(Ordering::Acquire) & IN_DOUBT != 0
    }
    pub(crate) fn unmapped(&self) {
        self.word.fetch_sub(MAP, Ordering::Release);
    }
    fn doubt(&self) {
        self.word.fetch_or(IN_DOUBT, Ordering::Release);
    }
    /// Changes the word where `allowed` has nothing against it.
    fn enter(&self, add: u64, set: u64, allowed: impl Fn(u64) -> Result<()>) -> Result<()> {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word & IN_DOUBT != 0 {
                return Err(Error::lease_in_doubt());
            }
            allowed(word)?;
            match self.word.compare_exchange_weak(
                word,
                (word + add) | set,
                Ordering::AcqRel,
                Ordering::Acquire,
            ) {
                Ok(_) => return Ok(()),
                Err(now) => word = now,
            }
        }
    }
    fn running(&self) -> Result<Running<'_>> {
        self.enter(RUN, 0, |word| match maps(word) {
            0 => Ok(()),
            _ => Err(Error::invalid(
                "ports of this lease are mapped: run with them (run_mapped), or drop them first",
            )),
        })?;
        Ok(Running(self))
    }

    /// The shape.
    #[must_use]
    pub fn shape(&self) -> u32 {
        self.shape
    }
    /// Gives the pin back, as the drop does.
    pub fn release(self) {}
    /// The handle, which stays owned, for calls of [`sys`].
    #[must_use]
    pub fn raw(&self) -> sys::anelane_lease {
        self.raw
    }

    /// The port's memory, shared with the worker, for runs without copies.
    ///
    /// # Errors
    /// [`Code::LEASE_EXPIRED`]; [`Code::RESOURCES_EXHAUSTED`]: the ports of too many leases are mapped, this port is
    /// mapped already, or a mapping of a lease that has expired still looks at the memory (this lease cannot run then
    /// either: take a new one); [`Code::INVALID_ARGUMENT`]: there is no such port, or a run of this lease is going on.
    pub fn map(&self, port: u32) -> Result<PortMap<'_>> {
        let open = self.model.lane().mapping()?;
        self.enter(MAP, WAS_MAPPED, |word| match runs(word) {
            0 => Ok(()),
            _ => Err(Error::invalid("a run of this lease is going on: map its ports before")),
        })?;
        match self.look_at(port) {
            Ok((data, bytes, look)) => Ok(PortMap::new(data, bytes, look, self, open)),
            Err(error) => {
                self.unmapped();
                Err(error)
            }
        }
    }
    /// The caller has counted it.
    fn look_at(&self, port: u32) -> Result<(NonNull<u8>, usize, Look)> {
        let (data, bytes) = self.port_memory(port)?;
        let looks = self.model.looks();
        let look = Look { lease: std::ptr::from_ref(self) as usize, port, lent: self.lent()? };
        looks.add(&look).map_err(|refused| {
            if refused == Refused::LentTwice {
                self.doubt();
            }
            refused.error()
        })?;
        // It may have ended before others could know of the look: then the memory is the next lease's.
        if let Err(ended) = self.port_memory(port) {
            looks.remove(&look);
            return Err(ended);
        }
        Ok((data, bytes, look))
    }
    fn lent(&self) -> Result<Range<usize>> {
        if let Some(known) = self.lent.get() {
            return Ok(known.clone());
        }
        let (mut start, mut end) = (usize::MAX, 0);
        for port in self.model.ports(self.shape)? {
            let (data, bytes) = self.port_memory(port.index)?;
            start = start.min(data.as_ptr() as usize);
            end = end.max(data.as_ptr() as usize + bytes);
        }
        Ok(self.lent.get_or_init(|| start..end).clone())
    }
    fn port_memory(&self, port: u32) -> Result<(NonNull<u8>, usize)> {
        let mut tensor = sys::anelane_tensor { data: null_mut(), bytes: 0, port: 0, reserved: 0 };
        // SAFETY: a place for a tensor.
        check(|error| unsafe { sys::anelane_lease_map(self.raw, port, &mut tensor, error) })?;
        let bytes = usize::try_from(tensor.bytes).map_err(|_| Error::invalid("the port is too large"))?;
        let data =
            NonNull::new(tensor.data.cast::<u8>()).ok_or_else(|| Error::invalid("the port has no memory"))?;
        Ok((data, bytes))
    }

    /// One evaluation of all layers: every input port once, and the output ports wanted, by their numbers and in their
    /// layouts ([`Model::ports`](crate::Model::ports)).
    ///
    /// # Errors
    /// As `anelane_run`; [`Code::INVALID_ARGUMENT`] while a port is mapped.
    pub fn run(
        &self,
        inputs: &[(u32, &[u8])],
        outputs: &mut [(u32, &mut [u8])],
        deadline: impl Into<Deadline>,
    ) -> Result<()> {
        let _running = self.running()?;
        let inputs: Vec<_> = inputs
            .iter()
            .map(|(port, bytes)| tensor(*port, bytes.as_ptr().cast_mut(), bytes.len()))
            .collect();
        let outputs: Vec<_> =
            outputs.iter_mut().map(|(port, bytes)| tensor(*port, bytes.as_mut_ptr(), bytes.len())).collect();
        self.run_raw(&inputs, &outputs, deadline.into())
    }

    /// The same in mapped ports, without copies: all that are mapped of this lease, every input among them. When it
    /// fails after it began, nobody can look at them any more, as the worker may still write: take a new lease.
    ///
    /// # Errors
    /// As `anelane_run`; [`Code::INVALID_ARGUMENT`]: one is of another lease, or one that is mapped is not given.
    pub fn run_mapped(
        &self,
        inputs: &mut [&mut PortMap<'_>],
        outputs: &mut [&mut PortMap<'_>],
        deadline: impl Into<Deadline>,
    ) -> Result<()> {
        if !inputs.iter().all(|map| map.is_of(self)) || !outputs.iter().all(|map| map.is_of(self)) {
            return Err(Error::invalid("a mapped port is of another lease"));
        }
        // They are counted once each: a PortMap cannot be borrowed twice. Nobody maps another one before the run has ended.
        let given = (inputs.len() + outputs.len()) as u64;
        self.enter(RUN, 0, |word| match maps(word) == given {
            true => Ok(()),
            false => Err(Error::invalid(
                "every mapped port of the lease must be given, as the run may write to it",
            )),
        })?;
        let _running = Running(self);
        let raw = |maps: &[&mut PortMap<'_>]| -> Vec<_> {
            maps.iter().map(|map| tensor(map.port(), null_mut(), map.bytes())).collect()
        };
        self.run_raw(&raw(inputs), &raw(outputs), deadline.into())
    }

    fn run_raw(
        &self,
        inputs: &[sys::anelane_tensor],
        outputs: &[sys::anelane_tensor],
        deadline: Deadline,
    ) -> Result<()> {
        // SAFETY: tensors with as much memory as they say, or in mapped ports that are borrowed for the call.
        let done = check(|error| unsafe {
            let (given, wanted) = (inputs.as_ptr(), outputs.as_ptr());
            sys::anelane_run(self.raw, given, inputs.len(), wanted, outputs.len(), deadline.ns(), error)
        });
        if let Err(error) = &done {
            if error.code() != Code::INVALID_ARGUMENT && self.word.load(Ordering::Acquire) & WAS_MAPPED != 0 {
                self.doubt();
            }
        }
        done
    }

    /// Without blocking; inputs are copied. It gives all output ports.
    ///
    /// # Errors
    /// It could not be started. [`Code::INVALID_ARGUMENT`]: a port of this lease was mapped, whose memory the run would
    /// use at a time that nobody knows: take a lease for each.
    pub fn start_run(
        &self,
        inputs: &[(u32, &[u8])],
        deadline: impl Into<Deadline>,
    ) -> Result<Operation<RunOutputs>> {
        self.begin_run(Awaited, inputs, deadline.into())
    }
    pub(crate) fn begin_run<S: Start>(
        &self,
        start: S,
        inputs: &[(u32, &[u8])],
        deadline: Deadline,
    ) -> Result<S::Started<RunOutputs>> {
        self.enter(RUN, 0, |word| match word & WAS_MAPPED {
            0 => Ok(()),
            _ => Err(Error::invalid("a port of this lease was mapped: take another lease for start_run")),
        })?;
        let _running = Running(self); // until it has begun: the library decides there whose memory is used
        let deadline = deadline.ns();
        let wanted =
            self.model.ports(self.shape)?.into_iter().filter(|port| port.is_output).map(|port| port.index);
        let context = Run { model: Arc::clone(&self.model), ports: wanted.collect() };
        let inputs: Vec<_> = inputs
            .iter()
            .map(|(port, bytes)| tensor(*port, bytes.as_ptr().cast_mut(), bytes.len()))
            .collect();
        // SAFETY: all pointers are valid for the call.
        start.start(self.model.lane(), context, |done, user, op, error| unsafe {
            sys::anelane_start_run(self.raw, inputs.as_ptr(), inputs.len(), deadline, done, user, op, error)
        })
    }
}

fn tensor(port: u32, data: *mut u8, bytes: usize) -> sys::anelane_tensor {
    sys::anelane_tensor { data: data.cast(), bytes: bytes as u64, port, reserved: 0 }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // SAFETY: a plain value; nobody looks at its ports, which borrow it.
        unsafe { sys::anelane_lease_release(self.raw) };
    }
}

impl Outcome for Lease {
    #[doc(hidden)]
    type Context = (Arc<ModelInner>, u32);
    fn take(op: sys::anelane_op, (model, shape): &(Arc<ModelInner>, u32)) -> Result<Lease> {
        let mut raw = sys::anelane_lease { bits: 0 };
        // SAFETY: a place for a handle.
        check(|error| unsafe { sys::anelane_op_lease(op, &mut raw, error) })?;
        Ok(Lease::from_raw(raw, *shape, Arc::clone(model)))
    }
}
