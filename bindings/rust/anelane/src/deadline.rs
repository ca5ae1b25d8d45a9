//! When a call gives up waiting.
use crate::{library, sys};
use std::time::{Duration, Instant};

/// A point on the library's clock (monotonic; stops while the machine sleeps). Made from a `Duration` from now, or from
/// an `Instant`: `model.lease(128, Duration::from_secs(5))`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Deadline(u64);

impl Deadline {
    /// Only the lane's own bounds. They are bounds, too: nothing waits for ever.
    pub const NONE: Deadline = Deadline(sys::ANELANE_NO_DEADLINE);
    /// Do not wait.
    pub const NOW: Deadline = Deadline(0);

    /// So long from now. Zero does not wait; what no clock can count to is [`NONE`](Self::NONE).
    #[must_use]
    pub fn after(time: Duration) -> Deadline {
        // Without a library no time matters: the call itself will say so.
        if time.is_zero() || library::ready().is_err() {
            return Deadline::NOW;
        }
        let Ok(ns) = u64::try_from(time.as_nanos()) else { return Deadline::NONE };
        // SAFETY: takes nothing and always answers.
        Deadline(unsafe { sys::anelane_now_ns() }.saturating_add(ns))
    }
    /// At that instant; one that has passed does not wait.
    #[must_use]
    pub fn at(instant: Instant) -> Deadline {
        Deadline::after(instant.saturating_duration_since(Instant::now()))
    }
    /// At that nanosecond of `anelane_now_ns`.
    #[must_use]
    pub const fn at_ns(ns: u64) -> Deadline {
        Deadline(ns)
    }
    /// The nanosecond of `anelane_now_ns`.
    #[must_use]
    pub const fn ns(self) -> u64 {
        self.0
    }
}

impl From<Duration> for Deadline {
    fn from(time: Duration) -> Deadline {
        Deadline::after(time)
    }
}
impl From<Instant> for Deadline {
    fn from(instant: Instant) -> Deadline {
        Deadline::at(instant)
    }
}
impl From<Option<Duration>> for Deadline {
    fn from(time: Option<Duration>) -> Deadline {
        time.map_or(Deadline::NONE, Deadline::after)
    }
}
