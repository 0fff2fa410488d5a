//! What the explorers do by default, and after one delay.

use crate::naive::Composed;
use coyote_strategies::search::explorers::{ByRank, Explorer, RoundRobin, RunToCompletion};
use coyote_strategies::toy::{Instruction::*, Program};
use coyote_strategies::{Decision, Pick, Status, System};
use std::fmt::Write;

/// Who is picked, step by step, with a delay before the n-th step if wanted. `t` marks timeouts.
fn schedule<E: Explorer>(program: &Program, explorer: E, delay_at: Option<usize>) -> String {
    let mut here = Composed::new(program, explorer);
    let mut picks = String::new();
    for step in 0.. {
        match here.toy.status() {
            Status::Ready => {
                if delay_at == Some(step) {
                    here.delay();
                }
                let pick = here.next();
                let mark = if matches!(pick, Pick::Timeout(_)) { "t" } else { "" };
                write!(picks, "{mark}{}", here.toy.code(pick.worker())).unwrap();
                here.decide(Decision::Pick(pick));
            }
            Status::Choosing { .. } => here.decide(Decision::Value(0)),
            _ => break,
        }
    }
    picks
}

#[test]
fn round_robin_goes_on_until_a_worker_blocks_ends_or_is_delayed() {
    let program = vec![vec![Load(0); 3], vec![Load(0); 2], vec![Load(0); 2]];
    assert_eq!(schedule(&program, RoundRobin::default(), None), "0001122");
    // Delayed, a worker goes to the end of the round.
    assert_eq!(schedule(&program, RoundRobin::default(), Some(1)), "0112200");

    // 0 waits for the lock that 1 holds while it sleeps; the timeout comes when nobody can go on, and 0
    // when the round has come to it: not as soon as the lock is free.
    let program = vec![
        vec![Load(0), Load(1), Lock(0), Unlock(0)],
        vec![Lock(0), Sleep(1), Unlock(0), Load(0)],
        vec![Load(0)],
    ];
    assert_eq!(schedule(&program, RoundRobin::default(), Some(1)), "01120t111100");
}

#[test]
fn round_robin_takes_new_workers_last() {
    let program = vec![vec![Spawn(2), Spawn(1), Load(0)], vec![Load(0)], vec![Load(0)]];
    assert_eq!(schedule(&program, RoundRobin::default(), None), "00021");
    // Somewhere else at random, but always the same for the same seed.
    let orders: Vec<String> =
        (0..40).map(|seed| schedule(&program, RoundRobin::probabilistic(seed), None)).collect();
    let again = (0..40).map(|seed| schedule(&program, RoundRobin::probabilistic(seed), None));
    assert!(again.eq(orders.iter().cloned()));
    // Five orders are possible, and the least likely has 1 chance in 6: 40 seeds miss it with (5/6)^40 < 0.001.
    let different: std::collections::BTreeSet<_> = orders.iter().collect();
    assert_eq!(different.len(), 5, "{different:?}");
}

/// A sends to b, b to c.
fn relay() -> Program {
    let receive = [Lock(0), Wait(0, 0)];
    let b = [&receive[..], &[Unlock(0), Lock(1), Signal(1), Unlock(1)]].concat();
    let c = vec![Lock(1), Wait(1, 1), Unlock(1)];
    let a = vec![Lock(0), Signal(0), Unlock(0), Load(0), Load(0)];
    vec![b, c, a]
}

#[test]
fn run_to_completion_follows_the_wake_ups() {
    // b and c wait; a's signal brings b forward, which goes on as soon as it gets the lock; its own
    // signal brings c forward; a is last.
    assert_eq!(schedule(&relay(), RunToCompletion::default(), None), "0011222000001122");
}

#[test]
fn run_to_completion_takes_new_workers_first() {
    let program = vec![vec![Spawn(2), Spawn(1), Load(0)], vec![Load(0)], vec![Load(0)]];
    assert_eq!(schedule(&program, RunToCompletion::default(), None), "02010");
}

#[test]
fn by_rank_is_run_to_completion_until_it_gets_a_hint() {
    let plain = schedule(&relay(), RunToCompletion::default(), None);
    assert_eq!(schedule(&relay(), ByRank::default(), None), plain);

    // 0 and 1 go behind 2, and 1 behind 0. As soon as nobody else can go on, 1 goes first: also before 0,
    // which wakes it.
    let program = |rank| {
        vec![
            vec![Hint(1), Sleep(1), Signal(0), Load(0), Load(0)],
            vec![Hint(2), Hint(rank), Lock(0), Wait(0, 0), Unlock(0)],
            vec![Load(0)],
        ]
    };
    assert_eq!(schedule(&program(-1), ByRank::default(), None), "0120111t0001100");
    assert_eq!(schedule(&program(2), ByRank::default(), None), "0120111t0000011");
}
