//! An actor as others see it: who can be sent events.
//!
//! An inbox has a semaphore, at which its actor waits. Each event is a post, which is the only scheduling point of a send,
//! and the event is there when that step has ended: senders need no lock, and the actor takes a step for each event.

use super::core::Events;
use super::counted::Counted;
use super::group::EventGroup;
use super::message::{Event, Message};
use super::system;
use super::timer::Timers;
use super::{Actor, run};
use crate::sys;
use crate::task::section::{Section, Shared};
use crate::task::{block_on, sync::Notify};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::atomic::AtomicU8;

/// An actor, to send it events. Clones are the same one.
pub struct ActorRef(Counted<Inbox>);

pub(super) struct Inbox {
    number: u32,
    name: String,
    made: &'static Location<'static>,
    /// Its address is that of the semaphore. Nobody reads or writes it, as the next one.
    place: AtomicU8,
    /// Its address is that of a mutex, which the actor holds while it waits for an event in an action: it must come out of
    /// there, and if it does not, that is a deadlock. An actor that has nothing to do may wait for ever.
    within: AtomicU8,
    pub(super) shared: Shared<State>,
    /// Tells who waits for the actor to halt.
    halts: Notify,
}

pub(super) struct State {
    pub(super) life: Life,
    pub(super) events: Events<Message>,
    /// Timers that are neither stopped nor over.
    pub(super) timers: Timers,
}

/// Where an actor is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Life {
    /// It has a name, and does not exist yet.
    Named,
    Alive,
    /// It takes no events any more.
    Halting,
    Halted,
}

impl Drop for Inbox {
    fn drop(&mut self) {
        sys::semaphore_destroy(self.semaphore());
    }
}

impl Inbox {
    pub(super) fn semaphore(&self) -> i32 {
        sys::address(&self.place)
    }

    pub(super) fn within(&self) -> i32 {
        sys::address(&self.within)
    }

    /// For reports: the actor waits at its semaphore for something.
    pub(super) fn tell(&self, what: &str) {
        let (file, line, semaphore) = (self.made.file(), self.made.line(), self.semaphore());
        let place = |text: &str| (text.as_ptr() as usize as i32, text.len() as i32);
        let ((what, length), (file, file_length)) = (place(what), place(file));
        // SAFETY: addresses and lengths of two `str`.
        #[allow(unsafe_code)]
        unsafe {
            sys::awaits(semaphore, what, length, file, file_length, line as i32, semaphore, 0);
        };
    }
}

impl ActorRef {
    #[track_caller]
    pub(super) fn new(name: String, number: u32) -> ActorRef {
        let state = State { life: Life::Named, events: Events::new(), timers: Timers::new() };
        ActorRef(Counted::new(Inbox {
            number,
            name,
            made: Location::caller(),
            place: AtomicU8::new(0),
            within: AtomicU8::new(0),
            shared: Shared::new(state),
            halts: Notify::new(),
        }))
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.0
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Creates the actor of a reference that [`named`](super::named) returned.
    ///
    /// # Panics
    /// It was created before.
    #[track_caller]
    pub fn create<A: Actor>(&self, actor: A) {
        let before = self.0.shared.at_once(|state| std::mem::replace(&mut state.life, Life::Alive));
        assert!(before == Life::Named, "the actor `{}` is created twice", self.name());
        let me = self.clone();
        system::start(self.name().into(), crate::thread::STACK_BYTES, move || run::run(actor, me));
    }

    /// Sends an event, in no group. One scheduling point.
    ///
    /// # Panics
    /// The actor has a name but was not created yet.
    #[track_caller]
    pub fn send<E: Event>(&self, event: E) {
        self.message(event).send();
    }

    /// An event that is to be sent with more to be said about it.
    pub fn message<E: Event>(&self, event: E) -> Outgoing<'_> {
        let _section = Section::enter();
        Outgoing { to: self, message: Message::new(event), at_most: None }
    }

    /// Whether the actor has halted, and done what it does then. A scheduling point.
    pub fn has_halted(&self) -> bool {
        self.0.shared.look(|state| state.life == Life::Halted)
    }

    /// Blocks the calling worker until the actor has halted, and done what it does then.
    pub fn join(&self) {
        block_on(async {
            let halts = self.0.halts.notified();
            if !self.has_halted() {
                halts.await;
            }
        });
    }

    /// The actor has done all that it does. Tells those that wait for it.
    pub(super) fn has_ended(&self) {
        self.0.shared.at_once(|state| state.life = Life::Halted);
        self.0.halts.notify_waiters();
    }
}

impl Clone for ActorRef {
    fn clone(&self) -> ActorRef {
        ActorRef(self.0.clone())
    }
}

impl fmt::Debug for ActorRef {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_tuple("ActorRef").field(&self.name()).finish()
    }
}

impl PartialEq for ActorRef {
    fn eq(&self, other: &ActorRef) -> bool {
        self.0.number == other.0.number
    }
}

impl Eq for ActorRef {}

impl PartialOrd for ActorRef {
    fn partial_cmp(&self, other: &ActorRef) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// In the order in which they were created or named.
impl Ord for ActorRef {
    fn cmp(&self, other: &ActorRef) -> Ordering {
        self.0.number.cmp(&other.0.number)
    }
}

impl Hash for ActorRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.number.hash(state);
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
    /// It is a bug if the actor halts before it has handled the event, or has halted already.
    pub fn must_handle(mut self) -> Self {
        self.message.parts_mut().must_handle = true;
        self
    }

    /// It is a bug if more than so many events of this type are in the actor's inbox then.
    pub fn at_most(mut self, instances: usize) -> Self {
        self.at_most = Some(instances);
        self
    }

    /// Sends it in this group.
    pub fn in_group(mut self, group: &EventGroup) -> Self {
        self.message.parts_mut().group = Some(group.clone());
        self
    }

    /// Sends it.
    ///
    /// # Panics
    /// As [`ActorRef::send`], and as was said about it.
    #[track_caller]
    pub fn send(self) {
        let section = Section::enter();
        let (to, at_most, name) = (self.to, self.at_most, self.message.name());
        let semaphore = to.inbox().semaphore();
        let mut message = Some(self.message);
        drop(section);
        sys::semaphore_post(semaphore);
        let section = Section::enter();
        let (life, instances) = to.inbox().shared.at_once(|state| {
            let Life::Alive = state.life else { return (state.life, 0) };
            let kind = message.as_ref().map(Message::kind);
            message.take().into_iter().for_each(|message| state.events.push(message));
            let alike = |_| state.events.iter().filter(|event| Some(event.kind()) == kind).count();
            (state.life, at_most.map_or(0, alike))
        });
        if instances > at_most.unwrap_or(usize::MAX) {
            let at_most = at_most.unwrap_or(0);
            panic!("{name} is in the inbox of `{}` {instances} times, where it may be {at_most} times", to.name());
        }
        let Some(message) = message else { return };
        assert!(life != Life::Named, "{name} is sent to `{}`, for which no actor was created yet", to.name());
        assert!(!message.parts().must_handle, "{name}, which must be handled, is sent to `{}`, which has halted", to.name());
        drop(section);
        system::dropped(to, message);
    }
}
