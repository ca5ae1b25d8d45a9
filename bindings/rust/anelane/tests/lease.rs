//! Leases, runs with one's own tensors, and runs in mapped ports: that slices are what they say, whatever happens.
mod support;
use anelane::{f16_from_f32, f32_from_f16, Code, Deadline, Lease, Model, ModelOptions};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use support::*;

/// Activations as one's own tensors: (x, mask).
fn tensors(model: &Model) -> (Vec<u8>, Vec<u8>) {
    let ports = model.ports(128).unwrap();
    let halves = |bytes: usize, value: &dyn Fn(usize) -> f32| -> Vec<u8> {
        (0..bytes / 2).flat_map(|i| f16_from_f32(value(i)).to_ne_bytes()).collect()
    };
    (halves(ports[0].bytes, &|i| (i % 13) as f32 / 13.0), halves(ports[1].bytes, &|_| 0.0))
}

fn run(lease: &Lease, model: &Model) -> Vec<u8> {
    let (x, mask) = tensors(model);
    let mut y = vec![0; model.ports(128).unwrap()[2].bytes];
    lease.run(&[(0, &x), (1, &mask)], &mut [(2, &mut y)], none()).unwrap();
    y
}

#[test]
fn mapped_ports_give_what_tensors_give_without_a_copy() {
    let w = World::new();
    let expected = run(&w.model.lease(128, none()).unwrap(), &w.model);
    let (x_bytes, mask_bytes) = tensors(&w.model);
    let lease = w.model.lease(128, none()).unwrap();
    let (mut x, mut mask, mut y) = (lease.map(0).unwrap(), lease.map(1).unwrap(), lease.map(2).unwrap());
    x.as_mut_slice::<u8>().unwrap().copy_from_slice(&x_bytes);
    mask.as_mut_slice::<u16>().unwrap().fill(0);
    assert_eq!(mask.bytes(), mask_bytes.len());
    for _ in 0..3 {
        lease.run_mapped(&mut [&mut x, &mut mask], &mut [&mut y], none()).unwrap();
        assert_eq!(y.as_slice::<u8>().unwrap(), expected);
        y.as_mut_slice::<u16>().unwrap().fill(0);
    }
    let halves = x.as_slice::<u16>().unwrap();
    assert_eq!(f32_from_f16(halves[13 * 4]), 0.0);
    assert_eq!((x.port(), halves.len()), (0, x.bytes() / 2));
    assert_eq!(x.as_slice::<f32>().unwrap().len(), x.bytes() / 4);
}

