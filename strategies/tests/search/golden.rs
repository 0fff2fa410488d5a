//! Executions that DPOR needs for known programs. The counts are those of other checkers under sequential
//! consistency, or closed forms; a grown count or a lost class fails. `COYOTE_BLESS=1` rewrites the file.

use crate::dpor::program;
use crate::oracle::{enumerate, run};
use coyote_strategies::search::Search;
use coyote_strategies::search::dpor::Dpor;
use coyote_strategies::toy::{Instruction, Instruction::*, Program, Toy};
use std::fmt::Write;

fn repeat(workers: usize, code: &[Instruction]) -> Program {
    vec![code.to_vec(); workers]
}

/// Workers on variables of their own.
fn apart(workers: u8, times: usize) -> Program {
    (0..workers).map(|worker| vec![Rmw(worker, 1); times]).collect()
}

/// Waits by giving up executions in which it would have to wait.
fn peterson() -> Program {
    let (turn, x) = (2, 3);
    let side = |me: u8| {
        let wait = [Load(1 - me), SkipUnless(1, 2), Load(turn), AssumeNot(me as i8)];
        let enter = [Set(me, 1), Set(turn, me as i8)];
        [enter.as_slice(), &wait, &[Set(x, me as i8), Load(x), Set(me, 0)]].concat()
    };
    vec![side(0), side(1)]
}

/// One locks, two try to. Failed attempts are independent of each other; if they were not, there would be
/// 16 classes.
fn try_lock() -> Program {
    let attempt = vec![TryLock(0), Yield, SkipUnless(1, 2), Rmw(0, 1), Unlock(0)];
    vec![vec![Lock(0), Rmw(0, 1), Unlock(0)], attempt.clone(), attempt]
}

fn philosophers(ordered: bool) -> Program {
    let seat = |first, second| vec![Lock(first), Lock(second), Unlock(second), Unlock(first)];
    let last = if ordered { seat(0, 2) } else { seat(2, 0) };
    vec![seat(0, 1), seat(1, 2), last]
}

/// One writes to either of two variables, each of which another one reads.
fn one_of_two() -> Program {
    vec![vec![SetOneOf(2, 1)], vec![Load(0)], vec![Load(1)]]
}

/// Two wait for a lock for a while, a third one tries to have it.
fn timed_locks() -> Program {
    vec![vec![LockTimeout(0, 1)], vec![TryLock(0), Unlock(0)], vec![LockTimeout(0, 1)]]
}

/// An unlock of what one does not have ends the execution. Who waits for that lock might have had it before.
fn ended_by_an_unlock() -> Program {
    vec![vec![LockTimeout(0, 1), Unlock(0)], vec![Broadcast(0), TryLock(0)], vec![Lock(0)]]
}

fn programs() -> Vec<(&'static str, u64, Program)> {
    vec![
        ("2 x 3 RMW", 20, repeat(2, &[Rmw(0, 1); 3])),
        ("3 x 2 RMW", 90, repeat(3, &[Rmw(0, 1); 2])),
        ("2 x 8 RMW", 12_870, repeat(2, &[Rmw(0, 1); 8])),
        ("3 x 4 RMW", 34_650, repeat(3, &[Rmw(0, 1); 4])),
        ("2 x 3 loads", 1, repeat(2, &[Load(0); 3])),
        ("3 x 2 on different variables", 1, apart(3, 2)),
        ("2 x (load; store; load)", 8, repeat(2, &[Load(0), Store(0, 1), Load(0)])),
        ("3 x (load; store)", 36, repeat(3, &[Load(0), Store(0, 1)])),
        ("store buffering", 3, vec![vec![Set(0, 1), Load(1)], vec![Set(1, 1), Load(0)]]),
        ("atomic increment of 3", 6, repeat(3, &[Rmw(0, 1)])),
        ("peterson", 4, peterson()),
        ("try-lock", 15, try_lock()),
        // Before or after the one who reads it, whichever it is.
        ("one of two variables", 4, one_of_two()),
        ("timed locks", 38, timed_locks()),
        ("ended by an unlock", 5, ended_by_an_unlock()),
        ("3 philosophers, ordered", 6, philosophers(true)),
        ("3 philosophers, deadlocking", 7, philosophers(false)),
    ]
}

#[test]
fn counts_are_golden() {
    let mut text = String::from("# program: complete executions, abandoned, redundant, steps\n");
    for (name, expected, program) in programs() {
        let mut dpor = Dpor::<Toy>::new(None);
        let found = run(&mut dpor, &program);
        let counts = dpor.counts();
        let (executions, abandoned) = (counts.executions, counts.abandoned);
        writeln!(text, "{name}: {executions}, {abandoned}, {}, {}", counts.redundant, counts.steps).unwrap();
        if std::env::var_os("COYOTE_BLESS").is_none() {
            assert_eq!(executions, expected, "{name}");
        }
        assert_eq!(executions + abandoned, found.len() as u64, "{name}: a class was executed twice");
        if let Some(truth) = enumerate(&program, 20_000) {
            assert!(truth.classes.keys().eq(found.keys()), "{name}");
        }
    }
    // What a search does in vain shows best in sums over many programs.
    let (mut classes, mut redundant, mut steps) = (0, 0, 0);
    for index in 0..400 {
        let mut dpor = Dpor::<Toy>::new(None);
        classes += run(&mut dpor, &program(index)).len();
        redundant += dpor.counts().redundant;
        steps += dpor.counts().steps;
    }
    writeln!(text, "400 random programs: {classes} with those abandoned, {redundant}, {steps}").unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/counts.txt");
    if std::env::var_os("COYOTE_BLESS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(text, golden, "COYOTE_BLESS=1 accepts the new counts");
}
