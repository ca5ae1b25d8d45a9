//! Embeds a folder of notes and finds those that mean what you ask for.
//!
//!     search_notes MODEL_FOLDER NOTES_FOLDER QUESTION… [--top N] [--lock-dir FOLDER]
//!
//! Reads *.txt and *.md below `NOTES_FOLDER`, in pieces that fit the model, cut between paragraphs where it can and between
//! words where it must. Files that cannot be read, or are not UTF-8, are named and left out. `--lock-dir` is a lane of its
//! own in that folder, rather than the user's.
use anelane::{Deadline, Embeddings, Lane, LaneOptions, Model, ModelOptions, Progress, Tokenizer};
use std::error::Error;
use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// For one call: a compile, and the queue before it.
const PATIENCE: Duration = Duration::from_secs(600);
/// Pieces in one call.
const BATCH: usize = 64;

struct Piece {
    path: String,
    text: String,
}

#[derive(Default)]
struct Arguments {
    places: Vec<String>,
    top: usize,
    lock_dir: Option<String>,
}

fn arguments() -> Option<Arguments> {
    let mut found = Arguments { top: 3, ..Arguments::default() };
    let mut rest = std::env::args_os().skip(1).map(|word| word.into_string().ok());
    while let Some(argument) = rest.next() {
        match argument?.as_str() {
            "--top" => found.top = rest.next()??.parse().ok().filter(|&top| top > 0)?,
            "--lock-dir" => found.lock_dir = Some(rest.next()??),
            flag if flag.starts_with("--") => return None,
            word => found.places.push(word.into()),
        }
    }
    (found.places.len() >= 3).then_some(found)
}

fn leave_out(path: &Path, why: &dyn Display) {
    eprintln!("search_notes: left out: {}: {why}", path.display());
}

/// Links to files are followed, those to folders are not; what begins with a dot is hidden.
fn notes_below(folder: &Path, found: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let (path, name) = (entry.path(), entry.file_name());
        if name.as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type()?.is_dir() {
            notes_below(&path, found).unwrap_or_else(|error| leave_out(&path, &error));
        } else if path.extension().is_some_and(|kind| kind == "txt" || kind == "md") && path.is_file() {
            found.push(path);
        }
    }
    Ok(())
}

/// Cuts texts into pieces that fit the model.
struct Cutter {
    tokenizer: Tokenizer,
    /// Tokens that every text has, and what is left for its words.
    special: usize,
    room: usize,
}

impl Cutter {
    fn new(model_folder: &str) -> anelane::Result<Cutter> {
        let ceiling = anelane::inspect(model_folder)?.ceiling;
        let tokenizer = Tokenizer::load(model_folder)?;
        let special = tokenizer.count("")?;
        Ok(Cutter { tokenizer, special, room: ceiling - special })
    }
    fn tokens(&self, text: &str) -> anelane::Result<usize> {
        Ok(self.tokenizer.count(text)? - self.special)
    }
    /// Words are what lies between spaces and control characters; a paragraph ends at a line without words.
    fn cut(&self, text: &str) -> anelane::Result<Vec<String>> {
        let mut pieces = Vec::new();
        // The words of a piece before its last paragraph, and of that; and their tokens.
        let (mut before, mut within) = (Vec::new(), Vec::new());
        let (mut used, mut recent) = (0, 0);
        let mut lines = 0;
        for part in text.split_inclusive(|c: char| c <= ' ') {
            let mut word = part.trim_end_matches(|c: char| c <= ' ');
            if !word.is_empty() {
                if lines > 1 {
                    before.append(&mut within);
                    used += std::mem::take(&mut recent);
                }
                lines = 0;
                let mut cost = self.tokens(word)?;
                while !(before.is_empty() && within.is_empty()) && used + recent + cost > self.room {
                    if before.is_empty() {
                        pieces.push(within.join(" "));
                        within.clear();
                        recent = 0;
                    } else {
                        pieces.push(before.join(" "));
                        before.clear();
                        used = 0;
                    }
                }
                while cost > self.room {
                    // Too long by itself: halves, between characters.
                    let mut size = word.len();
                    while self.tokens(&word[..size])? > self.room {
                        size /= 2;
                        while !word.is_char_boundary(size) {
                            size -= 1;
                        }
                    }
                    pieces.push(word[..size].into());
                    word = &word[size..];
                    cost = self.tokens(word)?;
                }
                within.push(word);
                recent += cost;
            }
            lines += usize::from(part.ends_with('\n'));
        }
        before.append(&mut within);
        if !before.is_empty() {
            pieces.push(before.join(" "));
        }
        Ok(pieces)
    }
}

