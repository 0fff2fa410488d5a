//! When faults strike: frequencies against probabilities that are written down from the rule alone.

use coyote_strategies::{
    Faults, Iteration, OpKind, Operation, Pending, Profile, RandomWalk, Strategy, View, WorkerId, WorkerState,
};

/// Iterations of each frequency.
const ITERATIONS: u64 = 40_000;
const INDEX_FROM: u64 = 1;

/// The values that are chosen if a worker comes to opportunities of these kinds, one after the other, each in `ways` ways.
fn run(strategy: &mut Faults, index: u64, kinds: &[u64], ways: u64) -> Vec<u64> {
    strategy.begin(Iteration { seed: 5, index });
    let worker = WorkerId(0);
    let mut chosen = Vec::new();
    for (step, kind) in kinds.iter().enumerate() {
        let operation = Operation { kind: OpKind::Fault, site: 0, object: *kind, size: 0 };
        let workers = [Pending { operation, state: WorkerState::Enabled }];
        let view = View {
            enabled: &[worker],
            timeouts: &[],
            workers: &workers,
            current: None,
            step: step as u64,
            changes: 0,
            in_section: false,
            fault: Some(*kind),
        };
        strategy.pick(&view).unwrap();
        chosen.push(strategy.value(ways + 1, &view).unwrap());
    }
    chosen
}

fn strategy(known: &[(u64, u64)], budget: u32) -> Faults {
    let mut strategy = Faults::new(Box::new(RandomWalk::default()), budget);
    strategy.prepare(&Profile { opportunities: known.iter().copied().collect(), ..Profile::default() });
    strategy
}

/// Six standard deviations: a right sampler fails once in 10^8 comparisons.
#[track_caller]
fn check(count: u64, probability: f64, what: &str) {
    let n = ITERATIONS as f64;
    let bound = 6.0 * (n * probability * (1.0 - probability)).sqrt() + 1.0;
    let expected = n * probability;
    assert!((count as f64 - expected).abs() <= bound, "{what}: {count}, expected {expected} +- {bound}");
}

/// One kind, n opportunities known, and some more: the first and the last are as likely.
#[test]
fn late_is_as_likely_as_early() {
    for known in [1, 2, 7, 40] {
        let mut strategy = strategy(&[(9, known)], 1);
        let come = known as usize + 3;
        let mut struck = vec![0; come];
        let mut none = 0;
        for index in INDEX_FROM..INDEX_FROM + ITERATIONS {
            let values = run(&mut strategy, index, &vec![9; come], 1);
            let at: Vec<usize> = (0..come).filter(|at| values[*at] > 0).collect();
            assert!(at.len() <= 1, "{values:?}");
            at.iter().for_each(|at| struck[*at] += 1);
            none += u64::from(at.is_empty());
        }
        let active = 2.0 / 3.0;
        let each = active / (known as f64 + 1.0);
        let mut left = 1.0 - active;
        for (at, count) in struck.iter().enumerate() {
            // Behind those that are known: 1/2, then 1/3 of what is left, and so on.
            let probability = match at.checked_sub(known as usize) {
                None => each,
                Some(behind) => each / ((behind + 1) as f64 * (behind + 2) as f64),
            };
            check(*count, probability, &format!("{known} known, opportunity {at}"));
            left += if at < known as usize { 0.0 } else { -probability };
        }
        check(none, left + each, &format!("{known} known, none"));
    }
}

/// Several kinds: one leads, others join with one in four.
#[test]
fn kinds_are_active_with_their_probabilities() {
    for kinds in 1..5u64 {
        let known: Vec<(u64, u64)> = (1..=kinds).map(|kind| (kind, 1)).collect();
        let mut strategy = strategy(&known, 1);
        let order: Vec<u64> = (1..=kinds).collect();
        let mut struck = vec![0; order.len()];
        let mut faultless = 0;
        for index in INDEX_FROM..INDEX_FROM + ITERATIONS {
            let values = run(&mut strategy, index, &order, 1);
            for (count, value) in struck.iter_mut().zip(&values) {
                *count += value;
            }
            faultless += u64::from(values.iter().all(|value| *value == 0));
        }
        let c = kinds as f64;
        let active = 2.0 / 3.0 * (1.0 / c + (1.0 - 1.0 / c) / 4.0);
        for (kind, count) in struck.iter().enumerate() {
            check(*count, active / 2.0, &format!("{kinds} kinds, kind {kind}"));
        }
        // The leader does not strike here, nor does any of the others.
        let quiet = 1.0 / 3.0 + 2.0 / 3.0 * 0.5 * (1.0 - 0.25 / 2.0f64).powi(kinds as i32 - 1);
        check(faultless, quiet, &format!("{kinds} kinds, none"));
    }
}

/// What the profiling run did not meet strikes in half of the iterations with faults.
#[test]
fn what_is_not_known_strikes() {
    let mut strategy = strategy(&[], 1);
    let mut struck = [0; 3];
    for index in INDEX_FROM..INDEX_FROM + ITERATIONS {
        for (count, value) in struck.iter_mut().zip(run(&mut strategy, index, &[7, 7, 7], 1)) {
            *count += value;
        }
    }
    for (at, count) in struck.iter().enumerate() {
        let later = 1.0 / ((at + 1) as f64 * (at + 2) as f64);
        check(*count, 2.0 / 3.0 / 2.0 * later, &format!("opportunity {at}"));
    }
}

/// With a budget of three: one, two or three places of the two and what is later.
#[test]
fn several_faults_are_drawn_alike() {
    let mut strategy = strategy(&[(3, 2)], 3);
    let mut sets = [0; 4];
    let mut ways = [0; 4];
    for index in INDEX_FROM..INDEX_FROM + ITERATIONS {
        let values = run(&mut strategy, index, &[3, 3], 3);
        sets[usize::from(values[0] > 0) + 2 * usize::from(values[1] > 0)] += 1;
        ways[values[0] as usize] += 1;
    }
    // By enumeration of the draws.
    let mut expected = [0.0; 4];
    for (draws, probability) in [(1, 0.5), (2, 0.25), (3, 0.25)] {
        for drawn in 0..3usize.pow(draws) {
            let places = (0..draws).map(|n| drawn / 3usize.pow(n) % 3);
            let set = places.filter(|place| *place < 2).fold(0, |set, place| set | 1 << place);
            expected[set] += 2.0 / 3.0 * probability / 3f64.powi(draws as i32);
        }
    }
    expected[0] += 1.0 / 3.0;
    for (set, count) in sets.iter().enumerate() {
        check(*count, expected[set], &format!("set {set}"));
    }
    let first = expected[1] + expected[3];
    ways[1..].iter().for_each(|count| check(*count, first / 3.0, "a way"));
}

/// An iteration is a function of its number: in any order, and whatever came before.
#[test]
fn iterations_do_not_depend_on_each_other() {
    let known = [(1, 3), (2, 5)];
    let order = [1, 2, 2, 1, 2, 4, 1, 2, 2, 4];
    let mut one = strategy(&known, 2);
    let forward: Vec<_> = (0..200).map(|index| run(&mut one, index, &order, 4)).collect();
    let backward: Vec<_> = (0..200).rev().map(|index| run(&mut one, index, &order, 4)).collect();
    assert!(forward.iter().eq(backward.iter().rev()));
    let mut other = strategy(&known, 2);
    assert_eq!(run(&mut other, 77, &order, 4), forward[77]);
    assert!(forward.iter().flatten().any(|value| *value > 0));
}
