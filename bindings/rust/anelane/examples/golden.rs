//! The golden vectors through the Rust binding: tests/bindings/golden.c says what is read and written.
//!
//!     golden MODEL_DIR TEXTS OUT FOLDER
use anelane::{Engine, Lane, LaneOptions, ModelOptions};
use std::time::Duration;

const BOUND: Duration = Duration::from_secs(240);

fn write(arguments: &[String; 4]) -> Result<(), Box<dyn std::error::Error>> {
    let [model, texts, out, folder] = arguments;
    let texts = std::fs::read_to_string(texts)?;
    // Lines end with "\n" and with nothing else.
    let texts: Vec<&str> = texts.strip_suffix('\n').unwrap_or(&texts).split('\n').collect();
    let lane = Lane::open(&LaneOptions::new().engine(Engine::SOFT).lock_dir(folder), BOUND)?;
    let model = lane.load_with(model, &ModelOptions::new(), BOUND)?;
    let vectors = model.embed_by(&texts, BOUND)?;
    let bytes: Vec<u8> = vectors.as_slice().iter().flat_map(|number| number.to_le_bytes()).collect();
    Ok(std::fs::write(out, bytes)?)
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Ok(arguments) = <[String; 4]>::try_from(arguments) else {
        eprintln!("usage: golden MODEL_DIR TEXTS OUT FOLDER");
        std::process::exit(2);
    };
    if let Err(error) = write(&arguments) {
        eprintln!("golden: {error}");
        std::process::exit(1);
    }
}
