//! Embeds a folder of notes and finds those that mean what you ask for.
//!
//!     search_notes MODEL_DIR NOTES_DIR QUESTION… [--top N] [--lane-dir DIR]
//!
//! Reads *.txt and *.md below NOTES_DIR, cut into pieces that fit the model. `--lane-dir` is a lane of its own in that
//! folder, rather than the user's. While a shape compiles it waits, and says so.
use anelane::{Embeddings, Lane, LaneOptions, Model, ModelOptions, Tokenizer};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// For a compile, however long the queue is.
const PATIENCE: Duration = Duration::from_secs(600);
/// For one call; a shape that is not ready by then says when to come back.
const BOUND: Duration = Duration::from_secs(30);
/// Pieces in one call.
const BATCH: usize = 64;

struct Piece {
    path: PathBuf,
    text: String,
}

#[derive(Default)]
struct Arguments {
    places: Vec<String>,
    top: usize,
    lane_dir: Option<String>,
}

fn arguments() -> Option<Arguments> {
    let mut found = Arguments { top: 3, ..Arguments::default() };
    let mut rest = std::env::args().skip(1);
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--top" => found.top = rest.next()?.parse().ok()?,
            "--lane-dir" => found.lane_dir = Some(rest.next()?),
            flag if flag.starts_with("--") => return None,
            _ => found.places.push(argument),
        }
    }
    (found.places.len() >= 3).then_some(found)
}

/// All notes below a folder, sorted; what begins with a dot is hidden.
fn notes_below(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    let mut entries = std::fs::read_dir(folder)?.collect::<std::io::Result<Vec<_>>>()?;
    entries.sort_by_key(std::fs::DirEntry::file_name);
    for entry in entries {
        let path = entry.path();
        if entry.file_name().to_string_lossy().starts_with('.') {
            continue;
        }
        if entry.file_type()?.is_dir() {
            notes_below(&path, found)?;
        } else if path.extension().is_some_and(|kind| kind == "txt" || kind == "md") {
            found.push(path);
        }
    }
    Ok(())
}

/// Cut between words, into as few pieces as fit the model. A single word that does not fit is left out.
fn pieces_of(text: &str, tokenizer: &Tokenizer, ceiling: usize) -> anelane::Result<Vec<String>> {
    let fits = |words: &[&str]| Ok(tokenizer.count(&words.join(" "))? <= ceiling);
    let text = text.replace('\0', " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut rest = words.as_slice();
    let mut pieces = Vec::new();
    while !rest.is_empty() {
        // The longest beginning that fits: at least `low` words, fewer than `high`.
        let (mut low, mut high) = (0, rest.len() + 1);
        while high - low > 1 {
            let middle = (low + high) / 2;
            if fits(&rest[..middle])? {
                low = middle;
            } else {
                high = middle;
            }
        }
        if low > 0 {
            pieces.push(rest[..low].join(" "));
        }
        rest = &rest[low.max(1)..];
    }
    Ok(pieces)
}

fn embed<T: AsRef<str>>(model: &Model, texts: &[T]) -> anelane::Result<Embeddings> {
    anelane::retry(PATIENCE, || model.embed_by(texts, BOUND))
}

fn search(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let [model_dir, notes_dir, questions @ ..] = arguments.places.as_slice() else {
        unreachable!("counted before")
    };
    let mut options = LaneOptions::new();
    if let Some(folder) = &arguments.lane_dir {
        options = options.lock_dir(folder);
    }
    let lane = Lane::open(&options, BOUND)?;
    let progress = ModelOptions::new()
        .progress(|step| eprint!("\rcompiling shape {}: {} of {} ", step.shape, step.layer, step.layers));
    let model = lane.load_with(model_dir, &progress, BOUND)?;
    let (tokenizer, ceiling) = (Tokenizer::load(model_dir)?, model.info()?.ceiling);

    let (mut notes, mut pieces) = (Vec::new(), Vec::new());
    notes_below(Path::new(notes_dir), &mut notes)?;
    for path in notes {
        let text = String::from_utf8_lossy(&std::fs::read(&path)?).into_owned();
        let cut = pieces_of(&text, &tokenizer, ceiling)?;
        pieces.extend(cut.into_iter().map(|text| Piece { path: path.clone(), text }));
    }
    let mut vectors = Vec::new();
    for batch in pieces.chunks(BATCH) {
        let texts: Vec<&str> = batch.iter().map(|piece| piece.text.as_str()).collect();
        vectors.push(embed(&model, &texts)?);
    }
    for (question, asked) in questions.iter().zip(embed(&model, questions)?.iter()) {
        let cosine = |row: &[f32]| row.iter().zip(asked).map(|(a, b)| a * b).sum::<f32>();
        let mut found: Vec<(f32, &Piece)> =
            vectors.iter().flat_map(Embeddings::iter).map(cosine).zip(&pieces).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        println!("{question}");
        for (cosine, piece) in found.iter().take(arguments.top) {
            let start: String = piece.text.chars().take(70).collect();
            println!("  {cosine:.3}  {}: {start}", piece.path.display());
        }
    }
    Ok(())
}

fn main() {
    let Some(arguments) = arguments() else {
        eprintln!("usage: search_notes MODEL_DIR NOTES_DIR QUESTION… [--top N] [--lane-dir DIR]");
        std::process::exit(2);
    };
    if let Err(error) = search(&arguments) {
        eprintln!("search_notes: {error}");
        std::process::exit(1);
    }
}
