//! Rust's standard library against a naive model: for small programs, the sets of all possible ends of the
//! model and of the execution are equal.
//!
//! A program is a list of calls for each worker. The guest `std_conformance`, an ordinary program, makes them
//! with std as it is precompiled for wasm32-wasip1-threads, on std's threads. The model knows nothing of
//! std's sources. An end consists of the results of all calls that returned.
//!
//! - [`action`]: calls, which the guest reads too; [`program`]: programs.
//! - [`model`]: workers and time; [`objects`]: shared objects; [`calls`], [`locks`], [`channels`]: what calls do.
//! - [`comparison`]: compares the sets.
//! - [`generate`], [`generated`]: random programs.
//! - [`mutants`]: planted faults that must be noticed.
//!
//! This file contains programs by hand, with the number of their ends. For programs with two workers, all
//! states are explored. Those with three have too many; of them, random schedules must reach all ends of the
//! model, and no others.
//!
//! `COYOTE_STD_ROUNDS=20` explores more, `COYOTE_STD_FIGURES=1` prints the effort for each program.

/// The guest parses what this module writes.
#[allow(dead_code)]
#[path = "../../../../examples/rust/std_conformance/src/action.rs"]
mod action;
mod calls;
mod channels;
mod comparison;
mod generate;
mod generated;
mod locks;
mod model;
mod mutants;
mod objects;
mod program;

use action::Action::{self, *};
use comparison::{Search, compare};
use generated::rounds;
use program::Program;

/// Compares, and checks the number of different ends. If the model had the same mistake as std or the host, a
/// reader of the number could notice it.
fn explore(program: &Program, search: Search, ends: usize) {
    let found = compare(program, search);
    let listed: Vec<String> = found.iter().map(|end| format!("{end:?}")).collect();
    assert_eq!(found.len(), ends, "{search:?} of {program:?}:\n{}", listed.join("\n"));
}

fn check(first: &[Action], others: &[&[Action]], ends: usize) {
    explore(&Program::new(first, others), Search::States, ends);
}

/// As [`check`], also by DPOR.
fn check_reduced(first: &[Action], others: &[&[Action]], ends: usize) {
    check(first, others, ends);
    explore(&Program::new(first, others), Search::Reduced, ends);
}

/// Random schedules, and with more rounds everything that two preemptions lead to.
fn sample(program: &Program, ends: usize) {
    explore(program, Search::Sampled(6_000), ends);
    if rounds() > 1 {
        explore(program, Search::Preemptions(2), ends);
    }
}

fn check_sampled(first: &[Action], others: &[&[Action]], ends: usize) {
    sample(&Program::new(first, others), ends);
}

#[test]
fn atomics() {
    check_reduced(&[Load(0), Store(0, 1)], &[&[Load(0), Store(0, 2)]], 3);
    check_reduced(&[Add(0, 1), Load(0)], &[&[Add(0, 2), Load(0)]], 4);
    check_reduced(&[Exchange(0, 0, 1), Load(0)], &[&[Exchange(0, 0, 2), Exchange(0, 2, 3)]], 3);
    check_reduced(&[Swap(0, 1)], &[&[Swap(0, 2)], &[Swap(0, 3)]], 6);
    check_reduced(&[Store(0, 1), Load(1)], &[&[Store(1, 1), Load(0)]], 3);
    check_reduced(&[Yield, Load(0)], &[&[Store(0, 1), Yield]], 2);
}

#[test]
fn mutexes() {
    let counted = [Lock(0), Load(0), Store(0, 1), Unlock(0)];
    check_reduced(&counted, &[&counted], 2);
    // Any worker may take a released lock, even if another one waits.
    check(&[Lock(0), Unlock(0), Lock(0), Store(0, 1), Unlock(0)], &[&[Lock(0), Load(0), Unlock(0)]], 2);
    check_reduced(&[Lock(0), Unlock(0), TryLock(0)], &[&[TryLock(0), Load(0), Unlock(0)]], 3);
    check_reduced(&[TryLock(0), Load(0)], &[&[TryLock(0), Store(0, 1)]], 4);
    // Both orders of two locks, and both at once.
    check(&[Lock(0), Lock(1), Unlock(1), Unlock(0)], &[&[Lock(1), Lock(0), Unlock(0), Unlock(1)]], 2);
    check(&[Lock(0), Lock(0)], &[&[Lock(0), Unlock(0), Load(0)]], 2);
    let adds = [Lock(0), Add(0, 1), Unlock(0)];
    check_sampled(&adds, &[&adds, &adds], 6);
}

