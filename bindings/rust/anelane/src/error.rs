//! Errors as values: all that the library says of one call.
use crate::numbers::{Class, Code};
use crate::sys;
use std::ffi::CStr;
use std::fmt;
use std::time::Duration;

/// A value, or an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

type Source = Box<dyn std::error::Error + Send + Sync>;

/// Why a call was refused or failed, and what to do. What does not apply is `None`.
pub struct Error(Box<Inner>);

struct Inner {
    raw: sys::anelane_error,
    name: &'static str,
    source: Option<Source>,
}

/// One that nothing was written into yet.
fn blank() -> sys::anelane_error {
    sys::anelane_error {
        struct_size: std::mem::size_of::<sys::anelane_error>() as u32,
        status: Code::OK.0,
        error_class: Class::PERMANENT.0,
        safe_to_retry: 0,
        retry_after_ms: 0,
        lane_id: 0,
        limit: 0,
        item: -1,
        shape: 0,
        holder_pid: 0,
        model: [0; 64],
        message: [0; 256],
    }
}

/// Calls a function of the C interface that fills in an error.
#[inline]
pub(crate) fn check(call: impl FnOnce(*mut sys::anelane_error) -> sys::anelane_status) -> Result<()> {
    let mut raw = blank();
    let status = call(&mut raw);
    if status == sys::ANELANE_OK {
        return Ok(());
    }
    raw.status = status;
    Err(Error::from_raw(raw))
}

fn put(into: &mut [std::ffi::c_char], text: &str) {
    let mut end = text.len().min(into.len() - 1);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    for (to, from) in into.iter_mut().zip(&text.as_bytes()[..end]) {
        *to = *from as std::ffi::c_char;
    }
}

/// The text of a fixed field, which ends at NUL or with the field.
pub(crate) fn text_in(field: &[std::ffi::c_char]) -> &str {
    // SAFETY: c_char and u8 have one layout.
    let bytes = unsafe { std::slice::from_raw_parts(field.as_ptr().cast::<u8>(), field.len()) };
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    match std::str::from_utf8(&bytes[..end]) {
        Ok(text) => text,
        // A field that was too short may have cut a character.
        Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
    }
}

impl Error {
    pub(crate) fn from_raw(raw: sys::anelane_error) -> Error {
        // SAFETY: a static string; a raw error comes from a library that is there.
        let name = unsafe { CStr::from_ptr(sys::anelane_status_name(raw.status)) };
        Error(Box::new(Inner { raw, name: name.to_str().unwrap_or("UNKNOWN"), source: None }))
    }

    /// One that this crate answers itself. `name` is that of the code: the library may not be there to ask.
    pub(crate) fn own(code: Code, name: &'static str, message: &str) -> Error {
        let mut raw = blank();
        raw.status = code.0;
        put(&mut raw.message, message);
        Error(Box::new(Inner { raw, name, source: None }))
    }
    pub(crate) fn invalid(message: &str) -> Error {
        Error::own(Code::INVALID_ARGUMENT, "INVALID_ARGUMENT", message)
    }
    pub(crate) fn closed() -> Error {
        Error::own(Code::CLOSED, "CLOSED", "the lane is closed")
    }
    pub(crate) fn lease_in_doubt() -> Error {
        let mut error = Error::own(
            Code::LEASE_EXPIRED,
            "LEASE_EXPIRED",
            "a run of this lease failed and the worker may still write into its ports: take a new lease",
        );
        error.0.raw.error_class = Class::TRANSIENT.0;
        error.0.raw.safe_to_retry = 1;
        error
    }
    pub(crate) fn with_source(mut self, source: impl Into<Source>) -> Error {
        self.0.source = Some(source.into());
        self
    }
    pub(crate) fn with_item(mut self, item: usize) -> Error {
        self.0.raw.item = i64::try_from(item).unwrap_or(i64::MAX);
        self
    }
    pub(crate) fn with_limit(mut self, limit: usize) -> Error {
        self.0.raw.limit = limit as u64;
        self
    }
    pub(crate) fn transient(mut self) -> Error {
        self.0.raw.error_class = Class::TRANSIENT.0;
        self.0.raw.safe_to_retry = 1;
        self
    }

