//! std.

#[path = "../../../../examples/rust/std_conformance/src/action.rs"]
mod action;
mod comparison;
mod model;
mod objects;
mod program;

use super::guest;
use action::Action::{self, *};
use comparison::{Search, ends};
use program::Program;

fn check_program(program: &Program, search: Search, expected: usize) {
    let found = ends(program, search, &guest::settings(), None)
        .unwrap_or_else(|difference| panic!("{program:?}: {difference:?}"));
    let listed: Vec<String> = found.iter().map(|e| format!("{e:?}")).collect();
    if expected > 0 { assert_eq!(found.len(), expected, "{program:?}:\n{}", listed.join("\n")); }
}

fn check(first: &[Action], others: &[&[Action]], expected: usize) {
    check_program(&Program::new(first, others), Search::Reduced, expected);
    check_program(&Program::new(first, others), Search::States, expected);
}

#[test]
fn a_mutexes() {
    check(&[Lock(0), Load(0), Store(0, 1), Unlock(0)], &[&[Lock(0), Load(0), Store(0, 2), Unlock(0)]], 0);
    check(&[Lock(0), Load(0), Store(0, 1), Unlock(0), TryLock(0)], &[&[TryLock(0), Load(0), Store(0, 2), Unlock(0)]], 0);
    check(&[Lock(0), Lock(1), Unlock(1), Unlock(0)], &[&[Lock(1), Lock(0), Unlock(0), Unlock(1)]], 0);
    check(&[Lock(0), Lock(0)], &[&[Lock(0)]], 0);
}
#[test]
fn b_cond() {
    check(&[Lock(0), Store(0, 1), NotifyOne(0), Unlock(0)], &[&[Lock(0), Wait(0, 0), Load(0), Unlock(0)]], 0);
    check(&[NotifyOne(0), TryLock(0)], &[&[Lock(0), Wait(0, 0), Unlock(0)]], 0);
    check(&[NotifyOne(0)], &[&[Lock(0), WaitFor(0, 0, 5), Unlock(0)]], 0);
    check(&[Store(0, 1), NotifyOne(0)], &[&[Lock(0), WaitWhile(0, 0, 0), Unlock(0)]], 0);
}
#[test]
fn c_rwlock() {
    check(&[Write(0), WriteUnlock(0)], &[&[TryRead(0), ReadUnlock(0), TryRead(0)]], 0);
    check(&[Write(0), Downgrade(0)], &[&[TryRead(0), ReadUnlock(0), TryRead(0)]], 0);
    check(&[Read(0), Store(0, 1), ReadUnlock(0), Store(0, 2)], &[&[Write(0), Load(0), WriteUnlock(0)]], 0);
}
#[test]
fn d_once() {
    check(&[CallOnce(0, 0), Load(0)], &[&[IsCompleted(0), Load(0), CallOnce(0, 0), Load(0)]], 0);
    check(&[Set(0, 1), Get(0)], &[&[GetOrInit(0, 2), Set(0, 3)]], 0);
    check(&[Force(0), Load(0)], &[&[Force(0), Load(0)]], 0);
    check(&[WaitOnce(0), Load(0)], &[&[CallOnce(0, 0)]], 0);
}
#[test]
fn e_park() {
    check(&[Park, Load(0)], &[&[Store(0, 1), Unpark(0)]], 0);
    check(&[ParkFor(5), Load(0), Park], &[&[Unpark(0), Store(0, 1)]], 0);
    check(&[Arrive(0)], &[&[Arrive(0)]], 0);
}
