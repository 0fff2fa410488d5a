//! The definition of an actor: its states, and the context of its actions.

use super::core::{Ask, Table};
use super::group::EventGroup;
use super::inbox::ActorRef;
use super::message::Message;
use std::any::TypeId;
use std::fmt::Debug;

/// An actor: its data and its states.
pub trait Actor: Sized + Send + 'static {
    /// The type of the states: an enum, or `()` for an actor that has only one.
    type State: Copy + PartialEq + Debug + Send + 'static;

    /// Declares the states. Called once for each actor, when it starts; it must not block.
    fn states(states: &mut States<Self>);

    /// Called with each event that is taken from the inbox, before it is handled; not with those that are received or raised,
    /// and not with [`DefaultEvent`](super::DefaultEvent).
    fn on_dequeued(&mut self, _event: &Message) {}

    /// Called when an event that was taken, and all that was raised after it, has been handled.
    fn on_handled(&mut self, _context: &mut Context<Self>) {}

    /// Called with an event that no state reacts to. It is a bug, unless this asks to halt.
    fn on_unhandled(&mut self, _context: &mut Context<Self>, _event: &Message) {}

    /// Called when the actor has halted, as the last thing that it does.
    fn on_halt(&mut self, _context: &mut Context<Self>) {}
}

pub(super) type Handler<A> = Box<dyn Fn(&mut A, &mut Context<A>, Message)>;
pub(super) type Plain<A> = Box<dyn Fn(&mut A, &mut Context<A>)>;

/// The states of an actor, declared by [`Actor::states`].
pub struct States<A: Actor> {
    pub(super) table: Table<A::State, TypeId>,
    pub(super) start: Option<A::State>,
    /// What is done with events, and on entry and exit.
    pub(super) handlers: Vec<Handler<A>>,
    pub(super) plain: Vec<Plain<A>>,
}

/// The declarations of one state. A state has at most one reaction to each type of event.
pub struct Declaration<'a, A: Actor> {
    pub(super) states: &'a mut States<A>,
    /// `None`: everywhere.
    pub(super) at: Option<usize>,
}

/// The context of an action: what it can do, and the actor's name, state and group.
///
/// An action may ask for one of [`raise`](Context::raise), [`goto`](Context::goto), [`push`](Context::push),
/// [`pop`](Context::pop) and [`halt`](Context::halt), which is done when the action has ended, before any other event is
/// taken.
pub struct Context<A: Actor> {
    pub(super) me: ActorRef,
    pub(super) state: A::State,
    pub(super) asked: Option<Ask<A::State, Message>>,
    pub(super) group: Option<EventGroup>,
}
