//! Timers: each is a worker, which sends an event to its actor after a span of virtual time.
//!
//! A timer fires in one step, in which it looks whether it was stopped. A periodic one waits then until the actor has taken its
//! event, so that inboxes do not grow without bound in schedules that leave the actor behind.

use super::event::Event;
use super::inbox::{ActorRef, Life};
use super::message::Message;
use super::system;
use super::timers::Pulse;
use crate::sys;
use crate::task::STACK_BYTES;
use crate::task::section::Section;
use std::time::Duration;

/// A timer of an actor: see [`Context::start_timer`](super::Context::start_timer).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    of: ActorRef,
    number: u32,
}

/// Starts a timer of an actor, which fires once, or again and again after a period. One of an actor that has halted takes no
/// time and never fires, since nobody would take its event.
pub(super) fn start<E: Event>(
    of: ActorRef,
    delay: Duration,
    period: Option<Duration>,
    event: impl FnMut() -> E + Send + 'static,
) -> Timer {
    let pulse = Pulse::new();
    let (number, takes_events) = of.inbox().shared.at_once(|state| {
        let number = state.timers.start(period.is_some(), pulse.clone());
        let takes_events = state.life == Life::Alive;
        if !takes_events {
            state.timers.stop(number);
        }
        (number, takes_events)
    });
    if !takes_events {
        return Timer { of, number };
    }
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
        inbox.step(|state| {
            let fires = state.timers.is_active(number);
            if fires {
                message.take().into_iter().for_each(|message| state.events.push(message));
            }
            (fires, ())
        });
        let Some(period) = period else { break };
        if message.is_some() {
            break;
        }
        sys::semaphore_wait(pulse.semaphore(), sys::FOREVER);
        if inbox.shared.at_once(|state| !state.timers.is_active(number)) {
            break;
        }
        delay = period;
    }
}

/// Stops a timer of this actor.
#[track_caller]
pub(super) fn stop(of: &ActorRef, timer: &Timer) {
    assert!(timer.of == *of, "`{}` stops a timer of `{}`", of.name(), timer.of.name());
    let stopped = of.inbox().step(|state| (false, state.timers.stop(timer.number)));
    stopped.iter().for_each(Pulse::post);
}

/// The event of a timer of this actor was taken.
pub(super) fn taken(of: &ActorRef, number: u32) {
    let periodic = of.inbox().shared.at_once(|state| state.timers.taken(number));
    periodic.iter().for_each(Pulse::post);
}
