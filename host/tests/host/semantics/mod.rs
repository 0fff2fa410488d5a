//! Sync objects against a naive model: for small programs, the sets of all possible ends of the model and of
//! the execution are equal.
//!
//! A program is a list of actions for each worker. It is written as a guest, every schedule of which is
//! executed; and it is interpreted by the model, which knows nothing of the host. An end is the outcome with
//! the results of all calls.
//!
//! - [`program`]: programs and their guests.
//! - [`model`]: workers and waits; [`objects`]: locks as POSIX defines them.
//! - [`comparison`]: compares the sets.
//! - [`generate`], [`generated`]: each primitive by random programs; planted faults.
//!
//! This file contains programs by hand, with the number of their ends.

mod comparison;
mod generate;
mod generated;
mod model;
mod objects;
mod program;

use super::{guest, search};
use comparison::{compare as compare_with, compare_reduced, compile};
use coyote_wasm::execution::Settings;
use coyote_wasm::runtime::{FaultClass, Faults, Timers};
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;
use model::End;
use program::{Action, Action::*, Program, RESULTS, RESULTS_MAX, SERIAL};
use std::collections::{BTreeMap, BTreeSet};

fn compare(program: &Program) -> BTreeSet<End> {
    compare_with(program, &guest::settings())
}

/// A program whose first worker starts all others, executes some actions and joins them.
fn program(main: &[Action], others: &[&[Action]]) -> Program {
    let mut first: Vec<Action> = (1..=others.len()).map(Spawn).collect();
    first.extend(main);
    first.extend((1..=others.len()).map(Join));
    std::iter::once(first).chain(others.iter().map(|o| o.to_vec())).collect()
}

/// Compares, and checks the number of different ends. If the model had the same mistake as the host, a reader
/// of the number could notice it.
fn check(main: &[Action], others: &[&[Action]], ends: usize) {
    let program = program(main, others);
    let found = compare(&program);
    let listed: Vec<String> = found.iter().map(|e| format!("{} {:?}", e.outcome, e.results)).collect();
    assert_eq!(found.len(), ends, "{program:?}:\n{}", listed.join("\n"));
}

#[test]
fn mutexes() {
    let counted = [Lock(0), Load(0), Store(0, 1), Unlock(0)];
    check(&[], &[&counted, &counted], 2);
    // Any worker may take a released lock, including the one that released it.
    check(&[], &[&[Lock(0), Unlock(0), Lock(0), Store(0, 1), Unlock(0)], &[Lock(0), Load(0), Unlock(0)]], 2);
    check(&[Lock(0)], &[&[TryLock(0)], &[TryLock(0)]], 3);
    check(&[], &[&[TryLock(0), Load(0)], &[TryLock(0), Load(0)], &[Store(0, 1)]], 8);
    // Both orders of two locks, and both at once.
    check(&[], &[&[Lock(0), Lock(1), Unlock(1), Unlock(0)], &[Lock(1), Lock(0), Unlock(0), Unlock(1)]], 2);
    check(&[Lock(0), Lock(0)], &[], 1);
    check(&[Unlock(0)], &[], 1);
    check(&[Unlock(0)], &[&[Lock(0), Load(0)]], 2);
}

#[test]
fn condvars() {
    let waiter = [Lock(0), Wait(0, 0), Load(0), Unlock(0)];
    // A notification before the wait is lost.
    check(&[Lock(0), Store(0, 1), Signal(0), Unlock(0)], &[&waiter], 2);
    check(&[Lock(0), Store(0, 1), Broadcast(0), Unlock(0)], &[&waiter, &waiter], 4);
    check(&[Lock(0), Signal(0), Unlock(0)], &[&waiter, &waiter], 3);
    // The notifier saw that both wait: either of them may be woken.
    check(
        &[Lock(0), Load(0), Load(1), Signal(0), Unlock(0)],
        &[&[Lock(0), Store(0, 1), Wait(0, 0), Load(2)], &[Lock(0), Store(1, 1), Wait(0, 0), Load(2)]],
        5,
    );
    // Between notification and relock any worker may have the mutex.
    check(&[Signal(0)], &[&waiter, &[Lock(0), Store(0, 1), Unlock(0)]], 3);
    check(&[Signal(0), Signal(0)], &[&waiter, &waiter], 4);
    check(&[Wait(0, 0)], &[], 1);
    check(&[Lock(0), Wait(0, 1)], &[], 1);
}

