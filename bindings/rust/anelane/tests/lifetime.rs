//! Closed, used afterwards, dropped in any order, forked, opened twice.
mod support;
use anelane::{Code, Lane, LaneOptions, Lease, Model, ModelOptions, Operation};
use support::*;

fn gone(code: Code) -> bool {
    [Code::CLOSED, Code::BAD_HANDLE, Code::RETIRED, Code::LEASE_EXPIRED].contains(&code)
}

#[test]
fn used_after_the_close() {
    let World { model, lane, temp } = World::new();
    let lease = model.lease(128, none()).unwrap();
    let mut op = model.start_embed(&["hello"], none()).unwrap();
    lane.close(BOUND).unwrap();
    let errors: Vec<Option<anelane::Error>> = vec![
        lane.stats().err(),
        lane.describe().err(),
        lane.load(temp.tiny()).err(),
        lane.start_load(temp.tiny(), &ModelOptions::new(), none()).err(),
        lane.close(BOUND).err(),
        model.embed(&["x"]).err(),
        model.embed_ids(&[[2, 3]], none()).err(),
        model.start_embed(&["x"], none()).err(),
        model.lease(128, none()).err(),
        model.start_lease(128, none()).err(),
        model.admit(128, none()).err(),
        model.predict(128).err(),
        model.info().err(),
        model.ports(128).err(),
        model.retire(none()).err(),
        lease.run(&[], &mut [], none()).err(),
        lease.map(0).err(),
        lane.event_fd().err(),
        lane.next_completion().err(),
        lane.queue_load(temp.tiny(), &ModelOptions::new(), none(), 0).err(),
        model.queue_embed(&["x"], none(), 0).err(),
        model.queue_embed_ids(&[[2, 3]], none(), 0).err(),
        model.queue_lease(128, none(), 0).err(),
        model.queue_retire(none(), 0).err(),
        lease.queue_run(&[], none(), 0).err(),
    ];
    for (i, error) in errors.into_iter().enumerate() {
        let error = error.unwrap_or_else(|| panic!("call {i} worked"));
        assert!(gone(error.code()), "call {i}: {error}");
    }
    if let Err(error) = op.wait(BOUND) {
        assert!(gone(error.code()), "{error}");
    }
    op.cancel();
    assert_eq!(children(), [] as [&str; 0]);
    assert!(!anelane::holder(Some(&temp.join("lane"))).unwrap().held);
    let other = temp.open(); // the lane itself is free again
    drop((op, lease, model, lane)); // and what is left of the old one does not touch it
    assert_eq!(other.stats().unwrap().models, 0);
}