    /// What happened.
    #[must_use]
    pub fn code(&self) -> Code {
        Code(self.0.raw.status)
    }
    /// `"SHAPE_COMPILING"`.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.0.name
    }
    /// Is it worth asking again?
    #[must_use]
    pub fn class(&self) -> Class {
        Class(self.0.raw.error_class)
    }
    /// The class is [`Class::TRANSIENT`].
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.class() == Class::TRANSIENT
    }
    /// The same request may be sent again without harm.
    #[must_use]
    pub fn safe_to_retry(&self) -> bool {
        self.0.raw.safe_to_retry != 0
    }
    /// When to ask again, if anybody knows.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        (self.0.raw.retry_after_ms != 0).then(|| Duration::from_millis(self.0.raw.retry_after_ms))
    }
    /// The index of the offending item.
    #[must_use]
    pub fn item(&self) -> Option<usize> {
        usize::try_from(self.0.raw.item).ok()
    }
    /// The limit that was exceeded, or a byte offset.
    #[must_use]
    pub fn limit(&self) -> Option<u64> {
        Some(self.0.raw.limit).filter(|&limit| limit != 0)
    }
    /// The shape it is about.
    #[must_use]
    pub fn shape(&self) -> Option<u32> {
        Some(self.0.raw.shape).filter(|&shape| shape != 0)
    }
    /// The model it is about.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        Some(text_in(&self.0.raw.model)).filter(|model| !model.is_empty())
    }
    /// The lane it is about.
    #[must_use]
    pub fn lane_id(&self) -> Option<u64> {
        Some(self.0.raw.lane_id).filter(|&id| id != 0)
    }
    /// Who holds the lane, with [`Code::LANE_BUSY`].
    #[must_use]
    pub fn holder_pid(&self) -> Option<u32> {
        Some(self.0.raw.holder_pid).filter(|&pid| pid != 0)
    }
    /// One line: what happened and what to do. `to_string()` says all fields, on one line too.
    #[must_use]
    pub fn message(&self) -> &str {
        text_in(&self.0.raw.message)
    }
    /// The C library's own form.
    #[must_use]
    pub fn raw(&self) -> &sys::anelane_error {
        &self.0.raw
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if crate::library::ready().is_err() {
            return write!(f, "{}: {}", self.name(), self.message());
        }
        let mut line = [0; 1024];
        // SAFETY: writes at most its size, with NUL.
        unsafe { sys::anelane_error_text(&self.0.raw, line.as_mut_ptr(), line.len()) };
        f.write_str(text_in(&line))
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("code", &self.code())
            .field("class", &self.class())
            .field("safe_to_retry", &self.safe_to_retry())
            .field("retry_after", &self.retry_after())
            .field("item", &self.item())
            .field("limit", &self.limit())
            .field("shape", &self.shape())
            .field("model", &self.model())
            .field("lane_id", &self.lane_id())
            .field("holder_pid", &self.holder_pid())
            .field("message", &self.message())
            .field("source", &self.0.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.0.source {
            Some(source) => Some(source.as_ref()),
            None => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::error::Error as _;

    #[test]
    fn every_field_comes_through() {
        crate::library::ready().unwrap();
        let mut raw = blank();
        (raw.status, raw.error_class, raw.safe_to_retry, raw.retry_after_ms) = (11, 1, 1, 1500);
        (raw.lane_id, raw.limit, raw.item, raw.shape, raw.holder_pid) = (5, 512, 7, 128, 99);
        put(&mut raw.model, "a model");
        put(&mut raw.message, "not ready");
        let error = Error::from_raw(raw);
        assert_eq!(
            (error.code(), error.name(), error.class()),
            (Code(11), "SHAPE_COMPILING", Class::TRANSIENT)
        );
        assert!(error.is_transient() && error.safe_to_retry());
        assert_eq!((error.retry_after(), error.lane_id()), (Some(Duration::from_millis(1500)), Some(5)));
        assert_eq!((error.limit(), error.item(), error.shape()), (Some(512), Some(7), Some(128)));
        assert_eq!(
            (error.holder_pid(), error.model(), error.message()),
            (Some(99), Some("a model"), "not ready")
        );
        assert!(error.source().is_none());
        let line = error.to_string();
        for word in ["SHAPE_COMPILING", "not ready", "a model", "128", "1500"] {
            assert!(line.contains(word), "{line}");
        }
        let error = Error::from_raw(blank());
        assert_eq!(
            (error.retry_after(), error.lane_id(), error.limit(), error.item()),
            (None, None, None, None)
        );
        assert_eq!((error.shape(), error.holder_pid(), error.model()), (None, None, None));
    }

    #[test]
    fn texts_end_where_their_field_ends_and_between_characters() {
        let mut field = [0; 6];
        put(&mut field, "abcd\u{e9}");
        assert_eq!(text_in(&field), "abcd");
        put(&mut field, "abc\u{e9}");
        assert_eq!(text_in(&field), "abc\u{e9}");
        // Cut by somebody who does not know characters, and without NUL.
        let cut: Vec<std::ffi::c_char> = b"ab\xc3".iter().map(|&byte| byte as std::ffi::c_char).collect();
        assert_eq!(text_in(&cut), "ab");
    }
}