#[test]
fn timeouts_race_with_notifications() {
    let waiter = [Lock(0), WaitFor(0, 0, 10), Unlock(0), Load(0)];
    check(&[Store(0, 1), Signal(0)], &[&waiter], 3);
    check(&[Signal(0)], &[&waiter, &waiter], 3);
    check(&[Broadcast(0)], &[&waiter, &[Lock(0), WaitFor(0, 0, 5), Unlock(0)]], 4);
    // The mutex is taken when the timeout fires.
    check(&[Lock(0), Store(0, 1), Unlock(0)], &[&waiter], 2);
    // The shorter sleep ends first, if both began together.
    check(&[], &[&[Sleep(5), Store(0, 1)], &[Sleep(10), Load(0)]], 2);
    check(&[], &[&[Sleep(5), Load(0)], &[Sleep(5), Store(0, 1)]], 2);
    check(&[Sleep(1), FutexNotify(0, 1)], &[&[FutexWaitFor(0, 0, 1), Load(0)], &[FutexWaitFor(0, 0, 3)]], 3);
}

#[test]
fn futexes() {
    check(&[Store(0, 1), FutexNotify(0, 1)], &[&[FutexWait(0, 0)]], 2);
    check(&[FutexNotify(0, 1)], &[&[FutexWait(0, 0)], &[FutexWait(0, 0)]], 3);
    // A worker that does not return had begun to wait before the store: either of two waiters may be woken.
    check(&[Store(0, 1), FutexNotify(0, 1)], &[&[FutexWait(0, 0)], &[FutexWait(0, 0)]], 5);
    check(&[FutexNotify(0, 2)], &[&[FutexWait(0, 0)], &[FutexWait(0, 0)], &[FutexWait(0, 0)]], 7);
    check(&[FutexNotify(0, 0)], &[&[FutexWait(0, 0)]], 1);
    check(&[FutexNotify(1, 9)], &[&[FutexWait(0, 0)], &[FutexWait(1, 0)]], 2);
    check(&[FutexWait(0, 1)], &[], 1);
    check(&[Store(0, 1), FutexNotify(0, 9)], &[&[FutexWait(0, 0)], &[FutexWait(0, 1)]], 6);
}

#[test]
fn predicates() {
    check(&[Store(0, 1)], &[&[Until(0, 1), Load(0)]], 1);
    check(&[Until(0, 1)], &[], 1);
    // It may have passed before the store, or it waits for ever.
    check(&[Store(0, 1)], &[&[Until(0, 0), Load(0)]], 3);
    // The predicate holds for a while only.
    check(&[Store(0, 1), Store(0, 0)], &[&[Until(0, 1), Load(0)]], 3);
    check(&[Store(0, 1)], &[&[UntilBoth(0, 1), Load(0)], &[Store(1, 1)]], 1);
    check(&[Store(0, 1), Store(1, 0)], &[&[UntilBoth(0, 1), Load(1)], &[Store(1, 1)]], 3);
    // A lock made of a predicate.
    let locked = [Take(0), Load(1), Store(1, 1), Store(0, 0)];
    check(&[], &[&locked, &locked], 2);
    check(&[], &[&[Take(0)], &[Take(0)]], 1);
}

#[test]
fn workers_end_and_are_joined() {
    check(&[], &[&[Store(0, 1), Exit, Store(0, 2)], &[Load(0)]], 2);
    check(&[Exit], &[&[Load(0)], &[Store(0, 1)]], 3);
    check(&[ChooseInt(3)], &[&[ChooseInt(2)], &[Yield]], 6);
    check(&[ChooseInt(1)], &[], 1);
    // Two workers wait for the end of a third.
    check(&[Join(1)], &[&[Store(0, 1)], &[Load(0)]], 2);
    let joins_itself_by_a_lock = vec![vec![Lock(0), Spawn(1), Join(1)], vec![Lock(0)]];
    assert_eq!(compare(&joins_itself_by_a_lock).len(), 1);
}

