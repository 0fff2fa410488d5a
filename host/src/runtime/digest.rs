//! The runtime's part of a fingerprint.

use super::term::term;
use super::{Runtime, Worker};
use coyote_strategies::{Pending, WorkerId};
use std::hash::Hash;

impl Runtime {
    /// A hash of all that can influence how the program goes on; steps, names and output are left out,
    /// and so is the time if the program can never know it.
    pub fn digest(&self) -> u128 {
        // Whoever adds a field has to decide here.
        let Runtime {
            workers,
            pending,
            // Those of them that stand as enabled.
            enabled: _,
            // So often have strategies to look at them again.
            changes: _,
            current,
            // A bound on them is a search's own affair.
            steps: _,
            assumed_away,
            // Workers with a depth.
            atomic_workers: _,
            // What the last step may have done.
            may_circle: _,
            sync,
            clock,
            faults,
            monitors,
            // For reports.
            fault_counts: _,
            memory_refused,
            worker_local_word,
            files,
            heap,
            weak,
            // The same in all executions of a test.
            at_exit: _,
            joins_visible: _,
            timers: _,
            foreign_unlocks: _,
            random_seed: _,
            program: _,
            tells_time,
            over,
            harness,
            first,
            // For reports, but for how many there were: what is left of the budget.
            crashes: _,
            // The same in all executions of a test.
            recovery: _,
            // There is none between steps.
            call_stack: _,
            // A bound like that on steps.
            alone_ticks: _,
            // It follows from what is announced.
            fault_asked: _,
            // For strategies, for the user, and of a step.
            events: _,
            output: _,
            stream: _,
            footprint: _,
        } = self;
        let key = |w: WorkerId| workers[w.index()].key;
        let mut sum = 0u128;
        for (id, (worker, pending)) in workers.iter().zip(pending).enumerate() {
            let Worker {
                // Its hash is the key, and the handle follows from that.
                path: _,
                key: _,
                handle: _,
                // Their keys say whose they are, and none leaves the list.
                children: _,
                // For reports.
                joined: _,
                name: _,
                next_name: _,
                awaits: _,
                start,
                request,
                waiting,
                wake,
                detached,
                atomic_depth,
                atomic_ticks,
                // An event of the heap. What matters is whether the block is still there.
                stack_block: _,
                worker_local_word,
                random,
                failure,
                idle_steps,
                // As the object and size of its operation: it stands in the worker's frames, too.
                copy_source: _,
                // Counts for the operation that it was announced for alone.
                ordered_site: _,
            } = worker;
            let Pending { operation, state } = pending;
            let hash = term(1, &|h| {
                // The guest knows workers by number, and their order decides ties.
                (id, start, self.stack_of(WorkerId(id as u32)).is_some()).hash(h);
                let at = (worker.key, waiting, wake, detached);
                (at, atomic_depth, atomic_ticks, worker_local_word, random, failure, idle_steps).hash(h);
                (state, operation.kind, self.ordered_site(WorkerId(id as u32))).hash(h);
                request.hash(h);
            });
            sum = sum.wrapping_add(hash);
        }
        sum = sum.wrapping_add(sync.digest(&key));
        // Within an atomic function only who is in it goes on.
        let alone = current.filter(|w| workers[w.index()].atomic_depth > 0).map(key);
        sum = sum.wrapping_add(term(12, &|h| {
            (faults, over, assumed_away, alone, worker_local_word, harness, key(WorkerId(*first))).hash(h);
        }));
        sum = sum.wrapping_add(monitors.digest());
        sum = sum.wrapping_add(files.digest());
        sum = sum.wrapping_add(u128::from(heap.digest()));
        if let Some(weak) = weak {
            sum = sum.wrapping_add(term(14, &|h| weak.hash(h)));
        }
        // What a panic means depends on it.
        if *memory_refused {
            sum = sum.wrapping_add(term(15, &|_| ()));
        }
        if *tells_time {
            let (now_ns, reads, reader) = clock.read_state();
            sum = sum.wrapping_add(term(6, &|h| (now_ns, clock.jumps, reads, reader.map(key)).hash(h)));
        }
        for (span, w) in clock.relative() {
            sum = sum.wrapping_add(term(5, &|h| (span, key(w)).hash(h)));
        }
        sum
    }
}
