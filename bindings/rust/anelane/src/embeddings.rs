//! Vectors, one for each text.

/// Vectors in one flat block: row after row, `dim` floats each, in the order of the input.
#[derive(Clone, Debug, PartialEq)]
pub struct Embeddings {
    data: Vec<f32>,
    rows: usize,
    dim: usize,
}

impl Embeddings {
    pub(crate) fn new(data: Vec<f32>, rows: usize, dim: usize) -> Embeddings {
        debug_assert_eq!(data.len(), rows * dim);
        Embeddings { data, rows, dim }
    }
    /// How many vectors.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows
    }
    /// There are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows == 0
    }
    /// Floats of one vector.
    #[must_use]
    pub fn dim(&self) -> usize {
        self.dim
    }
    /// One vector. Panics where there is none, as slices do.
    #[must_use]
    pub fn row(&self, index: usize) -> &[f32] {
        assert!(index < self.rows, "row {index} of {}", self.rows);
        &self.data[index * self.dim..(index + 1) * self.dim]
    }
    /// All vectors.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        (0..self.rows).map(|index| self.row(index))
    }
    /// All floats.
    #[must_use]
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }
    /// All floats, without a copy.
    #[must_use]
    pub fn into_vec(self) -> Vec<f32> {
        self.data
    }
}