/// A worker that is still blocked when the first one has ended is a bug, unless it is detached and holds no
/// lock.
#[test]
fn blocked_for_ever_at_the_end() {
    let blocked = |spawn: Action, other: &[Action]| {
        let ends = compare(&vec![vec![spawn], other.to_vec()]);
        ends.into_iter().map(|e| e.outcome).collect::<Vec<_>>()
    };
    // One of the two rules at exit lets all pass.
    assert_eq!(blocked(SpawnDetached(1), &[FutexWait(0, 0)]), ["passed"]);
    assert_eq!(blocked(Spawn(1), &[FutexWait(0, 0)]), ["deadlock", "passed"]);
    assert_eq!(blocked(SpawnDetached(1), &[Lock(0), FutexWait(0, 0)]), ["deadlock", "passed"]);
    assert_eq!(blocked(SpawnDetached(1), &[Lock(0), Wait(0, 0)]), ["passed"]);
    assert_eq!(blocked(SpawnDetached(1), &[Lock(0)]), ["passed"]);
}

/// The results of the only worker of a program.
fn alone(actions: &[Action]) -> (String, Vec<Option<u8>>) {
    let ends = compare(&vec![actions.to_vec()]);
    assert_eq!(ends.len(), 1, "{ends:?}");
    let end = ends.into_iter().next().expect("one");
    (end.outcome, end.results[0].clone())
}

/// Error numbers, taken from POSIX and not from the model.
#[test]
fn errors() {
    let passed = |actions: &[Action], results: &[u8]| {
        let results = results.iter().map(|r| Some(*r)).collect();
        assert_eq!(alone(actions), ("passed".into(), results), "{actions:?}");
    };
    let (busy, deadlock, invalid, permission, again, timed_out) = (10, 16, 28, 63, 6, 73);
    passed(&[MutexInit(2, 3)], &[invalid]);
    passed(&[MutexInit(2, 1), Lock(2), Lock(2), TryLock(2), Unlock(2)], &[0, 0, 0, 0, 0]);
    passed(&[MutexInit(2, 1), Unlock(2), Wait(0, 2)], &[0, permission, permission]);
    passed(
        &[MutexInit(2, 2), Lock(2), Lock(2), TryLock(2), LockFor(2, 1)],
        &[0, 0, deadlock, busy, deadlock],
    );
    passed(&[MutexInit(2, 2), Lock(2), Unlock(2), Unlock(2)], &[0, 0, 0, permission]);
    passed(&[Lock(0), TryLock(0), LockFor(0, 1)], &[busy, timed_out]);
    passed(&[LockFor(0, 1)], &[0]);
    passed(&[Read(0), Read(0), TryRead(0), TryWrite(0)], &[0, 0, 0, busy]);
    passed(
        &[Write(0), Write(0), Read(0), TryRead(0), ReadFor(0, 1)],
        &[0, deadlock, deadlock, busy, deadlock],
    );
    passed(&[Read(0), RwUnlock(0), Write(0), RwUnlock(0), RwDestroy(0)], &[0; 5]);
    passed(&[SemaphoreInit(0, 1), Down(0), TryDown(0), DownFor(0, 1)], &[0, 0, again, timed_out]);
    passed(&[Up(0), Up(0), Value(0), Down(0), Value(0)], &[0, 0, 2, 0, 1]);
    passed(&[BarrierInit(0, 0), BarrierInit(0, 1), Arrive(0), Arrive(0)], &[invalid, 0, SERIAL, SERIAL]);
    passed(&[Lock(0), MutexDiscard(0), TryLock(0), Unlock(0)], &[0, 0]);
    passed(&[MutexInit(2, 1), Lock(2), Lock(2), MutexDiscard(2), MutexInit(2, 1), Lock(2)], &[0; 6]);
    for misuse in [
        &[Unlock(0)][..],
        &[RwUnlock(0)],
        &[Arrive(0)],
        &[Lock(0), MutexDestroy(0)],
        &[Lock(0), MutexDiscard(0), Unlock(0)],
        &[Lock(0), MutexInit(0, 1)],
        &[Read(0), RwDestroy(0)],
        &[BarrierInit(0, 1), BarrierDestroy(0), Arrive(0)],
    ] {
        assert_eq!(alone(misuse).0, "misuse", "{misuse:?}");
    }
    assert_eq!(alone(&[Down(0)]).0, "deadlock");
    assert_eq!(alone(&[Read(0), Write(0)]).0, "deadlock");
    assert_eq!(alone(&[BarrierInit(0, 2), Arrive(0)]).0, "deadlock");
}

