//! References to actors, to which events can be sent.
//!
//! An inbox has a semaphore, at which its actor waits, and which is posted for each event (`send`).

use super::core::Events;
use super::message::Message;
use super::timers::Timers;
use crate::sys;
use crate::task::counted::Counted;
use crate::task::section::{Section, Shared};
use crate::task::{block_on, park, sync::Notify};
use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;
use std::sync::atomic::AtomicU8;

/// A reference to an actor, to send events to it. Clones refer to the same actor.
pub struct ActorRef(Counted<Inbox>);

pub(super) struct Inbox {
    number: u32,
    name: String,
    made: &'static Location<'static>,
    /// Its address identifies the semaphore. Neither this field nor the next one is ever read or written.
    place: AtomicU8,
    /// Its address identifies a mutex, which the actor holds except while it waits for an event between two actions. So the
    /// host takes it for a deadlock if the actor is blocked for ever, but for one that has nothing to do.
    busy: AtomicU8,
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

/// The stage of an actor's life.
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

    /// Begins an action, or what comes before the first one: the actor must not be blocked for ever any more. This concerns
    /// no other worker, so it is no choice.
    pub(super) fn begin(&self) {
        let _section = Section::enter();
        sys::mutex_lock(sys::address(&self.busy), sys::FOREVER);
    }

    /// Undoes [`Inbox::begin`].
    pub(super) fn end(&self) {
        let _section = Section::enter();
        sys::mutex_unlock(sys::address(&self.busy));
    }

    /// Changes the state in one step. `change` returns whether it added an event.
    ///
    /// The semaphore counts the events that the actor has not seen. A try-wait on it is the scheduling point;
    /// a permit that is taken by it is given back in the section, in which the semaphore and the events
    /// change together. So it does not matter if other workers run between the point and the section.
    pub(super) fn step<R>(&self, change: impl FnOnce(&mut State) -> (bool, R)) -> R {
        let got = sys::semaphore_try_wait(self.semaphore()) == 0;
        let _section = Section::enter();
        let (more, result) = self.shared.at_once(change);
        for _ in 0..u32::from(got) + u32::from(more) {
            sys::semaphore_post(self.semaphore());
        }
        result
    }

    /// Tells reports what the actor waits for at its semaphore.
    pub(super) fn tell(&self, what: &str) {
        let semaphore = self.semaphore();
        park::say(semaphore, what, (self.made.file(), self.made.line()), semaphore, false);
    }
}

impl ActorRef {
    /// `made`: for reports.
    pub(super) fn new(name: String, number: u32, made: &'static Location<'static>) -> ActorRef {
        let state = State { life: Life::Named, events: Events::new(), timers: Timers::new() };
        ActorRef(Counted::new(Inbox {
            number,
            name,
            made,
            place: AtomicU8::new(0),
            busy: AtomicU8::new(0),
            shared: Shared::new(state),
            halts: Notify::new(),
        }))
    }

    pub(super) fn inbox(&self) -> &Inbox {
        &self.0
    }

    /// The name of the actor.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Whether the actor has halted, and `on_halt` has ended. A scheduling point.
    pub fn has_halted(&self) -> bool {
        self.0.step(|state| (false, state.life == Life::Halted))
    }

    /// Blocks the calling worker until the actor has halted, and `on_halt` has ended.
    pub fn join(&self) {
        block_on(async {
            let halts = self.0.halts.notified();
            if !self.has_halted() {
                halts.await;
            }
        });
    }

    /// Records that the actor has ended, and wakes the workers that wait for that.
    pub(super) fn has_ended(&self) {
        self.0.step(|state| {
            state.life = Life::Halted;
            (false, ())
        });
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
