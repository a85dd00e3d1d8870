//! A large buffer that is used again by the thread that let go of it: asking the system for fresh memory in every step of a
//! fit would stop all its threads each time.

use std::cell::Cell;

use rayon::prelude::*;

/// How long a buffer is that a thread keeps, at most: larger ones cost little beside what they are for.
const LONGEST: usize = 1 << 21;

/// Numbers that are worth a thread.
const PARALLEL: usize = 1 << 15;

thread_local! {
    static KEPT: Cell<Vec<f64>> = const { Cell::new(Vec::new()) };
}

/// So many zeros.
pub(crate) fn zeros(len: usize) -> Vec<f64> {
    let mut buffer = KEPT.take();
    if buffer.capacity() < len {
        KEPT.set(buffer);
        // Fresh memory is zero; its pages are mapped by whichever threads come to write them.
        return vec![0.0; len];
    }
    buffer.truncate(len);
    buffer.par_iter_mut().with_min_len(PARALLEL).for_each(|v| *v = 0.0);
    buffer.resize(len, 0.0);
    buffer
}

/// A buffer that is no longer needed. A thread keeps the largest.
pub(crate) fn keep(buffer: Vec<f64>) {
    let kept = KEPT.take();
    let larger = buffer.capacity() <= LONGEST && buffer.capacity() > kept.capacity();
    KEPT.set(if larger { buffer } else { kept });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_comes_back_empty() {
        let mut buffer = zeros(100);
        buffer.fill(1.0);
        let place = buffer.as_ptr();
        keep(buffer);
        let again = zeros(80);
        assert_eq!((again.as_ptr(), again.len()), (place, 80));
        assert!(again.iter().all(|&v| v == 0.0));
        (0..20).for_each(|len| keep(vec![1.0; len]));
        assert_eq!(zeros(200), vec![0.0; 200]);
    }
}
