//! Ports of a lease, in the memory that host and worker share.
//!
//! A slice of memory that others write would be a lie, so each of them is kept out:
//!   the worker, by taking every mapping of the lease by `&mut` for a run, and by ending them for good when a run
//!     failed, as a late reply may still come;
//!   the library, which ends the memory with the lane: a mapping keeps the lane open (lane.rs);
//!   other leases: a lease that nobody used expires by itself, and the library lends its memory, all ports of it, to the
//!     next. `Looks` knows whose memory is looked at, and refuses the next, which cannot run then either;
//!   runs with tensors of the caller's, which may pass through the same memory: refused while a port is mapped
//!     (lease.rs).
use crate::error::{Error, Result};
use crate::lane::Pin;
use crate::lease::Lease;
use crate::Code;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Who looks at the memory of one model's workers.
#[derive(Default)]
pub(crate) struct Looks(Mutex<Vec<Look>>);

/// At one port, but what counts is all that the library lent to the lease.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Look {
    /// The lease's address, which stays as long as its ports are mapped.
    pub(crate) lease: usize,
    pub(crate) port: u32,
    pub(crate) lent: Range<usize>,
}

/// Why there cannot be another look.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Refused {
    MappedAlready,
    LentTwice,
}

impl Looks {
    fn list(&self) -> MutexGuard<'_, Vec<Look>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    pub(crate) fn add(&self, look: &Look) -> std::result::Result<(), Refused> {
        let mut list = self.list();
        for other in list.iter() {
            let meets = look.lent.start < other.lent.end && other.lent.start < look.lent.end;
            if meets && other.lease != look.lease {
                return Err(Refused::LentTwice);
            }
            if meets && other.port == look.port {
                return Err(Refused::MappedAlready);
            }
        }
        list.push(look.clone());
        Ok(())
    }
    pub(crate) fn remove(&self, look: &Look) {
        let mut list = self.list();
        if let Some(index) = list.iter().position(|other| other == look) {
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
    look: Look,
    lease: &'lease Lease,
    _open: Pin<'lease>,
}

// SAFETY: the memory is reached through `&self` for reading and `&mut self` for writing only, as a Vec's is; the
// library does not mind which thread looks at it.
unsafe impl Send for PortMap<'_> {}
// SAFETY: as above.
unsafe impl Sync for PortMap<'_> {}

impl<'lease> PortMap<'lease> {
    /// `look` is among those of the lease's model, and counted in the lease.
    pub(crate) fn new(
        data: NonNull<u8>,
        bytes: usize,
        look: Look,
        lease: &'lease Lease,
        open: Pin<'lease>,
    ) -> PortMap<'lease> {
        PortMap { data, bytes, look, lease, _open: open }
    }
    /// The port's number.
    #[must_use]
    pub fn port(&self) -> u32 {
        self.look.port
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
        self.lease.model().looks().remove(&self.look);
        self.lease.unmapped();
    }
}

impl std::fmt::Debug for PortMap<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PortMap").field("port", &self.port()).field("bytes", &self.bytes).finish()
    }
}

impl Refused {
    pub(crate) fn error(&self) -> Error {
        let message = match self {
            Refused::MappedAlready => "the port is mapped already: use that mapping, or drop it first",
            Refused::LentTwice => {
                "a mapping of a lease that has expired is still in use: drop it and take a new lease"
            }
        };
        Error::own(Code::RESOURCES_EXHAUSTED, "RESOURCES_EXHAUSTED", message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_lent_to_two_is_looked_at_by_one() {
        let looks = Looks::default();
        let look = |lease, port, lent| Look { lease, port, lent };
        let first = look(1, 0, 100..110);
        looks.add(&first).unwrap();
        looks.add(&look(1, 1, 100..110)).unwrap();
        assert_eq!(looks.add(&look(1, 0, 100..110)), Err(Refused::MappedAlready));
        for lent in [100..110, 95..101, 109..110, 90..190, 103..105] {
            assert_eq!(looks.add(&look(2, 2, lent)), Err(Refused::LentTwice));
        }
        looks.add(&look(2, 0, 110..120)).unwrap();
        looks.add(&look(3, 0, 90..100)).unwrap();
        looks.remove(&first);
        assert_eq!(looks.add(&look(2, 0, 100..110)), Err(Refused::LentTwice)); // port 1 is still looked at
        looks.remove(&look(1, 1, 100..110));
        looks.add(&look(2, 0, 100..110)).unwrap();
    }
}
