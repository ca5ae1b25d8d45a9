//! What the examples say of wrong usage; what they find and print is compared with other languages' by `bindings/rust/check`.
use std::process::Command;

/// Cargo builds them for the tests, beside the folder of the tests.
#[test]
fn wrong_usage_is_said() {
    let mut path = std::env::current_exe().unwrap();
    path.pop();
    path.pop();
    let said = Command::new(path.join("examples/golden")).arg("x").output().unwrap();
    assert_eq!(said.status.code(), Some(2));
}
