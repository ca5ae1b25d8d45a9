//! Texts and ids to vectors, in every form; and what a model says of itself.
mod support;
use anelane::{Code, Deadline, Engine, Error, ModelOptions, Tokenizer};
use std::time::{Duration, Instant};
use support::*;

#[test]
fn all_forms_give_the_same_bits() {
    let w = World::new();
    let texts = ["hello world", "", "the engine of the lane"];
    let vectors = w.model.embed(&texts).unwrap();
    assert_eq!((vectors.len(), vectors.dim(), vectors.is_empty()), (3, DIM, false));
    assert_eq!(vectors.as_slice().len(), 3 * DIM);
    for row in vectors.iter() {
        assert!((row.iter().map(|x| x * x).sum::<f32>() - 1.0).abs() < 1e-3);
    }
    assert_ne!(vectors.row(0), vectors.row(2));
    let owned: Vec<String> = texts.iter().map(|text| (*text).to_owned()).collect();
    assert_eq!(w.model.embed_by(&owned, BOUND).unwrap(), vectors);

    let mut out = vec![7.0; 3 * DIM + 1];
    w.model.embed_into(&texts, &mut out, Instant::now() + BOUND).unwrap();
    assert_eq!(&out[..3 * DIM], vectors.as_slice());
    assert_eq!(out[3 * DIM], 7.0);

    let tokenizer = Tokenizer::load(w.temp.tiny()).unwrap();
    let ids: Vec<Vec<i32>> = texts.iter().map(|text| tokenizer.encode(text).unwrap()).collect();
    assert_eq!(ids[1], [2, 3]);
    assert_eq!(tokenizer.count(texts[0]).unwrap(), ids[0].len());
    assert_eq!(w.model.embed_ids(&ids, none()).unwrap(), vectors);
    let mut out = vec![0.0; 3 * DIM];
    w.model.embed_ids_into(&ids, &mut out, none()).unwrap();
    assert_eq!(out, vectors.clone().into_vec());
    assert_eq!(block_on(w.model.start_embed(&texts, none()).unwrap()).unwrap(), vectors);
    assert_eq!(w.model.start_embed_ids(&ids, none()).unwrap().wait(BOUND).unwrap(), vectors);

    let nothing = w.model.embed(&[] as &[&str]).unwrap_err();
    assert_eq!(nothing.code(), Code::INVALID_ARGUMENT);
    // Many at once, and a text with more ids than half its bytes.
    let many: Vec<String> = (0..100).map(|i| format!("lane {i}")).collect();
    let vectors = w.model.embed(&many).unwrap();
    assert_eq!(vectors.row(99), w.model.embed(&["lane 99"]).unwrap().row(0));
    assert_eq!(tokenizer.encode(&"!".repeat(50)).unwrap().len(), 52);
}

fn fields(error: &Error) -> (Code, Option<usize>, Option<u64>) {
    (error.code(), error.item(), error.limit())
}

#[test]
fn what_is_wrong_with_an_input_is_said() {
    let w = World::new();
    let long = "hello ".repeat(300);
    let error = w.model.embed(&["hello", &long]).unwrap_err();
    assert_eq!(fields(&error), (Code::SEQUENCE_TOO_LONG, Some(1), Some(CEILING as u64)));
    assert!(!error.is_transient() && error.retry_after().is_none());
    assert_eq!(error.model(), Some("tiny"));
    let error = w.model.embed_ids(&[&[2, 40, 3][..], &[]], none()).unwrap_err();
    assert_eq!(fields(&error), (Code::INVALID_SEQUENCE, Some(1), None));
    let error = w.model.embed(&["hello", "wo\0rld"]).unwrap_err();
    assert_eq!(fields(&error), (Code::INVALID_ARGUMENT, Some(1), Some(2)));
    let error = w.model.embed_into(&["a", "b"], &mut [0.0; 2 * DIM - 1], none()).unwrap_err();
    assert_eq!(fields(&error), (Code::INVALID_ARGUMENT, None, Some(2 * DIM as u64)));
    let error = w.model.embed_ids_into(&[[2, 3]], &mut [0.0; DIM - 1], none()).unwrap_err();
    assert_eq!(fields(&error), (Code::INVALID_ARGUMENT, None, Some(DIM as u64)));
    let error = w.model.embed_each(&["a", "b"], &mut [0.0; 2 * DIM], &mut [Code::OK], none()).unwrap_err();
    assert_eq!(error.code(), Code::INVALID_ARGUMENT);

    let (mut out, mut each) = ([0.0; 2 * DIM], [Code::PENDING; 2]);
    w.model.embed_each(&["a", "b"], &mut out, &mut each, none()).unwrap();
    assert_eq!(each, [Code::OK; 2]);
    w.model.embed_each(&["a", &long], &mut out, &mut each, none()).unwrap_err();
    assert!(each.iter().all(|&code| code != Code::OK));
}

