//! What the tests share: a folder of their own, a tiny model, a lane, what a process holds, an executor.
#![allow(dead_code, missing_docs)] // each test uses a part of it
use anelane::{Deadline, Engine, Lane, LaneOptions, Model};
use std::fmt::Write;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake};
use std::time::Duration;
use std::{env, fs, process, thread};

/// Against hanging.
pub const BOUND: Duration = Duration::from_secs(240);

/// A folder that goes with its owner. There is one at a time: children, descriptors and threads are the whole
/// process's, and tests count them.
pub struct Temp(PathBuf, #[allow(dead_code)] MutexGuard<'static, ()>);
static ALONE: Mutex<()> = Mutex::new(());

impl Temp {
    pub fn new() -> Temp {
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("anelane-rust-{}-{}", process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = env::temp_dir().join(name);
        fs::create_dir(&path).unwrap();
        Temp(path, alone)
    }
    pub fn path(&self) -> &Path {
        &self.0
    }
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
    pub fn options(&self) -> LaneOptions {
        LaneOptions::new().engine(Engine::SOFT).soft_threads(1).lock_dir(self.join("lane"))
    }
    pub fn open(&self) -> Lane {
        Lane::open(&self.options(), BOUND).unwrap()
    }
    pub fn tiny(&self) -> PathBuf {
        let path = self.join("tiny");
        if !path.exists() {
            write_tiny(&path);
        }
        path
    }
}
impl Drop for Temp {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// A lane with a tiny model in it.
pub struct World {
    pub model: Model,
    pub lane: Lane,
    pub temp: Temp,
}

impl World {
    pub fn new() -> World {
        World::with(|options| options)
    }
    pub fn with(change: impl FnOnce(LaneOptions) -> LaneOptions) -> World {
        let temp = Temp::new();
        let lane = Lane::open(&change(temp.options()), BOUND).unwrap();
        let model = lane.load_with(temp.tiny(), &anelane::ModelOptions::new(), BOUND).unwrap();
        World { model, lane, temp }
    }
}

pub const DIM: usize = 64;
pub const CEILING: usize = 256;
const LAYERS: usize = 2;
const FFN: usize = 128;

/// A tiny BERT checkpoint (2 layers, 64 numbers, up to 256 tokens) with fixed weights.
pub fn write_tiny(folder: &Path) {
    let mut words: Vec<String> = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"].map(String::from).into();
    words.extend((33..127u8).filter(|c| !c.is_ascii_uppercase()).map(|c| char::from(c).to_string()));
    words.extend((b'a'..=b'z').chain(b'0'..=b'9').map(|c| format!("##{}", char::from(c))));
    words.extend(
        ["the", "and", "of", "hello", "world", "engine", "lane", "##ing", "##ed", "##s"].map(String::from),
    );
    fs::create_dir_all(folder.join("1_Pooling")).unwrap();
    let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
    write(
        "config.json",
        &format!(
            r#"{{"architectures": ["BertModel"], "model_type": "bert", "hidden_act": "gelu", "hidden_size": {DIM},
                "intermediate_size": {FFN}, "layer_norm_eps": 1e-12, "max_position_embeddings": {CEILING},
                "num_attention_heads": 2, "num_hidden_layers": {LAYERS}, "position_embedding_type": "absolute",
                "type_vocab_size": 2, "vocab_size": {}}}"#,
            words.len()
        ),
    );
    write("tokenizer_config.json", r#"{"do_lower_case": true, "tokenizer_class": "BertTokenizer"}"#);
    write(
        "1_Pooling/config.json",
        &format!(r#"{{"word_embedding_dimension": {DIM}, "pooling_mode_mean_tokens": true}}"#),
    );
    let kind = |idx: u32, path: &str, kind: &str| {
        format!(
            r#"{{"idx": {idx}, "name": "{idx}", "path": "{path}", "type": "sentence_transformers.models.{kind}"}}"#
        )
    };
    let modules =
        [kind(0, "", "Transformer"), kind(1, "1_Pooling", "Pooling"), kind(2, "2_Normalize", "Normalize")];
    write("modules.json", &format!("[{}]", modules.join(", ")));
    write("vocab.txt", &words.iter().fold(String::new(), |text, word| text + word + "\n"));
    write_weights(folder, words.len());
}

fn write_weights(folder: &Path, vocabulary: usize) {
    let mut tensors: Vec<(String, Vec<usize>, f32, f32)> = vec![
        ("embeddings.word_embeddings.weight".into(), vec![vocabulary, DIM], 0.0, 1.0),
        ("embeddings.position_embeddings.weight".into(), vec![CEILING, DIM], 0.0, 0.3),
        ("embeddings.token_type_embeddings.weight".into(), vec![2, DIM], 0.0, 0.1),
    ];
    let linear = |name: String, rows: usize, columns: usize| {
        [
            (format!("{name}.weight"), vec![rows, columns], 0.0, 0.15),
            (format!("{name}.bias"), vec![rows], 0.0, 0.05),
        ]
    };
    let norm = |name: String| {
        [(format!("{name}.weight"), vec![DIM], 1.0, 0.2), (format!("{name}.bias"), vec![DIM], 0.0, 0.1)]
    };
    tensors.extend(norm("embeddings.LayerNorm".into()));
    for i in 0..LAYERS {
        let layer = format!("encoder.layer.{i}.");
        for part in ["query", "key", "value"] {
            tensors.extend(linear(format!("{layer}attention.self.{part}"), DIM, DIM));
        }
        tensors.extend(linear(format!("{layer}attention.output.dense"), DIM, DIM));
        tensors.extend(norm(format!("{layer}attention.output.LayerNorm")));
        tensors.extend(linear(format!("{layer}intermediate.dense"), FFN, DIM));
        tensors.extend(linear(format!("{layer}output.dense"), DIM, FFN));
        tensors.extend(norm(format!("{layer}output.LayerNorm")));
    }
    let (mut header, mut data, mut seed) = (String::new(), Vec::new(), 1u64);
    for (name, shape, centre, spread) in tensors {
        let count: usize = shape.iter().product();
        let begin = data.len();
        for _ in 0..count {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            let unit = (seed >> 40) as f32 / (1u64 << 24) as f32;
            data.extend_from_slice(&(centre + spread * (2.0 * unit - 1.0)).to_le_bytes());
        }
        let comma = if header.is_empty() { "" } else { ", " };
        let end = data.len();
        write!(
            header,
            r#"{comma}"{name}": {{"dtype": "F32", "shape": {shape:?}, "data_offsets": [{begin}, {end}]}}"#
        )
        .unwrap();
    }
    let header = format!("{{{header}}}");
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header.as_bytes());
    file.extend_from_slice(&data);
    fs::write(folder.join("model.safetensors"), file).unwrap();
}

struct Unpark(thread::Thread);
impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The smallest executor: this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = Arc::new(Unpark(thread::current())).into();
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park_timeout(BOUND),
        }
    }
}

pub fn descriptors() -> usize {
    fs::read_dir("/proc/self/fd").unwrap().count()
}
pub fn threads() -> usize {
    fs::read_dir("/proc/self/task").unwrap().count()
}
pub fn children() -> Vec<String> {
    let mut found = Vec::new();
    for task in fs::read_dir("/proc/self/task").unwrap().flatten() {
        let text = fs::read_to_string(task.path().join("children")).unwrap_or_default();
        found.extend(text.split_whitespace().map(String::from));
    }
    found
}
pub fn resident_bytes() -> usize {
    let pages: usize =
        fs::read_to_string("/proc/self/statm").unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    pages * 4096
}

/// Waits until it holds; false: it did not within the bound.
pub fn soon(mut holds: impl FnMut() -> bool) -> bool {
    let start = std::time::Instant::now();
    while start.elapsed() < BOUND {
        if holds() {
            return true;
        }
        thread::sleep(Duration::from_millis(2));
    }
    false
}

pub fn none() -> Deadline {
    Deadline::after(BOUND)
}
