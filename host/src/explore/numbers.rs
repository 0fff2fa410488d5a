//! The numbers of the iterations that the jobs of a sampler execute.
//!
//! Each job takes the next number. A strategy that learns would have to execute all iterations on one job; it may instead
//! begin anew every so many iterations. These are *islands*: a job then takes the next island, and executes its iterations
//! one after the other. So the result depends on the length of islands, and neither on the number of jobs nor on the part
//! of the iterations that is executed.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// The numbers of an exploration.
pub struct Numbers {
    /// The first iteration that counts.
    first: u64,
    /// No iteration from this number on is needed.
    end: AtomicU64,
    /// The number of iterations, from 0 on, that are executed only for what later ones begin with.
    before: u64,
    island: Option<u64>,
    /// The number of iterations, or of islands, that were taken.
    taken: AtomicU64,
    /// Iterations before this one were executed already.
    begun: u64,
}

/// What a job executes next, in this order.
#[derive(Debug, PartialEq, Eq)]
pub struct Taken {
    pub iterations: Range<u64>,
    /// Whether the strategy forgets what it has learnt before.
    pub begins_anew: bool,
}

impl Numbers {
    /// The iterations of a range, after `before` iterations that do not count. With islands of a length, these are the ones
    /// between the beginning of an island and the range.
    pub fn new(range: Range<u64>, before: u64, island: Option<u64>) -> Numbers {
        let Range { start: first, end } = range;
        Numbers { first, end: AtomicU64::new(end), before, island, taken: AtomicU64::new(0), begun: 0 }
    }

    /// Leaves out iteration 0, which has been executed already.
    pub fn skip_first(&mut self) {
        match self.island {
            None => *self.taken.get_mut() = 1,
            Some(_) => self.begun = 1,
        }
    }

    /// The next iterations. They may not be [needed](Numbers::needs) any more.
    pub fn take(&self) -> Taken {
        let taken = self.taken.fetch_add(1, Ordering::Relaxed);
        let Some(length) = self.island else {
            let number = match taken.checked_sub(self.before) {
                None => taken,
                Some(nth) => self.first.saturating_add(nth),
            };
            return Taken { iterations: number..number.saturating_add(1), begins_anew: false };
        };
        let start = (self.first / length).saturating_add(taken).saturating_mul(length);
        let end = start.saturating_add(length);
        Taken { iterations: start.max(self.begun)..end, begins_anew: true }
    }

    /// Whether the iteration is needed.
    pub fn needs(&self, iteration: u64) -> bool {
        iteration < self.end.load(Ordering::Relaxed)
    }

    /// Whether the iteration counts, or only serves later ones.
    pub fn counts(&self, iteration: u64) -> bool {
        iteration >= self.first
    }

    /// Declares that no iteration after this one is needed.
    pub fn end_with(&self, iteration: u64) {
        self.end.fetch_min(iteration.saturating_add(1), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that is taken, and needed.
    fn all(numbers: &Numbers) -> Vec<(u64, bool)> {
        let mut all = Vec::new();
        loop {
            let Taken { iterations, begins_anew } = numbers.take();
            for (nth, iteration) in iterations.enumerate() {
                if !numbers.needs(iteration) {
                    return all;
                }
                all.push((iteration, begins_anew && nth == 0));
            }
        }
    }

    /// Every iteration is taken once, in order, after those that it depends on.
    #[test]
    fn each_is_taken_once() {
        assert_eq!(all(&Numbers::new(0..3, 0, None)), [(0, false), (1, false), (2, false)]);
        assert_eq!(all(&Numbers::new(5..7, 2, None)), [(0, false), (1, false), (5, false), (6, false)]);
        let islands = Numbers::new(6..11, 0, Some(4));
        let of_islands = [4, 5, 6, 7, 8, 9, 10].map(|number| (number, number % 4 == 0));
        assert_eq!(all(&islands), of_islands);
        assert_eq!([5, 6].map(|number| islands.counts(number)), [false, true]);
        let mut begun = Numbers::new(0..3, 0, None);
        begun.skip_first();
        assert_eq!(all(&begun), [(1, false), (2, false)]);
        let mut begun = Numbers::new(0..5, 0, Some(3));
        begun.skip_first();
        assert_eq!(all(&begun), [(1, true), (2, false), (3, true), (4, false)]);
        let ended = Numbers::new(0..100, 0, Some(3));
        ended.end_with(1);
        assert_eq!(all(&ended), [(0, true), (1, false)]);
    }

    /// Whatever the range and the length, an iteration has the same iterations before it in its island.
    #[test]
    fn islands_do_not_depend_on_the_part() {
        for (length, first, end) in
            (1..6).flat_map(|l| (0..12).flat_map(move |f| (f..14).map(move |e| (l, f, e))))
        {
            let numbers = Numbers::new(first..end, 0, Some(length));
            let mut begun = None;
            let mut counted = Vec::new();
            for (iteration, begins) in all(&numbers) {
                begun = if begins { Some(iteration) } else { begun };
                assert_eq!(begun, Some(iteration / length * length));
                counted.extend(numbers.counts(iteration).then_some(iteration));
            }
            assert_eq!(counted, Vec::from_iter(first..end));
        }
    }
}