/// The paths are those below the folder.
fn pieces_below(folder: &Path, cutter: &Cutter) -> Result<Vec<Piece>, Box<dyn Error>> {
    let (mut paths, mut pieces) = (Vec::new(), Vec::new());
    notes_below(folder, &mut paths)?;
    paths.sort_by(|a, b| a.as_os_str().cmp(b.as_os_str()));
    for path in paths {
        let text = match (path.strip_prefix(folder)?.to_str(), fs::read(&path).map(String::from_utf8)) {
            (_, Err(error)) => Err(error.to_string()),
            (None, _) => Err("its name is not UTF-8".into()),
            (_, Ok(Err(error))) => Err(error.to_string()),
            (Some(name), Ok(Ok(text))) => Ok((name, text)),
        };
        match text {
            Err(why) => leave_out(&path, &why),
            Ok((name, text)) => {
                let cut = cutter.cut(text.strip_prefix('\u{feff}').unwrap_or(&text))?;
                pieces.extend(cut.into_iter().map(|text| Piece { path: name.into(), text }));
            }
        }
    }
    Ok(pieces)
}

/// Says why it takes so long, but nothing for the first second of a shape: most waits are shorter.
fn progress() -> impl Fn(Progress) + Send + Sync {
    let begun = Mutex::new(Instant::now());
    move |step| {
        let mut begun = begun.lock().unwrap_or_else(PoisonError::into_inner);
        if step.layer <= 1 {
            *begun = Instant::now();
        }
        if begun.elapsed() >= Duration::from_secs(1) {
            let (shape, layer, layers) = (step.shape, step.layer, step.layers);
            eprintln!("preparing the model for this machine, once: shape {shape}, layer {layer} of {layers}");
        }
    }
}

/// The time for the call is all that there is: an error says when it is worth asking again.
fn embed<T: AsRef<str>>(model: &Model, texts: &[T]) -> anelane::Result<Embeddings> {
    let end = Deadline::after(PATIENCE);
    anelane::retry(PATIENCE, || model.embed_by(texts, end))
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum::<f64>();
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

fn search(arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    let [model_folder, notes_folder, questions @ ..] = arguments.places.as_slice() else {
        unreachable!("counted before")
    };
    let folder = Path::new(notes_folder);
    if !folder.is_dir() {
        return Err(format!("there is no folder {notes_folder}").into());
    }
    let pieces = pieces_below(folder, &Cutter::new(model_folder)?)?;
    if pieces.is_empty() {
        return Err(format!("there is no text in *.txt and *.md files below {notes_folder}").into());
    }

    let mut options = LaneOptions::new();
    if let Some(folder) = &arguments.lock_dir {
        options = options.lock_dir(folder);
    }
    let lane = Lane::open(&options, Duration::from_secs(10))?;
    let model = lane.load_with(model_folder, &ModelOptions::new().progress(progress()), PATIENCE)?;
    let asked = embed(&model, questions)?;
    let mut vectors = Vec::new();
    for batch in pieces.chunks(BATCH) {
        let texts: Vec<&str> = batch.iter().map(|piece| piece.text.as_str()).collect();
        vectors.push(embed(&model, &texts)?);
    }
    for (question, asked) in questions.iter().zip(asked.iter()) {
        let near = vectors.iter().flat_map(Embeddings::iter).map(|row| cosine(asked, row));
        let mut found: Vec<(f64, &Piece)> = near.zip(&pieces).collect();
        found.sort_by(|a, b| b.0.total_cmp(&a.0));
        println!("{question}");
        for (cosine, piece) in found.iter().take(arguments.top) {
            let start: String = piece.text.chars().take(70).collect();
            println!("  {cosine:.3}  {}: {start}", piece.path);
        }
    }
    Ok(())
}

fn main() {
    let Some(arguments) = arguments() else {
        eprintln!("usage: search_notes MODEL_FOLDER NOTES_FOLDER QUESTION... [--top N] [--lock-dir FOLDER]");
        std::process::exit(2);
    };
    if let Err(error) = search(&arguments) {
        eprintln!("search_notes: {error}");
        std::process::exit(1);
    }
}