#[test]
fn condvars() {
    let waits = [Lock(0), Wait(0, 0), Load(0), Unlock(0)];
    // A notification before the wait is lost.
    check(&[Lock(0), Store(0, 1), NotifyOne(0), Unlock(0)], &[&waits], 2);
    check(&[NotifyOne(0), TryLock(0)], &[&waits], 5);
    check(&[Store(0, 1), NotifyAll(0)], &[&[Lock(0), WaitWhile(0, 0, 0), Unlock(0)]], 2);
    check(&[Lock(0), Store(0, 1), Unlock(0), NotifyOne(0)], &[&[Lock(0), WaitWhile(0, 0, 0), Unlock(0)]], 1);
    // The worker that notifies knows that both wait, and so may wake both.
    let waits = |cell| [Lock(0), Store(cell, 1), Wait(0, 0), Unlock(0)];
    let saw = [Lock(0), Load(0), Load(1), NotifyOne(0), Unlock(0)];
    check_sampled(&saw, &[&waits(0), &waits(1)], 6);
    check_sampled(&[Lock(0), NotifyAll(0), Unlock(0)], &[&waits(0), &waits(1)], 4);
    // A notification for another condvar, and a wait without the mutex.
    check(&[NotifyAll(1)], &[&[Lock(0), Wait(0, 0)]], 1);
    check(&[Wait(0, 0)], &[&[NotifyOne(0)]], 1);
}

#[test]
fn condvars_with_timeouts() {
    let waits = [Lock(0), WaitFor(0, 0, 5), Load(0), Unlock(0)];
    check(&[Store(0, 1), NotifyOne(0)], &[&waits], 3);
    check(&[Lock(0), Store(0, 1), Unlock(0)], &[&waits], 2);
    check(&[Lock(0), WaitFor(1, 0, 9), Unlock(0)], &[&waits], 1);
    check(&[Lock(0), WaitFor(0, 0, 9), Unlock(0), NotifyOne(0)], &[&waits], 2);
}

#[test]
fn rwlocks() {
    check_reduced(&[Read(0), Store(0, 1), Load(1)], &[&[Read(0), Store(1, 1), Load(0)]], 3);
    check(&[Write(0), Add(0, 1), WriteUnlock(0)], &[&[Read(0), Add(0, 1), ReadUnlock(0)]], 2);
    check(&[Write(0), WriteUnlock(0)], &[&[TryRead(0), ReadUnlock(0), TryWrite(0)]], 5);
    check(&[Read(0), TryWrite(0), ReadUnlock(0)], &[&[TryWrite(0), WriteUnlock(0)]], 2);
    check(&[Write(0), Store(0, 1), Downgrade(0), Load(1)], &[&[Read(0), Load(0), Store(1, 1)]], 3);
    check(&[Write(0), Downgrade(0)], &[&[TryRead(0), TryWrite(0)]], 3);
    // The reader sees that the writer waits, and does not get the lock.
    check(&[Read(0), TryRead(0), Read(0)], &[&[Write(0)]], 4);
    check(&[Read(0), Write(0)], &[&[Read(0)]], 2);
    check_sampled(
        &[Write(0), Add(0, 1), WriteUnlock(0)],
        &[&[Read(0), Load(0), ReadUnlock(0)], &[Write(0), Add(0, 1), WriteUnlock(0)]],
        6,
    );
    // Because of spinning, some ends are rare.
    let looks =
        Program::new(&[Read(0), ReadUnlock(0)], &[&[Write(0), WriteUnlock(0)], &[TryRead(0), TryRead(0)]]);
    explore(&looks, Search::Preemptions(2), 8);
}

#[test]
fn barriers() {
    check(&[Arrive(0), Load(0)], &[&[Store(0, 1), Arrive(0)]], 2);
    check(&[Arrive(0), Arrive(0)], &[&[Arrive(0), Arrive(0)]], 4);
    check(&[Arrive(0)], &[&[Load(0)]], 1);
    check_sampled(&[Arrive(1)], &[&[Arrive(1)], &[Arrive(1)]], 3);
    check_sampled(&[Arrive(0)], &[&[Arrive(0)], &[Arrive(0)]], 6);
}

#[test]
fn once() {
    check_reduced(&[CallOnce(0, 0), Load(0)], &[&[IsCompleted(0), Load(0), CallOnce(0, 0), Load(0)]], 5);
    check_reduced(&[WaitOnce(0), Load(0)], &[&[CallOnce(0, 0)]], 1);
    check_reduced(&[WaitOnce(0)], &[&[CallOnce(1, 0), IsCompleted(0)]], 1);
    check_sampled(&[CallOnce(0, 0), Load(0)], &[&[CallOnce(0, 0)], &[WaitOnce(0), Load(0)]], 2);
    check_reduced(&[Set(0, 1), Get(0)], &[&[GetOrInit(0, 2), Set(0, 3)]], 2);
    check_reduced(&[Get(0), Get(0)], &[&[Set(0, 1)]], 3);
    check_reduced(&[Force(0), Load(0)], &[&[Force(0), Load(0)]], 1);
    check_reduced(&[Force(0), Force(1)], &[&[Load(0), Force(1), Force(0)]], 4);
}

