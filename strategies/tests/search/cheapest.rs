//! Executions from the cheapest on, and schedules as preferences, against naive enumeration.

use crate::dpor::program;
use crate::oracle::decisions;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::search::cheapest::{Cheapest, Price, Reached};
use coyote_strategies::toy::{Instruction::*, Program, Toy, generate_timed};
use coyote_strategies::{Decision, Guided, Iteration, Pick, Preference, Recorded, Segment, Status};
use coyote_strategies::{OpKind, Strategy, System, Weight, WorkerPath};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a path costs, by the words of the documentation.
fn weight(program: &Program, path: &[Decision]) -> Weight {
    let mut toy = Toy::new(program.clone());
    let mut weight = Weight::default();
    let (mut last, mut running) = (None, None);
    for decision in path {
        match decision {
            Decision::Value(value) => {
                weight.values += value;
                toy.choose(*value);
            }
            Decision::Pick(pick) => {
                let goes_on = running.is_some_and(|w| toy.view().enabled.contains(&w));
                weight.preemptions += u64::from(goes_on && running.map(Pick::Step) != Some(*pick));
                weight.switches += u64::from(last.is_some_and(|last| last != *pick));
                last = Some(*pick);
                if let Pick::Step(worker) = pick {
                    running = Some(*worker);
                    weight.steps += 1;
                }
                toy.step(*pick);
            }
        }
    }
    weight
}

fn price(weight: &Weight) -> Price {
    Price { preemptions: weight.preemptions, switches: weight.switches, values: weight.values }
}

/// Every execution, by plain recursion; `false` if there are too many.
fn all(toy: &mut Toy, path: &mut Vec<Decision>, ends: &mut Vec<(Vec<Decision>, Status)>) -> bool {
    if toy.status().is_final() {
        ends.push((path.clone(), toy.status()));
        return ends.len() < 3_000;
    }
    let here = toy.snapshot();
    for decision in decisions(toy) {
        path.push(decision);
        coyote_strategies::system::decide(toy, decision);
        if !all(toy, path, ends) {
            return false;
        }
        path.pop();
        toy.restore(&here);
    }
    true
}

type Ends = Vec<(Vec<Decision>, Status)>;

/// Random programs, with timers or not, and all of their executions.
fn programs(count: usize) -> Vec<(Program, Ends)> {
    let timed = |seed| generate_timed(&mut ChoiceRng::new(Iteration { seed, index: 7 }), 6);
    let drawn = (0..).flat_map(|seed| [program(seed), timed(seed)]);
    let all_of = |program: Program| {
        let mut ends = Vec::new();
        let whole = all(&mut Toy::new(program.clone()), &mut Vec::new(), &mut ends);
        whole.then_some((program, ends))
    };
    drawn.filter_map(all_of).take(count).collect()
}

const MAX: Price = Price { preemptions: 1_000, switches: 1_000, values: u64::MAX };

#[test]
fn the_first_of_its_kind_is_the_cheapest() {
    let mut buggy = 0;
    for (program, ends) in programs(400) {
        let cheapest = |kind: Status| {
            ends.iter().filter(|(_, end)| *end == kind).map(|(path, _)| price(&weight(&program, path))).min()
        };
        let mut toy = Toy::new(program.clone());
        let mut search = Cheapest::new(MAX);
        let mut first = BTreeMap::new();
        let mut before = Price::default();
        loop {
            match search.advance(&mut toy, u64::MAX, usize::MAX) {
                Reached::Ended(status, found) => {
                    assert!(before <= found, "{program:?}");
                    assert_eq!(price(&weight(&program, search.path())), found, "{program:?}");
                    // All that is cheaper has been tried by now.
                    assert!(search.tried_below(found).is_some(), "{program:?}");
                    first.entry(format!("{status:?}")).or_insert(found);
                    before = found;
                }
                Reached::Exhausted => break,
                Reached::Stopped => panic!("without a bound"),
            }
        }
        for kind in [Status::Passed, Status::Bug, Status::Abandoned] {
            assert_eq!(first.get(&format!("{kind:?}")).copied(), cheapest(kind), "{kind:?} {program:?}");
        }
        buggy += usize::from(cheapest(Status::Bug).is_some());
    }
    assert!(buggy > 50, "{buggy}");
}

