//! How the functions of the header are reached. `functions! { pub fn …; }` (around all of them, in bindings.rs) makes
//! either declarations for the linker, or, with the feature `runtime`, a table of addresses and a function of the same
//! name and signature for each that calls through it.
//!
//! The table is filled once, by the first `load` that succeeds, and never emptied: the library is never unloaded, as
//! its threads may still run. Any thread may call `load`; one of them loads.
/// Why the library could not be loaded; one line that says what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadError(String);

impl core::fmt::Display for LoadError {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(&self.0)
    }
}
impl core::error::Error for LoadError {}

#[cfg(not(feature = "runtime"))]
macro_rules! functions {
    ($(pub fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $returned:ty)?;)*) => {
        extern "C" { $(pub fn $name($($argument: $type),*) $(-> $returned)?;)* }
    };
}

#[cfg(feature = "runtime")]
macro_rules! functions {
    ($(pub fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $returned:ty)?;)*) => {
        pub(crate) struct Table { $($name: unsafe extern "C" fn($($type),*) $(-> $returned)?),* }
        impl Table {
            /// `find` gives the address of a name, which must be that of the C function of that name.
            pub(crate) unsafe fn fill<E>(
                find: impl Fn(&'static core::ffi::CStr) -> Result<*mut core::ffi::c_void, E>,
            ) -> Result<Table, E> {
                Ok(Table { $($name: {
                    const NAME: &core::ffi::CStr =
                        match core::ffi::CStr::from_bytes_with_nul(concat!(stringify!($name), "\0").as_bytes()) {
                            Ok(name) => name,
                            Err(_) => panic!("a name with NUL"),
                        };
                    let address = find(NAME)?;
                    // SAFETY: the caller's promise; the signature is the header's.
                    unsafe { core::mem::transmute::<*mut core::ffi::c_void,
                                                    unsafe extern "C" fn($($type),*) $(-> $returned)?>(address) }
                }),* })
            }
        }
        $(/// As in anelane.h. Panics before `load` has succeeded.
        pub unsafe fn $name($($argument: $type),*) $(-> $returned)? {
            // SAFETY: the caller's promise.
            unsafe { (crate::functions::table().$name)($($argument),*) }
        })*
    };
}
pub(crate) use functions;

/// Nothing to do: the library is linked, and `path` names none.
///
/// # Errors
/// A `path` was given, which needs the feature `runtime`.
///
/// # Safety
/// As with the feature `runtime`.
#[cfg(not(feature = "runtime"))]
pub unsafe fn load(path: Option<&core::ffi::CStr>) -> Result<(), LoadError> {
    match path {
        None => Ok(()),
        Some(_) => {
            Err(LoadError("the library is linked: build with the feature `runtime` to name another".into()))
        }
    }
}

#[cfg(feature = "runtime")]
pub use runtime::load;
#[cfg(feature = "runtime")]
pub(crate) use runtime::table;

#[cfg(feature = "runtime")]
mod runtime {
    use super::LoadError;
    use crate::bindings::Table;
    use core::ffi::{c_char, c_int, c_void, CStr};
    use std::ffi::CString;
    use std::sync::{Mutex, OnceLock, PoisonError};

    #[cfg_attr(target_os = "linux", link(name = "dl"))]
    extern "C" {
        fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
        fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
        fn dlerror() -> *const c_char;
    }
    const NOW: c_int = 2;
    #[cfg(target_os = "macos")]
    const LOCAL: c_int = 4;
    #[cfg(not(target_os = "macos"))]
    const LOCAL: c_int = 0;
    #[cfg(target_os = "macos")]
    const SYSTEM: &[&CStr] = &[c"libanelane.dylib"];
    #[cfg(not(target_os = "macos"))]
    const SYSTEM: &[&CStr] = &[c"libanelane.so.0", c"libanelane.so"];

    struct Loaded {
        table: Table,
        path: CString,
    }
    static LOADED: OnceLock<Loaded> = OnceLock::new();
    static LOADING: Mutex<()> = Mutex::new(());

    #[inline]
    pub(crate) fn table() -> &'static Table {
        match LOADED.get() {
            Some(loaded) => &loaded.table,
            None => panic!("anelane_sys::load comes first"),
        }
    }

    fn last_error() -> String {
        // SAFETY: a C string of this thread's last failure, or null.
        unsafe {
            let text = dlerror();
            if text.is_null() {
                String::from("no reason given")
            } else {
                CStr::from_ptr(text).to_string_lossy().into_owned()
            }
        }
    }

    fn open(path: &CStr) -> Result<Table, LoadError> {
        // SAFETY: a C string. The library's initialisers are libanelane's, or the user named another.
        let library = unsafe { dlopen(path.as_ptr(), NOW | LOCAL) };
        if library.is_null() {
            return Err(LoadError(format!(
                "cannot load the library: {}. Name it in ANELANE_LIBRARY, or give its path to load",
                last_error()
            )));
        }
        // SAFETY: the names are the header's; a library that has them all under another meaning would be refused
        // by its ABI number only.
        unsafe {
            Table::fill(|name| {
                let address = dlsym(library, name.as_ptr());
                if address.is_null() {
                    return Err(LoadError(format!(
                        "{} is another libanelane than this crate needs: {}",
                        path.to_string_lossy(),
                        last_error()
                    )));
                }
                Ok(address)
            })
        }
    }

    /// Loads the library from `path`; without one, from where the environment's `ANELANE_LIBRARY` says, else from
    /// wherever the system's loader finds it. What is named is used or refused. Again: nothing, but another path is
    /// refused.
    ///
    /// # Errors
    /// It cannot be loaded, or has not all functions of the header.
    ///
    /// # Safety
    /// What is named, here or in the environment, is a libanelane: its initialisers run, and its functions are taken to be
    /// those of the header. Whether its ABI number fits is for the caller to ask.
    pub unsafe fn load(path: Option<&CStr>) -> Result<(), LoadError> {
        let fits = |loaded: &Loaded| match path {
            Some(other) if other != loaded.path.as_c_str() => Err(LoadError(format!(
                "{} is loaded already: load comes before everything else",
                loaded.path.to_string_lossy()
            ))),
            _ => Ok(()),
        };
        if let Some(loaded) = LOADED.get() {
            return fits(loaded);
        }
        let _one = LOADING.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(loaded) = LOADED.get() {
            return fits(loaded);
        }
        let named = match path {
            Some(path) => Some(path.to_owned()),
            None => match std::env::var_os("ANELANE_LIBRARY").filter(|name| !name.is_empty()) {
                Some(name) => Some(
                    CString::new(name.into_encoded_bytes())
                        .map_err(|_| LoadError("ANELANE_LIBRARY holds NUL".into()))?,
                ),
                None => None,
            },
        };
        let candidates: &[&CStr] = match &named {
            Some(named) => &[named.as_c_str()],
            None => SYSTEM,
        };
        let mut failed = None;
        for candidate in candidates {
            match open(candidate) {
                Ok(table) => {
                    let _ = LOADED.set(Loaded { table, path: (*candidate).to_owned() });
                    return Ok(());
                }
                // The first name is the one that counts.
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        Err(failed.unwrap_or_else(|| LoadError("no library is named".into())))
    }
}
