//! The rules of a state machine as data: what it does next, and which event it takes. This module calls neither the host
//! nor the program. The driver executes what [`Machine::next`] returns, so the same rules can be run without a host.
//!
//! The types of states, events and their kinds are the driver's. An action is a number that the driver chooses.

use std::collections::VecDeque;

/// The number of an action.
pub(super) type Action = usize;

/// The reaction of a state to events of a kind.
#[derive(Clone, Debug)]
pub(super) enum Reaction<S> {
    Do(Action),
    /// Leave the state, execute the action, if any, and enter the other one.
    Goto(S, Option<Action>),
    Push(S),
    Defer,
    Ignore,
}

impl<S> Reaction<S> {
    /// Whether it also holds in states that are pushed on this one.
    pub(super) fn is_inherited(&self) -> bool {
        match self {
            Reaction::Do(_) | Reaction::Defer | Reaction::Ignore => true,
            Reaction::Goto(..) | Reaction::Push(_) => false,
        }
    }
}

/// What is declared of a state.
#[derive(Clone, Debug)]
pub(super) struct Row<S, K> {
    pub entry: Option<Action>,
    pub exit: Option<Action>,
    pub reactions: Vec<(K, Reaction<S>)>,
}

impl<S, K: PartialEq> Row<S, K> {
    pub(super) const fn new() -> Row<S, K> {
        Row { entry: None, exit: None, reactions: Vec::new() }
    }

    fn reaction(&self, kind: &K, at_top: bool) -> Option<&Reaction<S>> {
        let reaction = self.reactions.iter().find(|(of, _)| of == kind).map(|(_, reaction)| reaction);
        reaction.filter(|reaction| at_top || reaction.is_inherited())
    }
}

/// Kinds of events that mean something to all machines.
#[derive(Clone, Debug)]
pub(super) struct Special<K> {
    /// Stands for any event that was sent or raised.
    pub any: K,
    /// There is no other event.
    pub default: K,
    pub halt: K,
}

/// What is declared of all states.
#[derive(Clone, Debug)]
pub(super) struct Table<S, K> {
    pub states: Vec<(S, Row<S, K>)>,
    /// What is below all states.
    pub everywhere: Row<S, K>,
    pub special: Special<K>,
}

/// The fate of an event in the inbox.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    Take,
    Defer,
    Ignore,
}

impl<S: Copy + PartialEq, K: PartialEq> Table<S, K> {
    fn row(&self, state: S) -> Option<&Row<S, K>> {
        self.states.iter().find(|(of, _)| *of == state).map(|(_, row)| row)
    }

    /// The reaction of the state that is nearest to the top and has one that holds there. In one state, that to the very kind
    /// comes before that to any event.
    fn reaction(&self, stack: &[S], kind: &K) -> Option<&Reaction<S>> {
        let any = (*kind != self.special.default).then_some(&self.special.any);
        let of = |row, at_top| reaction_of(row, kind, any, at_top);
        let mut rows = stack.iter().rev().enumerate();
        let found = rows.find_map(|(depth, state)| of(self.row(*state)?, depth == 0));
        found.or_else(|| of(&self.everywhere, false))
    }

    /// The fate of an event of this kind in the inbox of a machine with these states.
    pub(super) fn fate(&self, stack: &[S], kind: &K) -> Fate {
        match self.reaction(stack, kind) {
            Some(Reaction::Defer) => Fate::Defer,
            Some(Reaction::Ignore) => Fate::Ignore,
            _ => Fate::Take,
        }
    }

    /// Whether there is a reaction to the default event.
    pub(super) fn has_default(&self, stack: &[S]) -> bool {
        let kind = &self.special.default;
        self.reaction(stack, kind).is_some() && self.fate(stack, kind) == Fate::Take
    }
}

fn reaction_of<'a, S, K: PartialEq>(
    row: &'a Row<S, K>,
    kind: &K,
    any: Option<&K>,
    at_top: bool,
) -> Option<&'a Reaction<S>> {
    row.reaction(kind, at_top).or_else(|| row.reaction(any?, at_top))
}

