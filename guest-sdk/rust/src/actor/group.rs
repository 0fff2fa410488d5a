//! What belongs together: events that follow from one another, and a value that somebody awaits.

use super::counted::Counted;
use super::event::{Event, short_name};
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
/// // Whoever handles the last event of it calls `group.complete(7)`.
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
    /// A group that nobody awaits.
    pub fn new(name: impl Into<String>) -> EventGroup {
        EventGroup(Counted::new(Group { name: name.into(), awaited: Shared::new(None) }))
    }

    /// A group with a value that whoever has the receiver waits for, as a future or by
    /// [`block_on`](crate::task::block_on).
    #[track_caller]
    pub fn awaited<T: Send + 'static>(name: impl Into<String>) -> (EventGroup, oneshot::Receiver<T>) {
        let (sender, receiver) = oneshot::channel::<T>();
        let awaited = Shared::new(Some(Box::new(sender) as Box<dyn Any + Send>));
        (EventGroup(Counted::new(Group { name: name.into(), awaited })), receiver)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Gives the group its value.
    ///
    /// # Panics
    /// Nobody awaits a value of this type from it, or it has one already.
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
