//! What the forward pass keeps for the backward pass.

use super::{Aligned, CHUNK};

/// Sines and cosines of one chunk, and the scratch space of its backward pass. Reused from chunk to chunk.
#[derive(Clone, Debug, Default)]
pub struct Tape {
    rows: usize,
    padded: usize,
    /// Panel by panel like [`super::Frequencies`], the cosines of a panel and then its sines.
    ///
    /// In one buffer, so that the two are a multiple of 4 KiB apart: processors compare addresses by their low 12 bits
    /// first, and at other distances a sine just written can hold up the argument to be read next.
    waves: Aligned,
    pub(super) scratch: Scratch,
}

/// Memory that the kernels would otherwise ask for again and again.
#[derive(Clone, Debug, Default)]
pub(super) struct Scratch {
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
        self.waves.resize(2 * CHUNK * padded);
    }

    /// Cosines and sines of a panel, CHUNK rows of its width each, and the scratch space.
    pub(super) fn panel_mut(&mut self, first: usize, width: usize) -> (&mut [f32], &mut [f32], &mut Scratch) {
        let panel = &mut self.waves[2 * CHUNK * first..][..2 * CHUNK * width];
        let (cos, sin) = panel.split_at_mut(CHUNK * width);
        (cos, sin, &mut self.scratch)
    }

    /// Cosines and sines of a panel.
    pub(super) fn panel(&self, first: usize, width: usize) -> (&[f32], &[f32]) {
        self.waves[2 * CHUNK * first..][..2 * CHUNK * width].split_at(CHUNK * width)
    }

    /// # Panics
    /// If the tape does not hold a chunk of this shape.
    pub(super) fn check(&self, rows: usize, padded: usize) {
        assert_eq!((self.rows, self.padded), (rows, padded), "the tape holds another chunk");
    }
}
