//! Finds where and when events of the heap happen, for the report of a memory error, whose schedule is executed once
//! more with this observer.

use super::{Event, GuestState, Interest, Observer};
use coyote_instrumenter::Location;
use coyote_strategies::WorkerId;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// See the module's documentation.
pub struct HeapProbe {
    events: Vec<u32>,
    hits: Hits,
}

/// The findings so far, by the numbers of events.
#[derive(Clone, Default)]
pub struct Hits(Arc<Mutex<BTreeMap<u32, ProbeHit>>>);

/// The worker, step and stack of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeHit {
    pub worker: WorkerId,
    /// Number of steps that had begun.
    pub step: u64,
    /// The stack, innermost first.
    pub stack: Vec<Location>,
}

impl Hits {
    pub fn of(&self, event: u32) -> Option<ProbeHit> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get(&event).cloned()
    }
}

impl HeapProbe {
    /// A probe of these events, and the place where it puts its findings.
    pub fn new(events: Vec<u32>) -> (HeapProbe, Hits) {
        let hits = Hits::default();
        (HeapProbe { events, hits: hits.clone() }, hits)
    }
}

impl Observer for HeapProbe {
    fn interest(&self) -> Interest {
        Interest::HEAP
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) {
        let Event::Heap { worker, change } = event else { return };
        if !self.events.contains(&change.event) {
            return;
        }
        let stack = state.stack(*worker).unwrap_or_default();
        let hit = ProbeHit { worker: *worker, step: state.runtime.steps(), stack };
        self.hits.0.lock().unwrap_or_else(PoisonError::into_inner).insert(change.event, hit);
    }
}
