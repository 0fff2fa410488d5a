//! Vector clocks: how much of each worker happened before an event.
//!
//! With ten thousand tasks, a list of numbers for each task and each sync object would be gigabytes. Most clocks know
//! the same of most workers, since they got it from each other: the numbers of later workers are kept in blocks that
//! clocks share until one of them changes.

use crate::observe::Join;
use coyote_strategies::WorkerId;
use smallvec::SmallVec;
use std::sync::{Arc, LazyLock};

/// For each worker, the number of its epochs that are known; 0 for a worker that is not listed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Clock {
    /// Those of the first workers, which are all workers of most tests.
    first: SmallVec<[u32; 8]>,
    later: Option<Arc<Blocks>>,
}

/// Number of workers in a block.
const BLOCK: usize = 64;
/// The numbers of workers that follow each other.
type Block = [u32; BLOCK];
/// The blocks of the workers from [`BLOCK`] on.
type Blocks = Vec<Arc<Block>>;

/// The block of workers of which nothing is known.
static NOTHING: LazyLock<Arc<Block>> = LazyLock::new(|| Arc::new([0; BLOCK]));

impl Clock {
    #[inline]
    pub fn of(&self, worker: WorkerId) -> u32 {
        let index = worker.index();
        if index < BLOCK {
            return self.first.get(index).copied().unwrap_or(0);
        }
        let block = self.later.as_ref().and_then(|blocks| blocks.get(index / BLOCK - 1));
        block.map_or(0, |block| block[index % BLOCK])
    }

    /// Begins the worker's next epoch.
    pub fn advance(&mut self, worker: WorkerId) {
        let index = worker.index();
        if index < BLOCK {
            if self.first.len() <= index {
                self.first.resize(index + 1, 0);
            }
            self.first[index] += 1;
            return;
        }
        let blocks = Arc::make_mut(self.later.get_or_insert_default());
        if blocks.len() < index / BLOCK {
            blocks.resize(index / BLOCK, NOTHING.clone());
        }
        Arc::make_mut(&mut blocks[index / BLOCK - 1])[index % BLOCK] += 1;
    }
}

impl Join for Clock {
    fn join(&mut self, other: &Clock) {
        if self.first.len() < other.first.len() {
            self.first.resize(other.first.len(), 0);
        }
        for (own, other) in self.first.iter_mut().zip(&other.first) {
            *own = (*own).max(*other);
        }
        match (&mut self.later, &other.later) {
            (Some(own), Some(other)) => join_shared(own, other),
            (own @ None, Some(other)) => *own = Some(other.clone()),
            (_, None) => {}
        }
    }
}

/// Knowledge of several workers.
trait Part: Join {
    /// Whether this knows of a worker what `other` does not.
    fn knows_more(&self, other: &Self) -> bool;
}

/// Joins knowledge so that both clocks share it afterwards if one of them knew it all.
fn join_shared<T: Part + Clone>(own: &mut Arc<T>, other: &Arc<T>) {
    if Arc::ptr_eq(own, other) || !other.knows_more(own) {
        return;
    }
    match own.knows_more(other) {
        true => Arc::make_mut(own).join(other),
        false => own.clone_from(other),
    }
}

impl Part for Block {
    fn knows_more(&self, other: &Block) -> bool {
        // Without an early end, which is faster.
        self.iter().zip(other).fold(false, |more, (own, other)| more | (own > other))
    }
}

impl Join for Block {
    fn join(&mut self, other: &Block) {
        self.iter_mut().zip(other).for_each(|(own, other)| *own = (*own).max(*other));
    }
}

impl Part for Blocks {
    fn knows_more(&self, other: &Blocks) -> bool {
        let others = other.iter().chain(std::iter::repeat(&*NOTHING));
        self.iter().zip(others).any(|(own, other)| !Arc::ptr_eq(own, other) && own.knows_more(other))
    }
}

impl Join for Blocks {
    fn join(&mut self, other: &Blocks) {
        if self.len() < other.len() {
            self.resize(other.len(), NOTHING.clone());
        }
        self.iter_mut().zip(other).for_each(|(own, other)| join_shared(own, other));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};
    use std::collections::BTreeMap;

    /// Clocks of few and of many workers know what maps know, whatever they share.
    #[test]
    fn clocks_know_what_maps_know() {
        const WORKERS: [u32; 9] = [0, 1, 9, 63, 64, 65, 127, 128, 1000];
        for seed in 0..300 {
            let mut rng = StdRng::seed_from_u64(seed);
            let mut clocks = vec![Clock::default(); 5];
            let mut naive = vec![BTreeMap::<u32, u32>::new(); 5];
            for _ in 0..100 {
                let (a, b) = (rng.random_range(0..5), rng.random_range(0..5));
                match rng.random_range(0..8) {
                    0..4 => {
                        let worker = WORKERS[rng.random_range(0..WORKERS.len())];
                        clocks[a].advance(WorkerId(worker));
                        *naive[a].entry(worker).or_default() += 1;
                    }
                    4 => {
                        clocks[a] = clocks[b].clone();
                        naive[a] = naive[b].clone();
                    }
                    _ => {
                        let (other, known) = (clocks[b].clone(), naive[b].clone());
                        clocks[a].join(&other);
                        for (worker, epochs) in known {
                            let own = naive[a].entry(worker).or_default();
                            *own = epochs.max(*own);
                        }
                    }
                }
                for (clock, naive) in clocks.iter().zip(&naive) {
                    for worker in WORKERS.into_iter().chain([2, 66, 2000]) {
                        let wanted = naive.get(&worker).copied().unwrap_or(0);
                        assert_eq!(clock.of(WorkerId(worker)), wanted, "seed {seed}, worker {worker}");
                    }
                }
            }
        }
    }

    /// What ten thousand workers pass on to each other is kept once.
    #[test]
    fn clocks_share_what_they_know() {
        let (mut passed, mut clocks) = (Clock::default(), vec![Clock::default(); 10_000]);
        for round in 0..2 {
            for (worker, clock) in clocks.iter_mut().enumerate() {
                clock.join(&passed);
                clock.advance(WorkerId(worker as u32));
                passed.join(clock);
                assert_eq!(passed.of(WorkerId(worker as u32)), round + 1);
            }
        }
        let (last, passed) = (clocks[9_999].later.as_ref().unwrap(), passed.later.as_ref().unwrap());
        assert!(Arc::ptr_eq(last, passed));
        let shared = last.iter().zip(clocks[9_000].later.as_ref().unwrap().iter());
        assert!(shared.filter(|(a, b)| Arc::ptr_eq(a, b)).count() > 130);
    }
}
