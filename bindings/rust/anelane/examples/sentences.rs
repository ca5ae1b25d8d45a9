//! How alike are two sentences? (The example of docs/rust.md.)
use anelane::{Deadline, Lane, LaneOptions};
use std::time::Duration;

fn main() -> anelane::Result<()> {
    let lane = Lane::open(&LaneOptions::new(), Duration::from_secs(5))?;
    let model = lane.load("models/all-MiniLM-L6-v2")?;
    let vectors = model.embed(&["A cat sleeps by the window.", "A kitten is napping in the sun."])?;
    let cosine: f32 = vectors.row(0).iter().zip(vectors.row(1)).map(|(a, b)| a * b).sum();
    println!("cosine {cosine:.2}");
    lane.close(Deadline::NONE)
}
