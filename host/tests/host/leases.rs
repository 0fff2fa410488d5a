//! Leases: the same schedules with leases, without, and with some refused; the same errors; and planted
//! faults, each of which is noticed.

use super::examples;
use super::guest;
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::instrumenter::Options;
use coyote_wasm::machine::lease::{Leases, Mutant};
use coyote_wasm::machine::scheduler::Choice;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::runtime::Timers;
use coyote_wasm::strategies::catalog::{self, SAMPLERS};
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{
    Context, Decision, Guided, Iteration, Preference, Profiler, RandomWalk, Strategy, Weight,
};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

/// Iterations of each example under each strategy: 2 by default, 1,000 when soaking.
fn iterations() -> u64 {
    guest::iterations(2)
}

pub fn settings() -> Settings {
    let mut settings = guest::settings();
    settings.limits.fair_steps_max = 3_000;
    settings.limits.unfair_steps_max = 3_000;
    settings
}

/// Everything that distinguishes one iteration from another.
#[derive(Debug, PartialEq)]
pub struct Course {
    outcome: Outcome,
    choices: Vec<Choice>,
    decisions: u64,
    concurrency: u32,
    steps: u64,
    fingerprint: Option<u128>,
    output: Vec<u8>,
}

/// Executes some iterations, one after the other, under one strategy, which may learn from them.
pub fn courses(
    execution: &mut Execution,
    mut strategy: Box<dyn Strategy>,
    leases: Leases,
    count: u64,
) -> Vec<Course> {
    execution.machine_mut().lease_mut().leases = leases;
    let mut courses = Vec::new();
    for index in 0..count {
        let (outcome, back) = execution.run(strategy, Iteration { seed: 5, index }).unwrap();
        strategy = back;
        let scheduler = execution.machine().scheduler();
        courses.push(Course {
            outcome,
            choices: scheduler.choices.clone(),
            decisions: scheduler.decisions,
            concurrency: scheduler.concurrency,
            steps: scheduler.runtime.steps(),
            output: scheduler.runtime.output.iter().flat_map(|o| o.text.clone()).collect(),
            fingerprint: None,
        });
        if execution.machine().can_snapshot() {
            courses.last_mut().expect("just added").fingerprint = Some(execution.machine_mut().fingerprint());
        }
    }
    courses
}

/// The courses of some iterations under this strategy, which are the same with leases, without, and with some.
fn same_courses(execution: &mut Execution, name: &str, count: u64) -> Vec<Course> {
    let mut of = |leases| courses(execution, make(name).expect("it is known"), leases, count);
    let given = of(Leases::Given);
    assert!(given == of(Leases::SomeRefused) && given == of(Leases::Refused), "{name}");
    given
}

/// Every sampler under its plain name, and the combinations that the default consists of.
fn strategies() -> Vec<String> {
    let alone = SAMPLERS.iter().map(|sampler| sampler.entry.name).filter(|name| *name != "portfolio");
    let combined = ["portfolio", "pct:2+chess-fair", "pos+chess-fair", "delay+chess-fair", "fair-pct"];
    alone.chain(combined).map(String::from).collect()
}

fn make(name: &str) -> Option<Box<dyn Strategy>> {
    catalog::by_name(name, &Context { unfair_steps_max: 1_000 }).ok()
}

/// The strategy with the profile that a run would give it.
pub fn prepared(execution: &mut Execution, name: &str) -> Option<Box<dyn Strategy>> {
    let mut strategy = make(name)?;
    if strategy.needs_profile() {
        let profiler = Profiler::default();
        let profile = profiler.result();
        execution.run(Box::new(profiler), Iteration { seed: 5, index: 0 }).unwrap();
        strategy.prepare(&profile.lock().expect("the run is over"));
    }
    Some(strategy)
}

