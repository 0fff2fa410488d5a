//! Compares all ends of a program: those of the guest, by plain search and by reduction, and those of the
//! model.

use super::super::{guest, search};
use super::model::{End, modelled};
use super::program::{Program, RESULTS, RESULTS_MAX, to_wat};
use coyote_wasm::artifact::Artifact;
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::instrumenter::{Options, Points};
use coyote_wasm::outcome::Outcome;
use coyote_wasm::runtime::AtExit;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Compiles a program. Atomic accesses are scheduling points, stores of results are not.
pub fn compile(program: &Program) -> Arc<Artifact> {
    let wasm = wat::parse_str(to_wat(program)).unwrap_or_else(|e| panic!("{e}\n{}", to_wat(program)));
    let options = Options { points: Points::Atomic, footprints: true, ..Options::default() };
    guest::compile(&wasm, &options).unwrap()
}

fn end(program: &Program, execution: &Execution, outcome: &Outcome) -> End {
    let results = program.iter().enumerate().map(|(worker, actions)| {
        let made = |i: usize| execution.machine().memory()[RESULTS + worker * RESULTS_MAX + i].checked_sub(1);
        (0..actions.len()).filter(|i| actions[*i].has_result()).map(made).collect()
    });
    End { outcome: outcome.describe().0, results: results.collect() }
}

/// All ends of the guest, visiting each of its states once.
fn executed(artifact: &Arc<Artifact>, program: &Program, settings: &Settings) -> BTreeSet<End> {
    guest::with(artifact, "t", settings, |execution| {
        search::distinct(execution, &mut |execution, outcome| end(program, execution, outcome))
    })
}

/// All ends that DPOR reaches.
fn reduced(artifact: &Arc<Artifact>, program: &Program, settings: &Settings) -> BTreeSet<End> {
    guest::with(artifact, "t", settings, |execution| {
        let mut ends = BTreeSet::new();
        search::exhaust("dpor", execution, |execution, outcome| {
            ends.insert(end(program, execution, outcome));
        });
        ends
    })
}

/// The differences between the two sets.
#[derive(Debug, PartialEq, Eq)]
pub struct Difference {
    pub never_executed: Vec<End>,
    pub not_in_the_model: Vec<End>,
}

impl Difference {
    fn of(executed: &BTreeSet<End>, modelled: &BTreeSet<End>) -> Option<Difference> {
        (executed != modelled).then(|| Difference {
            never_executed: modelled.difference(executed).cloned().collect(),
            not_in_the_model: executed.difference(modelled).cloned().collect(),
        })
    }
}

/// The difference between the guest's ends and the model's, under both rules for the end of the first worker.
/// Without a difference, all ends.
pub fn difference(program: &Program, settings: &Settings) -> Result<BTreeSet<End>, Difference> {
    let artifact = compile(program);
    let mut all = BTreeSet::new();
    for at_exit in [AtExit::Wait, AtExit::Kill] {
        let settings = Settings { at_exit, ..settings.clone() };
        let modelled = modelled(program, &settings);
        let executed = executed(&artifact, program, &settings);
        match Difference::of(&executed, &modelled) {
            Some(difference) => return Err(difference),
            None => all.extend(executed),
        }
    }
    Ok(all)
}

/// All ends, which must be those of the model.
pub fn compare(program: &Program, settings: &Settings) -> BTreeSet<End> {
    difference(program, settings).unwrap_or_else(|difference| panic!("{program:?}: {difference:?}"))
}

/// As [`compare`], and DPOR must reach all of them too: this shows that footprints are complete.
pub fn compare_reduced(program: &Program, settings: &Settings) -> BTreeSet<End> {
    let ends = compare(program, settings);
    let artifact = compile(program);
    for at_exit in [AtExit::Wait, AtExit::Kill] {
        let settings = Settings { at_exit, ..settings.clone() };
        let (truth, found) = (modelled(program, &settings), reduced(&artifact, program, &settings));
        let difference = Difference::of(&found, &truth);
        assert_eq!(difference, None, "DPOR, at exit {at_exit:?}, {program:?}");
    }
    ends
}
