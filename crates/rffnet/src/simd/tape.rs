//! What the forward pass keeps for the backward pass.

use super::{Aligned, CHUNK};

/// Sines and cosines of one chunk, and the scratch space of its backward pass. Reused from chunk to chunk.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    rows: usize,
    padded: usize,
    /// Panel by panel like [`super::Frequencies`]; that of feature `first` begins at `first * CHUNK`.
    pub(super) sin: Aligned,
    pub(super) cos: Aligned,
    /// One vector per row and output (forward) or per column (backward), summed over its lanes at the end.
    pub(super) lanes: Aligned,
    /// The rows in blocks of a tile's height.
    pub(super) x: Aligned,
    /// `V` of one panel.
    pub(super) v: Aligned,
}

impl Tape {
    /// Makes room for the chunk about to be recorded.
    pub(super) fn prepare(&mut self, rows: usize, padded: usize) {
        (self.rows, self.padded) = (rows, padded);
        self.sin.resize(CHUNK * padded);
        self.cos.resize(CHUNK * padded);
    }

    /// # Panics
    /// If the tape does not hold a chunk of this shape.
    pub(super) fn check(&self, rows: usize, padded: usize) {
        assert_eq!((self.rows, self.padded), (rows, padded), "the tape holds another chunk");
    }
}
