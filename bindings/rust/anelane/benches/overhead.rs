//! What a warm call costs in Rust over the same call of the C interface: in one process, on the same handles, in turns.
//!
//!     cargo bench [-- --quick]
//!
//! Prints a JSON line for each call: medians of the microseconds of one call in both, by the clock and in processor time
//! of the calling thread, and the medians of the differences between neighbours (over_us, over_cpu_us); "quiet" compares
//! the quickest tenth of both. The C side is the calls themselves, as a C compiler would make them. The model is a
//! tiny one: what it computes is in both, and the less it is the less it hides. `--quick` shows that it runs, and
//! proves nothing.
#![allow(missing_docs)]
#[path = "../tests/support/mod.rs"]
mod support;

use anelane::{sys, Deadline};
use std::hint::black_box;
use std::ptr::null_mut;
use std::time::Instant;
use support::*;

const TEXT: &str = "hello world";

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}
extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}
const THREAD_CPU: i32 = if cfg!(target_os = "macos") { 16 } else { 3 };

fn cpu_ns() -> i64 {
    let mut time = Timespec { seconds: 0, nanoseconds: 0 };
    // SAFETY: a place for a time.
    unsafe { clock_gettime(THREAD_CPU, &mut time) };
    time.seconds * 1_000_000_000 + time.nanoseconds
}

/// Microseconds of one call: by the clock, and of the processor.
fn measure(calls: u32, call: &mut dyn FnMut()) -> (f64, f64) {
    let (cpu, start) = (cpu_ns(), Instant::now());
    for _ in 0..calls {
        call();
    }
    let wall = start.elapsed().as_nanos() as f64;
    (wall / f64::from(calls) / 1000.0, (cpu_ns() - cpu) as f64 / f64::from(calls) / 1000.0)
}

fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.sort_by(f64::total_cmp);
    values
}
fn median(values: Vec<f64>) -> f64 {
    let values = sorted(values);
    values[values.len() / 2]
}
/// The mean of the quickest tenth.
fn quiet(values: &[f64]) -> f64 {
    let values = sorted(values.to_vec());
    let few = (values.len() / 10).max(1);
    values[..few].iter().sum::<f64>() / few as f64
}

fn compare(name: &str, rounds: usize, calls: u32, mut rust: impl FnMut(), mut c: impl FnMut()) {
    for _ in 0..calls * 4 {
        rust();
        c();
    }
    let mut rows = [const { Vec::new() }; 4];
    for round in 0..rounds {
        // Who goes first is the worse off: in turns.
        let (r, c) = if round % 2 == 0 {
            let c = measure(calls, &mut c);
            (measure(calls, &mut rust), c)
        } else {
            let r = measure(calls, &mut rust);
            (r, measure(calls, &mut c))
        };
        for (row, value) in rows.iter_mut().zip([r.0, c.0, r.1, c.1]) {
            row.push(value);
        }
    }
    let [rust_us, c_us, rust_cpu, c_cpu] = rows;
    let over = |a: &[f64], b: &[f64]| median(a.iter().zip(b).map(|(a, b)| a - b).collect());
    println!(
        "{{\"bench\": \"rust_overhead\", \"call\": \"{name}\", \"rust_us\": {:.3}, \"c_us\": {:.3}, \"over_us\": {:.3}, \
         \"over_quiet_us\": {:.3}, \"over_cpu_us\": {:.3}, \"rounds\": {rounds}, \"calls\": {calls}}}",
        median(rust_us.clone()),
        median(c_us.clone()),
        over(&rust_us, &c_us),
        quiet(&rust_us) - quiet(&c_us),
        over(&rust_cpu, &c_cpu),
    );
}

fn ok(status: sys::anelane_status) {
    assert_eq!(status, sys::ANELANE_OK);
}

fn main() {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (rounds, calls) = if quick { (3, 5) } else { (400, 8) };
    let temp = Temp::new();
    let lane = temp.open();
    let options = anelane::ModelOptions::new().rungs([32, 256]);
    let model = lane.load_with(temp.tiny(), &options, BOUND).unwrap();
    let raw = model.raw();
    let text = std::ffi::CString::new(TEXT).unwrap();
    let texts = [text.as_ptr()];
    let ids = [2, 40, 41, 42, 3];
    let items = [sys::anelane_tokens { ids: ids.as_ptr(), count: 5 }];
    let (mut out, mut c_out) = (vec![0f32; DIM], vec![0f32; DIM]);
    let never = sys::ANELANE_NO_DEADLINE;
    model.admit(32, none()).unwrap();

    // SAFETY (of the C side): the pointers are valid, the outputs large enough, as the binding's are.
    let mut c_texts = || {
        ok(unsafe {
            sys::anelane_embed_texts(
                raw,
                texts.as_ptr(),
                1,
                c_out.as_mut_ptr(),
                0,
                null_mut(),
                never,
                null_mut(),
            )
        })
    };
    compare("embed", rounds, calls, || drop(black_box(model.embed(&[TEXT]).unwrap())), &mut c_texts);
    compare(
        "embed_into",
        rounds,
        calls,
        || model.embed_into(&[TEXT], &mut out, Deadline::NONE).unwrap(),
        &mut c_texts,
    );
    compare(
        "embed_ids_into",
        rounds,
        calls,
        || model.embed_ids_into(&[ids], &mut out, Deadline::NONE).unwrap(),
        || {
            ok(unsafe {
                sys::anelane_embed(
                    raw,
                    items.as_ptr(),
                    1,
                    c_out.as_mut_ptr(),
                    0,
                    null_mut(),
                    never,
                    null_mut(),
                )
            });
        },
    );
    compare(
        "start_embed, wait",
        rounds,
        calls,
        || drop(black_box(model.start_embed(&[TEXT], Deadline::NONE).unwrap().wait(Deadline::NONE).unwrap())),
        || unsafe {
            unsafe extern "C" fn done(_: *mut std::ffi::c_void, _: sys::anelane_op, _: sys::anelane_status) {}
            let (mut op, mut data, mut rows, mut dim) = (sys::anelane_op { bits: 0 }, std::ptr::null(), 0, 0);
            ok(sys::anelane_start_embed_texts(
                raw,
                texts.as_ptr(),
                1,
                never,
                Some(done),
                null_mut(),
                &mut op,
                null_mut(),
            ));
            ok(sys::anelane_op_wait(op, never, null_mut()));
            ok(sys::anelane_op_floats(op, &mut data, &mut rows, &mut dim, null_mut()));
            black_box(std::slice::from_raw_parts(data, rows * dim));
            sys::anelane_op_release(op);
        },
    );
    compare(
        "lease, release",
        rounds,
        calls * 10,
        || model.lease(32, Deadline::NOW).unwrap().release(),
        || unsafe {
            let mut lease = sys::anelane_lease { bits: 0 };
            ok(sys::anelane_lease_acquire(raw, 32, 0, &mut lease, null_mut()));
            sys::anelane_lease_release(lease);
        },
    );
    lane.close(BOUND).unwrap();
}
