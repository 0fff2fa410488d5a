//! Creating actors.

use super::inbox::{ActorRef, Life};
use super::machine::Actor;
use super::{run, system};
use crate::task::section::Section;
use std::panic::Location;

/// Creates an actor: a worker of this name, which enters its start state.
#[track_caller]
pub fn create<A: Actor>(name: impl Into<String>, actor: A) -> ActorRef {
    let reference = ActorRef::new(name.into(), system::next_number(), Location::caller());
    reference.create(actor);
    reference
}

/// The actor with this name, which may be created later by [`ActorRef::create`]. Every call with the same name
/// returns the same actor. Names are for actors that refer to each other before they exist; [`create`] ignores them.
#[track_caller]
pub fn named(name: &str) -> ActorRef {
    let made = Location::caller();
    system::named(name).unwrap_or_else(|| {
        let _section = Section::enter();
        system::keep(ActorRef::new(name.into(), system::next_number(), made))
    })
}

impl ActorRef {
    /// Creates the actor of a reference that [`named`](super::named) returned.
    ///
    /// # Panics
    /// It was created before.
    #[track_caller]
    pub fn create<A: Actor>(&self, actor: A) {
        let before = self.inbox().shared.at_once(|state| std::mem::replace(&mut state.life, Life::Alive));
        assert!(before == Life::Named, "the actor `{}` is created twice", self.name());
        let me = self.clone();
        system::start(self.name().into(), crate::thread::STACK_BYTES, move || run::run(actor, me));
    }
}