/// The request of an action, which is executed when the action has ended.
#[derive(Debug)]
pub(super) enum Ask<S, E> {
    Raise(E),
    Goto(S),
    Push(S),
    Pop,
    Halt,
}

/// A command for the driver: what to do next.
#[derive(Debug)]
pub(super) enum Command<E> {
    /// Execute an action on entry or exit.
    Call(Action),
    /// Execute an action with an event.
    Handle(Action, E),
    /// Drop an event.
    Discard(E),
    /// An event of the inbox, and all that was raised after it, has been handled.
    Handled,
    /// No state knows what to do about it.
    Unhandled(E),
    /// Take the next event and say which by [`Machine::took`].
    Take,
    Halt,
}

/// A mistake of the program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Mistake<S, E> {
    /// An action on exit, or between two states, asks for something else than to halt.
    AsksOnExit,
    /// The only state is popped.
    PopsLast,
    /// It raised what its own states defer.
    RaisesDeferred(E),
    Undeclared(S),
}

/// A task that the machine has still to do.
#[derive(Debug)]
enum Todo<S, E> {
    /// An event that was taken or raised, or one for which states were left.
    Event(E),
    Raised(E),
    Exit,
    /// Between exit and entry.
    Between(Action, E),
    Leave,
    /// Checks that a state is left.
    Left,
    Enter(S),
    Handled,
    Halt,
}

/// The state of a machine's execution.
#[derive(Debug)]
pub(super) struct Machine<S, E> {
    /// The present state is the last one.
    stack: Vec<S>,
    todo: VecDeque<Todo<S, E>>,
    /// The last action may not ask for another state.
    on_exit: bool,
}

impl<S: Copy + PartialEq, E> Machine<S, E> {
    pub(super) fn new(start: S) -> Machine<S, E> {
        Machine { stack: Vec::new(), todo: VecDeque::from([Todo::Enter(start)]), on_exit: false }
    }

    pub(super) fn stack(&self) -> &[S] {
        &self.stack
    }

    /// Handles an event of the inbox next, or the default one.
    pub(super) fn took(&mut self, event: E, is_default: bool) {
        self.todo.push_back(Todo::Event(event));
        if !is_default {
            self.todo.push_back(Todo::Handled);
        }
    }

    fn first<const N: usize>(&mut self, todo: [Todo<S, E>; N]) {
        todo.into_iter().rev().for_each(|todo| self.todo.push_front(todo));
    }

    /// What is to be done next, given what the last action asked for.
    pub(super) fn next<K: PartialEq>(
        &mut self,
        table: &Table<S, K>,
        kind: impl Fn(&E) -> K,
        asked: Option<Ask<S, E>>,
    ) -> Result<Command<E>, Mistake<S, E>> {
        if self.on_exit && !matches!(asked, None | Some(Ask::Halt)) {
            return Err(Mistake::AsksOnExit);
        }
        self.on_exit = false;
        match asked {
            Some(Ask::Raise(event)) => self.first([Todo::Raised(event)]),
            Some(Ask::Goto(state)) => self.first([Todo::Exit, Todo::Leave, Todo::Enter(state)]),
            Some(Ask::Push(state)) => self.first([Todo::Enter(state)]),
            Some(Ask::Pop) => self.first([Todo::Exit, Todo::Leave, Todo::Left]),
            Some(Ask::Halt) => self.todo = VecDeque::from([Todo::Halt]),
            None => {}
        }
        loop {
            let Some(todo) = self.todo.pop_front() else { return Ok(Command::Take) };
            let row = self.stack.last().and_then(|state| table.row(*state));
            match todo {
                Todo::Event(event) => {
                    let kind = kind(&event);
                    let reaction = table.reaction(&self.stack, &kind).cloned();
                    if let Some(command) = self.react(event, reaction, kind == table.special.halt) {
                        return Ok(command);
                    }
                }
                Todo::Raised(event) => match table.fate(&self.stack, &kind(&event)) {
                    Fate::Take => self.first([Todo::Event(event)]),
                    Fate::Defer => return Err(Mistake::RaisesDeferred(event)),
                    Fate::Ignore => return Ok(Command::Discard(event)),
                },
                Todo::Exit => {
                    if let Some(action) = row.and_then(|row| row.exit) {
                        self.on_exit = true;
                        return Ok(Command::Call(action));
                    }
                }
                Todo::Between(action, event) => {
                    self.on_exit = true;
                    return Ok(Command::Handle(action, event));
                }
                Todo::Leave => drop(self.stack.pop()),
                Todo::Left if self.stack.is_empty() => return Err(Mistake::PopsLast),
                Todo::Left => {}
                Todo::Enter(state) => {
                    let row = table.row(state).ok_or(Mistake::Undeclared(state))?;
                    self.stack.push(state);
                    if let Some(action) = row.entry {
                        return Ok(Command::Call(action));
                    }
                }
                Todo::Handled => return Ok(Command::Handled),
                Todo::Halt => return Ok(Command::Halt),
            }
        }
    }

