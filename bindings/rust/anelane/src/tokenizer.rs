//! The tokenizer of a checkpoint folder.
use crate::error::{check, Result};
use crate::input::c_path;
use crate::{library, sys};
use std::path::Path;

/// Texts to token ids. Needs no lane; any number of threads may use it.
pub struct Tokenizer {
    raw: sys::anelane_tokenizer,
}

impl Tokenizer {
    /// Reads it from a checkpoint folder.
    ///
    /// # Errors
    /// As `anelane_tokenizer_load`.
    pub fn load(path: impl AsRef<Path>) -> Result<Tokenizer> {
        library::ready()?;
        let path = c_path(path.as_ref())?;
        let mut raw = sys::anelane_tokenizer { bits: 0 };
        // SAFETY: a C string and a place for a handle.
        check(|error| unsafe { sys::anelane_tokenizer_load(path.as_ptr(), &mut raw, error) })?;
        Ok(Tokenizer { raw })
    }
    /// The ids of a text, special tokens included. NUL is a character.
    ///
    /// # Errors
    /// As `anelane_tokenize`.
    pub fn encode(&self, text: &str) -> Result<Vec<i32>> {
        let mut ids = vec![0; text.len() / 2 + 8];
        loop {
            let count = self.into(text, &mut ids)?;
            let complete = count <= ids.len();
            ids.resize(count, 0);
            if complete {
                return Ok(ids);
            }
        }
    }
    /// How many ids it has.
    ///
    /// # Errors
    /// As `anelane_tokenize`.
    pub fn count(&self, text: &str) -> Result<usize> {
        self.into(text, &mut [])
    }
    fn into(&self, text: &str, ids: &mut [i32]) -> Result<usize> {
        let mut count = 0;
        // SAFETY: a text and its length, a place for ids and their number.
        check(|error| unsafe {
            let (utf8, out) = (text.as_ptr().cast(), ids.as_mut_ptr());
            sys::anelane_tokenize(self.raw, utf8, text.len(), out, ids.len(), &mut count, error)
        })?;
        Ok(count)
    }
}

impl Drop for Tokenizer {
    fn drop(&mut self) {
        // SAFETY: a plain value.
        unsafe { sys::anelane_tokenizer_release(self.raw) };
    }
}
