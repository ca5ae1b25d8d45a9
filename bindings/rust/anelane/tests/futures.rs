//! Operations as futures: polled by hand, woken once, cancelled at any time, dropped at any time, outlived by nothing.
mod support;
use anelane::{Code, ModelOptions, Operation};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Wake, Waker};
use std::thread;
use std::time::Duration;
use support::*;

#[derive(Default)]
struct Count(AtomicUsize);
impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn poll<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

#[test]
fn everything_can_be_awaited() {
    let temp = Temp::new();
    let lane = temp.open();
    block_on(async {
        let model = lane.start_load(temp.tiny(), &ModelOptions::new(), none()).unwrap().await.unwrap();
        let vectors = model.start_embed(&["hello"], none()).unwrap().await.unwrap();
        assert_eq!(vectors, model.embed(&["hello"]).unwrap());
        let lease = model.start_lease(128, none()).unwrap().await.unwrap();
        let ports = model.ports(128).unwrap();
        let x = vec![0u8; ports[0].bytes];
        let mask = vec![0u8; ports[1].bytes];
        let outputs = lease.start_run(&[(0, &x), (1, &mask)], none()).unwrap().await.unwrap();
        assert_eq!(outputs.port(2).unwrap().len(), ports[2].bytes);
        assert!(outputs.port(0).is_none() && outputs.iter().count() == 1);
        let mut y = vec![0u8; ports[2].bytes];
        lease.run(&[(0, &x), (1, &mask)], &mut [(2, &mut y)], none()).unwrap();
        assert_eq!(outputs.port(2).unwrap(), y);
        drop(lease);
        model.start_retire(none()).unwrap().await.unwrap();
        assert_eq!(model.embed(&["hello"]).unwrap_err().code(), Code::RETIRED);
    });
    // A load that has begun reads its files on its own: what is wrong with them is its end.
    let nowhere =
        block_on(async { lane.start_load("/nowhere", &ModelOptions::new(), none()).unwrap().await });
    assert_eq!(nowhere.err().unwrap().code(), Code::IO);
    let model = lane.load(temp.tiny()).unwrap();
    assert_eq!(model.start_lease(100, none()).err().unwrap().code(), Code::SHAPE_UNKNOWN);
    let mut op = model.start_lease(256, anelane::Deadline::after(Duration::from_micros(1))).unwrap();
    let error = op.wait(BOUND).err().unwrap();
    assert!([Code::SHAPE_COMPILING, Code::DEADLINE_EXCEEDED].contains(&error.code()), "{error}");
    assert_eq!(block_on(op).err().unwrap().code(), Code::INVALID_ARGUMENT); // taken already
}

#[test]
fn the_last_waker_is_woken_and_only_once() {
    let w = World::new();
    let (first, last) = (Arc::new(Count::default()), Arc::new(Count::default()));
    let mut seen = 0;
    for _ in 0..50 {
        let mut op = w.model.start_embed(&["hello"; 40], none()).unwrap();
        if poll(&mut op, &Arc::clone(&first).into()).is_ready()
            || poll(&mut op, &Arc::clone(&last).into()).is_ready()
        {
            continue; // quicker than we are
        }
        assert!(soon(|| op.is_ended()));
        seen += 1;
        // The callback wakes right after it has marked the end.
        assert!(soon(|| last.0.load(Ordering::SeqCst) == seen), "{:?}", last.0);
        assert!(poll(&mut op, &Arc::clone(&last).into()).is_ready());
    }
    assert!(seen > 0 && first.0.load(Ordering::SeqCst) == 0);
    assert_eq!(last.0.load(Ordering::SeqCst), seen);
    // Nobody is left who knows them.
    assert!(soon(|| Arc::strong_count(&last) == 1 && Arc::strong_count(&first) == 1));
}

