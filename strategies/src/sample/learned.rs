//! What learning strategies know of where they are.

use crate::{Event, Standing, View, WorkerId};

/// Names of workers and states that mean the same in every iteration.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    /// A hash of each worker's creation path.
    workers: Vec<u64>,
    children: Vec<u64>,
    /// The value that each worker chose last: what it does next may depend on it before it gets anywhere.
    chosen: Vec<u64>,
    /// Who chooses values.
    picked: usize,
}

impl States {
    pub fn restart(&mut self) {
        self.workers.clear();
        self.children.clear();
        self.chosen.clear();
        self.picked = 0;
    }

    /// This worker makes the next step, with the values chosen from now on.
    pub fn picked(&mut self, worker: WorkerId) {
        self.picked = worker.index();
    }

    pub fn chose(&mut self, value: u64) {
        if let Some(chosen) = self.chosen.get_mut(self.picked) {
            *chosen = value + 1;
        }
    }

    /// Workers that nobody created are numbered.
    fn cover(&mut self, count: usize) {
        while self.workers.len() < count {
            self.push(mix(self.workers.len() as u64));
        }
    }

    pub fn observe(&mut self, event: Event) {
        if let Event::Spawned { parent, child } = event {
            self.cover(child.index());
            self.children[parent.index()] += 1;
            self.push(mix(self.workers[parent.index()] ^ mix(!self.children[parent.index()])));
        }
    }

    fn push(&mut self, key: u64) {
        self.workers.push(key);
        self.children.push(0);
        self.chosen.push(0);
    }

    pub fn worker(&self, worker: WorkerId) -> u64 {
        self.workers[worker.index()]
    }

    /// A hash of where every worker is and what it chose last: the same whatever their numbers.
    pub fn hash(&mut self, view: &View) -> u64 {
        self.cover(view.workers.len());
        let mut sum = 0u64;
        for ((key, chosen), pending) in self.workers.iter().zip(&self.chosen).zip(view.workers) {
            let standing = match pending.standing {
                Standing::Enabled => 0,
                Standing::Blocked => 1,
                Standing::Ended => 2,
            };
            let place = match standing {
                2 => u64::MAX,
                _ => {
                    u64::from(pending.operation.site) << 16 | (pending.operation.kind as u64) << 8 | standing
                }
            };
            sum = sum.wrapping_add(mix(key ^ mix(place ^ mix(*chosen))));
        }
        sum
    }
}

/// The finalizer of splitmix64: a bijection whose every output bit depends on every input bit.
pub(super) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
