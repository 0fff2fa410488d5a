//! Groups: events that follow from one another, with a value that can be awaited.

use super::event::{Event, short_name};
use crate::task::counted::Counted;
use crate::task::section::Shared;
use crate::task::sync::oneshot;
use std::any::Any;
use std::fmt;

/// A group of events. An actor is in the group of the event that it handles, and what it sends is in the same one
/// ([`Context::send`](super::Context::send)), so that a group holds what follows from one request.
///
/// ```no_run
/// use coyote::actor::{self, EventGroup};
/// # struct Request;
/// # fn example(server: actor::ActorRef) {
/// let (group, answer) = EventGroup::awaited::<u32>("request");
/// server.message(Request).in_group(&group).send();
/// // The actor that handles the last event of the group calls `group.complete(7)`.
/// assert_eq!(coyote::task::block_on(answer), Ok(7));
/// # }
/// ```
#[derive(Clone)]
pub struct EventGroup(Counted<Group>);

struct Group {
    name: String,
    /// An `oneshot::Sender`, until there is a value.
    awaited: Shared<Option<Box<dyn Any + Send>>>,
}

impl EventGroup {
    /// A group without an awaited value.
    pub fn new(name: impl Into<String>) -> EventGroup {
        EventGroup(Counted::new(Group { name: name.into(), awaited: Shared::new(None) }))
    }

    /// A group with a value, and the receiver that waits for the value, as a future or by
    /// [`block_on`](crate::task::block_on).
    #[track_caller]
    pub fn awaited<T: Send + 'static>(name: impl Into<String>) -> (EventGroup, oneshot::Receiver<T>) {
        let (sender, receiver) = oneshot::channel::<T>();
        let awaited = Shared::new(Some(Box::new(sender) as Box<dyn Any + Send>));
        (EventGroup(Counted::new(Group { name: name.into(), awaited })), receiver)
    }

    /// The name of the group.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Gives the group its value.
    ///
    /// # Panics
    /// The group has no awaited value of this type, or was given it already.
    #[track_caller]
    pub fn complete<T: Event>(&self, value: T) {
        let awaited = self.0.awaited.step(Option::take);
        let sender = awaited.and_then(|sender| sender.downcast::<oneshot::Sender<T>>().ok());
        let Some(sender) = sender else {
            panic!("the event group `{}` awaits no {}, or has got it already", self.name(), short_name::<T>())
        };
        let _nobody_waits_any_more = sender.send(value);
    }
}

impl PartialEq for EventGroup {
    fn eq(&self, other: &EventGroup) -> bool {
        self.0.is(&other.0)
    }
}

impl Eq for EventGroup {}

impl fmt::Debug for EventGroup {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("EventGroup").field(&self.name()).finish()
    }
}
