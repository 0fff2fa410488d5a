//! An execution of a program together with an explorer, and the places to which it can return.

use super::{Explorer, Mistake, Unsound, offers};
use crate::search::stored::check_decision;
use crate::system::{Decision, System, decide};
use crate::{Event, Pick};

/// An event that the explorer has not been told yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum News {
    None,
    /// An execution began.
    Begun,
    /// This pick was made. Its step may wait for a value.
    Picked(Pick),
}

/// The state of program and explorer. The program's state is in the [`System`] that every method is given.
pub struct Walk<E> {
    /// The explorer as it begins.
    fresh: E,
    /// The explorer in the present state.
    pub explorer: E,
    /// The decisions made since the start of the program.
    pub path: Vec<Decision>,
    /// Steps executed so far, including repeated ones.
    pub steps: u64,
    news: News,
    events: Vec<Event>,
    offers: Vec<Pick>,
}

/// A state along the path of a walk that can be restored.
pub struct Place<T, E> {
    /// How many decisions are before it.
    pub depth: usize,
    /// The state of the explorer there.
    pub explorer: E,
    /// The snapshot; without one, the decisions are executed again.
    pub snapshot: Option<T>,
    news: News,
    events: Vec<Event>,
}

impl<E: Explorer> Walk<E> {
    /// A walk that has not begun; [`Walk::restart`] begins it.
    pub fn new(fresh: E) -> Walk<E> {
        let explorer = fresh.clone();
        let (path, events, offers) = (Vec::new(), Vec::new(), Vec::new());
        Walk { fresh, explorer, path, steps: 0, news: News::Begun, events, offers }
    }

    /// The explorer's name.
    pub fn name(&self) -> String {
        self.fresh.name()
    }

    /// Restores the start of the program.
    pub fn restart<S: System>(&mut self, system: &mut S) {
        system.restart();
        self.path.clear();
        self.explorer = self.fresh.clone();
        self.news = News::Begun;
        self.events.clear();
    }

    /// Executes a decision.
    pub fn decide<S: System>(&mut self, system: &mut S, decision: Decision) {
        self.path.push(decision);
        if let Decision::Pick(pick) = decision {
            self.news = News::Picked(pick);
            self.steps += 1;
        }
        decide(system, decision);
        system.take_events(&mut self.events);
    }

    /// Tells the explorer what happened, in a state in which a pick is possible.
    pub fn settle<S: System>(&mut self, system: &mut S) {
        match std::mem::replace(&mut self.news, News::None) {
            News::None => return,
            News::Begun => self.explorer.begin(&system.view()),
            News::Picked(pick) => self.explorer.step(pick, &self.events, &system.view()),
        }
        self.events.clear();
    }

    /// All possible picks, in the explorer's order: each needs one more delay.
    ///
    /// # Errors
    /// The explorer is not sound in this state; contains the path to the state.
    pub fn offers<S: System>(&mut self, system: &S) -> Result<&[Pick], Unsound> {
        match offers(&self.explorer, &system.view(), &mut self.offers) {
            Ok(()) => Ok(&self.offers),
            Err(mistake) => Err(self.unsound(mistake)),
        }
    }

    fn unsound(&self, mistake: Mistake) -> Unsound {
        Unsound { explorer: self.name(), path: self.path.clone(), mistake }
    }

    /// Remembers the present state; by a snapshot, if this is wanted and possible.
    pub fn mark<S: System>(&self, system: &mut S, snapshot: bool) -> Place<S::Snapshot, E> {
        Place {
            depth: self.path.len(),
            explorer: self.explorer.clone(),
            snapshot: (snapshot && system.can_snapshot()).then(|| system.snapshot()),
            news: self.news,
            events: self.events.clone(),
        }
    }

    /// Restores a state along the path.
    pub fn return_to<S: System>(&mut self, system: &mut S, place: &Place<S::Snapshot, E>) {
        self.path.truncate(place.depth);
        self.explorer.clone_from(&place.explorer);
        self.news = place.news;
        match &place.snapshot {
            Some(snapshot) => system.restore(snapshot),
            None => {
                system.restart();
                for &decision in &self.path {
                    self.steps += u64::from(matches!(decision, Decision::Pick(_)));
                    decide(system, decision);
                }
                system.take_events(&mut self.events);
            }
        }
        self.events.clone_from(&place.events);
    }

    /// Makes the decisions from the start, and brings the explorer to the same state as when they were first
    /// made: it is delayed until it offers each pick.
    ///
    /// # Errors
    /// A sentence: a decision is not possible at its place, or the explorer does not offer it. The walk is
    /// then left at that place.
    pub fn follow<S: System>(&mut self, system: &mut S, decisions: &[Decision]) -> Result<(), String> {
        self.restart(system);
        for &decision in decisions {
            check_decision(system, decision, self.path.len())?;
            if let Decision::Pick(pick) = decision {
                self.settle(system);
                self.delay_until(system, pick)?;
            }
            self.decide(system, decision);
        }
        Ok(())
    }

    /// Delays the explorer until it offers the pick.
    ///
    /// # Errors
    /// A sentence: the explorer does not offer the pick, however often it is delayed.
    pub fn delay_until<S: System>(&mut self, system: &S, pick: Pick) -> Result<(), String> {
        let view = system.view();
        for _ in 0..view.choices() {
            if self.explorer.next(&view) == Some(pick) {
                return Ok(());
            }
            self.explorer.delay(&view);
        }
        let at = self.path.len();
        Err(format!("explorer {} does not offer {pick:?} after {at} stored decisions", self.name()))
    }
}
