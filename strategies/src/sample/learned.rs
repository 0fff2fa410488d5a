//! The states that learning strategies distinguish.

use crate::{Event, Pending, View, WorkerId, WorkerState, mix};
use std::collections::BTreeMap;

/// Numbers for hashes, from 0 on in the order in which the hashes first occur.
#[derive(Clone, Debug, Default)]
pub(super) struct Numbers(BTreeMap<u64, u32>);

impl Numbers {
    pub fn of(&mut self, hash: u64) -> usize {
        let next = self.0.len() as u32;
        *self.0.entry(hash).or_insert(next) as usize
    }
}

/// Values of the actions of a state, by their numbers; most are the default. Memory for one state at a time.
#[derive(Clone, Debug, Default)]
pub(super) struct ByAction<T>(Vec<T>);

impl<T: Copy + Default> ByAction<T> {
    /// Calls `read` with a function from actions to their values: those of `known`, and the default for others.
    pub fn with<R>(
        &mut self,
        known: impl Iterator<Item = (usize, T)> + Clone,
        read: impl FnOnce(&dyn Fn(usize) -> T) -> R,
    ) -> R {
        for (action, value) in known.clone() {
            if self.0.len() <= action {
                self.0.resize(action + 1, T::default());
            }
            self.0[action] = value;
        }
        let result = read(&|action| self.0.get(action).copied().unwrap_or_default());
        known.for_each(|(action, _)| self.0[action] = T::default());
        result
    }
}

/// Names of workers and states that mean the same in every iteration.
#[derive(Clone, Debug, Default)]
pub(super) struct States {
    workers: Vec<Worker>,
    /// The worker that chooses values.
    picked: usize,
    /// The sum of the workers' hashes.
    sum: u64,
    /// Numbers of all creation paths that have occurred.
    paths: Numbers,
}

#[derive(Clone, Debug)]
struct Worker {
    /// A hash of its creation path, and the number of that hash.
    key: u64,
    number: usize,
    children: u64,
    /// The value that it chose last: its next operations may depend on it before its position does.
    chosen: u64,
    /// The last hint that it gave: what the program says of its state.
    hinted: u64,
    /// Its position, the value that it chose last and its last hint, at the time when its hash was computed.
    hashed: Option<[u64; 3]>,
    hash: u64,
}

impl States {
    pub fn restart(&mut self) {
        self.workers.clear();
        self.picked = 0;
        self.sum = 0;
    }

    /// Records that this worker makes the next step, with the values chosen after this call.
    pub fn picked(&mut self, worker: WorkerId) {
        self.picked = worker.index();
    }

    pub fn chose(&mut self, value: u64) {
        if let Some(worker) = self.workers.get_mut(self.picked) {
            worker.chosen = value + 1;
        }
    }

    /// Adds workers that no worker created.
    fn cover(&mut self, count: usize) {
        while self.workers.len() < count {
            self.push(mix(self.workers.len() as u64));
        }
    }

    pub fn observe(&mut self, event: Event) {
        match event {
            Event::Spawned { parent, child } => {
                self.cover(child.index());
                let parent = &mut self.workers[parent.index()];
                parent.children += 1;
                let key = mix(parent.key ^ mix(!parent.children));
                self.push(key);
            }
            Event::Hint { worker, value } => {
                self.cover(worker.index() + 1);
                self.workers[worker.index()].hinted = value;
            }
            Event::Woken { .. } | Event::Ended(_) => {}
        }
    }

    fn push(&mut self, key: u64) {
        let number = self.paths.of(key);
        self.workers.push(Worker { key, number, children: 0, chosen: 0, hinted: 0, hashed: None, hash: 0 });
    }

    /// A number for the worker's creation path.
    pub fn worker(&self, worker: WorkerId) -> usize {
        self.workers[worker.index()].number
    }

    /// A hash of every worker's position, last chosen value and last hint, which does not depend on the numbers
    /// of workers.
    pub fn hash(&mut self, view: &View) -> u64 {
        self.cover(view.workers.len());
        for (worker, pending) in self.workers.iter_mut().zip(view.workers) {
            let now = [place(pending), worker.chosen, worker.hinted];
            if worker.hashed != Some(now) {
                let hinted = if worker.hinted == 0 { 0 } else { mix(!worker.hinted) };
                let hash = mix(worker.key ^ mix(now[0] ^ mix(now[1] ^ hinted)));
                self.sum = self.sum.wrapping_sub(worker.hash).wrapping_add(hash);
                (worker.hashed, worker.hash) = (Some(now), hash);
            }
        }
        self.sum
    }
}

fn place(pending: &Pending) -> u64 {
    let Pending { operation, state } = pending;
    let place = u64::from(operation.site) << 16 | (operation.kind as u64) << 8;
    match state {
        WorkerState::Enabled => place,
        WorkerState::Blocked => place | 1,
        WorkerState::Ended => u64::MAX,
    }
}