/// A bound leaves out what costs more, and nothing else.
#[test]
fn a_bound_is_kept() {
    for (program, ends) in programs(150) {
        for preemptions in 0..2 {
            let max = Price { preemptions, switches: 2, values: 1 };
            let within = |path: &[Decision]| price(&weight(&program, path)) <= max;
            let cheapest = ends.iter().filter(|(path, end)| *end == Status::Bug && within(path));
            let cheapest = cheapest.map(|(path, _)| price(&weight(&program, path))).min();
            let mut toy = Toy::new(program.clone());
            let mut search = Cheapest::new(max);
            let found = loop {
                match search.advance(&mut toy, u64::MAX, usize::MAX) {
                    Reached::Ended(Status::Bug, found) => break Some(found),
                    Reached::Ended(..) => {}
                    _ => break None,
                }
            };
            assert_eq!(found, cheapest, "{program:?}");
        }
    }
}

fn preemptions(preemptions: u64) -> Price {
    Price { preemptions, ..Price::default() }
}

/// What was tried below the price of the cheapest bug is known whatever the bound of the search, and the same from run to
/// run.
#[test]
fn what_was_tried_is_counted_by_its_price() {
    for (program, ends) in programs(150) {
        let bugs = ends.iter().filter(|(_, end)| *end == Status::Bug);
        let Some(cheapest) = bugs.map(|(path, _)| price(&weight(&program, path))).min() else { continue };
        let tried = |max: Price| {
            let mut toy = Toy::new(program.clone());
            let mut search = Cheapest::new(max);
            while !matches!(search.advance(&mut toy, u64::MAX, usize::MAX), Reached::Ended(Status::Bug, _)) {}
            search.tried_below(cheapest)
        };
        let below = ends.iter().filter(|(path, _)| price(&weight(&program, path)) < cheapest).count() as u64;
        for bound in [cheapest, Price { preemptions: cheapest.preemptions + 1, ..cheapest }, MAX] {
            let tried = [tried(bound), tried(bound)];
            assert_eq!(tried[0], tried[1], "{program:?}");
            // Equal states stand for many of them, and are met at prices below those of their ends.
            assert!(
                tried[0].is_some_and(|count| count > 0 || below == 0),
                "{program:?}: {tried:?} of {below}"
            );
        }
    }
}

/// What is known below which bound: nothing of what was left out.
#[test]
fn what_was_not_tried_is_not_known() {
    let program =
        vec![vec![Store(0, 1), Store(0, 1), Store(0, 1)], vec![Store(1, 1), Store(1, 1), Store(1, 1)]];
    let mut toy = Toy::new(program.clone());
    let mut search = Cheapest::new(Price { preemptions: 2, switches: 9, values: 0 });
    assert_eq!(search.tried_below(Price::default()), None, "it has not begun");
    assert_eq!(
        search.advance(&mut toy, u64::MAX, usize::MAX),
        Reached::Ended(Status::Passed, Price { switches: 1, ..Price::default() })
    );
    assert_eq!(search.advance(&mut toy, 0, usize::MAX), Reached::Stopped);
    assert_eq!(search.tried_below(preemptions(2)), None);
    while search.advance(&mut toy, u64::MAX, usize::MAX) != Reached::Exhausted {}
    assert!(search.tried_below(preemptions(2)).is_some());
    assert_eq!(search.tried_below(preemptions(3)), None, "beyond its bound");
    // Who leaves workers only before some operations has not tried all.
    let mut search = Cheapest::new(MAX).leaving_only_before(Box::new(|_| false));
    let mut toy = Toy::new(program);
    while search.advance(&mut toy, u64::MAX, usize::MAX) != Reached::Exhausted {}
    assert_eq!(search.tried_below(preemptions(1)), None);
}

/// A path as a schedule by creation paths.
fn recorded(program: &Program, path: &[Decision]) -> Vec<Recorded> {
    let mut toy = Toy::new(program.clone());
    let mut paths = coyote_strategies::Paths::default();
    let mut schedule = Vec::new();
    for decision in path {
        let mut events = Vec::new();
        toy.take_events(&mut events);
        events.into_iter().for_each(|event| paths.observe(event));
        let name = |pick: &Pick| -> WorkerPath { paths.path(pick.worker()) };
        schedule.push(match decision {
            Decision::Pick(pick @ Pick::Step(_)) => {
                Recorded::Step { worker: name(pick), kind: OpKind::Yield, site: 0 }
            }
            Decision::Pick(pick @ Pick::Timeout(_)) => Recorded::Timeout { worker: name(pick) },
            Decision::Value(value) => Recorded::Value { value: *value, bound: value + 1 },
        });
        coyote_strategies::system::decide(&mut toy, *decision);
    }
    schedule
}