#[test]
fn rwlocks() {
    // Two readers at once: both can see that the other one reads.
    check(&[], &[&[Read(0), Store(0, 1), Load(1)], &[Read(0), Store(1, 1), Load(0)]], 3);
    // A writer is alone.
    check(
        &[],
        &[&[Write(0), Store(0, 1), Load(1), RwUnlock(0)], &[Read(0), Store(1, 1), Load(0), RwUnlock(0)]],
        2,
    );
    // A reader that arrives while a writer waits may still get the lock.
    check(&[Read(0), Load(0), RwUnlock(0)], &[&[Write(0), Store(0, 1), RwUnlock(0)], &[TryRead(0)]], 5);
}

#[test]
fn semaphores_and_barriers() {
    // One permit, taken by one of them, or by none if it does not exist yet.
    check(&[SemaphoreInit(0, 1)], &[&[TryDown(0)], &[TryDown(0)]], 3);
    check(&[Up(0)], &[&[Down(0), Load(0)], &[Store(0, 1)]], 2);
    // The last one to arrive is the serial one.
    let program = vec![
        vec![BarrierInit(0, 2), Spawn(1), Spawn(2), Join(1), Join(2)],
        vec![Arrive(0), Store(0, 1)],
        vec![Arrive(0), Load(0)],
    ];
    assert_eq!(compare(&program).len(), 4);
}

/// A wait that may return spuriously may do so at any time, but not more often than the budget allows.
#[test]
fn faults() {
    let ends = |program: &Program, spurious_wakeups, failing_try_locks| {
        let faults = Faults::default()
            .with(FaultClass::Spurious, spurious_wakeups)
            .with(FaultClass::TryLock, failing_try_locks);
        let settings = Settings { faults, ..guest::settings() };
        let ends = compare_with(program, &settings);
        ends.into_iter().map(|e| format!("{} {:?}", e.outcome, e.results)).collect::<Vec<_>>()
    };
    let waits = vec![vec![Lock(0), Wait(0, 0), TryLock(1)]];
    assert_eq!(ends(&waits, 0, 0), ["deadlock [[None]]"]);
    assert_eq!(ends(&waits, 1, 0), ["deadlock [[None]]", "passed [[Some(0)]]"]);
    assert_eq!(ends(&waits, 1, 1), ["deadlock [[None]]", "passed [[Some(0)]]", "passed [[Some(10)]]"]);
    let twice = vec![vec![TryLock(0), TryLock(1)]];
    assert_eq!(ends(&twice, 0, 1).len(), 3);
    assert_eq!(ends(&twice, 0, 2).len(), 4);
}

const ORDERED: u64 = 60;

/// Sleeps of different lengths order workers, and no timeout fires while some worker is enabled: in this
/// order, timeouts reach some of the ends that they reach at any time, and no others.
#[test]
fn timeouts_in_order() {
    let ordered = Settings { timers: Timers::Ordered, ..guest::settings() };
    let ends = |program: &Program| {
        let (any, some) = (compare_with(program, &guest::settings()), compare_reduced(program, &ordered));
        assert!(some.is_subset(&any), "{program:?}: {some:?} is not part of {any:?}");
        (any.len(), some.len())
    };
    // Each store is 10 ns after the previous one.
    let sleeps = program(&[], &[&[Sleep(10), Store(0, 1)], &[Sleep(20), Load(0)]]);
    assert_eq!(ends(&sleeps), (2, 1));
    // The notification comes in time, unless the waiter is late.
    let waits =
        program(&[], &[&[Lock(0), WaitFor(0, 0, 50), Unlock(0)], &[Sleep(5), Lock(0), Signal(0), Unlock(0)]]);
    assert_eq!(ends(&waits), (2, 1));
    // A worker that never waits sees no time pass.
    let polls = program(&[], &[&[LockFor(0, 5), Unlock(0)], &[LockFor(0, 5), Unlock(0)]]);
    assert_eq!(ends(&polls).1, 1);
    let (mut all, mut fewer) = (0, 0);
    for index in 0..ORDERED {
        let program = random_program(&mut ChoiceRng::new(Iteration { seed: 23, index }));
        let (any, some) = ends(&program);
        all += some;
        fewer += usize::from(some < any);
    }
    assert!(all > 2 * ORDERED as usize && fewer > ORDERED as usize / 20, "{all} ends, {fewer} fewer");
}

