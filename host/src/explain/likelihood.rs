//! The likelihood of the bug along its trace, under random continuations, and the choice where it grew most.
//!
//! Sequential halving: few continuations before every choice (of a long trace, before some of them), many around the
//! largest jumps, each of which is then halved until it is one choice. So a growth that is spread over many choices is
//! not told, and a choice can be missed whose growth others take back before the next place that was looked at.

use super::states::States;
use super::{Ended, Subject};
use crate::execution::Execution;
use crate::results::{Decisive, Rate};
use std::collections::{BTreeMap, BTreeSet};

/// Continuations at each place that is looked at, and around jumps.
const FEW: u64 = 20;
const MANY: u64 = 200;
/// Places that are looked at first.
const PLACES_MAX: usize = 64;
/// Jumps that are looked at more closely.
const JUMPS: usize = 4;
/// Steps of all continuations beyond which there are few around jumps, too.
const STEPS_MAX: u64 = 4_000_000;

/// The decisive choice; `None` if nothing could have been chosen otherwise.
pub fn decisive(
    execution: &mut Execution,
    subject: &Subject,
    states: &mut States,
) -> Result<Option<Decisive>, Ended> {
    let choices = states.choices().to_vec();
    let Some(last) = choices.len().checked_sub(1) else { return Ok(None) };
    // Positions in `choices`; the one behind the last is the bug.
    let mut rates: BTreeMap<usize, Rate> = BTreeMap::new();
    rates.insert(last + 1, Rate { bugs: MANY, of: MANY });
    for at in places(states) {
        look(execution, subject, states, &choices, &mut rates, at, FEW)?;
    }
    let many = |states: &States| if states.steps > STEPS_MAX { FEW } else { MANY };
    // Each of the largest jumps is halved until it is one choice, and these are compared.
    let mut best: Option<(f64, usize)> = None;
    for (mut from, mut to) in jumps(&rates).into_iter().take(JUMPS) {
        while to - from > 1 {
            let middle = from + (to - from) / 2;
            for at in [from, middle, to] {
                let continuations = many(states);
                look(execution, subject, states, &choices, &mut rates, at, continuations)?;
            }
            let share = |at: usize| rates[&at].share();
            (from, to) = match share(middle) - share(from) > share(to) - share(middle) {
                true => (from, middle),
                false => (middle, to),
            };
        }
        for at in [from, to] {
            let continuations = many(states);
            look(execution, subject, states, &choices, &mut rates, at, continuations)?;
        }
        let growth = rates[&to].share() - rates[&from].share();
        if growth > best.map_or(0.0, |(most, _)| most) {
            best = Some((growth, from));
        }
    }
    let Some((_, from)) = best else { return Ok(None) };
    let to = from + 1;
    let decision = choices[from];
    let curve = rates.iter().filter_map(|(at, rate)| Some((*choices.get(*at)?, *rate)));
    Ok(Some(Decisive {
        decision,
        step: states.step(decision),
        meaning: states.meaning(decision).cloned(),
        before: rates[&from],
        after: rates[&to],
        curve: curve.collect(),
    }))
}

/// The choices that are looked at first: those of values and of who goes on instead of another, what follows them, and
/// some in between.
fn places(states: &States) -> Vec<usize> {
    let choices = states.choices();
    let switches = choices.iter().enumerate().filter(|(_, choice)| states.switches(**choice));
    let around = switches.flat_map(|(at, _)| [at, at + 1]).filter(|at| *at < choices.len());
    let count = PLACES_MAX.min(choices.len());
    let spread = (0..count).map(|place| place * choices.len() / count);
    let places: BTreeSet<usize> = around.take(PLACES_MAX).chain(spread).collect();
    places.into_iter().collect()
}

/// Neighbouring places that were looked at, those with the largest growth first, of equal ones the last.
fn jumps(rates: &BTreeMap<usize, Rate>) -> Vec<(usize, usize)> {
    let places: Vec<(usize, f64)> = rates.iter().map(|(at, rate)| (*at, rate.share())).collect();
    let mut jumps: Vec<(usize, usize, f64)> =
        places.windows(2).map(|pair| (pair[0].0, pair[1].0, pair[1].1 - pair[0].1)).collect();
    jumps.sort_by(|a, b| b.2.total_cmp(&a.2).then(b.0.cmp(&a.0)));
    jumps.into_iter().map(|(from, to, _)| (from, to)).collect()
}

fn look(
    execution: &mut Execution,
    subject: &Subject,
    states: &mut States,
    choices: &[usize],
    rates: &mut BTreeMap<usize, Rate>,
    at: usize,
    until: u64,
) -> Result<(), Ended> {
    let Some(choice) = choices.get(at) else { return Ok(()) };
    states.go_on(execution, subject, *choice, None, rates.entry(at).or_default(), until)
}