/// Every example under every sampler.
#[test]
fn schedules_are_the_same_with_leases_without_and_with_some() {
    let mut under_leases: BTreeMap<String, u64> = BTreeMap::new();
    for expected in examples::index() {
        let artifact = expected.artifact();
        guest::with(&artifact, &expected.test, &settings(), |execution| {
            let share = if expected.module == "memory_hog" { 6 } else { 1 };
            let count = (iterations() / share).max(1);
            for name in strategies() {
                println!("{} {} under {name}", expected.module, expected.test);
                let Some(strategy) = prepared(execution, &name) else { continue };
                let before = execution.machine_mut().lease_mut().steps_made;
                let given = courses(execution, strategy, Leases::Given, count);
                let made = execution.machine_mut().lease_mut().steps_made - before;
                assert_eq!(execution.machine_mut().lease_differs_at(), None);
                *under_leases.entry(name.clone()).or_default() += made;
                for leases in [Leases::SomeRefused, Leases::Refused] {
                    let strategy = prepared(execution, &name).expect("as before");
                    let other = courses(execution, strategy, leases, count);
                    for (index, (given, other)) in given.iter().zip(&other).enumerate() {
                        let parts = given.choices.iter().zip(&other.choices).position(|(a, b)| a != b);
                        assert!(
                            given == other,
                            "iteration {index} with {leases:?} parts at choice {parts:?}"
                        );
                    }
                }
            }
        });
    }
    println!("steps under leases: {under_leases:?}");
    for name in
        ["random", "pct", "pct-t", "delay", "pos", "surw", "portfolio", "pct:2+chess-fair", "pos+chess-fair"]
    {
        assert!(under_leases[name] > 1_000, "{name} has leases: {under_leases:?}");
    }
}

/// Schedules that are minimised: random edits of the schedules of every example, after a part that is followed exactly,
/// and up to some weight. They weigh the same, too.
#[test]
fn edited_schedules_do_not_depend_on_leases() {
    let mut rng = ChoiceRng::new(Iteration { seed: 3, index: 0 });
    let mut under_leases = 0;
    for expected in examples::index() {
        let artifact = expected.artifact();
        guest::with(&artifact, &expected.test, &settings(), |execution| {
            for index in 0..iterations().div_ceil(2) {
                let (random, iteration) = (Box::new(RandomWalk::default()), Iteration { seed: 7, index });
                execution.run(random, iteration).unwrap();
                let mut preference = Preference::of(&execution.recorded());
                preference.segments.retain(|_| rng.below(4) > 0);
                let preference = Arc::new(preference);
                let choices = execution.choices();
                let start = rng.below(1 + choices.len() as u64 / 2) as usize;
                let start: Vec<Decision> = choices[..start].iter().map(|choice| (*choice).into()).collect();
                let mut of = |leases, max: Option<Weight>| {
                    let guided = Guided::new(preference.clone());
                    let guided = match max {
                        None => guided.after(start.clone()),
                        Some(max) => guided.up_to(max),
                    };
                    let weight = guided.weight();
                    let course = courses(execution, Box::new(guided), leases, 1);
                    (course, *weight.lock().unwrap())
                };
                let whole = of(Leases::Refused, None).1;
                let max = Weight { steps: rng.below(whole.steps + 1), ..of(Leases::Refused, Some(whole)).1 };
                for max in [None, Some(max)] {
                    let refused = of(Leases::Refused, max);
                    assert!(refused == of(Leases::SomeRefused, max), "{} {index}", expected.test);
                    assert!(refused == of(Leases::Given, max), "{} {index}", expected.test);
                }
            }
            under_leases += execution.machine_mut().lease_mut().steps_made;
        });
    }
    assert!(under_leases > 10_000, "{under_leases}");
}

/// Two workers that access memory for longer than strategies with chess-fair go without random windows.
const LONG: &str = r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $adds)
  (func $adds (param $at i32) (local $rounds i32)
    (loop $again
      (i32.store (local.get $at) (i32.add (i32.load (i32.const 0x400)) (i32.load (local.get $at))))
      (i32.store (i32.const 0x400) (local.get $rounds))
      (local.set $rounds (i32.add (local.get $rounds) (i32.const 1)))
      (br_if $again (i32.lt_u (local.get $rounds) (i32.const 6000)))))
  (func (export "coyote.test.long") (local $worker i32)
    (local.set $worker (call $spawn (i32.const 0) (i32.const 0x500) (i32.const 0) (i32.const 0)))
    (call $adds (i32.const 0x600))
    (call $join (local.get $worker))))"#;

