//! The stacks of workers, by address.

use super::Runtime;
use coyote_strategies::{Effect, WorkerId, WorkerState};

/// The upper end of each known stack with its worker, ascending.
#[derive(Clone, Debug, Default)]
struct ByEnd(Vec<(u32, WorkerId)>);

impl ByEnd {
    /// Adds a worker's stack; another worker's in the same place is over.
    fn add(&mut self, high: u32, worker: WorkerId) {
        match self.0.binary_search_by_key(&high, |stack| stack.0) {
            Ok(at) => self.0[at].1 = worker,
            Err(at) => self.0.insert(at, (high, worker)),
        }
    }

    /// Removes a worker's stack.
    fn remove(&mut self, high: u32, worker: WorkerId) {
        if let Ok(at) = self.0.binary_search_by_key(&high, |stack| stack.0)
            && self.0[at].1 == worker
        {
            self.0.remove(at);
        }
    }

    /// The worker of the first stack that ends behind an address.
    fn at(&self, address: u32) -> Option<WorkerId> {
        let at = self.0.partition_point(|(high, _)| *high <= address);
        Some(self.0.get(at)?.1)
    }
}

/// All known stacks.
#[derive(Clone, Debug, Default)]
pub(super) struct Stacks {
    /// Of workers that have not ended.
    live: ByEnd,
    /// Of workers that have, and whose memory may not have become something else.
    left: ByEnd,
}

impl Stacks {
    /// Adds the stack of a worker that has not ended.
    pub fn add(&mut self, high: u32, worker: WorkerId) {
        self.live.add(high, worker);
    }

    /// Forgets all stacks.
    pub fn clear(&mut self) {
        self.live.0.clear();
        self.left.0.clear();
    }

    /// Becomes equal to `other`, keeping the allocations.
    pub fn reset_to(&mut self, other: &Stacks) {
        let Stacks { live, left } = self;
        live.0.clone_from(&other.live.0);
        left.0.clone_from(&other.left.0);
    }
}

impl Runtime {
    /// The worker that has not ended and in whose stack an address lies, as far as the stacks' bounds are known.
    pub fn stack_at(&self, address: u32) -> Option<WorkerId> {
        let worker = self.stacks.live.at(address)?;
        let (low, _) = self.worker(worker).start.stack?;
        (low <= address).then_some(worker)
    }

    /// The worker that has ended and in whose stack an address lies, if that memory is still nothing else.
    pub fn left_stack_at(&self, address: u32) -> Option<WorkerId> {
        let worker = self.stacks.left.at(address)?;
        let (low, _) = self.left_stack(worker)?;
        (low <= address).then_some(worker)
    }

    /// The bounds of the stack of a worker that has ended, if its memory is still nothing else: the block of the heap is not
    /// freed. Who joined the worker knows that the stack is not used any more, and may use the memory.
    pub fn left_stack(&self, id: WorkerId) -> Option<(u32, u32)> {
        let worker = self.worker(id);
        let is_left = self.pending(id).state == WorkerState::Ended && !worker.joined;
        self.stack_of(id).filter(|_| is_left && worker.stack_block.is_some())
    }

    /// Records that a worker has ended.
    pub(super) fn leave_stack(&mut self, id: WorkerId) {
        let Some((_, high)) = self.worker(id).start.stack else { return };
        self.stacks.live.remove(high, id);
        // Of those that have become something else, none hides this one.
        let mut left = std::mem::take(&mut self.stacks.left);
        left.0.retain(|(_, other)| self.left_stack(*other).is_some());
        left.add(high, id);
        self.stacks.left = left;
    }

    /// Records that a worker was joined: an access of its stack is an error before, and perhaps none afterwards.
    pub(super) fn join_stack(&mut self, id: WorkerId) {
        if let Some((low, high)) = self.left_stack(id) {
            self.footprint.memory(Effect::Write, low.into(), u64::from(high - low));
        }
        self.workers[id.index()].joined = true;
    }

    /// The worker whose end another one awaits at a futex: the one that was created with a stack in the same block of the
    /// heap, but not in the stack itself. Libraries of threads keep there what they know of a thread, and who joins it waits
    /// there. What a worker itself waits at there is a variable of its own.
    pub fn joined_at(&self, waiter: WorkerId, address: u32) -> Option<WorkerId> {
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
        self.ids().filter(holds).last().filter(|thread| *thread != waiter)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stacks_come_and_go() {
        let mut stacks = ByEnd::default();
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
