//! The library that is loaded at run time: named, missing, foreign. Each in a process of its own, as a process has one.
#![cfg(feature = "runtime")]
use anelane::{Code, Deadline};
use std::error::Error;
use std::process::Command;

const CHILD: &str = "child_of_the_tests";

/// The process that plays `part`, with ANELANE_LIBRARY as `library`.
fn plays(part: &str, library: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", CHILD, "--ignored", "--nocapture"]).env("ANELANE_TEST_PART", part);
    let real = std::env::var("ANELANE_LIBRARY").expect("ANELANE_LIBRARY names the library of these tests");
    child.env("ANELANE_TEST_REAL", real).env("ANELANE_LIBRARY", library);
    let said = child.output().unwrap();
    let text = String::from_utf8_lossy(&said.stderr).into_owned() + &String::from_utf8_lossy(&said.stdout);
    assert!(said.status.success() && text.contains("1 passed"), "{text}");
}

#[test]
#[ignore = "run by the other tests of this file"]
fn child_of_the_tests() {
    let real = std::env::var("ANELANE_TEST_REAL").unwrap();
    match std::env::var("ANELANE_TEST_PART").unwrap().as_str() {
        "missing" => {
            let error = anelane::version().unwrap_err();
            assert_eq!((error.code(), error.name()), (Code::ENGINE_UNAVAILABLE, "ENGINE_UNAVAILABLE"));
            assert!(
                error.message().contains("/nowhere") && error.message().contains("ANELANE_LIBRARY"),
                "{error}"
            );
            assert!(error.to_string().starts_with("ENGINE_UNAVAILABLE: cannot load"), "{error}");
            assert!(error.source().unwrap().is::<anelane::sys::LoadError>());
            // Everything that needs no owner says the same, and nothing panics.
            let all = [
                anelane::Lane::open(&anelane::LaneOptions::new(), std::time::Duration::from_secs(1)).err(),
                anelane::inspect("/").err(),
                anelane::holder(None).err(),
                anelane::peek(None).err(),
                anelane::replay("/").err(),
                anelane::mil_check("/", None).err(),
                anelane::Tokenizer::load("/").err(),
                anelane::set_log(anelane::LogLevel::INFO, |_, _| ()).err(),
            ];
            assert!(all.iter().all(|e| e.as_ref().unwrap().code() == Code::ENGINE_UNAVAILABLE));
            assert_eq!(Deadline::after(std::time::Duration::from_secs(1)), Deadline::NOW);
            // It can still be named.
            // SAFETY: a libanelane.
            unsafe { anelane::load_library(&real) }.unwrap();
            assert!(anelane::version().unwrap().starts_with("0."));
        }
        "foreign" => {
            let error = anelane::version().unwrap_err();
            assert!(error.message().contains("another libanelane"), "{error}");
        }
        "named" => {
            // SAFETY: a libanelane.
            let load = |path: &str| unsafe { anelane::load_library(path) };
            load(&real).unwrap();
            load(&real).unwrap();
            let error = load("/other").unwrap_err();
            assert!(error.message().contains("loaded already"), "{error}");
            assert!(anelane::version().is_ok());
        }
        part => panic!("no part {part}"),
    }
}

#[test]
fn a_library_that_is_not_there_is_an_error_that_says_what_to_do() {
    plays("missing", "/nowhere/libanelane.so");
}
#[test]
fn a_library_without_the_functions_is_refused() {
    plays("foreign", if cfg!(target_os = "macos") { "libSystem.dylib" } else { "libm.so.6" });
}
#[test]
fn a_library_that_is_named_is_used_and_no_other_afterwards() {
    plays("named", "/nowhere/libanelane.so");
}
