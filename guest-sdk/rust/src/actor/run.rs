//! The worker of an actor: it executes the commands of [`core`](super::core), and waits for events.

use super::core::{Ask, Command, Fate, Machine, Mistake};
use super::event::DefaultEvent;
use super::inbox::{ActorRef, Life};
use super::machine::{Actor, Context, States};
use super::message::Message;
use super::timers::Pulse;
use super::{system, timer};
use crate::sys;
use crate::task::section::Section;

/// Runs an actor until it halts.
pub(super) fn run<A: Actor>(actor: A, me: ActorRef) {
    let section = Section::enter();
    me.inbox().begin();
    me.inbox().tell("inbox");
    let states = States::<A>::declared();
    let Some(start) = states.start else { panic!("the actor `{}` has no start state", me.name()) };
    let context = Context { me, state: start, asked: None, group: None };
    let running = Running { actor, states, machine: Machine::new(start), context, idles: false };
    drop(section);
    running.run();
}

struct Running<A: Actor> {
    actor: A,
    states: States<A>,
    machine: Machine<A::State, Message>,
    context: Context<A>,
    /// Whether the last event was the default one.
    idles: bool,
}

impl<A: Actor> Running<A> {
    /// All that is not the program's own is a part of the step in which the worker comes to it, but for what waits.
    fn run(mut self) {
        loop {
            let section = Section::enter();
            match self.next() {
                Command::Call(action) => {
                    let action = &self.states.plain[action];
                    drop(section);
                    action(&mut self.actor, &mut self.context);
                }
                Command::Handle(action, message) => {
                    let action = &self.states.handlers[action];
                    drop(section);
                    action(&mut self.actor, &mut self.context, message);
                }
                Command::Discard(message) => {
                    drop(section);
                    drop(message);
                }
                Command::Handled => {
                    drop(section);
                    self.actor.on_handled(&mut self.context);
                }
                Command::Unhandled(message) => {
                    drop(section);
                    self.unhandled(&message);
                }
                Command::Take => self.take(section),
                Command::Halt => {
                    drop(section);
                    return self.halt();
                }
            }
        }
    }

    /// What is to be done next.
    fn next(&mut self) -> Command<Message> {
        let asked = self.context.asked.take();
        let next = self.machine.next(&self.states.table, Message::kind, asked);
        let (name, before) = (self.context.me.name(), self.context.state);
        match next {
            Ok(command) => {
                // Without a state, it is still the last one that an event was not handled in.
                self.context.state = self.machine.stack().last().copied().unwrap_or(before);
                if self.context.state != before {
                    system::log(|| format!("{name}: {before:?} -> {:?}", self.context.state));
                }
                command
            }
            Err(Mistake::AsksOnExit) => {
                panic!("`{name}` asks for another state while it leaves {before:?}: it can only halt there")
            }
            Err(Mistake::PopsLast) => panic!("`{name}` pops {before:?}, which was not pushed"),
            Err(Mistake::RaisesDeferred(message)) => {
                panic!("`{name}` raises {} in {before:?}, where it is deferred", message.name())
            }
            Err(Mistake::Undeclared(state)) => panic!("`{name}` enters {state:?}, which is not declared"),
        }
    }

    fn unhandled(&mut self, message: &Message) {
        self.actor.on_unhandled(&mut self.context, message);
        let halts = matches!(self.context.asked, Some(Ask::Halt));
        let (name, state) = (self.context.name(), self.context.state);
        assert!(halts, "`{name}` cannot handle {} in {state:?}", message.name());
    }

    /// Takes the next event out of the inbox, for which it waits if it must, and hands it to the machine.
    fn take(&mut self, mut section: Section) {
        let message = loop {
            let (table, stack) = (&self.states.table, self.machine.stack());
            let inbox = self.context.me.inbox();
            let (taken, ignored) = inbox.shared.at_once(|state| {
                let timers = &state.timers;
                state.events.take(|message| {
                    if timers.is_stale(message) { Fate::Ignore } else { table.fate(stack, &message.kind()) }
                })
            });
            if let Some(message) = taken {
                self.idles = false;
                drop(section);
                self.ignored(ignored);
                break message;
            }
            let (semaphore, has_default) = (inbox.semaphore(), table.has_default(stack));
            let idled = has_default && std::mem::replace(&mut self.idles, true);
            drop(section);
            self.ignored(ignored);
            if !has_default {
                // It may wait for ever.
                inbox.end();
                sys::semaphore_wait(semaphore, sys::FOREVER);
                inbox.begin();
            } else {
                if idled {
                    // Not for the first time: others may have to go on before anything can come.
                    sys::yield_now();
                }
                if sys::semaphore_try_wait(semaphore) != 0 {
                    section = Section::enter();
                    if inbox.shared.at_once(|state| state.events.has_unseen()) {
                        // There is an event, and whoever sends another one will give its place back: see `Inbox::step`.
                        continue;
                    }
                    drop(section);
                    break Message::new(DefaultEvent);
                }
            }
            section = Section::enter();
            inbox.shared.at_once(|state| state.events.see());
        };
        self.context.taken(&message);
        let is_default = message.is::<DefaultEvent>();
        if !is_default {
            self.actor.on_dequeued(&message);
        }
        let _section = Section::enter();
        let (me, state) = (&self.context.me, self.context.state);
        system::log(|| format!("{} in {state:?}: {}", me.name(), message.name()));
        self.machine.took(message, is_default);
    }

    /// Messages have left the inbox that the state ignores. Their timers go on.
    fn ignored(&self, messages: Vec<Message>) {
        for number in messages.iter().filter_map(|message| message.parts().timer) {
            timer::taken(&self.context.me, number);
        }
    }

    fn halt(mut self) {
        let me = self.context.me();
        let (left, timers) = me.inbox().step(|state| {
            state.life = Life::Halting;
            (false, (state.events.drain(), state.timers.stop_all()))
        });
        system::log(|| format!("{} halts", me.name()));
        timers.iter().for_each(Pulse::post);
        for message in left {
            let name = message.name();
            assert!(
                !message.parts().must_handle,
                "`{}` halted before it handled {name}, which must be handled",
                me.name()
            );
            system::dropped(&me, message);
        }
        self.actor.on_halt(&mut self.context);
        assert!(self.context.asked.is_none(), "`{}` asks for something when it has halted", me.name());
        drop(self);
        me.inbox().end();
        me.has_ended();
    }
}
