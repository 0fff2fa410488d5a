//! All observers and detectors of one execution.

use super::{Attempt, Detector, Ending, Event, Finding, GuestState, Interest, Observer, SavedState};
use crate::evidence::{Inversion, RaceRemark};
use coyote_strategies::{OpKind, WorkerId};

/// See the module's documentation. Detectors come first, in the order in which they were added: the first finding
/// counts.
#[derive(Default)]
pub struct Observers {
    detectors: Vec<(Interest, Box<dyn Detector>)>,
    observers: Vec<(Interest, Box<dyn Observer>)>,
}

/// The saved states of the detectors, in their order.
#[derive(Clone, Default)]
pub struct Saved(Vec<SavedState>);

impl Observers {
    pub fn new(detectors: Vec<Box<dyn Detector>>) -> Observers {
        let detectors = detectors.into_iter().map(|detector| (detector.interest(), detector));
        Observers { detectors: detectors.collect(), observers: Vec::new() }
    }

    pub fn add_detector(&mut self, detector: Box<dyn Detector>) {
        self.detectors.push((detector.interest(), detector));
    }

    pub fn take_last_detectors(&mut self, number: usize) -> Vec<Box<dyn Detector>> {
        let first = self.detectors.len().saturating_sub(number);
        self.detectors.drain(first..).map(|(_, detector)| detector).collect()
    }

    pub fn add_observer(&mut self, observer: Box<dyn Observer>) {
        self.observers.push((observer.interest(), observer));
    }

    /// Takes out the observers that are no detectors.
    pub fn take_observers(&mut self) -> Vec<Box<dyn Observer>> {
        self.observers.drain(..).map(|(_, observer)| observer).collect()
    }

    /// Takes out the observers that are no detectors, for [`Observers::unmute`].
    pub fn mute(&mut self) -> Vec<(Interest, Box<dyn Observer>)> {
        std::mem::take(&mut self.observers)
    }

    pub fn unmute(&mut self, observers: Vec<(Interest, Box<dyn Observer>)>) {
        self.observers = observers;
    }

    /// The events that any of them wants.
    pub fn interest(&self) -> Interest {
        let detectors = self.detectors.iter().map(|(interest, _)| *interest);
        let observers = self.observers.iter().map(|(interest, _)| *interest);
        detectors.chain(observers).fold(Interest::empty(), Interest::union)
    }

    /// Whether any of them wants the stack of the running worker at its next step: see [`Observer::wants_stack`].
    pub fn want_stack(&self, step: u64, operation: OpKind) -> bool {
        let mut observers = self.observers.iter();
        observers.any(|(wanted, observer)| {
            wanted.contains(Interest::STACKS) && observer.wants_stack(step, operation)
        })
    }

    pub fn begin(&mut self, state: &GuestState<'_>) {
        self.detectors.iter_mut().for_each(|(_, detector)| detector.begin(state));
        self.observers.iter_mut().for_each(|(_, observer)| observer.begin(state));
    }

    /// Resets the detectors when the program starts again after a crash: its memory was reset.
    pub fn restart(&mut self, state: &GuestState<'_>) {
        self.detectors.iter_mut().for_each(|(_, detector)| detector.begin(state));
    }

    /// Sends an event to all that want it, and returns the first finding.
    pub fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) -> Option<Finding> {
        let about = event.interest();
        let mut found = None;
        for (interest, detector) in &mut self.detectors {
            if interest.intersects(about) {
                let finding = detector.event(state, event);
                found = found.or(finding);
            }
        }
        for (interest, observer) in &mut self.observers {
            if interest.intersects(about) {
                observer.event(state, event);
            }
        }
        found
    }

    /// Sends all events, in their order, and returns the first finding.
    pub fn events(&mut self, state: &GuestState<'_>, events: &[Event<'_>]) -> Option<Finding> {
        let mut found = None;
        for event in events {
            let finding = self.event(state, event);
            found = found.or(finding);
        }
        found
    }

    pub fn veto(&self, state: &GuestState<'_>, worker: WorkerId, attempt: &Attempt<'_>) -> Option<Finding> {
        self.detectors.iter().find_map(|(_, detector)| detector.veto(state, worker, attempt))
    }

    pub fn end(&mut self, ending: &Ending<'_>) -> Option<Finding> {
        let mut found = None;
        for (interest, detector) in &mut self.detectors {
            if interest.contains(Interest::ENDS) {
                let finding = detector.end(ending);
                found = found.or(finding);
            }
        }
        for (interest, observer) in &mut self.observers {
            if interest.contains(Interest::ENDS) {
                observer.end(ending);
            }
        }
        found
    }

    pub fn save(&self) -> Saved {
        Saved(self.detectors.iter().map(|(_, detector)| detector.save()).collect())
    }

    /// Restores the states of the detectors. A snapshot of the start, which is older than all detectors, holds none:
    /// [`Observers::begin`] resets them.
    pub fn restore(&mut self, saved: &Saved) {
        for ((_, detector), saved) in self.detectors.iter_mut().zip(&saved.0) {
            detector.restore(saved);
        }
    }

    pub fn remarks(&self) -> Vec<RaceRemark> {
        self.detectors.iter().flat_map(|(_, detector)| detector.remarks()).collect()
    }

    pub fn inversions(&self) -> Vec<Inversion> {
        self.detectors.iter().flat_map(|(_, detector)| detector.inversions()).collect()
    }

    /// The digests of the detectors that have one.
    pub fn digests(&self) -> Vec<u128> {
        self.detectors.iter().filter_map(|(_, detector)| detector.digest()).collect()
    }
}
