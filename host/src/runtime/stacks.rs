//! The stacks of workers that have not ended, by address.

use super::Runtime;
use coyote_strategies::WorkerId;

/// The upper end of each known stack with its worker, ascending.
#[derive(Clone, Debug, Default)]
pub(super) struct Stacks(Vec<(u32, WorkerId)>);

impl Stacks {
    /// Adds a worker's stack; another worker's in the same place is over.
    pub fn add(&mut self, high: u32, worker: WorkerId) {
        match self.0.binary_search_by_key(&high, |stack| stack.0) {
            Ok(at) => self.0[at].1 = worker,
            Err(at) => self.0.insert(at, (high, worker)),
        }
    }

    /// Removes a worker's stack.
    pub fn remove(&mut self, high: u32, worker: WorkerId) {
        if let Ok(at) = self.0.binary_search_by_key(&high, |stack| stack.0)
            && self.0[at].1 == worker
        {
            self.0.remove(at);
        }
    }

    /// Forgets all stacks.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// Becomes equal to `other`, keeping the allocation.
    pub fn reset_to(&mut self, other: &Stacks) {
        self.0.clone_from(&other.0);
    }
}

impl Runtime {
    /// The worker that has not ended and in whose stack an address lies, as far as the stacks' bounds are known.
    pub fn stack_at(&self, address: u32) -> Option<WorkerId> {
        let at = self.stacks.0.partition_point(|(high, _)| *high <= address);
        let (_, worker) = *self.stacks.0.get(at)?;
        let (low, _) = self.worker(worker).start.stack?;
        (low <= address).then_some(worker)
    }

    /// The worker that was created with a stack in the same block of the heap, but not in the stack itself: libraries of
    /// threads keep there what they know of a thread, and who joins it waits there.
    pub fn thread_at(&self, address: u32) -> Option<WorkerId> {
        if self.stack_at(address).is_some() {
            return None;
        }
        let block = self.heap.block_around(address)?;
        let all = block.address..=block.address.saturating_add(block.bytes);
        let holds = |id: &WorkerId| {
            let stack = self.worker(*id).start.stack;
            stack.is_some_and(|(low, high)| {
                all.contains(&low) && all.contains(&high) && !(low..high).contains(&address)
            })
        };
        // The memory of an ended thread may be that of a later one.
        self.ids().filter(holds).last()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_come_and_go() {
        let mut stacks = Stacks::default();
        stacks.add(200, WorkerId(1));
        stacks.add(100, WorkerId(2));
        assert_eq!(stacks.0, [(100, WorkerId(2)), (200, WorkerId(1))]);
        // The memory is handed out again before the first worker's end is known.
        stacks.add(200, WorkerId(3));
        stacks.remove(200, WorkerId(1));
        assert_eq!(stacks.0, [(100, WorkerId(2)), (200, WorkerId(3))]);
        stacks.remove(100, WorkerId(2));
        assert_eq!(stacks.0, [(200, WorkerId(3))]);
    }
}
