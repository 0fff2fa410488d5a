//! Who waits at a condvar or futex. Which waiter a notification wakes is a choice of the strategy,
//! so the queue's order carries no meaning; it is kept by worker so that equal states are equal.

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

/// Picks `count` of `waiters` by one value for each, or tells the bound of the next value that is
/// missing. No value is asked for where nothing is left to choose.
pub fn select(waiters: &[WorkerId], count: usize, values: &[u64]) -> Result<Vec<WorkerId>, u64> {
    if count >= waiters.len() {
        return Ok(waiters.to_vec());
    }
    let mut left = waiters.to_vec();
    let mut woken = Vec::with_capacity(count);
    for i in 0..count {
        let value = *values.get(i).ok_or(left.len() as u64)?;
        woken.push(left.remove(value as usize));
    }
    Ok(woken)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_subset_can_be_woken() {
        let waiters: Vec<WorkerId> = (3..7).map(WorkerId).collect();
        assert_eq!(select(&waiters, 9, &[]), Ok(waiters.clone()));
        assert_eq!(select(&waiters, 0, &[]), Ok(vec![]));
        assert_eq!(select(&waiters, 2, &[]), Err(4));
        assert_eq!(select(&waiters, 2, &[1]), Err(3));
        let mut sets = std::collections::BTreeSet::new();
        for a in 0..4 {
            for b in 0..3 {
                let mut set = select(&waiters, 2, &[a, b]).unwrap();
                set.sort();
                sets.insert(set);
            }
        }
        assert_eq!(sets.len(), 6);
    }
}
