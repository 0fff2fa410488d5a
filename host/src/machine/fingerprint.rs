//! A hash of everything that decides how a guest goes on.

use super::Machine;
use super::stack;
use crate::evidence::Evidence;
use crate::outcome::{Bound, Outcome};
use coyote_strategies::{WorkerId, WorkerState};
use std::hash::Hash;
use xxhash_rust::xxh3::{Xxh3, xxh3_64, xxh3_128_with_seed};

/// A part of the state that a fingerprint covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    Memory,
    /// Which worker owns which memory: see `owners`.
    OwnerTable,
    /// Sync objects, the clock, what each worker waits for.
    Runtime,
    /// Globals that workers share.
    Globals,
    /// The entries of tables, and globals that hold references.
    References,
    /// A step that still needs a value.
    Unfinished,
    /// The part of the detectors' state that decides verdicts.
    Detectors,
    /// A worker's saved frames and its own globals.
    Frames(WorkerId),
}

impl std::fmt::Display for Part {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Part::Memory => f.write_str("memory"),
            Part::OwnerTable => f.write_str("the owners of memory"),
            Part::Runtime => f.write_str("the runtime's state"),
            Part::Globals => f.write_str("globals"),
            Part::References => f.write_str("tables"),
            Part::Detectors => f.write_str("what detectors know"),
            Part::Unfinished => f.write_str("the values of a step"),
            Part::Frames(worker) => write!(f, "the suspended worker number {}", worker.index()),
        }
    }
}

fn hash(seed: u64, value: impl Hash) -> u128 {
    let mut hasher = Xxh3::with_seed(seed);
    value.hash(&mut hasher);
    hasher.digest128()
}

impl Machine {
    /// A hash of everything that decides how the guest goes on. Every worker must be suspended.
    pub fn fingerprint(&mut self) -> u128 {
        self.fingerprint_with(stack::RED_ZONE)
    }

    /// [`Machine::fingerprint`] with another red zone than compilers use: a planted fault that tests must
    /// notice.
    #[doc(hidden)]
    pub fn fingerprint_with(&mut self, red_zone: u32) -> u128 {
        let mut print = 0u128;
        self.each_part(red_zone, |_, part| print = print.wrapping_add(part));
        print
    }

    /// The same without what detectors know of the past, which decides nothing about how the guest goes on: two rounds
    /// of the same steps leave the clocks of data races different.
    pub fn fingerprint_of_program(&mut self) -> u128 {
        let mut print = 0u128;
        self.each_part_of_program(stack::RED_ZONE, |_, part| print = print.wrapping_add(part));
        print
    }

    /// A hash of a suspended worker's frames and its own globals.
    pub fn worker_fingerprint(&self, worker: WorkerId) -> u64 {
        let data = self.store.data();
        let saved = data.saved_workers.get(worker.index()).filter(|saved| saved.started);
        saved.map_or(0, |saved| xxh3_64(&stack::canonical(&data.table, &saved.bytes)))
    }

    /// The named parts whose sum is the fingerprint. Every worker must be suspended.
    pub fn fingerprint_parts(&mut self) -> Vec<(Part, u128)> {
        let mut parts = Vec::new();
        self.each_part(stack::RED_ZONE, |part, print| parts.push((part, print)));
        parts
    }

    fn each_part(&mut self, red_zone: u32, mut each: impl FnMut(Part, u128)) {
        self.each_part_of_program(red_zone, &mut each);
        let digests = self.store.data().observers.digests();
        if !digests.is_empty() {
            each(Part::Detectors, hash(4, digests));
        }
    }

    /// All parts but what detectors know, of which there is much.
    fn each_part_of_program(&mut self, red_zone: u32, mut each: impl FnMut(Part, u128)) {
        self.collect_marks();
        let globals = self.save_globals();
        let references = self.references();
        let host = self.store.data();
        let dead = stack::dead_ranges(&host.scheduler.runtime, &host.table, &host.saved_workers, red_zone);
        if let Some(memory) = self.exports.memory {
            let (bytes, host) = memory.data_and_store_mut(&mut self.store);
            let size = host.scheduler.bounds.memory_bytes;
            each(Part::Memory, host.dirty_memory.hash(bytes, size, dead));
        }
        each(Part::OwnerTable, self.with_owners(|owners, table| owners.digest(table)));
        let host = self.store.data();
        // A step that must not be taken, or that ends the program, changes nothing but the outcome. Other outcomes
        // follow from the rest of the state; the bound on steps is no part of a state.
        let ended = match &host.scheduler.outcome {
            Some(Outcome::Bug(bug)) => {
                let worker = bug.worker.map(|worker| host.scheduler.runtime.worker(worker).key);
                let said = if let Evidence::Said(text) = &bug.evidence { text } else { "" };
                hash(3, (bug.kind.name(), worker, bug.evidence.detail(), said))
            }
            Some(Outcome::Bound(Bound::Frames | Bound::NativeStack)) => hash(3, "bound"),
            Some(Outcome::Passed) if host.scheduler.exited => hash(3, "exited"),
            Some(Outcome::Passed | Outcome::Bound(Bound::Steps(_)) | Outcome::Abandoned) | None => 0,
        };
        each(Part::Runtime, host.scheduler.runtime.digest().wrapping_add(ended));
        each(Part::Globals, xxh3_128_with_seed(&globals, 1));
        if !references.is_empty() {
            each(Part::References, hash(5, references));
        }
        if let Some(unfinished) = host.scheduler.unfinished() {
            each(Part::Unfinished, hash(2, unfinished));
        }
        let workers = host.scheduler.runtime.view().workers.iter().zip(host.scheduler.runtime.workers());
        for (number, ((pending, worker), image)) in workers.zip(&host.saved_workers).enumerate() {
            // A worker that has not begun has state only in the runtime, and one that has ended has none.
            if image.started && pending.state != WorkerState::Ended {
                let bytes = stack::canonical(&host.table, &image.bytes);
                each(Part::Frames(WorkerId(number as u32)), xxh3_128_with_seed(&bytes, worker.key));
            }
        }
    }
}
