//! Where the library to link is: the folder in `ANELANE_LIB_DIR`, else what `pkg-config` says. What is named is used
//! and not passed over. With the feature `runtime` nothing is linked, and nothing is looked for.
use std::{env, process::Command};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for name in ["ANELANE_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH"] {
        println!("cargo:rerun-if-env-changed={name}");
    }
    if env::var_os("CARGO_FEATURE_RUNTIME").is_some() {
        return;
    }
    if let Ok(folder) = env::var("ANELANE_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=dylib=anelane");
        return;
    }
    let tool = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".into());
    let why = match Command::new(&tool).args(["--libs", "anelane"]).output() {
        Ok(said) if said.status.success() => return link(&String::from_utf8_lossy(&said.stdout)),
        Ok(said) => String::from_utf8_lossy(&said.stderr).trim().to_owned(),
        Err(error) => format!("{tool}: {error}"),
    };
    println!("cargo:warning=libanelane was not found: {why}");
    println!(
        "cargo:warning=Install it, or name its folder in ANELANE_LIB_DIR, or use the feature `runtime`."
    );
    std::process::exit(1);
}

/// `-L/a/lib -lanelane`, as cargo wants it.
fn link(flags: &str) {
    // A library in one of the system's own folders has no -L.
    for flag in flags.split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(name) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={name}");
        }
    }
}
