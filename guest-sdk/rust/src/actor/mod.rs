//! Actors: state machines that send each other typed events, with the meaning of Coyote's.
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
//! Each actor is a worker of its own name, so that threads, tasks and actors can be mixed in one test. Any value that may be sent
//! to another worker is an event, and its type is what states declare. An action is a function that blocks when it must:
//! to wait for an event ([`Context::receive`]), for a lock, or for a task ([`block_on`](crate::task::block_on)). A test ends
//! when nobody has anything to do; actors that wait for events then are no deadlock, one that waits for an event in the middle of
//! an action is.
//!
//! # What happens
//! After `StateMachine.cs`, `Actor.cs` and `MockEventQueue.cs` of Microsoft's Coyote (1.7), for a machine whose states form a
//! stack:
//!
//! - **Inbox.** Sending is one step. Events of one sender are taken in the order in which they were sent, and any event after
//!   those that it follows from.
//! - **Taking.** When all is done that an action asked for, the actor takes the first event of its inbox that is neither
//!   ignored nor deferred in its states. What is ignored and comes before it is dropped; what is deferred stays where it is.
//!   If there is none, [`DefaultEvent`] happens, if there is a reaction to it; else the actor waits.
//! - **Reactions.** That of the state nearest to the top counts. In one state, the reaction to the event's own type comes before
//!   that to [`AnyEvent`]. States inherit `on`, `defer` and `ignore` from those that they are pushed on, not `goto` and
//!   `push`. Below all is what holds [`everywhere`](States::everywhere).
//! - **Nobody reacts.** The top state is left, with its exit, and the one below is asked, which has all of its reactions now. When
//!   none is left, [`Halt`] halts the actor; any other event is a bug, unless
//!   [`on_unhandled`](Actor::on_unhandled) halts it.
//! - **`goto`** executes the exit of the top state, the transition's action and the entry of the new state, in this order; states
//!   below stay. **`push`** executes the entry alone, **`pop`** the exit alone; to pop the only state is a bug.
//! - **`raise`.** The raised event is handled before any other of the inbox; one that is ignored is dropped.
//! - **One request.** An action asks for one of `raise`, `goto`, `push`, `pop` and `halt`; to ask for two is a bug, and so is
//!   anything but `halt` on exit and between two states.
//! - **Halting.** What is in the inbox is dropped, and so is what is sent later ([`on_dropped`]); timers are stopped;
//!   [`on_halt`](Actor::on_halt) is called.
//! - **Receiving.** [`Context::receive`] takes the first event that is wanted, also if it is deferred or ignored.
//! - **Timers** are workers that fire at any time at which virtual time may pass. Whether one was stopped is decided in the step
//!   in which it fires; its event is ignored if it is stopped later, before the event is taken.
//! - **Groups.** An event that is sent by [`Context::send`] has the group of its sender; who takes an event that has one is in
//!   it.
//!
//! # What differs from Coyote
//! - Events come to actions with their types, so entries and exits have none; what they would look at, the
//!   transition's action can store ([`goto_with`](Declaration::goto_with)).
//! - To raise an event that is deferred is a bug; in Coyote it is lost. A `goto` or `push` that an action asks for cannot be ignored
//!   by a reaction to [`AnyEvent`], which has nothing to do with [`DefaultEvent`] either.
//! - A periodic timer waits until its last event was taken: inboxes stay finite. Timers need no random values.
//! - [`on_handled`](Actor::on_handled) is not called when the actor halts.
//! - An event that is just being received counts for [`Outgoing::at_most`].
//! - A panic is a bug; there is no handler of exceptions.
//! - An actor waits in the middle of an action where `await` would be in C#, so that actions are plain functions.
//!
//! - `core`: these rules, as data; `run`: the worker that follows them.
//! - `machine`: what makes an actor; `states`: how states are declared; `context`: what actions do.
//! - `event`, `message`, `group`: what is sent; `inbox`: to whom; `send`: how.
//! - `timers`: which an actor has; `timer`: the worker of one.
//! - `create`; `system`: what all actors share. `counted`: references that are counted without scheduling points.

mod context;
mod core;
mod counted;
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
