//! The runtime's part of a fingerprint.

use super::{Request, Runtime};
use coyote_strategies::WorkerId;
use std::hash::Hash;
use xxhash_rust::xxh3::Xxh3;

impl Runtime {
    /// A hash of all that can influence how the program goes on; steps, names and output are left out,
    /// and so is the time as long as nobody has read the clock.
    pub fn digest(&self) -> u128 {
        let key = |w: WorkerId| self.workers[w.index()].key;
        let part = |class: u8, fill: &dyn Fn(&mut Xxh3)| {
            let mut hasher = Xxh3::with_seed(u64::from(class));
            fill(&mut hasher);
            hasher.digest128()
        };
        let mut sum = 0u128;
        for (id, (worker, pending)) in self.workers.iter().zip(&self.pending).enumerate() {
            let hash = part(1, &|h| {
                // The guest knows workers by number, and their order decides ties.
                (id, worker.start).hash(h);
                let at = (worker.key, worker.waiting, worker.wake, worker.detached);
                (at, worker.children, worker.atomic_depth, worker.own_word, worker.random).hash(h);
                (pending.standing, pending.operation.kind, pending.operation.site).hash(h);
                match worker.request {
                    Request::Join { handle } => {
                        (handle as usize).lt(&self.workers.len()).then(|| key(WorkerId(handle))).hash(h);
                    }
                    request => request.hash(h),
                }
            });
            sum = sum.wrapping_add(hash);
        }
        for (address, mutex) in self.mutexes.iter() {
            let holder = mutex.holder.map(|(w, times)| (key(w), times));
            sum = sum.wrapping_add(part(2, &|h| (address, mutex.kind, holder).hash(h)));
        }
        for (address, lock) in self.rwlocks.iter() {
            let writer = lock.writer.map(key);
            sum = sum.wrapping_add(part(7, &|h| (address, writer, lock.readers.len()).hash(h)));
            for (reader, times) in &lock.readers {
                sum = sum.wrapping_add(part(8, &|h| (address, key(*reader), times).hash(h)));
            }
        }
        for (address, semaphore) in self.semaphores.iter() {
            sum = sum.wrapping_add(part(9, &|h| (address, semaphore).hash(h)));
        }
        for (address, barrier) in self.barriers.iter() {
            sum = sum.wrapping_add(part(10, &|h| (address, barrier.count).hash(h)));
            for w in &barrier.arrived {
                sum = sum.wrapping_add(part(11, &|h| (address, key(*w)).hash(h)));
            }
        }
        sum = sum.wrapping_add(part(12, &|h| (self.faults, self.over).hash(h)));
        for (class, queues) in [(3, &self.condvars), (4, &self.futexes)] {
            for (address, queue) in queues.iter() {
                for w in queue.waiters() {
                    sum = sum.wrapping_add(part(class, &|h| (address, key(*w)).hash(h)));
                }
            }
        }
        sum = sum.wrapping_add(self.files.digest());
        sum = sum.wrapping_add(u128::from(self.heap.digest()));
        if let Some(read) = self.clock.read_state() {
            sum = sum.wrapping_add(part(6, &|h| (read.0, read.1, read.2.map(key)).hash(h)));
        }
        for (span, w) in self.clock.relative() {
            sum = sum.wrapping_add(part(5, &|h| (span, key(w)).hash(h)));
        }
        sum
    }
}
