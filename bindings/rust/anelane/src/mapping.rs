//! Ports of a lease, in the memory that host and worker share.
//!
//! A slice of memory that others write would be a lie, so each of them is kept out:
//!   the worker, by taking every mapping of the lease by `&mut` for a run, and by ending them for good when a run
//!     failed, as a late reply may still come;
//!   the library, which ends the memory with the lane: a mapping keeps the lane open (lane.rs);
//!   other leases: a lease that nobody used expires by itself, and the library lends its memory to the next. `Ranges`
//!     knows what is looked at, and refuses the next;
//!   runs with tensors of the caller's, which may pass through the same memory: refused while a port is mapped
//!     (lease.rs).
use crate::error::{Error, Result};
use crate::lane::Pin;
use crate::lease::Lease;
use crate::Code;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Memory of one model's workers that mapped ports look at.
#[derive(Default)]
pub(crate) struct Ranges(Mutex<Vec<(usize, usize)>>);

impl Ranges {
    fn list(&self) -> MutexGuard<'_, Vec<(usize, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// False: somebody looks at a part of it.
    pub(crate) fn add(&self, start: usize, bytes: usize) -> bool {
        let mut list = self.list();
        let end = start + bytes;
        if list.iter().any(|&(other, other_end)| start < other_end && other < end) {
            return false;
        }
        list.push((start, end));
        true
    }
    fn remove(&self, start: usize) {
        let mut list = self.list();
        if let Some(index) = list.iter().position(|&(other, _)| other == start) {
            list.swap_remove(index);
        }
    }
}

mod sealed {
    pub trait Sealed {}
}
/// What the bytes of a port can be looked at as: numbers without padding and without values that are none.
pub trait Element: sealed::Sealed + Copy + Send + Sync + 'static {}
macro_rules! elements {
    ($($type:ty)*) => {$(impl sealed::Sealed for $type {} impl Element for $type {})*};
}
elements! { u8 i8 u16 i16 u32 i32 f32 }

/// A mapped port, from [`Lease::map`]. It lives no longer than its lease; while it lives, the lane is not closed.
pub struct PortMap<'lease> {
    data: NonNull<u8>,
    bytes: usize,
    port: u32,
    lease: &'lease Lease,
    _open: Pin<'lease>,
}

// SAFETY: the memory is reached through `&self` for reading and `&mut self` for writing only, as a Vec's is; the
// library does not mind which thread looks at it.
unsafe impl Send for PortMap<'_> {}
// SAFETY: as above.
unsafe impl Sync for PortMap<'_> {}

impl<'lease> PortMap<'lease> {
    /// `data` is in the ranges of the lease's model, and counted in the lease.
    pub(crate) fn new(
        data: NonNull<u8>,
        bytes: usize,
        port: u32,
        lease: &'lease Lease,
        open: Pin<'lease>,
    ) -> PortMap<'lease> {
        PortMap { data, bytes, port, lease, _open: open }
    }
    /// The port's number.
    #[must_use]
    pub fn port(&self) -> u32 {
        self.port
    }
    /// How many bytes it has.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }
    pub(crate) fn is_of(&self, lease: &Lease) -> bool {
        std::ptr::eq(self.lease, lease)
    }

    fn elements<T: Element>(&self) -> Result<usize> {
        if self.lease.in_doubt() {
            return Err(Error::lease_in_doubt());
        }
        let size = std::mem::size_of::<T>();
        if self.bytes % size != 0 || self.data.as_ptr() as usize % std::mem::align_of::<T>() != 0 {
            return Err(Error::invalid("the port is no row of such elements"));
        }
        Ok(self.bytes / size)
    }
    /// The port's bytes as elements: `u16` for fp16 ([`f32_from_f16`](crate::f32_from_f16)).
    ///
    /// # Errors
    /// [`Code::LEASE_EXPIRED`]: a run of the lease failed. [`Code::INVALID_ARGUMENT`]: the bytes do not divide so.
    pub fn as_slice<T: Element>(&self) -> Result<&[T]> {
        let count = self.elements::<T>()?;
        // SAFETY: aligned, as long, any bits are a value; nobody writes while `self` is borrowed (see above).
        Ok(unsafe { std::slice::from_raw_parts(self.data.as_ptr().cast(), count) })
    }
    /// The same for writing, into the memory that the worker reads.
    ///
    /// # Errors
    /// As [`as_slice`](PortMap::as_slice).
    pub fn as_mut_slice<T: Element>(&mut self) -> Result<&mut [T]> {
        let count = self.elements::<T>()?;
        // SAFETY: as above, and nobody else has it.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.data.as_ptr().cast(), count) })
    }
}

impl Drop for PortMap<'_> {
    fn drop(&mut self) {
        self.lease.model().mapped().remove(self.data.as_ptr() as usize);
        self.lease.unmapped();
    }
}

impl std::fmt::Debug for PortMap<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PortMap").field("port", &self.port).field("bytes", &self.bytes).finish()
    }
}

/// Another lease's mapping, of one that expired, still looks at the memory.
pub(crate) fn taken() -> Error {
    let message = "a mapping of a lease that has expired, or of the same port, is still in use: drop it and take a new lease";
    Error::own(Code::RESOURCES_EXHAUSTED, "RESOURCES_EXHAUSTED", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_meet_are_refused_and_neighbours_are_not() {
        let ranges = Ranges::default();
        assert!(ranges.add(100, 10));
        for (start, bytes) in [(100, 10), (95, 6), (109, 1), (90, 100), (103, 2)] {
            assert!(!ranges.add(start, bytes), "{start} {bytes}");
        }
        assert!(ranges.add(110, 10) && ranges.add(90, 10));
        ranges.remove(100);
        assert!(ranges.add(100, 10) && !ranges.add(119, 1));
    }
}