    /// Begins to handle an event. Without a command, what is to do stands in the list.
    fn react(&mut self, event: E, reaction: Option<Reaction<S>>, halts: bool) -> Option<Command<E>> {
        match reaction {
            Some(Reaction::Do(action)) => Some(Command::Handle(action, event)),
            Some(Reaction::Goto(state, None)) => {
                self.first([Todo::Exit, Todo::Leave, Todo::Enter(state)]);
                Some(Command::Discard(event))
            }
            Some(Reaction::Goto(state, Some(action))) => {
                self.first([Todo::Exit, Todo::Between(action, event), Todo::Leave, Todo::Enter(state)]);
                None
            }
            Some(Reaction::Push(state)) => {
                self.first([Todo::Enter(state)]);
                Some(Command::Discard(event))
            }
            // Neither is taken from the inbox, nor raised; and what no state of the stack does, none of fewer does.
            Some(Reaction::Defer | Reaction::Ignore) => Some(Command::Discard(event)),
            None if !self.stack.is_empty() => {
                self.first([Todo::Exit, Todo::Leave, Todo::Event(event)]);
                None
            }
            None if halts => {
                self.todo = VecDeque::from([Todo::Halt]);
                Some(Command::Discard(event))
            }
            None => Some(Command::Unhandled(event)),
        }
    }
}

/// An inbox: events in the order in which they were sent. Those that the machine has seen come first.
#[derive(Debug)]
pub(super) struct Events<E> {
    events: VecDeque<E>,
    seen: usize,
}

impl<E> Events<E> {
    pub(super) const fn new() -> Events<E> {
        Events { events: VecDeque::new(), seen: 0 }
    }

    pub(super) fn push(&mut self, event: E) {
        self.events.push_back(event);
    }

    /// Looks at one event more, if there is one.
    pub(super) fn see(&mut self) {
        self.seen = self.events.len().min(self.seen + 1);
    }

    pub(super) fn has_unseen(&self) -> bool {
        self.seen < self.events.len()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &E> {
        self.events.iter()
    }

    /// Takes the first event seen that is to be taken, and those before it that are ignored.
    pub(super) fn take(&mut self, fate: impl Fn(&E) -> Fate) -> (Option<E>, Vec<E>) {
        let (mut at, mut ignored) = (0, Vec::new());
        while at < self.seen {
            let fate = self.events.get(at).map_or(Fate::Defer, &fate);
            if fate == Fate::Defer {
                at += 1;
                continue;
            }
            let event = self.remove(at);
            if fate == Fate::Take {
                return (event, ignored);
            }
            ignored.extend(event);
        }
        (None, ignored)
    }

    /// Takes the first event seen that is wanted, whatever becomes of those before it.
    pub(super) fn find(&mut self, wanted: impl FnMut(&E) -> bool) -> Option<E> {
        let at = self.events.iter().take(self.seen).position(wanted)?;
        self.remove(at)
    }

    fn remove(&mut self, at: usize) -> Option<E> {
        self.seen -= 1;
        self.events.remove(at)
    }

    /// Takes all that is left.
    pub(super) fn drain(&mut self) -> VecDeque<E> {
        self.seen = 0;
        std::mem::take(&mut self.events)
    }
}
