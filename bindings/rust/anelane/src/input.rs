//! What callers give, as C takes it: paths, texts, token ids, and texts that C writes.
use crate::error::{check, Error, Result};
use crate::sys;
use std::ffi::{c_char, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Absolute: a process may change its folder later.
pub(crate) fn c_path(path: &Path) -> Result<CString> {
    let absolute = std::path::absolute(path)
        .map_err(|error| Error::invalid("the path cannot be made absolute").with_source(error))?;
    CString::new(absolute.as_os_str().as_bytes()).map_err(|error| {
        let place = error.nul_position();
        Error::invalid("a path holds NUL at byte `limit`").with_limit(place).with_source(error)
    })
}

pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|error| {
        let place = error.nul_position();
        Error::invalid("a name holds NUL at byte `limit`").with_limit(place).with_source(error)
    })
}

/// Texts as C strings, in one block of memory.
pub(crate) struct Texts {
    pointers: Vec<*const c_char>,
    _bytes: Vec<u8>,
}

impl Texts {
    pub(crate) fn new<T: AsRef<str>>(texts: &[T]) -> Result<Texts> {
        let mut bytes = Vec::with_capacity(texts.iter().map(|text| text.as_ref().len() + 1).sum());
        // Offsets first: as_ref may answer something longer the second time, and the block move.
        let mut pointers = Vec::with_capacity(texts.len());
        for (item, text) in texts.iter().enumerate() {
            let text = text.as_ref().as_bytes();
            if let Some(place) = text.iter().position(|&byte| byte == 0) {
                return Err(Error::invalid("a text holds NUL at byte `limit`: embed its token ids instead")
                    .with_item(item)
                    .with_limit(place));
            }
            pointers.push(bytes.len() as *const c_char);
            bytes.extend_from_slice(text);
            bytes.push(0);
        }
        for pointer in &mut pointers {
            *pointer = bytes[*pointer as usize..].as_ptr().cast();
        }
        Ok(Texts { pointers, _bytes: bytes })
    }
    pub(crate) fn as_ptr(&self) -> *const *const c_char {
        self.pointers.as_ptr()
    }
}

/// Views of token ids, for the time of a call.
pub(crate) fn tokens<T: AsRef<[i32]>>(items: &[T]) -> Vec<sys::anelane_tokens> {
    items
        .iter()
        .map(|item| item.as_ref())
        .map(|ids| sys::anelane_tokens { ids: ids.as_ptr(), count: ids.len() as u64 })
        .collect()
}

/// What a function of the form (…, buf, cap, *len, err) writes, whole.
pub(crate) fn text_of(
    call: impl Fn(*mut c_char, usize, *mut usize, *mut sys::anelane_error) -> sys::anelane_status,
) -> Result<String> {
    let mut buffer = vec![0u8; 4096];
    // It may grow between two calls; not for ever.
    for _ in 0..8 {
        let mut len = 0;
        check(|error| call(buffer.as_mut_ptr().cast(), buffer.len(), &mut len, error))?;
        if len < buffer.len() {
            buffer.truncate(len);
            return Ok(String::from_utf8(buffer)
                .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned()));
        }
        buffer.resize(len + 1024, 0);
    }
    Err(Error::own(crate::Code::INTERNAL, "INTERNAL", "the text grows faster than it can be read"))
}
