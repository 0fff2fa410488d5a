//! The searches' oracles: recursion over copies of the whole state, by the definitions.

use coyote_strategies::search::explorers::Explorer;
use coyote_strategies::toy::{Program, Toy};
use coyote_strategies::{Decision, Event, Pick, Status, System};
use std::collections::{BTreeMap, BTreeSet};

/// Everything that plain depth-first search finds.
#[derive(Default)]
pub struct All {
    pub executions: u64,
    /// Fingerprints of the states that are ready for a pick or final.
    pub states: BTreeSet<u128>,
}

/// All schedules, or `None` if there are more than `max`.
pub fn all(program: &Program, max: u64) -> Option<All> {
    let mut all = All::default();
    descend(&Toy::new(program.clone()), max, &mut all);
    (all.executions <= max).then_some(all)
}

fn descend(toy: &Toy, max: u64, all: &mut All) {
    if all.executions > max {
        return;
    }
    let decisions: Vec<Decision> = match toy.status() {
        Status::Ready => picks(toy).into_iter().map(Decision::Pick).collect(),
        Status::Choosing { bound } => (0..bound).map(Decision::Value).collect(),
        _ => Vec::new(),
    };
    let mut copy = toy.clone();
    if !matches!(toy.status(), Status::Choosing { .. }) {
        all.states.insert(copy.fingerprint());
    }
    all.executions += u64::from(decisions.is_empty());
    for decision in decisions {
        copy.clone_from(toy);
        coyote_strategies::system::decide(&mut copy, decision);
        descend(&copy, max, all);
    }
}

pub fn picks(toy: &Toy) -> Vec<Pick> {
    toy.view().picks().collect()
}

/// A program composed with an explorer.
#[derive(Clone)]
pub struct Composed<E> {
    pub toy: Toy,
    pub explorer: E,
    /// A step that has not been told to the explorer.
    untold: Option<Pick>,
    pub path: Vec<Decision>,
}

impl<E: Explorer> Composed<E> {
    pub fn new(program: &Program, mut explorer: E) -> Composed<E> {
        let toy = Toy::new(program.clone());
        explorer.begin(&toy.view());
        Composed { toy, explorer, untold: None, path: Vec::new() }
    }

    pub fn decide(&mut self, decision: Decision) {
        self.path.push(decision);
        coyote_strategies::system::decide(&mut self.toy, decision);
        if let Decision::Pick(pick) = decision {
            self.untold = Some(pick);
        }
        if self.toy.status() == Status::Ready
            && let Some(pick) = self.untold.take()
        {
            let mut events: Vec<Event> = Vec::new();
            self.toy.take_events(&mut events);
            self.explorer.step(pick, &events, &self.toy.view());
        }
    }

    pub fn next(&self) -> Pick {
        self.explorer.next(&self.toy.view()).expect("the explorer is sound")
    }

    pub fn delay(&mut self) {
        self.explorer.delay(&self.toy.view());
    }
}

/// All executions with at most so many delays, each with the number of its delays. Values cost nothing.
pub fn delay_bounded<E: Explorer>(
    program: &Program,
    explorer: &E,
    bound: u32,
) -> BTreeMap<Vec<Decision>, u32> {
    let mut found = BTreeMap::new();
    bounded(Composed::new(program, explorer.clone()), 0, bound, &mut found);
    found
}

fn bounded<E: Explorer>(here: Composed<E>, spent: u32, bound: u32, found: &mut BTreeMap<Vec<Decision>, u32>) {
    match here.toy.status() {
        Status::Ready => {
            let mut delayed = here.clone();
            for delays in 0..picks(&here.toy).len() as u32 {
                if spent + delays > bound {
                    break;
                }
                let mut next = delayed.clone();
                next.decide(Decision::Pick(delayed.next()));
                bounded(next, spent + delays, bound, found);
                delayed.delay();
            }
        }
        Status::Choosing { bound: values } => {
            for value in 0..values {
                let mut next = here.clone();
                next.decide(Decision::Value(value));
                bounded(next, spent, bound, found);
            }
        }
        _ => assert_eq!(found.insert(here.path, spent), None, "an execution was found twice"),
    }
}
