//! A block of rows: what a reader fills, on any thread, and hands to the [`Collector`](crate::collector::Collector).
//!
//! Everything in it counts from the start of the block: rows, lines and the codes of texts. The collector puts blocks in
//! order and renumbers.

use crate::cell::At;
use crate::dictionary::Dictionary;
use crate::packed::{Packed, PackedWide};

/// How many columns a block has of each sort.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Shape {
    pub(crate) inputs: usize,
    pub(crate) target: bool,
    pub(crate) weight: bool,
    /// Columns whose text is kept as it is written.
    pub(crate) kept: usize,
}

/// Rows that belong together: the cells of all inputs row by row, and beside them what is not a number.
pub(crate) struct Block {
    pub(crate) shape: Shape,
    pub(crate) rows: usize,
    /// Lines of the file that the block takes, where it has lines; blank lines and comments count.
    pub(crate) lines: u64,
    /// Lines that were passed over because they are comments.
    pub(crate) comments: usize,
    /// `rows x inputs`.
    pub(crate) cells: Vec<Packed>,
    /// What is not a number in each input column.
    pub(crate) inputs: Vec<Odd>,
    /// One per row if there is a target.
    pub(crate) target: Vec<PackedWide>,
    pub(crate) target_odd: Odd,
    /// One per row if there are weights.
    pub(crate) weight: Vec<f32>,
    /// One list per kept column.
    pub(crate) kept: Vec<Vec<String>>,
}

/// The gaps and the texts of a column. Most columns of numbers have neither, and there may be a million columns, so
/// nothing is allocated before the first.
#[derive(Default)]
pub(crate) struct Odd(Option<Box<OddCells>>);

#[derive(Default)]
pub(crate) struct OddCells {
    pub(crate) texts: Dictionary,
    pub(crate) gaps: usize,
    /// The first gap and what is written there.
    pub(crate) first_gap: Option<(At, String)>,
}

impl Odd {
    pub(crate) fn get(&self) -> Option<&OddCells> {
        self.0.as_deref()
    }

    pub(crate) fn get_mut(&mut self) -> &mut OddCells {
        self.0.get_or_insert_default()
    }

    /// Counts a gap.
    pub(crate) fn gap(&mut self, written: &str, at: At) {
        let odd = self.get_mut();
        odd.gaps += 1;
        if odd.first_gap.is_none() {
            odd.first_gap = Some((at, written.to_string()));
        }
    }

    /// The code of a text.
    pub(crate) fn text(&mut self, text: &str, at: At) -> u32 {
        self.get_mut().texts.code(text, at)
    }
}

impl Block {
    pub(crate) fn new(shape: Shape) -> Self {
        let mut inputs = Vec::new();
        inputs.resize_with(shape.inputs, Odd::default);
        Block {
            shape,
            rows: 0,
            lines: 0,
            comments: 0,
            cells: Vec::new(),
            inputs,
            target: Vec::new(),
            target_odd: Odd::default(),
            weight: Vec::new(),
            kept: vec![Vec::new(); shape.kept],
        }
    }

    /// A gap in input `k`, counted; `written` is what stands there.
    pub(crate) fn gap(&mut self, k: usize, written: &str, at: At) -> Packed {
        self.inputs[k].gap(written, at);
        Packed::GAP
    }

    /// A text in input `k`.
    pub(crate) fn text(&mut self, k: usize, text: &str, at: At) -> Packed {
        Packed::text(self.inputs[k].text(text, at))
    }

    /// A gap in the target.
    pub(crate) fn target_gap(&mut self, written: &str, at: At) -> PackedWide {
        self.target_odd.gap(written, at);
        PackedWide::GAP
    }

    /// A text in the target.
    pub(crate) fn target_text(&mut self, text: &str, at: At) -> PackedWide {
        PackedWide::text(self.target_odd.text(text, at))
    }

    /// A whole row of numbers, for readers that have nothing else; NaN is a gap.
    pub(crate) fn push_numbers(&mut self, inputs: &[f32], target: Option<f64>, weight: Option<f32>, at: At) {
        for (k, &value) in inputs.iter().enumerate() {
            let cell = if value.is_nan() { self.gap(k, "NaN", at) } else { Packed::number(value) };
            self.cells.push(cell);
        }
        self.target.extend(target.map(PackedWide::number));
        self.weight.extend(weight);
        self.rows += 1;
    }
}
