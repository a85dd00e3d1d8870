//! Large buffers that are used again by the thread that let go of them: asking the system for fresh memory in every step of a
//! fit would stop all its threads each time.

use std::cell::RefCell;

use rayon::prelude::*;

/// Buffers that a thread keeps, at most, and how long they are: larger ones cost little beside what they are for.
const KEPT: usize = 2;
const LONGEST: usize = 1 << 21;

/// Numbers that are worth a thread.
const PARALLEL: usize = 1 << 15;

thread_local! {
    static KEPT_BUFFERS: RefCell<Vec<Vec<f64>>> = const { RefCell::new(Vec::new()) };
}

/// So many zeros.
pub(crate) fn zeros(len: usize) -> Vec<f64> {
    let kept = KEPT_BUFFERS.with_borrow_mut(|kept| {
        let large_enough = (0..kept.len()).filter(|&at| kept[at].capacity() >= len);
        large_enough.min_by_key(|&at| kept[at].capacity()).map(|at| kept.swap_remove(at))
    });
    // Fresh memory is zero; its pages are mapped by whichever threads come to write them.
    let Some(mut buffer) = kept else { return vec![0.0; len] };
    buffer.truncate(len);
    buffer.par_iter_mut().with_min_len(PARALLEL).for_each(|v| *v = 0.0);
    buffer.resize(len, 0.0);
    buffer
}

/// A buffer that is no longer needed.
pub(crate) fn keep(buffer: Vec<f64>) {
    if buffer.capacity() > LONGEST {
        return;
    }
    KEPT_BUFFERS.with_borrow_mut(|kept| {
        if kept.len() < KEPT {
            kept.push(buffer);
        } else if let Some(smallest) = kept.iter_mut().min_by_key(|kept| kept.capacity())
            && smallest.capacity() < buffer.capacity()
        {
            *smallest = buffer;
        }
    });
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