#[test]
fn parking() {
    check_reduced(&[Park, Load(0)], &[&[Store(0, 1), Unpark(0)]], 1);
    check_reduced(&[Park, Park], &[&[Unpark(0), Unpark(0)]], 2);
    check_reduced(&[Unpark(1), Unpark(1), Load(0)], &[&[Park, Store(0, 1), Park]], 4);
    check_reduced(&[ParkFor(5), Load(0), Park], &[&[Unpark(0), Store(0, 1)]], 4);
    check_reduced(&[ParkFor(5), Load(0)], &[&[ParkFor(9), Store(0, 1)]], 2);
    check_sampled(&[Park, Load(0)], &[&[Unpark(0)], &[Store(0, 1), Unpark(0)]], 2);
}

/// Threads that end: a thread is finished when its function has returned, and joined when its variables are
/// destroyed.
#[test]
fn threads() {
    let check = |first: &[Action], others: &[&[Action]], ends| {
        explore(&Program::ending(first, others), Search::States, ends);
    };
    check(&[Spawn(1), Load(0), Join(1), Load(0)], &[&[Add(0, 1)]], 2);
    check(&[Spawn(1), IsFinished(1), Load(0), Join(1)], &[&[Add(0, 1)]], 3);
    check(&[Spawn(1), IsFinished(1), Load(0), Join(1), Load(0)], &[&[SetLocal(0)]], 4);
    check(&[Spawn(1), Join(1), Load(0), Load(1)], &[&[SetLocal(0), SetLocal(1)]], 1);
    check(&[Spawn(1), Join(1)], &[&[Lock(0), Lock(0)]], 1);
    check(&[Scope, Spawn(1), Load(0), EndScope, Load(0)], &[&[Add(0, 1)]], 2);
    // At the end of a scope, variables of its threads may still exist, unless the threads are joined.
    check(&[Scope, Spawn(1), EndScope, Load(0)], &[&[SetLocal(0)]], 2);
    check(&[Scope, Spawn(1), Join(1), Load(0), EndScope], &[&[SetLocal(0)]], 1);
    check(&[Spawn(1), Scope, EndScope, Load(0)], &[&[Add(0, 1)]], 2);
    let joins = [Spawn(1), Spawn(2), Join(2), Load(0), Join(1), Load(0)];
    explore(&Program::ending(&joins, &[&[Add(0, 1)], &[Add(0, 2)]]), Search::Preemptions(1), 3);
}

/// Channels of all kinds. They have infinitely many states: loops that wait for a worker which is about to
/// continue count their rounds. So these are random schedules, and for some programs everything that two
/// preemptions lead to.
#[test]
fn channels() {
    let check = |bound: Option<usize>, first: &[Action], others: &[&[Action]], ends| {
        sample(&Program::new(first, others).with_channels(&[bound]), ends);
    };
    let to_one = |bound: Option<usize>, first: &[Action], other: &[Action], ends| {
        let program = Program::new(first, &[other]).with_channels(&[bound]);
        explore(&program, Search::Preemptions(2), ends);
    };
    for (bound, sent) in [(None, 5), (Some(0), 2), (Some(1), 4), (Some(2), 5)] {
        check(bound, &[Recv(0), Recv(0)], &[&[Send(0, 1), Send(0, 2), DropSender(0)]], 1);
        check(bound, &[Recv(0), Recv(0)], &[&[Send(0, 1), DropSender(0)]], 1);
        to_one(bound, &[TryRecv(0), TryRecv(0)], &[Send(0, 1), DropSender(0)], 4);
        check(bound, &[TryRecv(0), DropReceiver(0)], &[&[Send(0, 1), Send(0, 2)]], sent);
        to_one(bound, &[RecvFor(0, 5), TryRecv(0)], &[Send(0, 1)], 3);
        check(bound, &[Recv(0), Recv(0)], &[&[Send(0, 1)], &[Send(0, 2)]], 2);
        let drops = |value| [Send(0, value), DropSender(0)];
        check(bound, &[Recv(0), Recv(0), Recv(0)], &[&drops(1), &drops(2)], 2);
    }
    check(Some(0), &[Recv(0), Load(0)], &[&[Store(0, 1), TrySend(0, 1)]], 2);
    check(Some(1), &[Recv(0)], &[&[TrySend(0, 1), TrySend(0, 2)]], 2);
    check(Some(1), &[TryRecv(0)], &[&[TrySend(0, 1)], &[TrySend(0, 2)]], 6);
    // A rendezvous: a worker that has sent knows that another one receives.
    check(Some(0), &[Store(0, 1), Recv(0), Load(1)], &[&[Send(0, 1), Load(0), Store(1, 1)]], 2);
}
