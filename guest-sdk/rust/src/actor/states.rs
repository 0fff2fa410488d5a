//! The declaration of an actor's states.

use super::core::{Action, Reaction, Row, Special, Table};
use super::event::{DefaultEvent, Event, Halt, short_name};
use super::machine::{Actor, Context, Declaration, States};
use super::message::{AnyEvent, Message};
use std::any::TypeId;

impl<A: Actor> States<A> {
    pub(super) fn declared() -> States<A> {
        let special = Special {
            any: TypeId::of::<AnyEvent>(),
            default: TypeId::of::<DefaultEvent>(),
            halt: TypeId::of::<Halt>(),
        };
        let table = Table { states: Vec::new(), everywhere: Row::new(), special };
        let mut states = States { table, start: None, handlers: Vec::new(), plain: Vec::new() };
        A::states(&mut states);
        states
    }

    /// The state in which the actor starts.
    ///
    /// # Panics
    /// There is one already.
    #[track_caller]
    pub fn start(&mut self, state: A::State) -> Declaration<'_, A> {
        let before = self.start.replace(state);
        assert!(before.is_none(), "an actor starts in one state, not in {before:?} and {state:?}");
        self.state(state)
    }

    /// Declares another state. A second call with the same state adds to its declarations.
    pub fn state(&mut self, state: A::State) -> Declaration<'_, A> {
        let at = self.table.states.iter().position(|(of, _)| *of == state);
        let at = at.unwrap_or_else(|| {
            self.table.states.push((state, Row::new()));
            self.table.states.len() - 1
        });
        Declaration { states: self, at: Some(at) }
    }

    /// Declares reactions of all states that have no other reaction, as if each state were pushed on this
    /// one. It has no entry and no exit, and cannot be left.
    pub fn everywhere(&mut self) -> Declaration<'_, A> {
        Declaration { states: self, at: None }
    }
}

impl<A: Actor> Declaration<'_, A> {
    fn row(&mut self) -> &mut Row<A::State, TypeId> {
        let table = &mut self.states.table;
        match self.at {
            Some(at) => &mut table.states[at].1,
            None => &mut table.everywhere,
        }
    }

    fn name(&self) -> String {
        match self.at {
            Some(at) => format!("the state {:?}", self.states.table.states[at].0),
            None => "`everywhere`".into(),
        }
    }

    #[track_caller]
    fn react<E: Event>(mut self, reaction: Reaction<A::State>) -> Self {
        let kind = TypeId::of::<E>();
        let twice = self.row().reactions.iter().any(|(of, _)| *of == kind);
        assert!(!twice, "{} has two reactions to {}", self.name(), short_name::<E>());
        let fits = self.at.is_some() || reaction.is_inherited();
        assert!(fits, "`everywhere` cannot be left: declare `goto` and `push` in a state");
        self.row().reactions.push((kind, reaction));
        self
    }

    fn plain(&mut self, action: impl Fn(&mut A, &mut Context<A>) + 'static) -> Option<Action> {
        self.states.plain.push(Box::new(action));
        Some(self.states.plain.len() - 1)
    }

    fn handler<E: Event>(&mut self, action: impl Fn(&mut A, &mut Context<A>, E) + 'static) -> Action {
        self.states.handlers.push(Box::new(move |actor, context, message| {
            let event = open::<E>(message);
            action(actor, context, event);
        }));
        self.states.handlers.len() - 1
    }

    /// Calls a function whenever the state is entered, by whatever event.
    ///
    /// # Panics
    /// There is one already, or it is everywhere.
    #[track_caller]
    pub fn entry(mut self, action: impl Fn(&mut A, &mut Context<A>) + 'static) -> Self {
        assert!(self.at.is_some() && self.row().entry.is_none(), "{} has one entry at most", self.name());
        let action = self.plain(action);
        self.row().entry = action;
        self
    }

    /// Calls a function whenever the state is left: by a transition to another state, when it is popped, or because it cannot
    /// handle an event. It may ask to halt and for nothing else.
    ///
    /// # Panics
    /// There is one already, or it is everywhere.
    #[track_caller]
    pub fn exit(mut self, action: impl Fn(&mut A, &mut Context<A>) + 'static) -> Self {
        assert!(self.at.is_some() && self.row().exit.is_none(), "{} has one exit at most", self.name());
        let action = self.plain(action);
        self.row().exit = action;
        self
    }

    /// Calls a function with each event of its third parameter's type, here and in states that are pushed on this one.
    ///
    /// # Panics
    /// There is another reaction to it in this state.
    #[track_caller]
    pub fn on<E: Event>(mut self, action: impl Fn(&mut A, &mut Context<A>, E) + 'static) -> Self {
        let action = self.handler(action);
        self.react::<E>(Reaction::Do(action))
    }

    /// Leaves this state at such an event and enters another one.
    ///
    /// # Panics
    /// As [`Declaration::on`].
    #[track_caller]
    pub fn goto<E: Event>(self, state: A::State) -> Self {
        self.react::<E>(Reaction::Goto(state, None))
    }

    /// As [`Declaration::goto`], and calls a function with the event in between, which may ask to halt and for nothing else.
    ///
    /// # Panics
    /// As [`Declaration::on`].
    #[track_caller]
    pub fn goto_with<E: Event>(
        mut self,
        state: A::State,
        action: impl Fn(&mut A, &mut Context<A>, E) + 'static,
    ) -> Self {
        let action = self.handler(action);
        self.react::<E>(Reaction::Goto(state, Some(action)))
    }

    /// Enters another state at such an event, on top of this one, to which [`Context::pop`] comes back.
    ///
    /// # Panics
    /// As [`Declaration::on`].
    #[track_caller]
    pub fn push<E: Event>(self, state: A::State) -> Self {
        self.react::<E>(Reaction::Push(state))
    }

    /// Leaves such events in the inbox for another state, here and in states that are pushed on this one.
    ///
    /// # Panics
    /// As [`Declaration::on`].
    #[track_caller]
    pub fn defer<E: Event>(self) -> Self {
        self.react::<E>(Reaction::Defer)
    }

    /// Drops such events, here and in states that are pushed on this one.
    ///
    /// # Panics
    /// As [`Declaration::on`].
    #[track_caller]
    pub fn ignore<E: Event>(self) -> Self {
        self.react::<E>(Reaction::Ignore)
    }
}

/// The argument of a handler of this type of events.
fn open<E: Event>(message: Message) -> E {
    let message =
        if TypeId::of::<E>() == TypeId::of::<AnyEvent>() { Message::new(AnyEvent(message)) } else { message };
    let event = message.into_event::<E>();
    event.unwrap_or_else(|_| {
        unreachable!("events come to handlers of their type: this is a bug in the coyote SDK")
    })
}
