//! Tests each primitive by random programs: two workers and all states, unless stated otherwise.

use super::comparison::{Search, compare};
use super::generate::*;
use super::program::Program;
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;

/// A factor for the number of programs: 1 by default.
pub fn rounds() -> u64 {
    std::env::var("COYOTE_STD_ROUNDS").ok().map_or(1, |n| n.parse().expect("a number"))
}

/// Checks that this many programs have the model's ends. Returns the number of ends.
fn compare_all(programs: u64, search: Search, make: impl Fn(&mut ChoiceRng) -> Program) -> usize {
    let program = |index| make(&mut ChoiceRng::new(Iteration { seed: 42, index }));
    (0..programs).map(|index| compare(&program(index), search).len()).sum()
}

/// The same for each round; many programs must have several ends.
fn check(programs: u64, search: Search, make: impl Fn(&mut ChoiceRng) -> Program) {
    let programs = programs * rounds();
    let ends = compare_all(programs, search, make);
    assert!(ends as u64 > programs, "{ends} ends of {programs} programs");
}

/// Also with three workers, within three preemptions, because there are too many states.
fn check_pool(pool: Pool, programs: u64) {
    check(programs, Search::States, |rng| generate(rng, pool, 1));
    let pool = Pool { calls_max: 2, ..pool };
    compare_all(rounds() - 1, Search::Preemptions(3), |rng| generate(rng, pool, 2));
}

#[test]
fn atomics() {
    check_pool(ATOMICS, 20);
    check(10, Search::Reduced, |rng| generate(rng, ATOMICS, 2));
}

#[test]
fn mutexes() {
    check_pool(MUTEXES, 15);
}

#[test]
fn rwlocks() {
    check_pool(RWLOCKS, 20);
}

#[test]
fn condvars() {
    check_pool(CONDVARS, 20);
}

#[test]
fn barriers() {
    check_pool(BARRIERS, 8);
}

#[test]
fn once() {
    check_pool(ONCES, 30);
    check(10, Search::Reduced, |rng| generate(rng, ONCES, 1));
}

#[test]
fn parking() {
    check_pool(PARKING, 30);
    check(10, Search::Reduced, |rng| generate(rng, PARKING, 1));
}

#[test]
fn threads() {
    check(8, Search::States, generate_ending);
}

/// Within two preemptions, because there are infinitely many states.
#[test]
fn channels() {
    for bound in [None, Some(0), Some(1), Some(2)] {
        check(3, Search::Preemptions(2), |rng| generate(rng, channel(bound), 1));
    }
}
