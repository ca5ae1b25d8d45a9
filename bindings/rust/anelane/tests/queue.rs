//! Operations for event loops: a descriptor says that something has ended, keys say what.
mod support;
use anelane::{Cancel, Code, ModelOptions};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;
use support::*;

#[repr(C)]
struct PollFd {
    fd: i32,
    events: i16,
    revents: i16,
}
const IN: i16 = 1;
const HANG_UP: i16 = 16;
extern "C" {
    fn poll(fds: *mut PollFd, count: std::ffi::c_ulong, milliseconds: i32) -> i32;
}

/// What a loop is told within so many milliseconds.
fn told(fd: &OwnedFd, milliseconds: i32) -> i16 {
    let mut one = PollFd { fd: fd.as_raw_fd(), events: IN, revents: 0 };
    // SAFETY: one place.
    unsafe { poll(&mut one, 1, milliseconds) };
    one.revents
}

#[test]
fn an_event_loop_is_told_of_every_end_once() {
    let w = World::new();
    let fd = w.lane.event_fd().unwrap();
    assert_eq!((told(&fd, 0), w.lane.next_completion().unwrap()), (0, None));
    let expected = w.model.embed(&["hello world"]).unwrap();
    let mut ops: Vec<_> =
        (0..20).map(|key| Some(w.model.queue_embed(&["hello world"], none(), key).unwrap())).collect();
    assert!(soon(|| {
        assert_eq!(told(&fd, 240_000), IN);
        while let Some(ended) = w.lane.next_completion().unwrap() {
            let mut op = ops[ended.key()].take().expect("it is told once");
            assert!(ended.is_of(&op));
            assert_eq!(op.take().unwrap(), expected);
            assert_eq!(op.take().unwrap_err().code(), Code::INVALID_ARGUMENT); // taken already
        }
        ops.iter().all(Option::is_none)
    }));
    assert_eq!((told(&fd, 0), w.lane.next_completion().unwrap()), (0, None));
    // A future of the same lane is none of the loop's, and the other way round.
    w.model.start_embed(&["hello"], none()).unwrap().wait(BOUND).unwrap();
    assert_eq!(w.lane.next_completion().unwrap(), None);
    // A descriptor of one's own may stay; it says when the lane is gone.
    w.lane.close(BOUND).unwrap();
    assert_eq!(told(&fd, 240_000) & HANG_UP, HANG_UP);
    assert_eq!(w.lane.next_completion().unwrap_err().code(), w.lane.stats().unwrap_err().code());
}

#[test]
fn everything_can_be_queued() {
    let temp = Temp::new();
    let lane = temp.open();
    let model = lane.queue_load(temp.tiny(), &ModelOptions::new(), none(), 1).unwrap().wait(BOUND).unwrap();
    let by_ids = model.queue_embed_ids(&[[2, 3]], none(), 2).unwrap().wait(BOUND).unwrap();
    assert_eq!(by_ids, model.embed(&[""]).unwrap());
    let lease = model.queue_lease(128, none(), 3).unwrap().wait(BOUND).unwrap();
    let ports = model.ports(128).unwrap();
    let (x, mask) = (vec![0u8; ports[0].bytes], vec![0u8; ports[1].bytes]);
    let ran = lease.queue_run(&[(0, &x), (1, &mask)], none(), 4).unwrap().wait(BOUND).unwrap();
    assert_eq!(ran.port(2).unwrap().len(), ports[2].bytes);
    drop(lease.map(0).unwrap());
    let refused = lease.queue_run(&[(0, &x), (1, &mask)], none(), 4).err().unwrap();
    assert_eq!(refused.code(), Code::INVALID_ARGUMENT); // as start_run
    drop(lease);
    model.queue_retire(none(), 5).unwrap().wait(BOUND).unwrap();
    assert_eq!(model.queue_embed(&["x"], none(), 6).unwrap_err().code(), Code::RETIRED);
    // Their owners are gone: nobody asks any more.
    assert_eq!(lane.next_completion().unwrap(), None);
}

#[test]
fn what_is_dropped_is_cancelled_and_not_told() {
    let w = World::new();
    for _ in 0..50 {
        drop(w.model.queue_lease(128, none(), 7).unwrap());
    }
    assert!(soon(|| w.lane.stats().unwrap().leased == 0));
    assert!(w.lane.stats().unwrap().cancelled > 0);
    assert_eq!(w.lane.next_completion().unwrap(), None);
    let mut op = w.model.queue_embed(&["hello"; 100], none(), 8).unwrap();
    if let Err(error) = op.take() {
        assert_eq!(error.code(), Code::PENDING); // and it goes on
        assert_eq!(op.wait(BOUND).unwrap().len(), 100);
    }
}

/// There is room for one shape, and a lease has it: whatever waits for another can be cancelled.
#[test]
fn many_are_cancelled_at_once() {
    let w = World::with(|options| options.shapes_total(1));
    let _lease = w.model.lease(128, none()).unwrap();
    let long = "hello ".repeat(200);
    let futures: Vec<_> = (0..30).map(|_| w.model.start_embed(&[&long], none()).unwrap()).collect();
    let queued: Vec<_> = (0..30).map(|key| w.model.queue_lease(256, none(), key).unwrap()).collect();
    assert!(soon(|| w.lane.stats().unwrap().waiting == 60));
    let ended = std::time::Instant::now() + Duration::from_secs(50);
    anelane::cancel_all(&futures);
    anelane::cancel_all([&queued[0] as &dyn Cancel, &futures[0]]);
    anelane::cancel_all(&queued);
    anelane::cancel_all(&[] as &[anelane::Queued<()>]);
    for mut op in futures {
        assert_eq!(op.wait(ended).unwrap_err().code(), Code::CANCELLED);
    }
    for mut op in queued {
        assert_eq!(op.wait(ended).err().unwrap().code(), Code::CANCELLED);
    }
    assert_eq!(w.lane.stats().unwrap().waiting, 0);
}
