//! The workers that wait at a condvar or futex. Which waiter a notification wakes is a choice of the
//! strategy, so the queue's order carries no meaning; it is sorted by worker, so that equal states are equal.

use super::objects::Object;
use coyote_strategies::WorkerId;

#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Queue {
    waiters: Vec<WorkerId>,
}

impl Object for Queue {}

impl Queue {
    pub fn waiters(&self) -> &[WorkerId] {
        &self.waiters
    }

    pub fn add(&mut self, worker: WorkerId) {
        if let Err(at) = self.waiters.binary_search(&worker) {
            self.waiters.insert(at, worker);
        }
    }

    pub fn remove(&mut self, worker: WorkerId) {
        self.waiters.retain(|w| *w != worker);
    }
}

/// Which of `waiting` workers a notification of `count` wakes first, by values that a strategy chooses:
/// one for each, as long as not all are woken anyway.
pub struct Selection<'a> {
    all: bool,
    values: &'a [u64],
}

impl<'a> Selection<'a> {
    /// The error is the bound of the next value that is missing.
    pub fn new(waiting: usize, count: usize, values: &'a [u64]) -> Result<Selection<'a>, u64> {
        let all = count >= waiting;
        if !all && values.len() < count {
            return Err((waiting - values.len()) as u64);
        }
        Ok(Selection { all, values })
    }

    /// The index, among those that still wait, of the n-th to be woken.
    pub fn index(&self, n: usize) -> usize {
        if self.all { 0 } else { self.values[n] as usize }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Wakes as the runtime does.
    fn woken(waiting: u32, count: usize, values: &[u64]) -> Result<BTreeSet<WorkerId>, u64> {
        let mut queue = Queue::default();
        (0..waiting).for_each(|w| queue.add(WorkerId(w)));
        let selection = Selection::new(queue.waiters().len(), count, values)?;
        let mut woken = BTreeSet::new();
        for n in 0..count.min(waiting as usize) {
            let worker = queue.waiters()[selection.index(n)];
            queue.remove(worker);
            woken.insert(worker);
        }
        Ok(woken)
    }

    #[test]
    fn every_subset_can_be_woken() {
        assert_eq!(woken(4, 9, &[]).unwrap().len(), 4);
        assert_eq!(woken(4, 4, &[]).unwrap().len(), 4);
        assert_eq!(woken(4, 0, &[]).unwrap().len(), 0);
        assert_eq!(woken(4, 2, &[]), Err(4));
        assert_eq!(woken(4, 2, &[1]), Err(3));
        let mut subsets = BTreeSet::new();
        for a in 0..4 {
            for b in 0..3 {
                let subset = woken(4, 2, &[a, b]).unwrap();
                assert_eq!(subset.len(), 2);
                subsets.insert(subset);
            }
        }
        assert_eq!(subsets.len(), 6);
    }
}
