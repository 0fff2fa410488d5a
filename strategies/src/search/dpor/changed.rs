//! Steps that touch less than they did when they were put to sleep.
//!
//! Example: a worker waits on a futex, which touches its word and its queue. That step is executed first and
//! put to sleep. Another worker stores another value, which wakes the step: now the wait reads that value and
//! touches only the word. A third worker's notification should have been tried before the wait. It depends on
//! the wait as it was, but not as it is now; so no race of the two is found here. Nor is one found where the
//! wait slept, if the steps in between were explored without it.
//!
//! The theory excludes this: whether two steps depend on each other must not be changed by a third one that
//! is independent of the first (Abdulla, Aronis, Jonsson, Sagonas, JACM 2017, definition 3.2, the last
//! property). Footprints of executed steps do not always have that property. So a step that was woken and is
//! executed remembers what it touched when it slept, and the event that woke it. A later event that depends
//! on the old footprint, and on neither the step nor the event that woke it, is tried before that event,
//! followed by the step as it was.
//!
//! The same holds for a step that sleeps and that another one makes impossible for good, such as that of a lock whose
//! timeout fires: a later event may wake it, if it is tried before the timeout.

use super::Dpor;
use crate::Pick;
use crate::search::clocks::process;
use crate::search::dependence::{dependent, overlap};
use crate::system::System;
use std::ops::Range;

/// A step that touched more when it slept.
#[derive(Debug)]
pub(super) struct Changed {
    /// The event of the step, and the event that woke it. Both are the event that made the step impossible, if one did while
    /// it slept.
    pub event: usize,
    pub waker: usize,
    /// Its footprint when it slept.
    pub footprint: Range<usize>,
}

impl<S: System> Dpor<S> {
    /// Handles the last event, a step with `pick` from the state `depth`: looks for races with steps as they
    /// were when they slept, and records whether it is such a step itself.
    pub(super) fn note_change(&mut self, pick: Pick, depth: usize) {
        let event = self.clocks.events().len() - 1;
        if !self.replaying {
            for i in 0..self.changed.len() {
                self.try_before_change(i, event);
            }
        }
        let now = self.clocks.events()[event].footprint.clone();
        for (footprint, waker) in self.sleep.woken(self.nodes[depth].asleep.clone(), pick) {
            let known = |slept| self.touched[now.clone()].iter().any(|access| overlap(access, slept));
            if !self.touched[footprint.clone()].iter().all(known) {
                self.changed.push(Changed { event, waker, footprint });
            }
        }
    }

    /// Removes the records of events that are no longer on the path.
    pub(super) fn forget_changes(&mut self) {
        let events = self.clocks.events().len();
        self.changed.truncate(self.changed.partition_point(|changed| changed.event < events));
    }

    /// If an event and a step as it slept are in a race: adds a choice so that `event`, after the events that
    /// it depends on, is tried before the event that woke the step.
    fn try_before_change(&mut self, changed: usize, event: usize) {
        let Changed { event: step, waker, footprint } = &self.changed[changed];
        let (step, waker) = (*step, *waker);
        let events = self.clocks.events();
        let races = events[event].process != events[step].process
            && !self.clocks.before(step, event)
            && !self.clocks.before(waker, event)
            && dependent(&self.touched[footprint.clone()], &self.touched[events[event].footprint.clone()]);
        if races {
            self.reverse_without(waker, step);
        }
    }

    /// Whether a sleeping pick cannot begin the wanted sequence: as it slept, it depends on an event after
    /// `section` that must come before it. That may also be the rest of its atomic section, of which the path has only the
    /// beginning. `earlier`: the events after `section` that are before it on the path.
    pub(super) fn follows(
        &self,
        earlier: Range<usize>,
        section: &Range<usize>,
        depth: usize,
        pick: Pick,
    ) -> bool {
        let asleep = self.nodes[depth].asleep.clone();
        let mut others = earlier
            .filter(|event| !section.clone().any(|earlier| self.clocks.before(earlier, *event)))
            .map(|event| &self.clocks.events()[event])
            .filter(|event| event.process != process(pick));
        others.any(|event| self.sleep.depends(asleep.clone(), pick, event, &self.touched))
    }
}