#[test]
fn what_would_make_a_slice_a_lie_is_refused() {
    let w = World::new();
    let (x_bytes, mask_bytes) = tensors(&w.model);
    let given: [(u32, &[u8]); 2] = [(0, &x_bytes), (1, &mask_bytes)];
    let lease = w.model.lease(128, none()).unwrap();
    assert_eq!(lease.map(9).err().unwrap().code(), Code::INVALID_ARGUMENT);
    drop(lease);
    let lease = w.model.lease(128, none()).unwrap();
    let other = w.model.lease(128, none()).unwrap();
    let (mut x, mut mask) = (lease.map(0).unwrap(), lease.map(1).unwrap());
    let mut foreign = other.map(1).unwrap();
    // The same port again; a run that may pass through the memory; a run that leaves a mapped port out, or has another's.
    assert_eq!(lease.map(0).err().unwrap().code(), Code::RESOURCES_EXHAUSTED);
    assert_eq!(lease.run(&given, &mut [], none()).err().unwrap().code(), Code::INVALID_ARGUMENT);
    assert_eq!(lease.start_run(&given, none()).err().unwrap().code(), Code::INVALID_ARGUMENT);
    assert_eq!(
        lease.run_mapped(&mut [&mut x], &mut [], none()).err().unwrap().code(),
        Code::INVALID_ARGUMENT
    );
    let refused = lease.run_mapped(&mut [&mut x, &mut foreign], &mut [], none());
    assert_eq!(refused.err().unwrap().code(), Code::INVALID_ARGUMENT);
    let y = lease.map(2).unwrap(); // which the run would write
    let refused = lease.run_mapped(&mut [&mut x, &mut mask], &mut [], none());
    assert_eq!(refused.err().unwrap().code(), Code::INVALID_ARGUMENT);
    drop(y);
    // A refusal is no failure: they can be used.
    lease.run_mapped(&mut [&mut x, &mut mask], &mut [], none()).unwrap();
    assert!(x.as_slice::<u8>().is_ok());
    // The lane stays open while somebody looks.
    let error = w.lane.close(none()).err().unwrap();
    assert_eq!(error.code(), Code::INVALID_ARGUMENT);
    assert!(error.message().starts_with("3 mapped ports"), "{error}");
    assert_eq!(w.model.embed(&["hello"]).unwrap().len(), 1);
    // Retired, the memory stays and nothing runs.
    x.as_mut_slice::<u8>().unwrap()[0] = 77;
    drop(foreign);
    let _ = w.model.retire(Deadline::NOW);
    assert_eq!(x.as_slice::<u8>().unwrap()[0], 77);
    drop((x, mask));
    // Once mapped, no run at a time that nobody knows.
    assert_eq!(lease.start_run(&given, none()).err().unwrap().code(), Code::INVALID_ARGUMENT);
    w.lane.close(none()).unwrap();
    assert_eq!(lease.map(0).err().unwrap().code(), Code::CLOSED);
}

#[test]
fn an_expired_lease_keeps_its_slices_to_itself() {
    let w = World::with(|options| options.lease_max_ms(30));
    w.model.admit(128, none()).unwrap();
    let old = w.model.lease(128, none()).unwrap();
    let mut look = old.map(0).unwrap();
    look.as_mut_slice::<u8>().unwrap()[0] = 55;
    // It expires by itself, as the lane's books say, while we look.
    assert!(soon(|| w.lane.stats().unwrap().leased == 0));
    // Whoever is lent the same memory cannot look at it, nor run through it.
    let mut met = false;
    let mut fresh = Vec::new();
    for _ in 0..6 {
        fresh.push(w.model.lease(128, none()).unwrap());
    }
    for lease in &fresh {
        match lease.map(0) {
            Err(error) if error.message().contains("expired") => {
                met = true;
                assert_eq!(error.code(), Code::RESOURCES_EXHAUSTED);
                assert_eq!(lease.map(1).err().unwrap().code(), Code::LEASE_EXPIRED);
                let (x, mask) = tensors(&w.model);
                let refused = lease.run(&[(0, &x), (1, &mask)], &mut [], none());
                assert_eq!(refused.err().unwrap().code(), Code::LEASE_EXPIRED);
            }
            Err(error) => {
                assert!([Code::RESOURCES_EXHAUSTED, Code::LEASE_EXPIRED].contains(&error.code()), "{error}")
            }
            Ok(mut map) => map.as_mut_slice::<u8>().unwrap().fill(1),
        }
    }
    assert!(met, "the memory of the expired lease was lent to nobody");
    // Nor at another port of it, as a run would use all ports.
    drop(fresh);
    let mut fresh = Vec::new();
    for _ in 0..6 {
        fresh.push(w.model.lease(128, none()).unwrap());
    }
    let (x, mask) = tensors(&w.model);
    let mut refused = 0;
    for lease in &fresh {
        let looked = lease.map(1).map(|mut mask| mask.as_mut_slice::<u8>().unwrap().fill(0));
        let ran = lease.run(&[(0, &x), (1, &mask)], &mut [], none());
        if looked.is_err_and(|error| error.message().contains("expired")) {
            assert_eq!(ran.err().unwrap().code(), Code::LEASE_EXPIRED);
            refused += 1;
        }
    }
    assert_eq!((refused, look.as_slice::<u8>().unwrap()[0]), (1, 55));
    assert_eq!(look.as_slice::<u8>().unwrap()[0], 55);
    drop(look);
    let (x, mask) = tensors(&w.model);
    let refused = old.run(&[(0, &x), (1, &mask)], &mut [], none());
    assert_eq!(refused.err().unwrap().code(), Code::LEASE_EXPIRED);
    drop((old, fresh));
    let again = w.model.lease(128, none()).unwrap();
    assert!(again.map(0).is_ok());
}

