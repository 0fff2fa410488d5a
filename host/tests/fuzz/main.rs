//! Generated C programs, on which all searches must come to equal sets of ends: what one search proves, no other
//! one refutes.
//!
//! A program has two to four threads with a few statements each, drawn from one or two classes of effect
//! ([`classes`]), so that a mismatch names its class. An end is all that the program observed, or the bug. A
//! search that says that it is complete must have come to every end that any search or sampler came to; for
//! programs that the [`model`] knows, to the model's ends and no others.
//!
//! - [`classes`], [`actions`]: statements by class; [`program`]: programs, and as C; `fuzz.h`: what they share.
//! - [`generate`]: programs from a seed; [`compile`]: many of them as one module.
//! - [`ends`]: what an execution, a search and a sampler come to; [`model`]: the same, naively.
//! - [`sweep`]: sweeps of faults against brute force.
//! - [`found`]: programs on which searches differed once.
//! - [`compare`]: all of them; [`shrink`]: the smallest program with a mismatch; [`report`]: how to see it.
//!
//! `COYOTE_FUZZ_PROGRAMS=1000` is the number of programs of each class, `COYOTE_FUZZ_CLASS=heap,stdio` (or `all`)
//! chooses among the classes, `COYOTE_FUZZ_SEED=2` and `COYOTE_FUZZ_FROM=40` the first program,
//! `COYOTE_FUZZ_ITERATIONS=1000` the samples of each, `COYOTE_FUZZ_OUT=DIRECTORY` is where mismatches are written.
//!
//! Where there is no clang with a library for WASI, these tests say so and pass.

mod actions;
mod classes;
mod compare;
mod compile;
mod ends;
mod found;
mod generate;
mod model;
mod program;
mod report;
mod shrink;
mod sweep;

use classes::{CLASSES, Class};
use compare::{Effort, compare};
use coyote_wasm::instrumenter::Points;
use coyote_wasm::runtime::{Faults, Mutant};
use ends::Limits;
use program::Program;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// Programs in a module.
const MODULE: usize = 40;

const LEVELS: [Points; 3] = [Points::Heap, Points::Atomic, Points::Sync];

/// Which operations are scheduling points in the program of this index: mostly all.
fn points(index: u64) -> Points {
    match index % 8 {
        3 => Points::Atomic,
        7 => Points::Sync,
        _ => Points::Heap,
    }
}

fn number(variable: &str, default: u64) -> u64 {
    let text = std::env::var(variable).ok();
    text.map_or(default, |text| text.parse().unwrap_or_else(|_| panic!("{variable} is a number")))
}

/// What came of the programs of a class.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    programs: u64,
    /// On which no search came to its end.
    too_big: u64,
    /// On which plain depth-first search came to its end, too.
    enumerated: u64,
    /// With several ends.
    several: u64,
    modelled: u64,
    ends: u64,
    mismatches: u64,
    ms: u128,
}

#[test]
fn all_searches_come_to_the_same_ends() {
    if compile::compiler().is_none() {
        return;
    }
    let programs = number("COYOTE_FUZZ_PROGRAMS", 2);
    let (seed, from) = (number("COYOTE_FUZZ_SEED", 1), number("COYOTE_FUZZ_FROM", 0));
    let effort = Effort {
        iterations: number("COYOTE_FUZZ_ITERATIONS", 100),
        limits: Limits { executions_max: 1_500, steps_max: 30_000 },
        enumeration: Limits { executions_max: number("COYOTE_FUZZ_ENUMERATED", 300), steps_max: 10_000 },
    };
    let chosen = std::env::var("COYOTE_FUZZ_CLASS").ok();
    let is_chosen = |class: &Class| match chosen.as_deref() {
        Some("all") => true,
        Some(names) => names.split(',').any(|name| name == class.name),
        None => true,
    };
    let all: Vec<(usize, u64)> = (from..from + programs)
        .flat_map(|index| (0..CLASSES.len()).map(move |class| (class, index)))
        .filter(|(class, _)| is_chosen(&CLASSES[*class]))
        .collect();
    let tallies = Mutex::new(vec![Tally::default(); CLASSES.len()]);
    let reports = Mutex::new(BTreeMap::<String, String>::new());
    let next = AtomicUsize::new(0);
    let modules: Vec<(Points, Vec<(usize, u64)>)> = LEVELS
        .iter()
        .flat_map(|level| [(level, false), (level, true)])
        .flat_map(|(level, wat)| {
            let fits =
                |(class, index): &&(usize, u64)| points(*index) == *level && CLASSES[*class].wat == wat;
            let fitting: Vec<_> = all.iter().filter(fits).copied().collect();
            fitting.chunks(MODULE).map(|module| (*level, module.to_vec())).collect::<Vec<_>>()
        })
        .collect();
    let work = || {
        while let Some((points, module)) = modules.get(next.fetch_add(1, Ordering::Relaxed)) {
            explore(module, *points, seed, &effort, &tallies, &reports);
        }
    };
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get()).min(modules.len());
    std::thread::scope(|scope| (0..jobs).for_each(|_| drop(scope.spawn(work))));
    println!("seed {seed}, programs {from} to {}", from + programs);
    println!(
        "class                programs  too big  enumerated  several  modelled     ends  mismatches       ms"
    );
    for (class, t) in CLASSES.iter().zip(tallies.into_inner().unwrap()).filter(|(_, t)| t.programs > 0) {
        println!(
            "{:20} {:8} {:8} {:11} {:8} {:9} {:8} {:11} {:8}",
            class.name,
            t.programs,
            t.too_big,
            t.enumerated,
            t.several,
            t.modelled,
            t.ends,
            t.mismatches,
            t.ms
        );
    }
    let reports = reports.into_inner().unwrap();
    let all: String = reports.into_values().collect();
    assert!(all.is_empty(), "searches differ:\n{all}");
}

