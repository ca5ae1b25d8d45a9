//! Errors with all their fields, their sources, and what callers are told of each.
mod support;
use anelane::{Class, Code, Error, Lane};
use std::error::Error as _;
use std::path::Path;
use support::*;

#[test]
fn a_shape_that_is_not_ready_says_when_to_ask_again() {
    let w = World::new();
    let error = w.model.lease(128, anelane::Deadline::NOW).err().unwrap();
    assert_eq!(
        (error.code(), error.name(), error.class()),
        (Code::SHAPE_COMPILING, "SHAPE_COMPILING", Class::TRANSIENT)
    );
    assert!(error.is_transient() && error.safe_to_retry() && error.retry_after().is_some());
    assert_eq!(
        (error.shape(), error.model(), error.item(), error.holder_pid()),
        (Some(128), Some("tiny"), None, None)
    );
    assert!(error.to_string().starts_with("SHAPE_COMPILING: "), "{error}");
    assert!(!error.message().contains('\n') && !error.message().is_empty());
    assert_eq!(error.raw().status, Code::SHAPE_COMPILING.0);
    let debug = format!("{error:?}");
    for word in ["SHAPE_COMPILING", "TRANSIENT", "retry_after: Some", "shape: Some(128)"] {
        assert!(debug.contains(word), "{debug}");
    }
    // With the helper, the same call works.
    let lease = anelane::retry(BOUND, || w.model.lease(128, anelane::Deadline::NOW)).unwrap();
    assert_eq!(lease.shape(), 128);
    assert_eq!(w.model.lease(100, none()).err().unwrap().code(), Code::SHAPE_UNKNOWN);
}

#[test]
fn what_cannot_cross_to_c_has_a_source() {
    let w = World::new();
    let error = w.lane.load("a\0b").err().unwrap();
    assert_eq!((error.code(), error.name()), (Code::INVALID_ARGUMENT, "INVALID_ARGUMENT"));
    assert!(error.source().unwrap().is::<std::ffi::NulError>());
    assert!(error.limit().is_some());
    let options = anelane::ModelOptions::new().name("a\0b");
    let error = w.lane.load_with(w.temp.tiny(), &options, none()).err().unwrap();
    assert!(error.source().is_some() && error.limit() == Some(1));
    assert!(w.model.lease(100, none()).err().unwrap().source().is_none());
    let boxed: Box<dyn std::error::Error + Send + Sync> = error.into();
    assert!(boxed.downcast::<Error>().is_ok());
}

#[test]
fn broken_checkpoints_and_missing_files_are_named() {
    let w = World::new();
    let error = w.lane.load("/nowhere").err().unwrap();
    assert_eq!(error.code(), Code::IO);
    assert!(error.message().contains("/nowhere"), "{error}");
    let broken = w.temp.join("broken");
    write_tiny(&broken);
    std::fs::write(broken.join("config.json"), "{").unwrap();
    let error = w.lane.load(&broken).err().unwrap();
    assert_eq!(error.code(), Code::MODEL_INVALID);
    assert!(error.message().contains("config.json"), "{error}");
    assert_eq!(anelane::inspect(&broken).err().unwrap().code(), Code::MODEL_INVALID);
}

#[test]
fn options_that_do_not_agree_are_refused_and_a_busy_lane_names_its_holder() {
    let w = World::new();
    let folder = w.temp.join("lane");
    assert_eq!(anelane::holder(Some(&folder)).unwrap().pid, Some(std::process::id()));
    let peek = anelane::peek(Some(&folder)).unwrap();
    assert!(peek.contains("\"held\""), "{peek}");
    assert!(!anelane::holder(Some(Path::new("/nowhere/lane"))).unwrap().held);
    let other = w.temp.options().worker_mode(anelane::WorkerMode::THREAD);
    let error = Lane::open(&other, none()).err().unwrap();
    assert_eq!(error.code(), Code::INVALID_ARGUMENT);
    assert!(error.message().contains("worker_mode"), "{error}");
    // From another process.
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    child
        .args(["--exact", "child_of_a_busy_lane", "--ignored", "--nocapture"])
        .env("ANELANE_TEST_LANE", &folder);
    let said = child.output().unwrap();
    let text = String::from_utf8_lossy(&said.stdout);
    assert!(text.contains(&format!("holder {}", std::process::id())), "{text}");
}

#[test]
#[ignore = "run by options_that_do_not_agree_are_refused_and_a_busy_lane_names_its_holder"]
fn child_of_a_busy_lane() {
    let folder = std::env::var_os("ANELANE_TEST_LANE").unwrap();
    let error =
        Lane::open(&anelane::LaneOptions::new().lock_dir(folder), anelane::Deadline::NOW).err().unwrap();
    assert_eq!((error.code(), error.is_transient()), (Code::LANE_BUSY, true));
    println!("holder {}", error.holder_pid().unwrap());
}

#[test]
fn numbers_that_this_version_does_not_know_are_legal() {
    assert_eq!(format!("{:?} {:?}", Code(999), Code::CANCELLED), "Code(999) CANCELLED");
    assert_eq!(format!("{:?}", anelane::Dtype::F16), "F16");
}

#[test]
fn records_are_replayed() {
    let temp = Temp::new();
    let record = temp.join("record.jsonl");
    let lane = Lane::open(&temp.options().record_path(&record), BOUND).unwrap();
    let model = lane.load(temp.tiny()).unwrap();
    model.embed(&["hello"]).unwrap();
    let stats = lane.stats().unwrap();
    assert_eq!((stats.models, stats.admitted, stats.compiled), (1, 1, 1));
    lane.close(BOUND).unwrap();
    let (steps, difference) = anelane::replay(&record).unwrap();
    assert!(steps > 3 && difference.is_empty(), "{steps} {difference}");
    assert_eq!(anelane::replay(temp.tiny().join("vocab.txt")).err().unwrap().code(), Code::INVALID_ARGUMENT);
}
