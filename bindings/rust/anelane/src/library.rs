//! The C library itself: there, of the right version, and its log.
//!
//! Every way into this crate that needs no owner asks `ready` first; owners are proof that it is.
use crate::error::{check, Error, Result};
use crate::numbers::{Code, LogLevel};
use crate::sys;
use std::ffi::{c_char, c_void, CStr};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::path::Path;
use std::sync::OnceLock;

static READY: OnceLock<()> = OnceLock::new();

/// What `path` names must be a libanelane.
unsafe fn load(path: Option<&CStr>) -> Result<()> {
    // SAFETY: the caller's promise.
    unsafe { sys::load(path) }.map_err(|error| {
        Error::own(Code::ENGINE_UNAVAILABLE, "ENGINE_UNAVAILABLE", &error.to_string()).with_source(error)
    })?;
    // SAFETY: takes nothing and always answers.
    let abi = unsafe { sys::anelane_abi_version() };
    if abi != sys::ANELANE_ABI_VERSION {
        let message = format!(
            "the library has ABI {abi}, this crate needs {}: use a library of its version",
            sys::ANELANE_ABI_VERSION
        );
        return Err(Error::own(Code::PROTOCOL, "PROTOCOL", &message));
    }
    READY.get_or_init(|| ());
    Ok(())
}

/// The functions of the C interface may be called.
#[inline]
pub(crate) fn ready() -> Result<()> {
    if READY.get().is_some() {
        return Ok(());
    }
    // SAFETY: what the environment names is trusted, as it is by the loader of a program that links the library.
    unsafe { load(None) }
}

/// With the feature `runtime`: loads the C library from `path`, before anything else is used. Without this call it is
/// loaded at its first use, from where the environment's `ANELANE_LIBRARY` says, else from where the system's loader
/// finds it. What is named is used or refused, never passed over.
///
/// # Errors
/// [`Code::ENGINE_UNAVAILABLE`]: it cannot be loaded, another one is loaded already, or this crate was built to link
/// it. [`Code::PROTOCOL`]: it is of another version.
///
/// # Safety
/// The file is a libanelane: its initialisers run, and its functions are taken to be those of the header.
pub unsafe fn load_library(path: impl AsRef<Path>) -> Result<()> {
    let path = crate::input::c_path(path.as_ref())?;
    // SAFETY: the caller's promise.
    unsafe { load(Some(&path)) }
}

/// `"0.1.0+<build>"` of the C library.
///
/// # Errors
/// There is no library.
pub fn version() -> Result<&'static str> {
    ready()?;
    // SAFETY: a static string.
    Ok(unsafe { CStr::from_ptr(sys::anelane_version()) }.to_str().unwrap_or_default())
}

/// Runs what belongs to the user where a panic has nowhere to go: the library's threads.
pub(crate) fn contained(user: impl FnOnce()) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(user)) {
        // Its drop may panic as well.
        std::mem::forget(payload);
    }
}

type Log = Box<dyn Fn(LogLevel, &str) + Send + Sync>;

unsafe extern "C" fn on_line(user: *mut c_void, level: sys::anelane_log_level, line: *const c_char) {
    // SAFETY: `user` is the leaked Log, `line` a C string for the time of this call.
    let (log, line) = unsafe { (&*user.cast::<Log>(), CStr::from_ptr(line)) };
    contained(|| log(LogLevel(level), &line.to_string_lossy()));
}

/// Where lines of the log of at least `least` go: nowhere, by default. `log` is called on any thread of the library,
/// several at once; it must not block or call back into the library. It is kept for as long as the process lives.
///
/// # Errors
/// [`Code::INVALID_ARGUMENT`]: a lane was opened already, or the level is none of the library's.
pub fn set_log(least: LogLevel, log: impl Fn(LogLevel, &str) + Send + Sync + 'static) -> Result<()> {
    ready()?;
    let kept: *mut Log = Box::into_raw(Box::new(Box::new(log)));
    // SAFETY: on_line takes what `kept` is, which is not freed any more once the library has it.
    let set = check(|_| unsafe { sys::anelane_set_log(Some(on_line), kept.cast(), least.0) });
    if set.is_err() {
        // SAFETY: the library did not take it.
        drop(unsafe { Box::from_raw(kept) });
    }
    // The C function tells a status only.
    set.map_err(|error| match error.code() {
        Code::INVALID_ARGUMENT => Error::invalid(
            "the log is set before the first lane is opened, at one of the levels that the library knows",
        ),
        _ => error,
    })
}
