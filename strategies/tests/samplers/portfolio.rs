//! The default portfolio: no program takes it much longer than the strategy that suits it best.
//!
//! The composition was chosen with the table that `NAMES="A B" cargo test portfolio -- --nocapture` prints:
//! median and mean of iterations until the bug over 51 seeds, for each program.

use super::contract::make;
use super::ports::ports;
use super::programs::program;
use super::sampling::{profile, run};
use coyote_strategies::toy::{Program, Toy};
use coyote_strategies::{Iteration, Status, Strategy, Summary, System};

const SEEDS: u64 = 51;

/// Iterations until a bug is found, at most `most`.
fn first_bug(program: &Program, name: &str, seed: u64, most: u64) -> u64 {
    let mut strategy = make(name);
    if strategy.needs_profile() {
        strategy.prepare(&profile(program, seed));
    }
    let buggy = |index: &u64| finds_bug(program, strategy.as_mut(), Iteration { seed, index: *index });
    (0..most).find(buggy).map_or(most, |index| index + 1)
}

/// Whether an iteration finds a bug within some thousand steps; unfair strategies may spin for ever.
fn finds_bug(program: &Program, strategy: &mut dyn Strategy, iteration: Iteration) -> bool {
    const STEPS_MAX: u64 = 2_000;
    strategy.begin(iteration);
    let mut toy = Toy::new(program.clone());
    let mut events = Vec::new();
    while !toy.status().is_final() && toy.view().step < STEPS_MAX {
        toy.take_events(&mut events);
        events.drain(..).for_each(|event| strategy.observe(event));
        match toy.status() {
            Status::Choosing { bound } => toy.choose(strategy.value(bound, &toy.view()).unwrap()),
            _ => toy.step(strategy.pick(&toy.view()).unwrap()),
        }
    }
    let buggy = toy.status() == Status::Bug;
    strategy.end(Summary { steps: toy.view().step, buggy });
    buggy
}

/// Median and mean over the seeds.
fn iterations(program: &Program, name: &str, most: u64) -> (u64, f64) {
    let mut found: Vec<u64> = (0..SEEDS).map(|seed| first_bug(program, name, seed, most)).collect();
    found.sort_unstable();
    (found[found.len() / 2], found.iter().sum::<u64>() as f64 / SEEDS as f64)
}

#[test]
fn never_much_worse_than_the_best_single_strategy() {
    const SINGLES: &[&str] =
        &["random", "probabilistic:3", "pct:1", "pct:2", "pct:3", "pos", "surw", "urw", "delay:2"];
    for (title, program) in ports() {
        let (median, mean) = iterations(&program, "portfolio", 1_000);
        // More than 60 iterations count as 60: that can only make the best look better than it is.
        let best = SINGLES.iter().map(|name| iterations(&program, name, 60).1).fold(f64::INFINITY, f64::min);
        assert!(mean <= 5.0 * best, "{title}: {mean} against {best}");
        if title.starts_with("bounded buffer") || title.starts_with("send messages") {
            assert!(median <= 20, "{title}: {median}");
        }
    }
}

#[test]
fn each_member_makes_the_choices_it_makes_alone() {
    let members = ["random", "pct:2", "random", "pos"];
    // Both random members share the iterations of one.
    let sub_index = |i: u64| if i.is_multiple_of(2) { i / 2 } else { i / 4 };
    for seed in 0..20 {
        let program = program(seed);
        let mut portfolio = make(&format!("portfolio:[{}]", members.join(",")));
        let mut alone = members.map(make);
        for strategy in alone.iter_mut().chain([&mut portfolio]) {
            strategy.prepare(&profile(&program, seed));
        }
        for index in 0..40 {
            let at = index as usize % 4;
            let together = run(&program, portfolio.as_mut(), Iteration { seed, index });
            assert_eq!(portfolio.member().as_deref(), Some(members[at]));
            assert_eq!(portfolio.fair(), alone[at].fair());
            let iteration = Iteration { seed, index: sub_index(index) };
            assert_eq!(together, run(&program, alone[at].as_mut(), iteration));
        }
    }
    assert!(make("portfolio").independent(), "nothing that learns is in the default");
}

/// Prints the table of the module's documentation.
#[test]
fn table() {
    let Ok(names) = std::env::var("NAMES") else { return };
    for (title, program) in ports() {
        let cell = |name| {
            let (median, mean) = iterations(&program, name, 3_000);
            format!(" {median:4} {mean:6.1}")
        };
        println!("{title:22}{}", names.split_whitespace().map(cell).collect::<String>());
    }
}
