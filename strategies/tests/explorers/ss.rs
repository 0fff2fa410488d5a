//! Stratified sampling: exact probabilities of a naive model, and what is sampled.

use crate::naive::{Composed, picks};
use crate::programs;
use crate::spy::Spy;
use coyote_strategies::search::explorers::{Explorer, RoundRobin, RunToCompletion};
use coyote_strategies::search::ses::{Ses, Settings};
use coyote_strategies::search::ses_ss::SesSs;
use coyote_strategies::search::ss::{Samples, Ss};
use coyote_strategies::search::{Advance, Item};
use coyote_strategies::toy::{Instruction::*, Program};
use coyote_strategies::{Decision, Search, Status, System};
use std::collections::{BTreeMap, BTreeSet};

type Paths = BTreeMap<Vec<Decision>, f64>;

/// The execution that follows without a delay, and the states along it in which one more can be made.
/// `repeats` delays were made in the present one.
fn positions<E: Explorer>(
    mut here: Composed<E>,
    mut repeats: usize,
) -> (Vec<Decision>, Vec<(Composed<E>, usize)>) {
    let mut found = Vec::new();
    loop {
        let decision = match here.toy.status() {
            Status::Ready => {
                if repeats + 1 < picks(&here.toy).len() {
                    found.push((here.clone(), repeats));
                }
                Decision::Pick(here.next())
            }
            Status::Choosing { bound } => {
                if bound > 1 {
                    found.push((here.clone(), 0));
                }
                Decision::Value(0)
            }
            _ => return (here.path, found),
        };
        repeats = 0;
        here.decide(decision);
    }
}

/// The probability of each execution to be a sample with so many delays, by the paper's definition: the
/// length first, then a position. Also the largest number of positions met.
fn distribution<E: Explorer>(
    here: Composed<E>,
    repeats: usize,
    delays: u32,
    p: f64,
    into: &mut Paths,
) -> usize {
    let (path, positions) = positions(here, repeats);
    if delays == 0 || positions.is_empty() {
        *into.entry(path).or_default() += p;
        return positions.len();
    }
    let mut most = positions.len();
    let share = p / positions.len() as f64;
    for (mut place, repeats) in positions {
        if let Status::Choosing { bound } = place.toy.status() {
            for value in 1..bound {
                let mut place = place.clone();
                place.decide(Decision::Value(value));
                let share = share / (bound - 1) as f64;
                most = most.max(distribution(place, 0, delays - 1, share, into));
            }
        } else {
            place.delay();
            most = most.max(distribution(place, repeats + 1, delays - 1, share, into));
        }
    }
    most
}

fn samples(delays_max: u32) -> Samples {
    Samples { seed: 8, factor: 20_000, base: 1, delays_max: Some(delays_max) }
}

/// How often each execution is a sample with that many delays.
fn sampled<E: Explorer>(program: &Program, explorer: E, delays: u32) -> BTreeMap<Vec<Decision>, u64> {
    let mut system = Spy::new(program.clone());
    let mut search: Ss<Spy, E> = Ss::new(explorer, samples(delays));
    // The last execution of each sample: the others have fewer delays.
    let mut last: BTreeMap<u64, Vec<Decision>> = BTreeMap::new();
    while search.advance(&mut system, u64::MAX) != Advance::Exhausted {
        last.insert(search.sample(), search.path().to_vec());
    }
    let mut counts = BTreeMap::new();
    // Sample 0 has no delay, then come 20,000 for each number.
    for path in last.into_values().skip(1 + 20_000 * (delays as usize - 1)) {
        *counts.entry(path).or_default() += 1;
    }
    counts
}

fn check<E: Explorer>(program: &Program, explorer: E, delays: u32) {
    let mut exact = Paths::new();
    let composed = Composed::new(program, explorer.clone());
    let most = distribution(composed, 0, delays, 1.0, &mut exact);
    // The guarantee, exactly, for programs whose values are booleans.
    let bound = (most as f64).powi(-(delays as i32));
    assert!(exact.values().all(|p| *p >= bound * 0.999), "{exact:?}");

    let counts = sampled(program, explorer, delays);
    let n = 20_000.0;
    assert_eq!(counts.values().sum::<u64>(), n as u64);
    for (path, p) in &exact {
        let hits = *counts.get(path).unwrap_or(&0) as f64;
        // Binomial: 5 deviations miss once in 1.7 million, for each of fewer than 1,000 executions.
        let deviation = (n * p * (1.0 - p)).sqrt();
        assert!((hits - n * p).abs() <= 5.0 * deviation.max(1.0), "{hits} of {} for {path:?}", n * p);
        assert!(hits >= n * bound - 5.0 * (n * bound).sqrt());
    }
    assert!(counts.keys().all(|path| exact.contains_key(path)));
}

fn program() -> Program {
    vec![vec![Load(0), Choose(2), Store(0, 1)], vec![Lock(0), Rmw(0, 1), Unlock(0)], vec![Sleep(1), Load(0)]]
}