#[test]
fn a_model_says_what_it_is() {
    let w = World::new();
    let info = w.model.info().unwrap();
    assert_eq!((info.dim, info.ceiling, info.layers, info.engine), (DIM, CEILING, 2, Engine::SOFT));
    assert_eq!(info.rungs, [128, 256]);
    assert_eq!(info.architecture, "BertModel");
    assert!(!info.vector_space.is_empty());
    w.model.admit(128, none()).unwrap();
    assert_eq!(w.model.predict(128).unwrap(), Duration::ZERO);
    assert_eq!(w.model.info().unwrap().cached_rungs, [128]);
    assert!(w.model.predict(256).unwrap() > Duration::ZERO);
    let outside = anelane::inspect(w.temp.tiny()).unwrap();
    assert_eq!((outside.dim, outside.engine, outside.vector_space.as_str()), (DIM, Engine::AUTO, ""));
    let ports = w.model.ports(128).unwrap();
    let names: Vec<_> = ports.iter().map(|port| (port.index, port.name.as_str(), port.is_output)).collect();
    assert_eq!(names, [(0, "a00_x", false), (1, "a01_mask", false), (2, "z00_y", true)]);
    assert!(ports.iter().all(|port| port.dims.len() == port.strides.len() && port.bytes > 0));
}

#[test]
fn progress_is_told_and_a_panic_in_it_hurts_nobody() {
    let temp = Temp::new();
    let lane = temp.open();
    let (send, receive) = std::sync::mpsc::channel();
    let options =
        ModelOptions::new().name("mine").rungs([32, 256]).numerics("lattice").progress(move |step| {
            let _ = send.send((step.shape, step.layer, step.layers));
            if step.layer == 1 {
                // Without the message that a panic prints.
                std::panic::resume_unwind(Box::new("planned"));
            }
        });
    let model = lane.load_with(temp.tiny(), &options, none()).unwrap();
    assert_eq!(model.info().unwrap().rungs, [32, 256]);
    model.embed(&["hello"]).unwrap();
    assert!(lane.describe().unwrap().contains("\"mine\""));
    let told: Vec<_> = (0..2).map(|_| receive.recv_timeout(BOUND).unwrap()).collect();
    assert_eq!(told, [(32, 1, 2), (32, 2, 2)]);
    drop((model, options));
    // The closure went with the model and the options.
    assert!(soon(|| receive.try_recv() == Err(std::sync::mpsc::TryRecvError::Disconnected)));
}

#[test]
fn deadlines_come_from_durations_and_instants() {
    anelane::version().unwrap();
    let in_an_hour = Deadline::from(Duration::from_secs(3600));
    assert!(in_an_hour > Deadline::from(Instant::now()) && in_an_hour < Deadline::NONE);
    assert_eq!(Deadline::from(Duration::ZERO), Deadline::NOW);
    assert_eq!(Deadline::from(Duration::MAX), Deadline::NONE);
    assert_eq!(Deadline::from(None), Deadline::NONE);
    assert_eq!(Deadline::from(Some(Duration::ZERO)), Deadline::NOW);
    assert_eq!(Deadline::at(Instant::now() - Duration::from_secs(1)), Deadline::NOW);
    let near = Deadline::at(Instant::now() + Duration::from_secs(3600)).ns().abs_diff(in_an_hour.ns());
    assert!(near < Duration::from_secs(60).as_nanos() as u64);
    assert_eq!(Deadline::at_ns(5).ns(), 5);
}
