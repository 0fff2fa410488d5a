//! Creating actors.

use super::inbox::{ActorRef, Life};
use super::machine::Actor;
use super::{run, system};
use std::panic::Location;

/// Creates an actor: a worker of this name, which enters its start state.
#[track_caller]
pub fn create<A: Actor>(name: impl Into<String>, actor: A) -> ActorRef {
    let reference = ActorRef::new(name.into(), system::next_number(), Location::caller());
    // Nobody else has the reference yet.
    reference.inbox().shared.at_once(|state| state.life = Life::Alive);
    reference.start(actor);
    reference
}

/// The actor with this name, which may be created later by [`ActorRef::create`]. Every call with the same name
/// returns the same actor. Names are for actors that refer to each other before they exist; [`create`] ignores them.
#[track_caller]
pub fn named(name: &str) -> ActorRef {
    system::named(name, Location::caller())
}

impl ActorRef {
    /// Creates the actor of a reference that [`named`](super::named) returned.
    ///
    /// # Panics
    /// It was created before.
    #[track_caller]
    pub fn create<A: Actor>(&self, actor: A) {
        let before = self.inbox().step(|state| (false, std::mem::replace(&mut state.life, Life::Alive)));
        assert!(before == Life::Named, "the actor `{}` is created twice", self.name());
        self.start(actor);
    }

    fn start<A: Actor>(&self, actor: A) {
        let me = self.clone();
        system::start(self.name().into(), crate::thread::STACK_BYTES, move || run::run(actor, me));
    }
}
