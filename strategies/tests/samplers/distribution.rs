//! Every schedule of small programs comes up as often as the definition of the strategy says.

use super::chi_square::{AGREES, REJECTED, deviation};
use super::exact::{self, Distribution};
use super::sampling::{profile, schedules};
use coyote_strategies::sample::pct::Mutant;
use coyote_strategies::toy::{Instruction::*, Program};
use coyote_strategies::{Pct, PctT, Pos, Profile, RandomWalk, Strategy, Surw, Urw};
use std::collections::BTreeMap;

/// Programs without data choices or timeouts.
fn programs() -> Vec<Program> {
    let counter = vec![Load(0), Store(0, 1)];
    let critical = vec![Lock(0), Rmw(0, 1), Unlock(0)];
    vec![
        vec![counter.clone(), counter],
        vec![vec![Set(0, 1), Load(1)], vec![Set(1, 1)], vec![Load(0)]],
        vec![critical.clone(), critical],
        vec![vec![Spawn(1), Load(0), Join(1)], vec![Rmw(0, 1), Yield]],
        vec![vec![Yield, Set(0, 1), Yield], vec![Load(0), Yield]],
    ]
}

/// Deviations from what the model says, for each program.
fn deviations(
    strategy: &mut dyn FnMut(&Program) -> Box<dyn Strategy>,
    model: &dyn Fn(&Program) -> Distribution,
) -> Vec<f64> {
    let check =
        |program: &Program| deviation(&schedules(program, strategy(program).as_mut()), &model(program));
    programs().iter().map(check).collect()
}

fn agree(deviations: &[f64]) {
    assert!(deviations.iter().all(|z| *z < AGREES), "{deviations:?}");
}

/// At least one program shows the difference beyond doubt.
fn differ(what: &str, deviations: &[f64]) {
    assert!(deviations.iter().any(|z| *z > REJECTED), "{what}: {deviations:?}");
}

fn prepared(mut strategy: impl Strategy + 'static, program: &Program) -> Box<dyn Strategy> {
    strategy.prepare(&profile(program, 7));
    Box::new(strategy)
}

fn steps(program: &Program) -> u64 {
    profile(program, 7).concurrent_steps
}

#[test]
fn the_random_walk_is_uniform_at_every_choice() {
    agree(&deviations(&mut |_| Box::new(RandomWalk::default()), &exact::random));
}

#[test]
fn pct_has_the_probabilities_of_its_definition() {
    for depth in 1..=4 {
        let pct = |program: &Program| exact::pct(program, depth, steps(program));
        agree(&deviations(&mut |p| prepared(Pct::new(depth), p), &pct));
        // Nobody wakes anybody in these programs.
        agree(&deviations(&mut |p| prepared(PctT::new(depth), p), &pct));
    }
    differ(
        "random walk",
        &deviations(&mut |_| Box::new(RandomWalk::default()), &|p| exact::pct(p, 2, steps(p))),
    );
}

#[test]
fn planted_faults_of_pct_are_rejected() {
    use Mutant::*;
    for fault in [BiasedShuffle, FirstWithoutPoints, OffByOne, PrioritiesKept, YieldLowers] {
        let faulty = &mut |p: &Program| prepared(Pct::with_mutant(3, fault), p);
        differ(&format!("{fault:?}"), &deviations(faulty, &|p| exact::pct(p, 3, steps(p))));
    }
}

#[test]
fn pct_draws_as_many_change_points_as_there_are_steps_at_most() {
    let program = &programs()[0];
    let mut strategy = Pct::new(9);
    strategy.prepare(&Profile { concurrent_steps: 2, ..Profile::default() });
    let model = exact::pct(program, 9, 2);
    assert!(deviation(&schedules(program, &mut strategy), &model) < AGREES);
}

#[test]
fn pos_has_the_probabilities_of_its_definition() {
    agree(&deviations(&mut |_| Box::new(Pos::new()), &|p| exact::pos(p, 8, true)));
    agree(&deviations(&mut |_| Box::new(Pos::basic()), &|p| exact::pos(p, 8, false)));
    differ("no redrawing", &deviations(&mut |_| Box::new(Pos::basic()), &|p| exact::pos(p, 8, true)));
}

#[test]
fn urw_has_the_probabilities_of_its_definition() {
    agree(&deviations(&mut |p| prepared(Urw::default(), p), &exact::urw));
    differ("random walk", &deviations(&mut |_| Box::new(RandomWalk::default()), &exact::urw));
    // Without a profiling run.
    agree(&deviations(&mut |_| Box::new(Urw::default()), &exact::random));
}

#[test]
fn urw_is_uniform_over_the_multinomial_of_independent_steps() {
    for (lengths, number) in [(vec![4, 4], 70), (vec![5, 1, 2], 168), (vec![2, 2, 2], 90)] {
        let worker = |(w, n): (usize, &usize)| vec![Rmw(w as u8, 1); *n];
        let program: Program = lengths.iter().enumerate().map(worker).collect();
        let model = exact::urw(&program);
        assert_eq!(model.len(), number);
        assert!(model.values().all(|p| (p * number as f64 - 1.0).abs() < 1e-9));
        let z = deviation(&schedules(&program, prepared(Urw::default(), &program).as_mut()), &model);
        assert!(z < AGREES, "{z}");
    }
}

#[test]
fn surw_is_uniform_over_the_orders_of_one_objects_accesses() {
    // The first worker has much else to do, the third one accesses nothing shared, and the fourth exists
    // only after the first worker's first access.
    let own = |v, n| vec![Rmw(v, 1); n];
    let first =
        [vec![Spawn(1), Spawn(2)], own(1, 7), vec![Rmw(0, 1), Spawn(3), Rmw(0, 1)], own(1, 5)].concat();
    let second = [own(2, 1), vec![Rmw(0, 1); 2]].concat();
    let program = vec![first, second, vec![Load(3); 9], vec![Rmw(0, 1)]];
    let mut strategy = prepared(Surw::default(), &program);
    let mut counts: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
    for (schedule, n) in schedules(&program, strategy.as_mut()) {
        let mut done = [0; 4];
        let accesses = schedule.iter().filter(|w| {
            let w = **w as usize;
            done[w] += 1;
            program[w][done[w] - 1] == Rmw(0, 1)
        });
        *counts.entry(accesses.copied().collect()).or_default() += n;
    }
    // Of the 30 orders of 0 0 1 1 3 those in which 0 comes before 3.
    assert_eq!(counts.len(), 20, "{counts:?}");
    let model = counts.keys().map(|order| (order.clone(), 1.0 / 20.0)).collect();
    let z = deviation(&counts, &model);
    assert!(z < AGREES, "{z} {counts:?}");
}