#[test]
fn executions_are_sampled_as_often_as_they_should_be() {
    for delays in [1, 2] {
        check(&program(), RoundRobin::default(), delays);
        check(&program(), RunToCompletion::default(), delays);
        check(&program(), RoundRobin::probabilistic(4), delays);
    }
}

#[test]
fn samples_do_not_depend_on_snapshots_or_jobs() {
    for program in (0..30).map(programs::random) {
        let samples = Samples { seed: 3, factor: 5, base: 2, delays_max: Some(4) };
        let run = |snapshots: bool, items: Vec<Item>| {
            let mut system = Spy::new(program.clone());
            system.snapshots = snapshots;
            let mut search: Ss<Spy, _> = Ss::resume(RunToCompletion::default(), samples, &items);
            let mut found = Vec::new();
            let mut others = Vec::new();
            while let advance @ (Advance::Ended(_) | Advance::Working) = search.advance(&mut system, 3) {
                if advance != Advance::Working {
                    found.push(search.path().to_vec());
                }
                if items.is_empty() && found.len() % 7 == 3 && others.len() < 3 {
                    others.extend(search.split());
                }
            }
            (found, others)
        };
        let whole = run(true, vec![Item::default()]).0;
        assert!(whole == run(false, vec![Item::default()]).0, "{program:?}");
        // Samples are shared out; only what a job executes to know the length is done by each.
        let (mut parts, mut waiting) = run(true, vec![]);
        while let Some(item) = waiting.pop() {
            parts.extend(run(true, vec![item]).0);
        }
        assert!(whole.iter().collect::<BTreeSet<_>>() == parts.iter().collect(), "{program:?}");

        // Saved every few executions and resumed by a new search each time.
        let mut items = vec![Item::default()];
        let mut resumed = BTreeSet::new();
        let mut system = Spy::new(program.clone());
        for _ in 0..10_000 {
            let mut search: Ss<Spy, _> = Ss::resume(RunToCompletion::default(), samples, &items);
            let mut advance = Advance::Working;
            for _ in 0..6 {
                advance = search.advance(&mut system, u64::MAX);
                resumed.insert(search.path().to_vec());
            }
            items = search.save();
            if advance == Advance::Exhausted {
                break;
            }
        }
        assert!(whole.into_iter().collect::<BTreeSet<_>>() == resumed, "{program:?}");
    }
}

#[test]
fn a_program_without_choices_is_sampled_once() {
    let mut search: Ss<Spy, _> = Ss::new(RoundRobin::default(), samples(3));
    let mut system = Spy::new(vec![vec![Spawn(1), Join(1)], vec![]]);
    while search.advance(&mut system, 10) != Advance::Exhausted {}
    assert_eq!((search.counts().executions, search.counts().cut), (1, false));
}

#[test]
fn the_frontier_is_sampled_after_the_exhaustive_search() {
    let program = program();
    let (mut lowest, mut rest) = (BTreeSet::new(), BTreeSet::new());
    let settings = Settings { delays_max: Some(1), ..Settings::default() };
    let samples = Samples { seed: 1, factor: 10, base: 3, delays_max: Some(5) };
    let explorer = RunToCompletion::default();
    let mut system = Spy::new(program.clone());
    let mut first: Ses<Spy, _> = Ses::new(explorer.clone(), settings);
    while first.advance(&mut system, 100) != Advance::Exhausted {
        lowest.insert(first.path().to_vec());
    }
    let mut search: SesSs<Spy, _> = SesSs::new(explorer.clone(), settings, samples);
    while search.advance(&mut system, 100) != Advance::Exhausted {
        rest.insert(search.path().to_vec());
    }
    assert!(rest.is_superset(&lowest));
    // With no cache, what is sampled needs more delays than the exhaustive search has.
    let settings = Settings { cache: coyote_strategies::search::fingerprints::Capacity::Nothing, ..settings };
    let strata = crate::naive::delay_bounded(&program, &explorer, 9);
    let mut search: SesSs<Spy, _> = SesSs::new(explorer.clone(), settings, samples);
    let mut sampled = BTreeMap::new();
    while search.advance(&mut system, u64::MAX) != Advance::Exhausted {
        *sampled.entry(strata[search.path()]).or_insert(0) += 1;
    }
    let few = strata.values().filter(|d| **d <= 1).count();
    assert_eq!(sampled[&0] + sampled[&1], few);
    assert!([2, 3, 4, 5].iter().all(|d| sampled[d] > 0), "{sampled:?}");
    // What is left is the frontier, from which it can go on.
    let items = search.save();
    assert!(!items.is_empty());
    let mut again = SesSs::resume(explorer, settings, samples, items);
    while again.advance(&mut system, u64::MAX) != Advance::Exhausted {
        assert!(strata[again.path()] > 1);
    }
    assert_eq!(again.counts().executions, search.counts().executions - few as u64);
}