#[test]
fn dropped_in_any_order() {
    let temp = Temp::new();
    enum Thing {
        Lane(#[allow(dead_code)] Lane),
        Model(#[allow(dead_code)] Model),
        Lease(#[allow(dead_code)] Lease),
        Op(#[allow(dead_code)] Operation<anelane::Embeddings>),
    }
    let mut orders = vec![vec![]];
    for i in 0..4 {
        let longer = |order: Vec<usize>| {
            (0..=i).map(move |place| {
                let mut order = order.clone();
                order.insert(place, i);
                order
            })
        };
        orders = orders.into_iter().flat_map(longer).collect();
    }
    assert_eq!(orders.len(), 24);
    drop(temp.open());
    let before = (descriptors(), threads());
    for order in orders {
        let lane = temp.open();
        let model = lane.load(temp.tiny()).unwrap();
        let lease = model.lease(128, none()).unwrap();
        let op = model.start_embed(&["hello"], none()).unwrap();
        let mut things = [
            Some(Thing::Lane(lane)),
            Some(Thing::Model(model)),
            Some(Thing::Lease(lease)),
            Some(Thing::Op(op)),
        ];
        for index in &order {
            things[*index] = None;
        }
        assert!(!anelane::holder(Some(&temp.join("lane"))).unwrap().held, "{order:?}");
    }
    // The harness's own threads come and go: what grows is seen all the same, 24 times.
    assert_eq!(children(), [] as [&str; 0]);
    assert!(soon(|| descriptors() < before.0 + 24 && threads() < before.1 + 24));
}

#[test]
fn a_dropped_model_is_retired_and_a_clone_keeps_it() {
    let w = World::new();
    let clone = w.model.clone();
    let World { model, lane, temp } = w;
    drop(model);
    assert_eq!(clone.embed(&["hello"]).unwrap().len(), 1);
    assert_eq!(lane.stats().unwrap().models, 1);
    drop(clone);
    assert!(soon(|| lane.stats().unwrap().models == 0));
    drop(temp);
}

#[test]
fn the_same_lane_again_is_counted() {
    let temp = Temp::new();
    let (first, second) = (temp.open(), temp.open());
    let model = first.load(temp.tiny()).unwrap();
    first.close(BOUND).unwrap();
    assert_eq!(model.embed(&["hello"]).unwrap().len(), 1);
    assert_eq!(second.stats().unwrap().models, 1);
    second.close(BOUND).unwrap();
    assert!(gone(model.embed(&["hello"]).unwrap_err().code()));
}

extern "C" {
    fn fork() -> i32;
    fn waitpid(pid: i32, status: *mut i32, options: i32) -> i32;
    fn _exit(code: i32) -> !;
}

/// Alone in its process (the parent's other threads hold locks at any time): run as a child of the next test.
#[test]
#[ignore = "run by a_forked_child_is_told_so_and_ends_well"]
fn child_that_forks() {
    let w = World::new();
    let lease = w.model.lease(128, none()).unwrap();
    let mut op = w.model.start_embed(&["hello"; 100], none()).unwrap();
    // SAFETY: the child calls what a forked child may call, and leaves.
    let pid = unsafe { fork() };
    if pid == 0 {
        let waker = std::task::Waker::noop();
        let polled = std::future::Future::poll(
            std::pin::Pin::new(&mut op),
            &mut std::task::Context::from_waker(waker),
        );
        let mut codes = vec![
            w.model.embed(&["x"]).err(),
            w.lane.stats().err(),
            w.model.lease(128, none()).err(),
            lease.run(&[], &mut [], none()).err(),
            lease.map(0).err(),
            w.lane.event_fd().err(),
            w.lane.next_completion().err(),
            anelane::inspect(w.temp.tiny()).err(),
            Lane::open(&LaneOptions::new().lock_dir(w.temp.join("lane")), none()).err(),
            w.lane.close(BOUND).err(),
        ];
        if let std::task::Poll::Ready(answer) = polled {
            codes.push(answer.err());
        }
        let forked =
            codes.len() == 11 && codes.iter().all(|e| e.as_ref().is_some_and(|e| e.code() == Code::FORKED));
        let World { model, lane, temp } = w;
        drop((op, lease, model, lane));
        std::mem::forget(temp);
        // SAFETY: ends this process.
        unsafe { _exit(if forked { 0 } else { 1 }) };
    }
    let mut status = -1;
    // SAFETY: a place for a number.
    assert_eq!(unsafe { waitpid(pid, &mut status, 0) }, pid);
    assert_eq!(status, 0);
    assert_eq!(op.wait(BOUND).unwrap().len(), 100);
    drop(lease);
    w.lane.close(BOUND).unwrap();
}

#[test]
fn a_forked_child_is_told_so_and_ends_well() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let said = child.args(["--exact", "child_that_forks", "--ignored", "--nocapture"]).output().unwrap();
    assert!(
        said.status.success(),
        "{}{}",
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr)
    );
}

#[test]
#[ignore = "run by the_log_goes_where_it_is_told_to"]
fn child_with_a_log() {
    use std::sync::{Arc, Mutex};
    let unknown = anelane::set_log(anelane::LogLevel(99), |_, _| ()).err().unwrap();
    assert_eq!(unknown.code(), Code::INVALID_ARGUMENT);
    assert!(unknown.message().contains("levels"), "{unknown}");
    let lines = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&lines);
    anelane::set_log(anelane::LogLevel::INFO, move |level, line| {
        kept.lock().unwrap().push((level, line.to_owned()));
        std::panic::resume_unwind(Box::new("planned")); // goes no further
    })
    .unwrap();
    let w = World::new();
    w.model.admit(128, none()).unwrap();
    let told = |lines: &Vec<(anelane::LogLevel, String)>| {
        lines.iter().any(|(level, line)| {
            *level == anelane::LogLevel::INFO && line.contains("shape admission: shape=128")
        })
    };
    assert!(soon(|| told(&lines.lock().unwrap())));
    let late = anelane::set_log(anelane::LogLevel::INFO, |_, _| ()).err().unwrap();
    assert_eq!(late.code(), Code::INVALID_ARGUMENT);
}

#[test]
fn the_log_goes_where_it_is_told_to() {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let said = child.args(["--exact", "child_with_a_log", "--ignored", "--nocapture"]).output().unwrap();
    assert!(
        said.status.success(),
        "{}{}",
        String::from_utf8_lossy(&said.stdout),
        String::from_utf8_lossy(&said.stderr)
    );
}
