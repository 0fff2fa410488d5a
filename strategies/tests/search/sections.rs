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
use coyote_strategies::toy::{Instruction, Program, Toy, generate_sections};
use std::collections::BTreeSet;

/// Or what the environment says.
const PROGRAMS: u32 = 2_000;

fn program(index: u64) -> Program {
    generate_sections(&mut ChoiceRng::new(Iteration { seed: 22, index }), 6 + (index % 6) as usize)
}

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
