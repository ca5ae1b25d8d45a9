//! How far shapes have come on their way to being resident.
//!
//! C gets a number, not an address: a report that comes after its model was dropped finds nobody, and there is
//! nothing that could be freed too early.
use crate::library::contained;
use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A report while a shape becomes resident.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Progress {
    /// The shape.
    pub shape: u32,
    /// Layer programs done.
    pub layer: u32,
    /// Of so many.
    pub layers: u32,
    /// The time left, as far as anybody knows.
    pub left: Option<Duration>,
}

pub(crate) type Closure = Arc<dyn Fn(Progress) + Send + Sync>;

static CLOSURES: LazyLock<Mutex<HashMap<usize, Closure>>> = LazyLock::new(Mutex::default);
static NEXT: AtomicUsize = AtomicUsize::new(1);

fn closures() -> MutexGuard<'static, HashMap<usize, Closure>> {
    CLOSURES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a closure where reports find it.
pub(crate) struct Registered(usize);

impl Registered {
    pub(crate) fn user(&self) -> *mut c_void {
        self.0 as *mut c_void
    }
}
impl Drop for Registered {
    fn drop(&mut self) {
        let removed = closures().remove(&self.0);
        drop(removed); // not under the lock: it may own what it likes
    }
}

pub(crate) fn register(closure: Closure) -> Registered {
    let id = NEXT.fetch_add(1, Ordering::Relaxed);
    closures().insert(id, closure);
    Registered(id)
}

pub(crate) unsafe extern "C" fn on_progress(
    user: *mut c_void,
    shape: u32,
    layer: u32,
    layers: u32,
    ms_left: u64,
) {
    let closure = closures().get(&(user as usize)).cloned();
    let left = (ms_left != 0).then(|| Duration::from_millis(ms_left));
    contained(move || {
        if let Some(closure) = closure {
            closure(Progress { shape, layer, layers, left });
        }
    });
}
