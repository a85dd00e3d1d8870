//! The progress of a comparison on the terminal.

use std::io::{self, IsTerminal, Write};
use std::time::Instant;

use crate::progress::CLEAR;
use crate::text::seconds;

/// What is being done, and how much of it is done, on a terminal.
pub(super) struct Line {
    visible: bool,
    begun: Instant,
    pub(super) done: usize,
    total: usize,
}

impl Line {
    pub(super) fn new(quiet: bool, total: usize) -> Self {
        Self { visible: !quiet && io::stderr().is_terminal(), begun: Instant::now(), done: 0, total }
    }

    pub(super) fn draw(&self, what: &str) {
        let elapsed = seconds(self.begun.elapsed().as_secs_f64());
        self.write(&format!("{CLEAR}{what}  ({} of {} done, {elapsed})", self.done, self.total));
    }

    fn write(&self, text: &str) {
        if self.visible {
            let mut out = io::stderr();
            let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
        }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.write(CLEAR);
    }
}
