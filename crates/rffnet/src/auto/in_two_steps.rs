//! Work in two steps side by side on the threads there are, the second one bounded because of the memory that it takes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Mutex;

use crate::solver::monitor::Monitor;

/// What is still to be done.
struct Queue<M> {
    /// Items whose first step has begun.
    begun: usize,
    /// Items between the steps.
    between: VecDeque<(usize, M)>,
    /// Items at the second step.
    second: usize,
}

enum Job<M> {
    First(usize),
    Second(usize, M),
}

impl<M> Queue<M> {
    /// First steps come first.
    fn next(&mut self, count: usize, most: usize) -> Option<Job<M>> {
        if self.begun < count {
            self.begun += 1;
            return Some(Job::First(self.begun - 1));
        }
        if self.second == most {
            return None;
        }
        let (at, item) = self.between.pop_front()?;
        self.second += 1;
        Some(Job::Second(at, item))
    }
}

/// What two steps make of `count` items by their numbers, in their order; `None` ends an item. At most `most` items are at the
/// second step. A thread that is free takes the next step of any item; one that finds none works
/// on loops of the others.
pub(super) fn in_two_steps<M: Send, T: Send>(
    count: usize,
    most: usize,
    monitor: &mut Monitor<'_>,
    first: impl Fn(usize, &mut Monitor<'_>) -> Option<M> + Sync,
    second: impl Fn(usize, M, &mut Monitor<'_>) -> Option<T> + Sync,
) -> Vec<T> {
    let (threads, shared) = (count.min(rayon::current_num_threads()), monitor.shared);
    let queue = Mutex::new(Queue { begun: 0, between: VecDeque::new(), second: 0 });
    let queue = || queue.lock().expect("no thread panics");
    let done = Mutex::new(BTreeMap::new());
    let work = |monitor: &mut Monitor<'_>| {
        loop {
            let next = queue().next(count, most);
            match next {
                Some(Job::First(at)) => {
                    let item = first(at, monitor);
                    queue().between.extend(item.map(|item| (at, item)));
                }
                Some(Job::Second(at, item)) => {
                    let result = second(at, item, monitor);
                    queue().second -= 1;
                    done.lock().expect("no thread panics").extend(result.map(|result| (at, result)));
                }
                None => return,
            }
        }
    };
    rayon::in_place_scope(|scope| {
        (1..threads).for_each(|_| scope.spawn(|_| work(&mut Monitor::new(shared, None))));
        work(monitor);
    });
    done.into_inner().expect("no thread panics").into_values().collect()
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};

    use super::*;
    use crate::solver::monitor::Shared;

    #[test]
    fn items_come_in_their_order_and_few_are_at_the_second_step() {
        let shared = Shared::new(None, 1.0, 1.0);
        for threads in [1, 2, 5] {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
            let (now, highest) = (AtomicUsize::new(0), AtomicUsize::new(0));
            let results = pool.install(|| {
                in_two_steps(
                    20,
                    3,
                    &mut Monitor::new(&shared, None),
                    |at, _| (at % 5 != 1).then_some(10 * at),
                    |at, item, _| {
                        highest.fetch_max(now.fetch_add(1, SeqCst) + 1, SeqCst);
                        std::thread::sleep(std::time::Duration::from_millis(1));
                        now.fetch_sub(1, SeqCst);
                        (at % 5 != 2).then_some(item + at)
                    },
                )
            });
            let expected: Vec<usize> =
                (0..20).filter(|at| ![1, 2].contains(&(at % 5))).map(|at| 11 * at).collect();
            assert_eq!(results, expected);
            assert!(highest.into_inner() <= 3);
        }
    }
}