#[test]
fn a_dropped_operation_wakes_nobody_and_gives_everything_back() {
    let w = World::new();
    let count = Arc::new(Count::default());
    let waker: Waker = Arc::clone(&count).into();
    let mut pending = 0;
    for _ in 0..200 {
        let mut op = w.model.start_lease(128, none()).unwrap();
        pending += usize::from(poll(&mut op, &waker).is_pending());
        let before = count.0.load(Ordering::SeqCst);
        drop(op);
        // One that ended just before may have woken already; afterwards there is no waker to wake.
        assert!(count.0.load(Ordering::SeqCst) <= before + 1);
    }
    drop(waker);
    assert!(soon(|| Arc::strong_count(&count) == 1));
    assert!(count.0.load(Ordering::SeqCst) <= pending);
    let stats = w.lane.stats().unwrap();
    assert!(stats.cancelled > 0, "a drop is a cancel: {stats:?}");
    assert!(soon(|| w.lane.stats().unwrap().leased == 0));
}

/// An end for everybody, however cancel, completion, poll and drop meet.
#[test]
fn cancelled_at_any_time_it_ends_once() {
    let w = World::new();
    let expected = w.model.embed(&["hello world"]).unwrap();
    let (mut done, mut cancelled, mut by_method) = (0, 0, 0);
    let worker = children();
    let signal = |name| {
        assert!(std::process::Command::new("kill")
            .args([name, worker[0].as_str()])
            .status()
            .unwrap()
            .success());
    };
    for i in 0..3000u64 {
        // Some are certain to be cancelled and some to be done, however quick the machine is.
        let (stopped, awaited) = (i % 400 == 0, i % 400 == 399);
        if stopped {
            signal("-STOP");
        }
        let mut op = w.model.start_embed(&["hello world"], none()).unwrap();
        let raw = op.raw();
        assert!(!awaited || soon(|| op.is_ended()));
        let ended = thread::scope(|scope| {
            // Later and later, up to beyond its end.
            let other = (i % 3 == 0).then(|| {
                scope.spawn(move || {
                    spin(i % 400);
                    // SAFETY: a plain value.
                    unsafe { anelane::sys::anelane_op_cancel(raw) };
                })
            });
            if other.is_none() {
                spin(i % 400);
                op.cancel();
            }
            if i % 2 == 0 {
                block_on(&mut op)
            } else {
                op.wait(BOUND)
            }
        });
        if stopped {
            signal("-CONT");
        }
        match ended {
            Ok(vectors) => {
                assert_eq!(vectors, expected);
                done += 1;
            }
            Err(error) => {
                assert_eq!(error.code(), Code::CANCELLED);
                cancelled += 1;
                by_method += usize::from(i % 3 != 0);
            }
        }
    }
    assert!(
        done > 0 && cancelled > by_method && by_method > 0,
        "{done} done, {cancelled} cancelled, {by_method} by method"
    );
    assert_eq!(w.model.embed(&["hello world"]).unwrap(), expected);
}

fn spin(microseconds: u64) {
    let start = std::time::Instant::now();
    while start.elapsed().as_micros() < u128::from(microseconds) {
        std::hint::spin_loop();
    }
}

#[test]
fn dropped_and_closed_at_any_time() {
    let temp = Temp::new();
    for i in 0..30 {
        let lane = temp.open();
        let model = lane.load(temp.tiny()).unwrap();
        let ops: Vec<Operation<_>> =
            (0..20).map(|_| model.start_embed(&["hello"], none()).unwrap()).collect();
        thread::scope(|scope| {
            let waiters = scope.spawn(move || {
                for (k, op) in ops.into_iter().enumerate() {
                    match k % 3 {
                        0 => drop(op),
                        _ => match block_on(op) {
                            Ok(vectors) => assert_eq!(vectors.len(), 1),
                            Err(error) => assert!(
                                [Code::CLOSED, Code::BAD_HANDLE, Code::RETIRED].contains(&error.code()),
                                "{error}"
                            ),
                        },
                    }
                }
            });
            spin(i * 100);
            lane.close(BOUND).unwrap();
            waiters.join().unwrap();
        });
        assert_eq!(lane.close(BOUND).err().unwrap().code(), Code::BAD_HANDLE);
    }
    assert_eq!(children(), [] as [&str; 0]);
}

