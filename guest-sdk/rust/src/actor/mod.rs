//! Actors: state machines that send each other typed events, with the semantics of Coyote's.
//!
//! ```no_run
//! use coyote::actor::{self, Actor, ActorRef, Context, States};
//!
//! struct Ping(ActorRef);
//! struct Pong;
//!
//! #[derive(Default)]
//! struct Server {
//!     pings: u32,
//! }
//!
//! #[derive(Clone, Copy, Debug, PartialEq)]
//! enum State {
//!     Open,
//!     Closed,
//! }
//!
//! impl Actor for Server {
//!     type State = State;
//!
//!     fn states(states: &mut States<Server>) {
//!         states.start(State::Open).on(Server::ping).goto::<actor::Halt>(State::Closed);
//!         states.state(State::Closed).entry(|_, ctx| ctx.halt());
//!     }
//! }
//!
//! impl Server {
//!     fn ping(&mut self, ctx: &mut Context<Server>, Ping(client): Ping) {
//!         self.pings += 1;
//!         ctx.send(&client, Pong);
//!     }
//! }
//!
//! #[coyote::test]
//! fn a_server_is_pinged() {
//!     let server = actor::create("server", Server::default());
//!     // ...
//!     server.send(actor::Halt);
//! }
//! ```
//!
//! Each actor is a worker with a name, so threads, tasks and actors can be mixed in one test. Any value that
//! may be sent to another worker is an event, and states declare reactions to its type. An action is a
//! function that may block: to wait for an event ([`Context::receive`]), for a lock, or for a task
//! ([`block_on`](crate::task::block_on)). A test ends when no worker can continue. Actors that wait for
//! events then are no deadlock; an actor that waits in the middle of an action is, whatever it waits for.
//!
//! # Rules
//! After `StateMachine.cs`, `Actor.cs` and `MockEventQueue.cs` of Microsoft's Coyote (1.7), for a machine whose states form a
//! stack:
//!
//! - **Inbox.** Sending is one step. Events of one sender are taken in the order in which they were sent, and any event after
//!   those that caused it.
//! - **Taking.** When the request of an action has been executed, the actor takes the first event of its inbox that
//!   is neither ignored nor deferred in its states. Ignored events before it are dropped; deferred ones stay where
//!   they are. If there is none, the actor handles [`DefaultEvent`] if it has a reaction to it; else it waits.
//! - **Reactions.** The state nearest to the top that has a reaction decides. In one state, the event's own type
//!   has priority over [`AnyEvent`]. States inherit `on`, `defer` and `ignore` from those that they are pushed
//!   on, not `goto` and `push`. Below all states are the reactions that hold [`everywhere`](States::everywhere).
//! - **No reaction.** The top state is left, with its exit, and the state below decides, now with all of its
//!   reactions. When no state is left, [`Halt`] halts the actor; any other event is a bug, unless
//!   [`on_unhandled`](Actor::on_unhandled) halts it.
//! - **`goto`** executes the exit of the top state, the transition's action and the entry of the new state, in this order; states
//!   below stay. **`push`** executes the entry alone, **`pop`** the exit alone; to pop the only state is a bug.
//! - **`raise`.** The raised event is handled before any other of the inbox; one that is ignored is dropped.
//! - **One request.** An action asks for one of `raise`, `goto`, `push`, `pop` and `halt`; to ask for two is a bug, and so is
//!   anything but `halt` on exit and between two states.
//! - **Halting.** The events of the inbox are dropped, and so are those sent later ([`on_dropped`]); timers
//!   are stopped; [`on_halt`](Actor::on_halt) is called. A timer that it starts never fires.
//! - **Receiving.** [`Context::receive`] takes the first event that matches, even if it is deferred or ignored.
//! - **Timers** are workers that fire at any time at which virtual time may pass. A timer that is stopped before the
//!   step in which it fires does not fire; if it is stopped later, before its event is taken, the event is ignored.
//! - **Groups.** An event that is sent by [`Context::send`] has the group of its sender; an actor that takes
//!   an event with a group is in this group.
//!
//! # What differs from Coyote
//! - Actions get events with their types, so entries and exits get no event; the transition's action can
//!   store what they need ([`goto_with`](Declaration::goto_with)).
//! - To raise an event that is deferred is a bug; in Coyote it is lost. A `goto` or `push` that an action asks for cannot be ignored
//!   by a reaction to [`AnyEvent`], which has nothing to do with [`DefaultEvent`] either.
//! - A periodic timer waits until its last event was taken: inboxes stay finite. Timers need no random values.
//! - [`on_handled`](Actor::on_handled) is not called when the actor halts. In Coyote, a timer that is started by `OnHaltAsync`
//!   goes on after that, for events that are dropped.
//! - An event that the actor is about to receive counts for [`Outgoing::at_most`].
//! - A panic is a bug; there is no handler of exceptions.
//! - An actor waits in the middle of an action where `await` would be in C#, so that actions are plain functions.
//!
//! - `core`: these rules, as data; `run`: the worker that follows them.
//! - `machine`: what makes an actor; `states`: how states are declared; `context`: what actions do.
//! - `event`, `message`, `group`: what is sent; `inbox`: references to actors; `send`: sending.
//! - `timers`: the timers of an actor; `timer`: the worker of a timer.
//! - `create`; `system`: what all actors share.

mod context;
mod core;
mod create;
mod event;
mod group;
mod inbox;
mod machine;
mod message;
#[cfg(test)]
mod naive;
mod run;
mod send;
mod states;
mod system;
#[cfg(test)]
mod tests;
mod timer;
mod timers;

pub use create::{create, named};
pub use event::{DefaultEvent, Event, Halt};
pub use group::EventGroup;
pub use inbox::ActorRef;
pub use machine::{Actor, Context, Declaration, States};
pub use message::{AnyEvent, Message};
pub use send::Outgoing;
#[cfg(not(target_family = "wasm"))]
pub(crate) use system::forget_all;
pub use system::{log_events, on_dropped};
pub use timer::Timer;