#[test]
fn a_crash_ends_the_slices_and_nothing_else() {
    let w = World::new();
    let lease = w.model.lease(128, none()).unwrap();
    let (mut x, mut mask) = (lease.map(0).unwrap(), lease.map(1).unwrap());
    x.as_mut_slice::<u8>().unwrap()[0] = 9;
    let worker = children();
    assert_eq!(worker.len(), 1);
    assert!(std::process::Command::new("kill").args(["-9", &worker[0]]).status().unwrap().success());
    let error = soon_error(|| lease.run_mapped(&mut [&mut x, &mut mask], &mut [], none()));
    assert!([Code::ENGINE_CRASHED, Code::LEASE_EXPIRED].contains(&error.code()), "{error}");
    assert_eq!(x.as_slice::<u8>().err().unwrap().code(), Code::LEASE_EXPIRED);
    assert_eq!(lease.map(2).err().unwrap().code(), Code::LEASE_EXPIRED);
    drop((x, mask));
    drop(lease);
    let vectors = anelane::retry(BOUND, || w.model.embed(&["hello"])).unwrap();
    assert_eq!(vectors.len(), 1);
    assert_eq!(w.lane.stats().unwrap().restarts, 1);
}

fn soon_error(mut call: impl FnMut() -> anelane::Result<()>) -> anelane::Error {
    let mut found = None;
    assert!(soon(|| {
        found = call().err();
        found.is_some()
    }));
    found.unwrap()
}

#[test]
fn no_port_is_mapped_while_a_run_uses_them() {
    let w = World::new();
    let lease = w.model.lease(128, none()).unwrap();
    let (x_bytes, _) = tensors(&w.model);
    let (mut x, mut mask) = (lease.map(0).unwrap(), lease.map(1).unwrap());
    x.as_mut_slice::<u8>().unwrap().copy_from_slice(&x_bytes);
    mask.as_mut_slice::<u8>().unwrap().fill(0);
    // The output, which every run writes: mapped by another thread again and again.
    let (refused, over) = (AtomicUsize::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                match lease.map(2) {
                    Ok(y) => assert!(y.as_slice::<u8>().is_ok()),
                    Err(error) => {
                        assert!(error.message().contains("a run of this lease is going on"), "{error}");
                        refused.fetch_add(1, Ordering::Relaxed);
                    }
                }
                std::thread::yield_now();
            }
        });
        let mut runs = 0;
        while refused.load(Ordering::Relaxed) == 0 && runs < 5000 {
            match lease.run_mapped(&mut [&mut x, &mut mask], &mut [], none()) {
                Ok(()) => runs += 1,
                Err(error) => assert!(error.message().contains("every mapped port"), "{error}"),
            }
        }
        over.store(true, Ordering::Relaxed);
    });
    assert!(refused.into_inner() > 0, "a port was mapped during a run each time");
    lease.run_mapped(&mut [&mut x, &mut mask], &mut [], none()).unwrap();
}

