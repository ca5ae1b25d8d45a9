//! A model of one's own programs in memory: what program.json says in a folder (docs/programs.md).
use crate::error::Result;
use crate::input::{c_path, c_text, text_of};
use crate::{library, sys};
use std::ffi::CString;
use std::path::Path;
use std::ptr::null;

/// What can be said of one MIL text without a lane, as JSON (`anelane_mil_check` says what is in it): what it takes and
/// gives, and what compilers would object to. `weights` is the path of its weight file.
///
/// # Errors
/// [`Code::IO`](crate::Code::IO): a file cannot be read. What is wrong with the text is in the answer.
pub fn mil_check(path: impl AsRef<Path>, weights: Option<&Path>) -> Result<String> {
    library::ready()?;
    let (path, weights) = (c_path(path.as_ref())?, weights.map(c_path).transpose()?);
    let weights = weights.as_ref().map_or(null(), |weights| weights.as_ptr());
    // SAFETY: C strings or null; text_of gives a buffer and its size.
    text_of(|buf, cap, len, error| unsafe {
        sys::anelane_mil_check(path.as_ptr(), weights, buf, cap, len, error)
    })
}

/// All rungs, with as many layers each.
#[derive(Clone, Debug, Default)]
pub struct Program<'a> {
    /// At most 16.
    pub rungs: Vec<Rung<'a>>,
}

/// One shape.
#[derive(Clone, Debug, Default)]
pub struct Rung<'a> {
    /// Its width: a name for it, from 1.
    pub shape: u32,
    /// Its programs, in their order.
    pub layers: Vec<Layer<'a>>,
}

/// One program.
#[derive(Clone, Debug, Default)]
pub struct Layer<'a> {
    /// The MIL text.
    pub mil: &'a str,
    /// The bytes of its weight file.
    pub weights: Option<&'a [u8]>,
    /// Inputs of this layer and outputs of earlier ones, where names alone do not connect them.
    pub connect: Vec<(&'a str, &'a str)>,
}

/// The connections of one layer.
struct Names {
    _texts: Vec<(CString, CString)>,
    raw: Vec<sys::anelane_connection>, // into _texts
}

impl Names {
    fn new(connect: &[(&str, &str)]) -> Result<Names> {
        let names = connect.iter().map(|(input, output)| Ok((c_text(input)?, c_text(output)?)));
        let names = names.collect::<Result<Vec<_>>>()?;
        let raw = names.iter().map(|(input, output)| sys::anelane_connection {
            input: input.as_ptr(),
            output: output.as_ptr(),
        });
        let raw = raw.collect();
        Ok(Names { _texts: names, raw })
    }
}

impl Program<'_> {
    /// `call` gets it as C takes it.
    pub(crate) fn with_raw<R>(&self, call: impl FnOnce(&sys::anelane_program) -> R) -> Result<R> {
        let layers = || self.rungs.iter().flat_map(|rung| &rung.layers);
        let names = layers().map(|layer| Names::new(&layer.connect)).collect::<Result<Vec<_>>>()?;
        let raw_layers: Vec<sys::anelane_layer> = layers()
            .zip(&names)
            .map(|(layer, Names { raw: connect, .. })| sys::anelane_layer {
                mil: layer.mil.as_ptr().cast(),
                mil_bytes: layer.mil.len() as u64,
                weights: layer.weights.map_or(null(), |bytes| bytes.as_ptr().cast()),
                weight_bytes: layer.weights.map_or(0, |bytes| bytes.len() as u64),
                connect: if connect.is_empty() { null() } else { connect.as_ptr() },
                connect_count: connect.len() as u32,
                reserved: 0,
            })
            .collect();
        let mut rest = raw_layers.as_slice();
        let mut rungs = Vec::with_capacity(self.rungs.len());
        for rung in &self.rungs {
            let (own, others) = rest.split_at(rung.layers.len());
            rest = others;
            rungs.push(sys::anelane_program_rung {
                shape: rung.shape,
                layer_count: own.len() as u32,
                layers: own.as_ptr(),
            });
        }
        Ok(call(&sys::anelane_program {
            struct_size: std::mem::size_of::<sys::anelane_program>() as u32,
            rung_count: rungs.len() as u32,
            rungs: rungs.as_ptr(),
            reserved: [0; 2],
        }))
    }
}