/// Executes a program under a strategy; the decisions that it made.
fn executed(program: &Program, strategy: &mut dyn Strategy) -> Vec<Decision> {
    strategy.begin(Iteration { seed: 0, index: 0 });
    let path = go_on(&mut Toy::new(program.clone()), strategy);
    let path = path.expect("a preference is never at its end");
    let steps = path.iter().filter(|d| matches!(d, Decision::Pick(Pick::Step(_)))).count() as u64;
    strategy.end(coyote_strategies::Summary { steps, buggy: false });
    path
}

/// The decisions of a strategy up to the end of the program; `None` if it abandons the execution.
fn go_on(toy: &mut Toy, strategy: &mut dyn Strategy) -> Option<Vec<Decision>> {
    let mut path = Vec::new();
    loop {
        let mut events = Vec::new();
        toy.take_events(&mut events);
        events.into_iter().for_each(|event| strategy.observe(event));
        let decision = match toy.status() {
            Status::Ready => Decision::Pick(strategy.pick(&toy.view())?),
            Status::Choosing { bound } => Decision::Value(strategy.value(bound, &toy.view())?),
            _ => return Some(path),
        };
        path.push(decision);
        coyote_strategies::system::decide(toy, decision);
    }
}

/// A schedule as a preference is the same schedule, and weighs what it weighs; without any one of its segments it still
/// is one.
#[test]
fn preferences_are_followed() {
    for (program, ends) in programs(150) {
        for (path, _) in ends.iter().step_by(17) {
            let preference = Preference::of(&recorded(&program, path));
            let mut guided = Guided::new(Arc::new(preference.clone()));
            let result = guided.weight();
            assert_eq!(executed(&program, &mut guided), *path, "{program:?}");
            assert_eq!(*result.lock().unwrap(), weight(&program, path), "{program:?}");
            for segment in 0..preference.segments.len() {
                let mut edited = preference.clone();
                edited.segments.remove(segment);
                let mut guided = Guided::new(Arc::new(edited));
                let result = guided.weight();
                let path = executed(&program, &mut guided);
                assert!(ends.iter().any(|(known, _)| *known == path), "{program:?}");
                assert_eq!(*result.lock().unwrap(), weight(&program, &path), "{program:?}");
            }
            // Half of it exactly, the rest as preferred.
            let half = path[..path.len() / 2].to_vec();
            let mut guided = Guided::new(Arc::new(preference)).after(half);
            assert_eq!(executed(&program, &mut guided), *path, "{program:?}");
        }
    }
}

/// Edits of a preference: one segment less, one that ends a step earlier, another value.
fn edits(preference: &Preference) -> Vec<Preference> {
    let mut all = Vec::new();
    for at in 0..preference.segments.len() {
        let mut removed = preference.clone();
        removed.segments.remove(at);
        let mut shorter = preference.clone();
        if let Segment::Run { until, .. } = &mut shorter.segments[at] {
            *until -= 1;
        }
        all.extend([removed, shorter]);
    }
    for (worker, values) in &preference.values {
        for nth in 0..values.len() {
            let mut other = preference.clone();
            other.values.get_mut(worker).unwrap()[nth] ^= 1;
            all.push(other);
        }
    }
    all
}

/// With a limit on its weight, a preference leads to the same schedule if that does not weigh more, and otherwise to
/// none.
#[test]
fn preferences_are_followed_up_to_a_weight() {
    for (program, ends) in programs(60) {
        for (path, _) in ends.iter().step_by(29) {
            let preference = Preference::of(&recorded(&program, path));
            let weight = weight(&program, path);
            for edited in edits(&preference) {
                let whole = executed(&program, &mut Guided::new(Arc::new(edited.clone())));
                let (mut toy, mut guided) =
                    (Toy::new(program.clone()), Guided::new(Arc::new(edited)).up_to(weight));
                guided.begin(Iteration { seed: 0, index: 0 });
                let is_lighter = self::weight(&program, &whole) <= weight;
                let path = go_on(&mut toy, &mut guided);
                assert_eq!(path, is_lighter.then_some(whole), "{program:?}");
            }
        }
    }
}
