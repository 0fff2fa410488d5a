//! Sending events to actors.
//!
//! A send is one step, and the event is in the inbox when it has ended: senders need no lock, and the actor takes a step for
//! each event.

use super::event::Event;
use super::group::EventGroup;
use super::inbox::{ActorRef, Life};
use super::message::Message;
use super::system;
use crate::task::section::Section;

impl ActorRef {
    /// Sends an event, in no group. One scheduling point.
    ///
    /// # Panics
    /// The actor has a name but was not created yet.
    #[track_caller]
    pub fn send<E: Event>(&self, event: E) {
        self.message(event).send();
    }

    /// An event to be sent, with further options.
    pub fn message<E: Event>(&self, event: E) -> Outgoing<'_> {
        let _section = Section::enter();
        Outgoing { to: self, message: Message::new(event), at_most: None }
    }
}

/// An event on its way to an actor.
#[must_use = "it is sent by `send`"]
#[derive(Debug)]
pub struct Outgoing<'a> {
    pub(super) to: &'a ActorRef,
    pub(super) message: Message,
    at_most: Option<usize>,
}

impl Outgoing<'_> {
    /// Makes it a bug if the actor halts before it has handled the event, or has halted already.
    pub fn must_handle(mut self) -> Self {
        self.message.parts_mut().must_handle = true;
        self
    }

    /// Makes it a bug if more than `instances` events of this type are in the actor's inbox after the send.
    pub fn at_most(mut self, instances: usize) -> Self {
        self.at_most = Some(instances);
        self
    }

    /// Sets the group in which the event is sent.
    pub fn in_group(mut self, group: &EventGroup) -> Self {
        self.message.parts_mut().group = Some(group.clone());
        self
    }

    /// Sends it.
    ///
    /// # Panics
    /// As [`ActorRef::send`], and according to the options.
    #[track_caller]
    pub fn send(self) {
        let section = Section::enter();
        let (to, at_most, name) = (self.to, self.at_most, self.message.name());
        let mut message = Some(self.message);
        drop(section);
        let (life, instances) = to.inbox().step(|state| {
            let Life::Alive = state.life else { return (false, (state.life, 0)) };
            let kind = message.as_ref().map(Message::kind);
            message.take().into_iter().for_each(|message| state.events.push(message));
            let alike = |_| state.events.iter().filter(|event| Some(event.kind()) == kind).count();
            (true, (state.life, at_most.map_or(0, alike)))
        });
        let section = Section::enter();
        if instances > at_most.unwrap_or(usize::MAX) {
            let at_most = at_most.unwrap_or(0);
            panic!(
                "{name} is in the inbox of `{}` {instances} times, where it may be {at_most} times",
                to.name()
            );
        }
        let Some(message) = message else { return };
        assert!(life != Life::Named, "{name} is sent to `{}`, for which no actor was created yet", to.name());
        assert!(
            !message.parts().must_handle,
            "{name}, which must be handled, is sent to `{}`, which has halted",
            to.name()
        );
        drop(section);
        system::dropped(to, message);
    }
}