/// A fault of the runtime, which all searches share: the model notices.
#[test]
fn a_planted_fault_differs_from_the_model() {
    if compile::compiler().is_none() {
        return;
    }
    let class = classes::by_name("modelled-semaphores");
    let programs: Vec<Program> = (0..40).map(|index| generate::program(class, 1, index)).collect();
    let name = |index: usize| format!("program_{index}");
    let named: Vec<(String, &Program)> = (0..40).map(name).zip(&programs).collect();
    let artifact = compile::compile(&named, &compile::options(Points::Heap));
    let limits = Limits { executions_max: 1_500, steps_max: 30_000 };
    let effort = Effort { iterations: 0, limits, enumeration: limits };
    let differs = |mutant: Option<Mutant>| {
        let faults = Faults::default().with_mutant(mutant);
        let is_wrong = |(name, program): &&(String, &Program)| {
            compare(&artifact, name, faults.clone(), 0, &effort)
                .and_program(program, Points::Heap)
                .modelled
                .is_some()
        };
        named.iter().any(|one| is_wrong(&one))
    };
    assert!(differs(Some(Mutant::PostWakesNobody)));
}

/// Compares all programs of a module, which are named by class and index. Of mismatches of one kind in one class,
/// the first is shrunk and reported.
fn explore(
    module: &[(usize, u64)],
    points: Points,
    seed: u64,
    effort: &Effort,
    tallies: &Mutex<Vec<Tally>>,
    reports: &Mutex<BTreeMap<String, String>>,
) {
    let programs: Vec<_> =
        module.iter().map(|(class, index)| generate::program(&CLASSES[*class], seed, *index)).collect();
    let name = |(class, index): &(usize, u64)| format!("{}_{index}", CLASSES[*class].name.replace('-', "_"));
    let named: Vec<(String, &Program)> = module.iter().map(name).zip(&programs).collect();
    let artifact = compile::compile(&named, &compile::options(points));
    for ((class, index), (name, program)) in module.iter().zip(named) {
        let begun = Instant::now();
        let comparison =
            compare(&artifact, &name, program.faults(), *index, effort).and_program(program, points);
        let is_complete = |name: &str| comparison.found.iter().any(|f| f.name == name && f.complete);
        {
            let tally = &mut tallies.lock().unwrap()[*class];
            tally.programs += 1;
            tally.too_big += u64::from(!comparison.found.iter().any(|found| found.complete));
            tally.enumerated += u64::from(is_complete("dfs"));
            tally.several += u64::from(comparison.all.len() > 1);
            tally.modelled += u64::from(program.is_modelled());
            tally.ends += comparison.all.len() as u64;
            tally.mismatches += u64::from(!comparison.agrees());
            tally.ms += begun.elapsed().as_millis();
        }
        if comparison.agrees() {
            continue;
        }
        let class = CLASSES[*class].name;
        let kind = format!("{class} {points:?} {:?}", comparison.kind());
        if let Entry::Vacant(entry) = reports.lock().unwrap().entry(kind.clone()) {
            entry.insert(String::new());
        } else {
            continue;
        }
        let (program, comparison) = shrink::shrink(program, comparison, points, *index, effort);
        let report = report::report(class, seed, *index, &program, points, &comparison);
        eprintln!("{report}");
        reports.lock().unwrap().insert(kind, report);
        if let Some(directory) = std::env::var_os("COYOTE_FUZZ_OUT") {
            let directory = std::path::PathBuf::from(directory);
            std::fs::create_dir_all(&directory).unwrap();
            let path = directory.join(format!("{name}_{seed}.c"));
            std::fs::write(path, report::source(&program, &comparison)).unwrap();
        }
    }
}
