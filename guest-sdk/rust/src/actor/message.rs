//! An event that was sent, with its type, its group and its timer.

use super::event::{Event, short_name};
use super::group::EventGroup;
use crate::task::section::Section;
use std::any::{Any, TypeId};
use std::fmt;

/// Any event without another reaction, except [`DefaultEvent`](super::DefaultEvent). Contains the event.
#[derive(Debug)]
pub struct AnyEvent(pub Message);

/// An event with its group. Sending a message sends the event in it.
///
/// It is one word, so passing it on takes no memory accesses.
pub struct Message(Box<Parts>);

pub(super) struct Parts {
    value: Box<dyn Any + Send>,
    name: &'static str,
    pub(super) group: Option<EventGroup>,
    pub(super) must_handle: bool,
    /// The number of the actor's timer that sent it.
    pub(super) timer: Option<u32>,
}

impl Message {
    pub(super) fn new<E: Event>(event: E) -> Message {
        // No other worker knows it yet: a part of the sender's step.
        let _section = Section::enter();
        let value: Box<dyn Any + Send> = Box::new(event);
        match value.downcast::<Message>() {
            Ok(message) => *message,
            Err(value) => {
                let name = short_name::<E>();
                Message(Box::new(Parts { value, name, group: None, must_handle: false, timer: None }))
            }
        }
    }

    /// Whether the event has this type.
    pub fn is<E: Event>(&self) -> bool {
        self.0.value.is::<E>()
    }

    /// The event, if it has this type.
    pub fn get<E: Event>(&self) -> Option<&E> {
        self.0.value.downcast_ref()
    }

    /// The event, if it has this type.
    ///
    /// # Errors
    /// It has another one: the message is returned.
    pub fn into_event<E: Event>(self) -> Result<E, Message> {
        if !self.is::<E>() {
            return Err(self);
        }
        let section = Section::enter();
        let Parts { value, group, .. } = *self.0;
        let event = value.downcast::<E>().map(|event| *event);
        drop(section);
        drop(group);
        Ok(event.unwrap_or_else(|_| unreachable!("its type was asked for")))
    }

    /// The name of the event's type, without its module.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// The group that it was sent in.
    pub fn group(&self) -> Option<&EventGroup> {
        self.0.group.as_ref()
    }

    pub(super) fn kind(&self) -> TypeId {
        (*self.0.value).type_id()
    }

    pub(super) fn parts(&self) -> &Parts {
        &self.0
    }

    pub(super) fn parts_mut(&mut self) -> &mut Parts {
        &mut self.0
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("Message").field(&self.name()).finish()
    }
}
