//! The timers of an actor.

use super::message::Message;
use crate::sys;
use crate::task::counted::Counted;
use std::sync::atomic::AtomicU8;

/// The timers of an actor that are neither stopped nor over.
pub(super) struct Timers {
    active: Vec<Active>,
    /// How many there were.
    started: u32,
}

struct Active {
    number: u32,
    periodic: bool,
    pulse: Pulse,
}

impl Timers {
    pub(super) const fn new() -> Timers {
        Timers { active: Vec::new(), started: 0 }
    }

    pub(super) fn start(&mut self, periodic: bool, pulse: Pulse) -> u32 {
        self.started += 1;
        self.active.push(Active { number: self.started, periodic, pulse });
        self.started
    }

    fn position(&self, number: u32) -> Option<usize> {
        self.active.iter().position(|timer| timer.number == number)
    }

    pub(super) fn is_active(&self, number: u32) -> bool {
        self.position(number).is_some()
    }

    /// Whether an event is that of a timer which was stopped.
    pub(super) fn is_stale(&self, message: &Message) -> bool {
        message.parts().timer.is_some_and(|number| !self.is_active(number))
    }

    pub(super) fn stop(&mut self, number: u32) -> Option<Pulse> {
        Some(self.active.remove(self.position(number)?).pulse)
    }

    /// Stops all of them.
    pub(super) fn stop_all(&mut self) -> Vec<Pulse> {
        self.active.drain(..).map(|timer| timer.pulse).collect()
    }

    /// The event of a timer was taken. One that is periodic is to be told.
    pub(super) fn taken(&mut self, number: u32) -> Option<Pulse> {
        let at = self.position(number)?;
        if self.active[at].periodic {
            Some(self.active[at].pulse.clone())
        } else {
            drop(self.active.remove(at));
            None
        }
    }
}

/// The semaphore of a timer's worker. The actor posts it when the timer is stopped, or when its event was taken.
#[derive(Clone)]
pub(super) struct Pulse(Counted<Place>);

/// Its address is that of a semaphore. Nobody reads or writes it.
struct Place(AtomicU8);

impl Drop for Place {
    fn drop(&mut self) {
        sys::semaphore_destroy(sys::address(&self.0));
    }
}

impl Pulse {
    pub(super) fn new() -> Pulse {
        Pulse(Counted::new(Place(AtomicU8::new(0))))
    }

    pub(super) fn semaphore(&self) -> i32 {
        sys::address(&self.0.0)
    }

    pub(super) fn post(&self) {
        sys::semaphore_post(self.semaphore());
    }
}
