//! A growable buffer of `f32` that starts on a cache line.
#![allow(unsafe_code)]

use super::LINE;
use std::ops::{Deref, DerefMut};

#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
struct Line([f32; LINE]);

/// A buffer of `f32` aligned to 64 bytes, so that no vector read from a multiple of 16 straddles two cache lines.
#[derive(Clone, Debug, Default)]
pub struct Aligned {
    lines: Vec<Line>,
    len: usize,
}

impl Aligned {
    /// `len` zeros.
    pub fn zeros(len: usize) -> Self {
        Self { lines: vec![Line([0.0; LINE]); len.div_ceil(LINE)], len }
    }

    /// Makes the buffer `len` long. Old contents stay where they were, new places hold arbitrary numbers.
    pub fn resize(&mut self, len: usize) {
        if self.lines.len() < len.div_ceil(LINE) {
            self.lines.resize(len.div_ceil(LINE), Line([0.0; LINE]));
        }
        self.len = len;
    }
}

impl Deref for Aligned {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        // SAFETY: `lines` holds at least `len` initialised numbers without gaps (`Line` is 64 bytes, its alignment).
        unsafe { std::slice::from_raw_parts(self.lines.as_ptr().cast(), self.len) }
    }
}

impl DerefMut for Aligned {
    fn deref_mut(&mut self) -> &mut [f32] {
        // SAFETY: as in `deref`; the borrow is exclusive.
        unsafe { std::slice::from_raw_parts_mut(self.lines.as_mut_ptr().cast(), self.len) }
    }
}
