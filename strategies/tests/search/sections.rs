//! Programs with atomic sections: every search comes to every outcome.
//!
//! `dpor` may execute a class again where a section has points, since a race with a step of a section is reversed where
//! the section begins.

use crate::dpor::run_in_parts;
use crate::oracle::{Found, Outcome, Truth, enumerate, run};
use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::search::Search;
use coyote_strategies::search::bounding::Cost;
use coyote_strategies::search::caching::Caching;
use coyote_strategies::search::dfs::Dfs;
use coyote_strategies::search::dpor::Dpor;
use coyote_strategies::toy::{Instruction, Program, Toy, generate_sections, generate_timed_sections};
use std::collections::BTreeSet;

/// Or what the environment says.
const PROGRAMS: u32 = 2_000;

fn searches() -> Vec<(&'static str, Box<dyn Search<Toy>>)> {
    let dfs = |caching| Box::new(Dfs::<Toy>::new(Cost::Nothing, None, caching, None));
    vec![
        ("dpor", Box::new(Dpor::<Toy>::new(None))),
        ("dfs+hb", dfs(Caching::Classes)),
        ("dfs+states", dfs(Caching::States)),
    ]
}

fn outcomes(found: &Found) -> BTreeSet<&Outcome> {
    found.values().map(|(outcome, _)| outcome).collect()
}

/// The first search that loses an outcome; `dpor` also in parts that are given away and stored.
fn flaw(program: &Program, truth: &Truth) -> Option<String> {
    let alone = searches().into_iter().map(|(name, mut search)| (name, run(&mut *search, program)));
    let parts = (0..2).map(|seed| ("dpor", run_in_parts(program, seed, Dpor::<Toy>::new).0));
    alone.chain(parts).find_map(|(name, classes)| {
        let (all, found) = (truth.outcomes(), outcomes(&classes));
        let lost = all.difference(&found).next().map(|outcome| format!("{name} loses {outcome:?}"));
        let classes =
            truth.classes.keys().filter(|class| name == "dpor" && !classes.contains_key(class)).count();
        let lost = lost
            .or((classes > 0).then(|| format!("{name} loses {classes} of {} classes", truth.classes.len())));
        let invented = found.difference(&all).next().map(|outcome| format!("{name} invents {outcome:?}"));
        lost.or(invented)
    })
}

/// Takes instructions away as long as something is wrong.
fn smallest(mut program: Program, mut why: String) -> (Program, String) {
    'again: loop {
        for (worker, at) in
            (0..program.len()).flat_map(|worker| (0..program[worker].len()).map(move |at| (worker, at)))
        {
            let mut smaller = program.clone();
            smaller[worker].remove(at);
            if let Some(truth) = enumerate(&smaller, 20_000)
                && let Some(flaw) = flaw(&smaller, &truth)
            {
                (program, why) = (smaller, flaw);
                continue 'again;
            }
        }
        return (program, why);
    }
}

#[test]
fn all_outcomes_of_programs_with_sections() {
    explore_all(|index| {
        generate_sections(&mut ChoiceRng::new(Iteration { seed: 22, index }), 6 + (index % 6) as usize)
    });
}

/// A timer that a section gives up, and a sleeper that it makes impossible, are tried before the section.
#[test]
fn all_outcomes_of_programs_with_timers_in_sections() {
    explore_all(|index| {
        generate_timed_sections(&mut ChoiceRng::new(Iteration { seed: 25, index }), 7 + (index % 5) as usize)
    });
}

fn explore_all(program: impl Fn(u64) -> Program) {
    let programs = std::env::var("COYOTE_TOY_PROGRAMS").map_or(PROGRAMS, |n| n.parse().unwrap());
    let (mut done, mut with_points, mut several) = (0, 0, 0);
    for index in 0.. {
        if done == programs {
            break;
        }
        let program = program(index);
        let Some(truth) = enumerate(&program, 20_000) else { continue };
        if let Some(why) = flaw(&program, &truth) {
            let (program, why) = smallest(program, why);
            panic!("program {index}: {why}\n{program:?}");
        }
        done += 1;
        with_points +=
            u32::from(program.iter().flatten().any(|i| matches!(i, Instruction::Section(n) if *n > 1)));
        several += u32::from(truth.outcomes().len() > 1);
    }
    assert!(with_points > done / 3 && several > done / 6, "{with_points}, {several} of {done}");
}

/// A section that was explored sleeps until something depends on one of its steps, and not until anything happens: each
/// class is executed once.
#[test]
fn a_section_sleeps_as_a_whole() {
    use Instruction::*;
    let program: Program =
        vec![vec![Section(2), Rmw(0, 1), Rmw(1, 1)], vec![Rmw(2, 1), Rmw(3, 1), Rmw(1, 1)]];
    let truth = enumerate(&program, 20_000).unwrap();
    let mut dpor = Dpor::<Toy>::new(None);
    let found = run(&mut dpor, &program);
    assert_eq!((truth.classes.len(), found.len()), (2, 2));
    let counts = dpor.counts();
    assert_eq!((counts.executions, counts.redundant), (2, 0), "{counts:?}");
}

/// A section that sleeps does not stand for an order in which its later steps come after others that its first steps do
/// not depend on: found by generated programs.
#[test]
fn a_section_of_which_only_the_beginning_was_executed() {
    use Instruction::*;
    let program: Program = vec![
        vec![Section(2), Rmw(0, 1), SemaphorePost(0)],
        vec![Section(2), Rmw(0, 1)],
        vec![Sleep(1), SemaphorePost(0)],
    ];
    let truth = enumerate(&program, 20_000).unwrap();
    for seed in 0..200 {
        let (found, _) = run_in_parts(&program, seed, Dpor::<Toy>::new);
        assert_eq!(found.len(), truth.classes.len(), "seed {seed}");
    }
}