#[test]
fn leases_and_maps_go_to_other_threads() {
    let w = World::new();
    let expected = run(&w.model.lease(128, none()).unwrap(), &w.model);
    let lease = w.model.lease(128, none()).unwrap();
    let (x_bytes, _) = tensors(&w.model);
    let y = std::thread::scope(|scope| {
        let mut x = lease.map(0).unwrap();
        let fills = scope.spawn(move || {
            x.as_mut_slice::<u8>().unwrap().copy_from_slice(&x_bytes);
            x
        });
        let mut x = fills.join().unwrap();
        let (mut mask, mut y) = (lease.map(1).unwrap(), lease.map(2).unwrap());
        mask.as_mut_slice::<u8>().unwrap().fill(0);
        let lease = &lease;
        let runs = scope.spawn(move || {
            lease.run_mapped(&mut [&mut x, &mut mask], &mut [&mut y], none()).unwrap();
            y.as_slice::<u8>().unwrap().to_vec()
        });
        runs.join().unwrap()
    });
    assert_eq!(y, expected);
    assert!(soon(|| w.lane.stats().unwrap().leased == 1));
    lease.release();
    assert!(soon(|| w.lane.stats().unwrap().leased == 0));
}

#[test]
fn programs_from_memory_are_models_like_others() {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../examples/programs/residual");
    let temp = Temp::new();
    let lane = temp.open();
    let from_folder = lane.load(root).unwrap();
    let shapes = from_folder.info().unwrap().rungs;
    let file = |name: &str| std::fs::read(format!("{root}/{name}")).unwrap();
    let text = |name: &str| String::from_utf8(file(name)).unwrap();
    let json = text("program.json");
    assert!(json.contains("up_64.mil"), "{json}");
    let names: Vec<String> =
        std::fs::read_dir(root).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    assert!(names.len() > 2 && shapes.contains(&64), "{names:?} {shapes:?}");
    let (mil, weights) = (text("up_64.mil"), file("up.bin"));
    let checked = |weights: Option<&str>| {
        let weights = weights.map(|name| Path::new(root).join(name));
        anelane::mil_check(Path::new(root).join("up_64.mil"), weights.as_deref())
    };
    let told = checked(Some("up.bin")).unwrap();
    assert!(told.contains(r#""error":null"#) && told.contains(r#""operations""#), "{told}");
    let told = checked(None).unwrap(); // which it needs
    assert!(!told.contains(r#""error":null"#), "{told}");
    assert_eq!(checked(Some("none.bin")).err().unwrap().code(), Code::IO);
    assert_eq!(anelane::mil_check("/nowhere", None).err().unwrap().code(), Code::IO);
    let layer = anelane::Layer { mil: &mil, weights: Some(&weights), connect: Vec::new() };
    let program = anelane::Program { rungs: vec![anelane::Rung { shape: 64, layers: vec![layer] }] };
    let model = lane.load_program(&program, &ModelOptions::new().name("up"), none()).unwrap();
    assert_eq!(model.info().unwrap().kind, anelane::ModelKind::PROGRAM);
    assert_eq!(model.embed(&["x"]).unwrap_err().code(), Code::UNSUPPORTED);
    let ports = model.ports(64).unwrap();
    let (inputs, outputs): (Vec<_>, Vec<_>) = ports.iter().partition(|port| !port.is_output);
    let zeros: Vec<Vec<u8>> = inputs.iter().map(|port| vec![0; port.bytes]).collect();
    let given: Vec<(u32, &[u8])> =
        inputs.iter().zip(&zeros).map(|(port, bytes)| (port.index, bytes.as_slice())).collect();
    let lease = model.lease(64, none()).unwrap();
    let made = lease.start_run(&given, none()).unwrap().wait(BOUND).unwrap();
    assert_eq!(made.iter().count(), outputs.len());
    let wrong = anelane::Layer { mil: "no MIL", ..anelane::Layer::default() };
    let program = anelane::Program { rungs: vec![anelane::Rung { shape: 64, layers: vec![wrong] }] };
    let error = lane.load_program(&program, &ModelOptions::new(), none()).err().unwrap();
    assert!(error.message().contains("rung_64_layer_0.mil"), "{error}");
}