/// Random programs: two workers besides the first, with up to three actions each.
#[test]
fn random_programs() {
    let mut ends = 0;
    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    for index in 0..PROGRAMS {
        let mut rng = ChoiceRng::new(Iteration { seed: 21, index });
        let program = random_program(&mut rng);
        let found = compare(&program);
        ends += found.len();
        for end in found {
            *outcomes.entry(end.outcome).or_default() += 1;
        }
    }
    assert!(ends > 3 * PROGRAMS as usize, "programs with few ends: {ends}");
    assert!(outcomes.values().all(|n| *n >= 50) && outcomes.len() == 3, "{outcomes:?}");
}

const PROGRAMS: u64 = 200;

fn random_program(rng: &mut ChoiceRng) -> Program {
    let worker = |rng: &mut ChoiceRng, actions_max: u64| -> Vec<Action> {
        let count = 1 + rng.below(actions_max);
        (0..count).map(|_| random_action(rng)).collect()
    };
    let mut main: Vec<Action> =
        (1..=2).map(|w| if rng.one_in(4) { SpawnDetached(w) } else { Spawn(w) }).collect();
    main.extend(worker(rng, 2));
    for w in 1..=2 {
        if !rng.one_in(3) {
            main.push(Join(w));
        }
    }
    // A wait needs its mutex, otherwise it is only a misuse.
    let locked = |mut actions: Vec<Action>| {
        if actions.iter().any(|a| matches!(a, Wait(..) | WaitFor(..) | Unlock(_))) {
            actions.insert(0, Lock(0));
        }
        actions
    };
    let (a, b) = (worker(rng, 3), worker(rng, 3));
    vec![main, locked(a), locked(b)]
}

fn random_action(rng: &mut ChoiceRng) -> Action {
    let m = u32::from(rng.one_in(4));
    let cell = u32::from(rng.one_in(3));
    match rng.below(17) {
        0 => Lock(m),
        1 | 2 => TryLock(m),
        3 | 4 => Unlock(m),
        5 | 6 => Wait(0, m),
        7 => WaitFor(0, m, 5 * (1 + rng.below(2))),
        8 => Signal(0),
        9 => Broadcast(0),
        10 => FutexWait(cell, rng.below(2) as u32),
        11 => FutexWaitFor(cell, 0, 5 * (1 + rng.below(2))),
        12 => FutexNotify(cell, rng.below(3) as u32),
        13 => Store(cell, rng.below(2) as u32),
        14 => Load(cell),
        15 => Sleep(5 * (1 + rng.below(2))),
        _ if rng.one_in(2) => Exit,
        _ => ChooseInt(1 + rng.below(3) as u32),
    }
}

/// Searching states instead of schedules loses no end: fingerprints distinguish states that differ.
#[test]
fn states_and_schedules_have_the_same_ends() {
    let mut counted = 0;
    for index in 0..60 {
        let mut rng = ChoiceRng::new(Iteration { seed: 22, index });
        let actions = |rng: &mut ChoiceRng| [random_action(rng), random_action(rng)];
        let (a, b) = (actions(&mut rng), actions(&mut rng));
        let program: Program = vec![vec![Spawn(1), a[0], a[1]], [&[Lock(0)][..], &b].concat()];
        let artifact = compile(&program);
        guest::with(&artifact, "t", &guest::settings(), |execution| {
            let name = |e: &coyote_wasm::execution::Execution, o: &coyote_wasm::outcome::Outcome| {
                let results = RESULTS;
                (format!("{o:?}"), e.machine().memory()[results..results + 2 * RESULTS_MAX].to_vec())
            };
            let (all, schedules) = search::schedules(execution, &mut { name });
            assert_eq!(search::distinct(execution, &mut { name }), all, "{program:?}");
            counted += schedules;
        });
    }
    assert!(counted > 1_000, "only {counted} schedules");
}
