//! The C interface of libanelane (`anelane.h`, whose comments hold here too), declared and nothing more. The safe crate
//! is `anelane`.
//!
//! The declarations are made by Debian's bindgen and committed; what are enums in C are constants, because numbers that
//! this version does not know stay legal. The library is linked, or, with the feature `runtime`, loaded by
//! [`load`] at run time.
#![allow(non_camel_case_types)]

mod functions;
pub use functions::{load, LoadError};

/// What bindgen made: types, constants and functions with the names of the header.
mod bindings {
    #![allow(missing_docs, clippy::all)]
    use crate::functions::functions;
    include!("bindings.rs");
}
pub use bindings::*;

/// `UINT64_MAX` of C, which bindgen cannot read: only the lane's own bounds.
pub const ANELANE_NO_DEADLINE: u64 = u64::MAX;
