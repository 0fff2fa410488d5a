//! Steps that touch less than when they were put to sleep.
//!
//! A worker waits on a futex, which touches its word and its queue. Executed first, that step goes to sleep. Another
//! worker stores another value, which wakes it: now it finds that value and touches the word alone. A third
//! worker's notification was to come before the wait, and depends on it as it was, but not as it is now; so no
//! race of the two is found here. Nor is one found where the wait slept, if what is in between was
//! explored without it.
//!
//! The theory excludes this: that two steps depend on each other must not change by a third one that is
//! independent of the first (Abdulla, Aronis, Jonsson, Sagonas, JACM 2017, definition 3.2, the last property). Footprints of
//! executed steps do not always have that property. So a step that was woken and is executed remembers what it
//! touched when it slept, and what woke it. A later event that depends on that, and on neither of the two,
//! is tried before what woke it, followed by the step as it was.

use super::Dpor;
use crate::Pick;
use crate::search::clocks::process;
use crate::search::dependence::{dependent, overlap};
use crate::system::System;
use std::ops::Range;

/// A step that touched more when it slept.
#[derive(Debug)]
pub struct Changed {
    /// Its event, and that which woke it.
    event: usize,
    waker: usize,
    /// What it touched when it slept.
    footprint: Range<usize>,
}

impl<S: System> Dpor<S> {
    /// The last event was a step with `pick` from the state `depth`: looks for races with steps as they were when they
    /// slept, and whether it is such a step itself.
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

    /// The last event is gone.
    pub(super) fn forget_changes(&mut self) {
        let events = self.clocks.events().len();
        self.changed.truncate(self.changed.partition_point(|changed| changed.event < events));
    }

    /// Has what an event depends on tried before the event that woke a step, if the event and the step as it slept are
    /// in a race.
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

    /// Whether a pick that sleeps at a state cannot begin what is wanted there: as it slept, it depends on an event after
    /// `section` that is to come before it.
    pub(super) fn follows(&self, section: Range<usize>, depth: usize, pick: Pick) -> bool {
        let asleep = self.nodes[depth].asleep.clone();
        let mut others = (section.end..self.clocks.events().len())
            .filter(|event| !section.clone().any(|earlier| self.clocks.before(earlier, *event)))
            .map(|event| &self.clocks.events()[event])
            .filter(|event| event.process != process(pick));
        others.any(|event| self.sleep.depends(asleep.clone(), pick, event, &self.touched))
    }
}
