//! Takes statements away as long as the same searches are wrong (delta debugging).

use super::compare::{Comparison, Effort, compare};
use super::compile::{compile, options};
use super::program::{Program, Statement};
use coyote_wasm::instrumenter::Points;

/// A program from which nothing can be taken, and what is wrong with it.
pub fn shrink(
    program: &Program,
    comparison: Comparison,
    points: Points,
    turn: u64,
    effort: &Effort,
) -> (Program, Comparison) {
    let kind = comparison.kind();
    let (mut program, mut comparison) = (program.clone(), comparison);
    'again: loop {
        // All in one module, since compiling takes longest.
        let candidates = smaller(&program);
        let named: Vec<(String, &Program)> = candidates
            .iter()
            .enumerate()
            .map(|(n, candidate)| (format!("candidate_{n}"), candidate))
            .collect();
        let artifact = compile(&named, &options(points));
        for (name, candidate) in &named {
            let compared =
                compare(&artifact, name, candidate.faults(), turn, effort).and_program(candidate, points);
            if !compared.kind().is_disjoint(&kind) {
                (program, comparison) = ((*candidate).clone(), compared);
                continue 'again;
            }
        }
        return (program, comparison);
    }
}

/// Programs with one thing less.
fn smaller(program: &Program) -> Vec<Program> {
    let mut all = Vec::new();
    let mut with = |change: &dyn Fn(&mut Program)| {
        let mut candidate = program.clone();
        change(&mut candidate);
        all.push(candidate);
    };
    if program.threads.len() > 2 && !program.last_is_late {
        with(&|program| drop(program.threads.pop()));
        with(&|program| drop(program.threads.remove(1)));
    }
    for thread in 0..program.threads.len() {
        for change in changes(&program.threads[thread]) {
            with(&|program| program.threads[thread] = change.clone());
        }
    }
    if program.faults {
        with(&|program| program.faults = false);
    }
    if !program.tail.is_empty() {
        with(&|program| program.tail.clear());
    }
    all
}

/// A thread with one statement less, or without what is around others.
fn changes(statements: &[Statement]) -> Vec<Vec<Statement>> {
    let mut all = Vec::new();
    for (at, statement) in statements.iter().enumerate() {
        let replaced = |by: &[Statement]| [&statements[..at], by, &statements[at + 1..]].concat();
        all.push(replaced(&[]));
        let Some(body) = statement.body() else { continue };
        if !body.is_empty() {
            all.push(replaced(body));
        }
        for body in changes(body) {
            let mut statement = statement.clone();
            *statement.body_mut().expect("it has one") = body;
            all.push(replaced(&[statement]));
        }
    }
    all
}
