//! Ten thousand operations of every kind: memory, descriptors, threads and children stay where they are. One test, so
//! that nothing else is in its process.
mod support;
use anelane::{Code, WorkerMode};
use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, Ordering};
use support::*;

/// Counts what Rust has allocated and not freed: one lost block of each call would be thousands.
struct Counting;
static BLOCKS: AtomicIsize = AtomicIsize::new(0);

// SAFETY: the system's, and a number.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BLOCKS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BLOCKS.fetch_sub(1, Ordering::Relaxed);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(block, layout) }
    }
}
#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn blocks() -> isize {
    BLOCKS.load(Ordering::Relaxed)
}
/// For what the harness and the standard library keep.
const FEW: isize = 20;

const OPERATIONS: usize = 10_000;
const WARM: usize = 1_000;
const SLACK: usize = 4 << 20;

fn careless(w: &World, long: &str, i: usize) {
    let model = &w.model;
    match i % 12 {
        kind @ 0..=1 => drop(model.embed_ids(&[[2, 40 + kind as i32, 3]], none()).unwrap()),
        2 => drop(model.embed(&["hello"]).unwrap()),
        3 => drop(model.start_embed(&["hello"], none()).unwrap()), // before its end
        4 => {
            let op = model.start_embed(&["hello"], none()).unwrap();
            op.cancel();
            match block_on(op) {
                Ok(vectors) => assert_eq!(vectors.len(), 1),
                Err(error) => assert_eq!(error.code(), Code::CANCELLED),
            }
        }
        5 => assert_eq!(model.embed(&[long]).unwrap_err().code(), Code::SEQUENCE_TOO_LONG),
        6 => drop(model.lease(128, none()).unwrap()),
        7 => {
            let lease = model.lease(128, none()).unwrap();
            lease.map(0).unwrap().as_mut_slice::<u8>().unwrap()[0] = 1;
        }
        8 => {
            let lease = model.lease(128, none()).unwrap();
            let ports = model.ports(128).unwrap();
            let (x, mask) = (vec![0; ports[0].bytes], vec![0; ports[1].bytes]);
            drop(lease.start_run(&[(0, &x), (1, &mask)], none()).unwrap().wait(BOUND).unwrap());
        }
        9 => drop(block_on(model.start_lease(128, none()).unwrap()).unwrap()),
        10 => {
            let mut queued = model.queue_embed(&["hello"], none(), i).unwrap();
            let _dropped = model.queue_lease(128, none(), i).unwrap();
            drop(queued.wait(BOUND).unwrap());
            let mut named = 0;
            assert!(soon(|| {
                named += usize::from(w.lane.next_completion().unwrap().is_some_and(|c| c.is_of(&queued)));
                named == 1
            }));
            drop(w.lane.event_fd().unwrap());
        }
        _ => {
            let many: Vec<_> = (0..3).map(|_| model.start_embed(&["hello"], none()).unwrap()).collect();
            anelane::cancel_all(&many);
        }
    }
}

#[test]
fn ten_thousand_operations_leave_nothing() {
    let w = World::new();
    let long = "hello ".repeat(300);
    for i in 0..WARM {
        careless(&w, &long, i);
    }
    let before = (descriptors(), threads(), children());
    let (resident, kept) = (resident_bytes(), blocks());
    for i in 0..OPERATIONS {
        careless(&w, &long, i);
    }
    assert!(soon(|| w.lane.stats().unwrap().leased == 0));
    assert_eq!((descriptors(), threads(), children()), before);
    // The callbacks of the last ones may still be on their way.
    assert!(soon(|| blocks() - kept < FEW), "{} blocks more", blocks() - kept);
    let more = resident_bytes() as i64 - resident as i64;
    println!("after {OPERATIONS} operations: {more} bytes more resident");
    assert!(more < SLACK as i64, "{more} bytes more");

    // Lanes and models, with workers that are threads of this process.
    let once = |i: usize| {
        let options = w.temp.options().lock_dir(w.temp.join("again")).worker_mode(WorkerMode::THREAD);
        let lane = anelane::Lane::open(&options, BOUND).unwrap();
        let progress = anelane::ModelOptions::new().progress(|_| ());
        let model = lane.load_with(w.temp.tiny(), &progress, BOUND).unwrap();
        model.embed(&["hello"]).unwrap();
        if i % 2 == 0 {
            lane.close(BOUND).unwrap();
        }
    };
    (0..10).for_each(once);
    let before = (descriptors(), threads(), children());
    let (resident, kept) = (resident_bytes(), blocks());
    (0..60).for_each(once);
    assert_eq!((descriptors(), threads(), children()), before);
    assert!(blocks() - kept < FEW, "{} blocks more", blocks() - kept);
    let more = resident_bytes() as i64 - resident as i64;
    println!("after 60 lanes: {more} bytes more resident");
    assert!(more < SLACK as i64, "{more} bytes more");
}