/// A waker does what it likes on the library's thread: panic, block, drop the last owner of everything.
#[test]
fn wakers_may_do_anything() {
    struct Does<F: Fn() + Send + Sync>(F);
    impl<F: Fn() + Send + Sync> Wake for Does<F> {
        fn wake(self: Arc<Self>) {
            self.0();
        }
    }
    let w = World::new();
    let pending = |waker: Waker| loop {
        let mut op = w.model.start_embed(&["hello"; 60], none()).unwrap();
        if poll(&mut op, &waker).is_pending() {
            return op;
        }
    };
    let mut op = pending(Arc::new(Does(|| std::panic::resume_unwind(Box::new("planned")))).into());
    assert_eq!(op.wait(BOUND).unwrap().len(), 60);

    let (send, receive) = mpsc::channel();
    let (model, lane) = (w.model.clone(), w.lane.clone());
    let does = Does(move || {
        let refused =
            (model.embed(&["x"]).err().map(|e| e.code()), lane.close(BOUND).err().map(|e| e.code()));
        let _ = send.send(refused);
    });
    let op = pending(Arc::new(does).into());
    assert_eq!(receive.recv_timeout(BOUND).unwrap(), (Some(Code::WRONG_THREAD), Some(Code::WRONG_THREAD)));
    drop(op);
    assert_eq!(w.model.embed(&["x"]).unwrap().len(), 1); // it stayed open

    let folder = w.temp.join("other");
    let options = anelane::LaneOptions::new().engine(anelane::Engine::SOFT).soft_threads(1).lock_dir(&folder);
    for _ in 0..3 {
        let lane = anelane::Lane::open(&options, BOUND).unwrap();
        let model = lane.load(w.temp.tiny()).unwrap();
        let everything = Arc::new(Mutex::new(None));
        let held = Arc::clone(&everything);
        let waker: Waker = Arc::new(Does(move || drop(held.lock().unwrap().take()))).into();
        let mut op = model.start_embed(&["hello"; 60], none()).unwrap();
        let mut slot = everything.lock().unwrap();
        if poll(&mut op, &waker).is_ready() {
            continue;
        }
        *slot = Some((lane, model, op));
        drop(slot);
        drop(waker);
        assert!(soon(|| everything.lock().unwrap().is_none()));
        assert!(soon(|| !anelane::holder(Some(&folder)).unwrap().held));
    }
}

/// An executor's waker may take its time to be cloned; other ends are told meanwhile.
#[test]
fn a_waker_is_cloned_where_nobody_waits_for_it() {
    struct Slow {
        other: Mutex<Operation<anelane::Embeddings>>,
        bounded: AtomicUsize,
    }
    unsafe fn slow(data: *const ()) -> RawWaker {
        // SAFETY: the test's own, which outlives its wakers.
        let slow = unsafe { &*data.cast::<Slow>() };
        let other = slow.other.lock().unwrap();
        let start = std::time::Instant::now();
        while !other.is_ended() && start.elapsed() < Duration::from_secs(20) {
            thread::yield_now();
        }
        slow.bounded.store(usize::from(other.is_ended()), Ordering::SeqCst);
        RawWaker::new(data, &TABLE)
    }
    const TABLE: RawWakerVTable = RawWakerVTable::new(slow, |_| (), |_| (), |_| ());
    let w = World::new();
    w.model.admit(128, none()).unwrap();
    let mut first = w.model.start_embed(&["hello"; 40], none()).unwrap();
    let other = Mutex::new(w.model.start_embed(&["hello"; 40], none()).unwrap());
    let slow = Slow { other, bounded: AtomicUsize::new(9) };
    // SAFETY: as the table says; nothing is owned.
    let waker = unsafe { Waker::from_raw(RawWaker::new(std::ptr::from_ref(&slow).cast(), &TABLE)) };
    let polled = poll(&mut first, &waker);
    assert_ne!(slow.bounded.load(Ordering::SeqCst), 0, "the end of the other was not told meanwhile");
    if polled.is_pending() {
        assert_eq!(first.wait(BOUND).unwrap().len(), 40);
    }
}

#[test]
fn waiting_for_a_time_only() {
    let w = World::new();
    let mut op = w.model.start_embed(&["hello"; 100], none()).unwrap();
    match op.wait(anelane::Deadline::NOW) {
        Ok(_) => return, // quicker than we are
        Err(error) => assert_eq!(error.code(), Code::PENDING),
    }
    assert_eq!(op.wait(BOUND).unwrap().len(), 100);
    assert!(soon(|| op.is_ended()));
}
