//! Tests each primitive by random programs, and by planted faults that these must detect.

use super::super::{guest, relation};
use super::comparison::compile;
use super::comparison::{compare_reduced, difference};
use super::generate::*;
use super::program::{Action::*, Program};
use coyote_wasm::execution::Settings;
use coyote_wasm::runtime::{FaultClass, Faults, Mutant};
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;
use std::collections::BTreeSet;

/// Checks that this many programs of a pool have the model's ends; many of them have several.
fn check(pool: Pool, programs: u64, budgets: Budgets) {
    let settings = Settings { faults: faults(budgets), ..guest::settings() };
    let (mut ends, mut outcomes) = (0, BTreeSet::new());
    for index in 0..programs {
        let program = generate(&mut ChoiceRng::new(Iteration { seed: 31, index }), pool);
        let found = compare_reduced(&program, &settings);
        ends += found.len();
        outcomes.extend(found.into_iter().map(|end| end.outcome));
    }
    let enough = ends as u64 > programs && outcomes.len() >= 2;
    assert!(enough, "{ends} ends of {programs} programs, {outcomes:?}");
}

/// Budgets of spurious wake-ups and failing try-locks.
type Budgets = (u32, u32);

const NONE: Budgets = (0, 0);
const BOTH: Budgets = (2, 1);

fn faults((spurious, try_lock): Budgets) -> Faults {
    Faults::default().with(FaultClass::Spurious, spurious).with(FaultClass::TryLock, try_lock)
}

#[test]
fn normal_mutexes() {
    check(MUTEXES, 40, NONE);
    check(MUTEXES, 20, BOTH);
}

/// Mutexes unlocked by any worker, also in the wait for a condvar.
#[test]
fn normal_mutexes_that_strangers_unlock() {
    let settings = Settings { foreign_unlocks: true, ..guest::settings() };
    let (mut ends, mut misuses) = (0, 0);
    for (pool, index) in [MUTEXES, CONDVARS].into_iter().flat_map(|pool| (0..60).map(move |i| (pool, i))) {
        let program = generate(&mut ChoiceRng::new(Iteration { seed: 33, index }), pool);
        ends += compare_reduced(&program, &settings).len();
        let strict = difference(&program, &guest::settings()).unwrap();
        misuses += usize::from(strict.iter().any(|end| end.outcome == "misuse"));
    }
    assert!(ends > 120 && misuses > 60, "{ends} ends, {misuses} programs with a misuse");
}

#[test]
fn recursive_and_error_checking_mutexes() {
    check(RECURSIVE, 40, NONE);
    check(ERROR_CHECKING, 40, BOTH);
}

#[test]
fn rwlocks() {
    check(RWLOCKS, 80, NONE);
    check(RWLOCKS, 20, BOTH);
}

#[test]
fn semaphores() {
    check(SEMAPHORES, 60, NONE);
    check(SEMAPHORES, 20, BOTH);
}

#[test]
fn barriers() {
    check(BARRIERS, 50, NONE);
}

#[test]
fn condvars() {
    check(CONDVARS, 60, NONE);
    check(CONDVARS, 30, BOTH);
    check(RECURSIVE_CONDVARS, 40, BOTH);
}

#[test]
fn futexes() {
    check(FUTEXES, 30, NONE);
    check(FUTEXES, 20, BOTH);
}

#[test]
fn predicates() {
    check(PREDICATES, 80, NONE);
    check(POINTS, 30, NONE);
}

/// Each of these planted faults changes the ends of a program, and so would be noticed.
#[test]
fn planted_faults_are_found() {
    // Their stores show whether both wait at the time of the unlock; either may be next.
    let two_wait = vec![
        vec![Lock(0), Spawn(1), Spawn(2), Load(0), Load(1), Unlock(0), Join(1), Join(2)],
        vec![Store(0, 1), Lock(0), Load(2), Unlock(0)],
        vec![Store(1, 1), Lock(0), Store(2, 1), Unlock(0)],
    ];
    // The worker that signals sees that both wait.
    let one_is_woken = vec![
        vec![Spawn(1), Spawn(2), Lock(0), Load(0), Load(1), Signal(0), Unlock(0)],
        vec![Lock(0), Store(0, 1), Wait(0, 0), Load(2)],
        vec![Lock(0), Store(1, 1), Wait(0, 0), Load(2)],
    ];
    let of = |pool: Pool| -> Vec<Program> {
        let program = |index| generate(&mut ChoiceRng::new(Iteration { seed: 31, index }), pool);
        (0..60).map(program).collect()
    };
    let cases = [
        (Mutant::OnlyOneWaiterIsEnabled, NONE, vec![two_wait]),
        (Mutant::NestedLocksAreNotCounted, NONE, of(RECURSIVE)),
        (Mutant::ReaderBesideWriter, NONE, of(RWLOCKS)),
        (Mutant::TimedOutTakes, NONE, of(SEMAPHORES)),
        (Mutant::PostWakesNobody, NONE, of(SEMAPHORES)),
        (Mutant::SerialTwice, NONE, of(BARRIERS)),
        (Mutant::SignalIsLost, NONE, vec![one_is_woken]),
        (Mutant::NeverSpurious, BOTH, of(CONDVARS)),
        (Mutant::DestroyedUnseen, NONE, of(CONDVARS)),
    ];
    for (mutant, budgets, programs) in cases {
        let right = Settings { faults: faults(budgets), ..guest::settings() };
        let wrong = Settings { faults: faults(budgets).with_mutant(mutant), ..guest::settings() };
        let noticed = programs.iter().find(|program| difference(program, &wrong).is_err());
        let Some(program) = noticed else { panic!("{mutant:?} is not noticed") };
        assert!(difference(program, &right).is_ok(), "{mutant:?}: {program:?}");
    }
}

/// Steps on sync objects whose footprints are independent commute.
#[test]
fn independent_steps_commute() {
    let mut pairs = 0;
    for pool in [MUTEXES, RECURSIVE, RWLOCKS, SEMAPHORES, BARRIERS, CONDVARS, FUTEXES, PREDICATES, POINTS] {
        for index in 0..10 {
            let mut rng = ChoiceRng::new(Iteration { seed: 32, index });
            let program = generate(&mut rng, pool);
            pairs += guest::with(&compile(&program), "t", &guest::settings(), |execution| {
                (0..5).map(|_| relation::check(execution, &mut rng)).sum::<usize>()
            });
        }
    }
    assert!(pairs > 100, "only {pairs} pairs");
}
