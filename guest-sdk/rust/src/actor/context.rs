//! The functions that an action can call.

use super::core::Ask;
use super::event::{Event, short_name};
use super::group::EventGroup;
use super::inbox::ActorRef;
use super::machine::{Actor, Context};
use super::message::Message;
use super::send::Outgoing;
use super::timer::{self, Timer};
use crate::sys;
use crate::task::section::Section;
use std::time::Duration;

impl<A: Actor> Context<A> {
    /// The actor itself.
    pub fn me(&self) -> ActorRef {
        self.me.clone()
    }

    /// The name of the actor.
    pub fn name(&self) -> &str {
        self.me.name()
    }

    /// The present state: the last one that was entered.
    pub fn state(&self) -> A::State {
        self.state
    }

    /// The group of the event that is handled, or the group that was set since.
    pub fn group(&self) -> Option<&EventGroup> {
        self.group.as_ref()
    }

    /// Puts the actor into another group, or into none, until it takes an event that has one.
    pub fn set_group(&mut self, group: Option<EventGroup>) {
        self.group = group;
    }

    /// Sends an event in the actor's group. One scheduling point.
    ///
    /// # Panics
    /// As [`ActorRef::send`].
    #[track_caller]
    pub fn send<E: Event>(&self, to: &ActorRef, event: E) {
        self.message(to, event).send();
    }

    /// An event to be sent in the actor's group, with further options.
    pub fn message<'a, E: Event>(&self, to: &'a ActorRef, event: E) -> Outgoing<'a> {
        let _section = Section::enter();
        let outgoing = to.message(event);
        match &self.group {
            Some(group) if outgoing.message.group().is_none() => outgoing.in_group(group),
            _ => outgoing,
        }
    }

    #[track_caller]
    fn ask(&mut self, ask: Ask<A::State, Message>) {
        let _section = Section::enter();
        let twice = self.asked.is_some();
        assert!(!twice, "an action of `{}` asks for two of raise, goto, push, pop and halt", self.name());
        self.asked = Some(ask);
    }

    /// Handles an event after this action, before all events of the inbox. It is in the actor's group.
    ///
    /// # Panics
    /// The action has already asked for a `raise`, `goto`, `push`, `pop` or `halt`.
    #[track_caller]
    pub fn raise<E: Event>(&mut self, event: E) {
        let mut message = Message::new(event);
        if message.group().is_none() {
            message.parts_mut().group = self.group.clone();
        }
        self.ask(Ask::Raise(message));
    }

    /// Leaves the state after this action, and enters another one in its place.
    ///
    /// # Panics
    /// As [`Context::raise`].
    #[track_caller]
    pub fn goto(&mut self, state: A::State) {
        self.ask(Ask::Goto(state));
    }

    /// Enters another state after this action, on top of this one.
    ///
    /// # Panics
    /// As [`Context::raise`].
    #[track_caller]
    pub fn push(&mut self, state: A::State) {
        self.ask(Ask::Push(state));
    }

    /// Leaves the state after this action, and returns to the one on which it was pushed.
    ///
    /// # Panics
    /// As [`Context::raise`].
    #[track_caller]
    pub fn pop(&mut self) {
        self.ask(Ask::Pop);
    }

    /// Halts after this action: the events of the inbox are dropped, the timers are stopped, and the actor ends.
    ///
    /// # Panics
    /// As [`Context::raise`].
    #[track_caller]
    pub fn halt(&mut self) {
        self.ask(Ask::Halt);
    }

    /// Takes the first event of a type out of the inbox, in the middle of the action; blocks until there is
    /// one. The reactions of states to it do not matter; other events stay where they are.
    ///
    /// # Panics
    /// The action has asked to halt.
    #[track_caller]
    pub fn receive<E: Event>(&mut self) -> E {
        self.receive_where(|_: &E| true)
    }

    /// As [`Context::receive`], for an event for which `wanted` is true. `wanted` must not block.
    ///
    /// # Panics
    /// As [`Context::receive`].
    #[track_caller]
    pub fn receive_where<E: Event>(&mut self, wanted: impl Fn(&E) -> bool) -> E {
        let message = self.take(short_name::<E>(), &|message| message.get().is_some_and(&wanted));
        message.into_event().unwrap_or_else(|_| unreachable!("it was asked for its type"))
    }

    /// As [`Context::receive`], for events of several types: `wanted` is called with each event, and must not block.
    ///
    /// # Panics
    /// As [`Context::receive`].
    #[track_caller]
    pub fn receive_message(&mut self, wanted: impl Fn(&Message) -> bool) -> Message {
        self.take("one of several events", &wanted)
    }

    #[track_caller]
    fn take(&mut self, what: &'static str, wanted: &dyn Fn(&Message) -> bool) -> Message {
        let halts = matches!(self.asked, Some(Ask::Halt));
        assert!(!halts, "an action of `{}` waits for an event after it asked to halt", self.name());
        let inbox = self.me.inbox();
        let mut waits = false;
        let message = loop {
            let (found, unseen) = inbox.shared.at_once(|state| {
                let timers = &state.timers;
                let found = state.events.find(|message| !timers.is_stale(message) && wanted(message));
                (found, state.events.has_unseen())
            });
            if let Some(message) = found {
                break message;
            }
            if !unseen && !waits {
                let _section = Section::enter();
                inbox.tell(&format!("{what} in the inbox"));
                waits = true;
            }
            sys::semaphore_wait(inbox.semaphore(), sys::FOREVER);
            inbox.shared.at_once(|state| state.events.see());
        };
        if waits {
            let _section = Section::enter();
            inbox.tell("inbox");
        }
        self.taken(&message);
        message
    }

    /// An event has left the inbox.
    pub(super) fn taken(&mut self, message: &Message) {
        let section = Section::enter();
        if let Some(group) = message.group() {
            self.group = Some(group.clone());
        }
        let timer = message.parts().timer;
        drop(section);
        if let Some(number) = timer {
            timer::taken(&self.me, number);
        }
    }

    /// Sends an event to the actor itself after a span of virtual time, unless the timer is stopped before.
    ///
    /// A timer is a worker: without `--timers ordered`, it may fire at any time at which no other timeout is earlier. One
    /// that is started while the actor halts ([`on_halt`](super::Actor::on_halt)) never fires.
    pub fn start_timer<E: Event>(&mut self, delay: Duration, event: E) -> Timer {
        let mut event = Some(event);
        let once = move || event.take().expect("it fires once");
        timer::start(self.me(), delay, None, once)
    }

    /// Sends an event to the actor itself after a span of virtual time, and then repeatedly, each time when
    /// the previous one was taken and a period has passed, until the timer is stopped.
    pub fn start_periodic_timer<E: Event + Clone>(
        &mut self,
        delay: Duration,
        period: Duration,
        event: E,
    ) -> Timer {
        timer::start(self.me(), delay, Some(period), move || event.clone())
    }

    /// Stops a timer. Its event is ignored if it is in the inbox already. No effect on a timer that has ended.
    ///
    /// # Panics
    /// It is the timer of another actor.
    #[track_caller]
    pub fn stop_timer(&mut self, timer: &Timer) {
        timer::stop(&self.me, timer);
    }
}