/// Random windows begin and end at the same steps with leases and without.
#[test]
fn random_windows_of_long_executions_do_not_depend_on_leases() {
    let artifact = guest::compile(&wat::parse_str(LONG).unwrap(), &Options::default()).unwrap();
    let mut settings = settings();
    settings.limits.fair_steps_max = 100_000;
    let worker = |choice: &Choice| match choice {
        Choice::Step { worker, .. } | Choice::Timeout { worker } => Some(*worker),
        _ => None,
    };
    guest::with(&artifact, "long", &settings, |execution| {
        for name in ["pct:2+chess-fair", "delay+chess-fair", "pos+chess-fair"] {
            let before = execution.machine_mut().lease_mut().steps_made;
            for course in same_courses(execution, name, 2) {
                assert_eq!(course.outcome, Outcome::Passed);
                let workers: Vec<_> = course.choices.iter().map(worker).collect();
                let late = &workers[16_384..];
                let switches = late.windows(2).filter(|pair| pair[0] != pair[1]).count();
                assert!(switches > 20, "{name}: {switches} late switches");
            }
            assert!(execution.machine_mut().lease_mut().steps_made - before > 10_000, "{name}");
        }
    });
}

/// A timeout that fires because workers have done nothing for long, or after a long wait, does so at the same step with
/// leases and without.
#[test]
fn timeouts_that_wait_for_workers_do_not_depend_on_leases() {
    let settings = Settings { timers: Timers::Ordered, ..guest::settings() };
    let cases = guest::wat_file("../../cases/wat/polls_by_writing.wat");
    for (file, test) in
        [(guest::wat_file("order.wat"), "spins"), (cases.clone(), "swap"), (cases, "stdpolls")]
    {
        let artifact = guest::compile(&wat::parse_file(&file).unwrap(), &Options::default()).unwrap();
        guest::with(&artifact, test, &settings, |execution| {
            for name in ["random", "pct:2+chess-fair", "pos+chess-fair"] {
                let before = execution.machine_mut().lease_mut().steps_made;
                for course in same_courses(execution, name, 5) {
                    assert_eq!(course.outcome, Outcome::Passed, "{test}, {name}");
                    let fired = course.choices.iter().filter(|c| matches!(c, Choice::Timeout { .. })).count();
                    assert_eq!(fired, 1, "{test}, {name}");
                }
                assert!(execution.machine_mut().lease_mut().steps_made - before > 500, "{test}, {name}");
            }
        });
    }
}

/// The results of some iterations with a planted fault, and whether the table is right after each.
fn with_mutant(
    module: &str,
    test: &str,
    strategy: &str,
    mutant: Option<Mutant>,
) -> Result<Vec<Course>, String> {
    let artifact = examples::artifact(module);
    guest::with(&artifact, test, &settings(), |execution| {
        let prepared = prepared(execution, strategy).expect("it is known");
        execution.machine_mut().lease_mut().mutant = mutant;
        let run = AssertUnwindSafe(|| {
            let mut strategy = Some(prepared);
            let mut all = Vec::new();
            for index in 0..100 {
                let iteration = Iteration { seed: 9, index };
                let (outcome, back) =
                    execution.run(strategy.take().expect("it came back"), iteration).unwrap();
                strategy = Some(back);
                let differs = execution.machine_mut().lease_differs_at();
                assert_eq!(differs, None, "the table is wrong");
                let scheduler = execution.machine().scheduler();
                all.push(Course {
                    outcome,
                    choices: scheduler.choices.clone(),
                    decisions: scheduler.decisions,
                    concurrency: scheduler.concurrency,
                    steps: scheduler.runtime.steps(),
                    fingerprint: None,
                    output: Vec::new(),
                });
            }
            all
        });
        catch_unwind(run).map_err(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_default()
        })
    })
}

/// Each planted fault changes a schedule, breaks a promise or leaves a wrong table.
#[test]
fn planted_faults_are_noticed() {
    let cases = [
        (Mutant::TableNotUpdated, "std_threads_fixed", "main", "pct:2"),
        (Mutant::TableNotReset, "std_threads_fixed", "main", "pct:2"),
        (Mutant::OneTooMany, "std_threads_fixed", "main", "pct:3"),
        (Mutant::NothingWatched, "std_threads_fixed", "main", "pos"),
        (Mutant::NothingWatched, "std_threads_fixed", "main", "surw"),
        (Mutant::StepsForgotten, "std_threads_fixed", "main", "pct:2"),
    ];
    for (mutant, module, test, strategy) in cases {
        let right = with_mutant(module, test, strategy, None).unwrap_or_else(|e| panic!("{strategy}: {e}"));
        match with_mutant(module, test, strategy, Some(mutant)) {
            Err(panic) => println!("{mutant:?} under {strategy}: {panic}"),
            Ok(wrong) => assert!(wrong != right, "{mutant:?} under {strategy} changes nothing"),
        }
    }
}
