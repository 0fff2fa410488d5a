//! Timers: each is a worker, which sends an event to its actor after a span of virtual time.
//!
//! A timer fires in one step, in which it looks whether it was stopped. A periodic one waits then until the actor has taken its
//! event, so that inboxes do not grow without bound in schedules that leave the actor behind.

use super::counted::Counted;
use super::inbox::ActorRef;
use super::message::{Event, Message};
use super::system;
use crate::sys;
use crate::task::STACK_BYTES;
use crate::task::section::Section;
use std::sync::atomic::AtomicU8;
use std::time::Duration;

/// A timer of an actor: see [`Context::start_timer`](super::Context::start_timer).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    of: ActorRef,
    number: u32,
}

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

    fn start(&mut self, periodic: bool, pulse: Pulse) -> u32 {
        self.started += 1;
        self.active.push(Active { number: self.started, periodic, pulse });
        self.started
    }

    fn position(&self, number: u32) -> Option<usize> {
        self.active.iter().position(|timer| timer.number == number)
    }

    /// Whether an event is that of a timer which was stopped.
    pub(super) fn is_stale(&self, message: &Message) -> bool {
        message.parts().timer.is_some_and(|number| self.position(number).is_none())
    }

    fn stop(&mut self, number: u32) -> Option<Pulse> {
        Some(self.active.remove(self.position(number)?).pulse)
    }

    /// Stops all of them.
    pub(super) fn stop_all(&mut self) -> Vec<Pulse> {
        self.active.drain(..).map(|timer| timer.pulse).collect()
    }

    /// The event of a timer was taken. One that is periodic is to be told.
    fn taken(&mut self, number: u32) -> Option<Pulse> {
        let at = self.position(number)?;
        if self.active[at].periodic { Some(self.active[at].pulse.clone()) } else { drop(self.active.remove(at)); None }
    }
}

/// Where the worker of a timer waits, and for what its actor wakes it: it is stopped, or its event was taken.
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
    fn semaphore(&self) -> i32 {
        sys::address(&self.0.0)
    }

    pub(super) fn post(&self) {
        sys::semaphore_post(self.semaphore());
    }
}

/// Starts a timer of an actor, which fires once, or again and again after a period.
pub(super) fn start<E: Event>(
    of: ActorRef,
    delay: Duration,
    period: Option<Duration>,
    event: impl FnMut() -> E + Send + 'static,
) -> Timer {
    let pulse = Pulse(Counted::new(Place(AtomicU8::new(0))));
    let number = of.inbox().shared.at_once(|state| state.timers.start(period.is_some(), pulse.clone()));
    let (name, actor) = {
        let _section = Section::enter();
        (format!("timer {number} of {}", of.name()), of.clone())
    };
    system::start(name, STACK_BYTES, move || run(&actor, number, &pulse, delay, period, event));
    Timer { of, number }
}

fn run<E: Event>(
    of: &ActorRef,
    number: u32,
    pulse: &Pulse,
    mut delay: Duration,
    period: Option<Duration>,
    mut event: impl FnMut() -> E,
) {
    let inbox = of.inbox();
    // If it is posted before the time is up, it was stopped.
    while sys::semaphore_wait(pulse.semaphore(), sys::span_ns(delay)) != 0 {
        let mut message = Message::new(event());
        message.parts_mut().timer = Some(number);
        let mut message = Some(message);
        sys::semaphore_post(inbox.semaphore());
        inbox.shared.at_once(|state| {
            if state.timers.position(number).is_some() {
                message.take().into_iter().for_each(|message| state.events.push(message));
            }
        });
        let Some(period) = period else { break };
        if message.is_some() {
            break;
        }
        sys::semaphore_wait(pulse.semaphore(), sys::FOREVER);
        if inbox.shared.at_once(|state| state.timers.position(number).is_none()) {
            break;
        }
        delay = period;
    }
}

/// Stops a timer of this actor.
#[track_caller]
pub(super) fn stop(of: &ActorRef, timer: &Timer) {
    assert!(timer.of == *of, "`{}` stops a timer of `{}`", of.name(), timer.of.name());
    let stopped = of.inbox().shared.at_once(|state| state.timers.stop(timer.number));
    stopped.iter().for_each(Pulse::post);
}

/// The event of a timer of this actor was taken.
pub(super) fn taken(of: &ActorRef, number: u32) {
    let periodic = of.inbox().shared.at_once(|state| state.timers.taken(number));
    periodic.iter().for_each(Pulse::post);
}
