//! Strategies that learn find what others come across by luck only.

use super::contract::make;
use super::sampling::{profile, run};
use coyote_strategies::toy::{Instruction::*, Program};
use coyote_strategies::{Iteration, Status};
use std::collections::BTreeSet;

/// A lock with a combination of twelve boolean choices: each wrong one ends the program.
fn combination() -> Program {
    const LENGTH: u8 = 12;
    let digits = (0..LENGTH).flat_map(|n| {
        let right = (n % 3 == 0) as i8;
        [Choose(2), SkipUnless(right, 2 * (LENGTH - 1 - n) + 1)]
    });
    vec![digits.chain([Assert(-99)]).collect()]
}

/// The same with the order of steps: the second worker has to come in between seven times.
fn turns() -> Program {
    const LENGTH: u8 = 7;
    // A variable counts; each checks that it is its turn, and gives up if not.
    let turn = |n: u8, of: i8| {
        let expected = 2 * n as i8 + of;
        [Rmw(0, 1), SkipUnless(expected, 2 * (LENGTH - 1 - n) + u8::from(of == 1))]
    };
    let worker = |of| (0..LENGTH).flat_map(move |n| turn(n, of)).collect::<Vec<_>>();
    vec![worker(0), [worker(1), vec![Assert(-99)]].concat()]
}

/// The median of iterations until the bug, over eleven seeds.
fn median(program: &Program, name: &str, most: u64) -> u64 {
    let mut found: Vec<u64> = (0..11)
        .map(|seed| {
            let mut strategy = make(name);
            strategy.prepare(&profile(program, seed));
            let buggy = |index: &u64| {
                run(program, strategy.as_mut(), Iteration { seed, index: *index }).0 == Status::Bug
            };
            (0..most).find(buggy).unwrap_or(most)
        })
        .collect();
    found.sort_unstable();
    found[5]
}

#[test]
fn data_choices_are_learned() {
    // The random walk needs 2^12 iterations on average, and less than 1,000 with probability 0.22.
    assert!(median(&combination(), "random", 1_500) > 1_000);
    let n = median(&combination(), "q-learning", 4_000);
    assert!(n < 700, "{n}");
}

/// Twelve boolean choices, all of which have to be right. The program goes on after a wrong one, at the same places as
/// after right ones; with `hints`, it says that there was one.
fn patient(hints: bool) -> Program {
    const LENGTH: u8 = 12;
    let says = if hints { Hint(-1) } else { Monitor(0, 0) };
    let digits = (0..LENGTH).flat_map(|n| {
        let wrong = (n % 3 != 0) as i8;
        [Choose(2), SkipUnless(wrong, 2), says, Rmw(0, 1)]
    });
    vec![digits.chain([Load(0), SkipUnless(0, 1), Assert(-99)]).collect()]
}

/// What the program says of its state leads where its places do not.
#[test]
fn hints_are_part_of_the_state() {
    let with = median(&patient(true), "q-learning", 4_000);
    let without = median(&patient(false), "q-learning", 4_000);
    assert!(with * 3 < without, "{with} against {without}");
}

/// How many different states 300 iterations see of two workers that know nothing of each other.
fn states(name: &str) -> usize {
    let program = vec![vec![Rmw(0, 1); 30], vec![Rmw(1, 1); 30]];
    let mut strategy = make(name);
    let mut seen = BTreeSet::new();
    for index in 0..300 {
        let mut state = [0, 0];
        for worker in run(&program, strategy.as_mut(), Iteration { seed: 5, index }).1 {
            state[worker as usize] += 1;
            seen.insert(state);
        }
    }
    seen.len()
}

#[test]
fn learners_get_around() {
    // Of 960 states the random walk sees those around the diagonal.
    let random = states("random");
    for name in ["q-learning", "greedy"] {
        let n = states(name);
        assert!(n * 5 > random * 6, "{name}: {n} against {random}");
    }
}

/// Each pair of dependent accesses that is new brings the next one nearer.
#[test]
fn feedback_builds_on_what_was_new() {
    let (pos, feedback) = (median(&turns(), "pos", 4_000), median(&turns(), "feedback", 4_000));
    assert!(feedback * 2 < pos, "{feedback} against {pos}");
}
