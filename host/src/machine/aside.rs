//! Setting an iteration aside: the machine explores what can follow from its state, and then continues the
//! iteration unchanged.

use super::scheduler::Course;
use super::{Machine, MachineError, Snapshot};
use crate::observe::{Interest, Observer, Observers};
use crate::runtime::Runtime;
use coyote_strategies::Strategy;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The parts of an iteration that [`Machine::bring_back`] restores.
pub struct Aside {
    snapshot: Snapshot,
    course: Course,
    strategy: Option<Box<dyn Strategy>>,
    recording: bool,
    memory_refused: bool,
    refused_calls: BTreeSet<&'static str>,
    /// Observers of the iteration: they receive no events about steps that are taken back.
    observers: Vec<(Interest, Box<dyn Observer>)>,
}

impl Aside {
    /// The state in which the iteration was left.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }
}

/// All bytes of a state of the program, for comparisons that must not rely on hashes.
pub struct Bytes {
    memory: Vec<u8>,
    globals: Arc<[u8]>,
    frames: Vec<Vec<u8>>,
    runtime: Runtime,
}

impl PartialEq for Bytes {
    fn eq(&self, other: &Bytes) -> bool {
        self.memory == other.memory
            && self.globals == other.globals
            && self.frames == other.frames
            && self.runtime.is_same_state(&other.runtime)
    }
}

impl Machine {
    /// Sets the iteration aside. Until [`Machine::bring_back`], the machine is driven from outside, without bounds.
    /// Every worker must be suspended, and [`Machine::can_snapshot`] must hold.
    pub fn set_aside(&mut self) -> Aside {
        let snapshot = self.snapshot();
        self.stop_counting();
        let host = self.store.data_mut();
        host.scheduler.closing = true;
        Aside {
            snapshot,
            course: host.scheduler.take_course(),
            strategy: host.scheduler.strategy.take(),
            recording: std::mem::replace(&mut host.scheduler.runtime.footprint.recording, true),
            memory_refused: host.memory_refused,
            refused_calls: host.refused_calls.clone(),
            observers: host.set_observers(Observers::mute),
        }
    }

    /// Restores the iteration that was set aside.
    pub fn bring_back(&mut self, aside: Aside) -> Result<(), MachineError> {
        let Aside { snapshot, course, strategy, recording, memory_refused, refused_calls, observers } = aside;
        let restored = self.restore(&snapshot);
        self.go_on_counting();
        let host = self.store.data_mut();
        host.set_observers(|all| all.unmute(observers));
        host.memory_refused = memory_refused;
        host.refused_calls = refused_calls;
        host.scheduler.runtime.footprint.recording = recording;
        host.scheduler.runtime.footprint.clear();
        host.scheduler.strategy = strategy;
        host.scheduler.closing = false;
        host.scheduler.give_course(course);
        restored
    }

    /// The present state. Every worker must be suspended.
    pub fn bytes(&mut self) -> Bytes {
        let globals = self.save_globals();
        let host = self.store.data();
        Bytes {
            memory: self.memory()[..self.memory_bytes()].to_vec(),
            globals,
            frames: host.saved_workers.iter().map(|image| image.bytes.clone()).collect(),
            runtime: host.scheduler.runtime.clone(),
        }
    }
}
