//! The runtime's part of a fingerprint.

use super::term::{Part, term};
use super::{Runtime, Worker};
use coyote_strategies::{Pending, WorkerId};
use std::hash::Hash;

impl Runtime {
    /// A hash of all that can influence how the program goes on; steps, names and output are left out,
    /// and so is the time if the program can never know it.
    pub fn digest(&self) -> u128 {
        // Every field is listed, so that a new one needs a decision here.
        let Runtime {
            workers,
            // Follows from `workers`.
            stacks: _,
            pending,
            // Follows from `pending`.
            enabled: _,
            // Only tells strategies when to read `pending` again.
            changes: _,
            // Matters only in an atomic section: see below.
            current: _,
            // A search deals with a bound on steps itself.
            steps: _,
            assumed_away,
            // Follows from the workers' depths.
            atomic_workers: _,
            // Follows from the workers' predicates.
            predicates: _,
            // A mark about the last step.
            may_circle: _,
            sync,
            clock,
            faults,
            monitors,
            // For reports.
            fault_counts: _,
            sometimes: _,
            spurious_left_out: _,
            clock_looked_at: _,
            wakes_unknown: _,
            failed_calls: _,
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
            // For reports. The number of crashes follows from what is left of the budget.
            crashes: _,
            // The same in all executions of a test.
            recovery: _,
            // Only set during a step.
            call_stack: _,
            // Counts for a bound, like steps.
            alone_accesses: _,
            waited: _,
            // Follows from the announced operations.
            fault_asked: _,
            // `events` are for strategies, `output` and `harness_report` are for the user, the others are about one step.
            events: _,
            output: _,
            harness_report: _,
            stream: _,
            footprint: _,
        } = self;
        let key = |w: WorkerId| workers[w.index()].key;
        let mut sum = 0u128;
        for (id, (worker, pending)) in workers.iter().zip(pending).enumerate() {
            let Worker {
                // The key is the hash of the path, and the handle follows from it.
                path: _,
                key: _,
                handle: _,
                // The number of children follows from the workers' keys, since no worker leaves the list.
                children: _,
                // Only what it means for its stack matters.
                joined: _,
                // For reports.
                name: _,
                next_name: _,
                awaits: _,
                start,
                request,
                waiting,
                wake,
                node,
                detached,
                atomic_depth,
                atomic_ticks,
                suppressed,
                predicate,
                watches,
                // An event of the heap. Only whether the block still exists matters.
                stack_block: _,
                worker_local_word,
                random,
                failure,
                socket_fault,
                polled,
                driver,
                idling,
                // Also in the worker's frames, like the object and size of its operation.
                copy_source: _,
                // Only valid for its operation: hashed below.
                ordered_site: _,
            } = worker;
            let Pending { operation, state } = pending;
            let hash = term(Part::Worker, &|h| {
                // The guest knows workers by number, and their order decides ties.
                let id = WorkerId(id as u32);
                (id, start, self.stack_of(id).is_some(), self.left_stack(id).is_some()).hash(h);
                let at = (worker.key, waiting, wake, detached, node);
                (at, atomic_depth, atomic_ticks, worker_local_word, random, failure, idling).hash(h);
                (state, operation.kind, self.ordered_site(id)).hash(h);
                request.hash(h);
                (socket_fault, polled, driver).hash(h);
                (suppressed, watches, predicate.as_ref().map(|predicate| predicate.state())).hash(h);
            });
            sum = sum.wrapping_add(hash);
        }
        sum = sum.wrapping_add(sync.digest(&key));
        // While the current worker is in an atomic section and not blocked, only that worker goes on.
        let alone = self.atomic_current().map(|at| key(self.enabled[at]));
        sum = sum.wrapping_add(term(Part::Rest, &|h| {
            (faults, over, assumed_away, alone, worker_local_word, harness, key(WorkerId(*first))).hash(h);
        }));
        sum = sum.wrapping_add(monitors.digest());
        sum = sum.wrapping_add(files.digest());
        sum = sum.wrapping_add(u128::from(heap.digest()));
        if let Some(weak) = weak {
            sum = sum.wrapping_add(term(Part::WeakMemory, &|h| weak.hash(h)));
        }
        // The meaning of a panic depends on it.
        if *memory_refused {
            sum = sum.wrapping_add(term(Part::MemoryRefused, &|_| ()));
        }
        if *tells_time {
            let (now_ns, reads, reader) = clock.read_state();
            sum = sum
                .wrapping_add(term(Part::Clock, &|h| (now_ns, clock.jumps, reads, reader.map(key)).hash(h)));
        }
        for (span, w) in clock.relative() {
            sum = sum.wrapping_add(term(Part::Timeout, &|h| (span, key(w)).hash(h)));
        }
        sum
    }
}
