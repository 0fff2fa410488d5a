//! What searches cost, and what they say that they will.

use crate::dpor::program;
use crate::faults::{Fault, Faulty};
use crate::oracle::run;
use coyote_strategies::search::bounding::Cost;
use coyote_strategies::search::caching::Caching;
use coyote_strategies::search::dfs::Dfs;
use coyote_strategies::search::dpor::Dpor;
use coyote_strategies::search::{Advance, Search};
use coyote_strategies::toy::{Instruction::*, Program, Toy};
use coyote_strategies::{Decision, System};

fn dfs<S: System>() -> Dfs<S> {
    Dfs::new(Cost::Nothing, None, Caching::Nothing, None)
}

/// Steps executed, and those of each execution that its predecessor does not have, in all.
fn steps<S: System>(search: &mut dyn Search<S>, system: &mut S) -> (u64, u64, u64) {
    let (mut last, mut suffixes) = (Vec::<Decision>::new(), 0);
    loop {
        match search.advance(system, u64::MAX) {
            Advance::Livelock | Advance::Round => panic!("these programs end"),
            Advance::Ended(_) => {
                let path = search.path();
                let shared = path.iter().zip(&last).take_while(|(a, b)| a == b).count();
                suffixes += path[shared..].iter().filter(|d| matches!(d, Decision::Pick(_))).count() as u64;
                last = path.to_vec();
            }
            Advance::Working => panic!("without a limit"),
            Advance::Exhausted => {
                let counts = search.counts();
                return (counts.steps, suffixes, counts.executions + counts.abandoned);
            }
        }
    }
}

#[test]
fn no_prefix_is_executed_again() {
    let rmw = |workers, times| vec![vec![Rmw(0, 1); times]; workers];
    for program in [rmw(2, 3), rmw(3, 2), rmw(2, 6), vec![vec![Choose(3), Choose(3)], vec![Rmw(0, 1)]]] {
        let searches: [Box<dyn Search<Toy>>; 2] = [Box::new(dfs()), Box::new(Dpor::new(None))];
        for mut search in searches {
            let (steps, suffixes, executions) = steps(&mut *search, &mut Toy::new(program.clone()));
            let name = search.name();
            assert!(steps < suffixes + executions, "{name}: {steps}, {suffixes}, {executions}\n{program:?}");
        }
        // The figure that this is to be compared with.
        let (shared, ..) = steps(&mut Dpor::new(None), &mut Toy::new(program.clone()));
        let mut again = Faulty::new(&program, Fault::NoSnapshots);
        let (repeated, _, executions) = steps(&mut Dpor::new(None), &mut again);
        assert!(executions < 2 || repeated > shared, "{program:?}");
    }
}

/// Estimates after each execution, and the truth.
fn estimates(search: &mut dyn Search<Toy>, program: &Program) -> (Vec<f64>, f64) {
    let mut toy = Toy::new(program.clone());
    let mut estimates = Vec::new();
    while let Advance::Ended(_) = search.advance(&mut toy, u64::MAX) {
        estimates.push(search.estimate().expect("an execution was seen"));
    }
    assert_eq!(search.estimate(), Some(search.counts().executions as f64));
    (estimates, search.counts().executions as f64)
}

#[test]
fn estimates_of_uniform_trees_are_exact() {
    for (program, size) in [
        (vec![vec![Choose(3), Choose(4), Choose(5)]], 60.0),
        (vec![vec![Choose(2); 6]], 64.0),
        (vec![vec![Choose(7)]], 7.0),
    ] {
        for mut search in [Box::new(dfs()) as Box<dyn Search<Toy>>, Box::new(Dpor::new(None))] {
            let (estimates, truth) = estimates(&mut *search, &program);
            assert_eq!(truth, size);
            assert!(estimates.iter().all(|e| (e - size).abs() < 1e-9), "{} {estimates:?}", search.name());
        }
    }
}

#[test]
fn estimates_come_to_the_truth() {
    for index in 0..100 {
        let mut dpor = Dpor::<Toy>::new(None);
        run(&mut dpor, &program(index));
        assert_eq!(Search::<Toy>::estimate(&dpor), Some(dpor.counts().executions as f64));
    }
    // Trees that are not uniform, and whose alternatives DPOR has yet to find out about.
    let rmw = vec![vec![Rmw(0, 1); 4]; 3];
    let searches: [(Box<dyn Search<Toy>>, _); 2] = [
        (Box::new(dfs()), [(0.01, 4.0), (0.1, 2.0), (0.5, 1.5)]),
        (Box::new(Dpor::new(None)), [(0.01, 50.0), (0.1, 3.0), (0.5, 1.5)]),
    ];
    for (mut search, bounds) in searches {
        let (estimates, truth) = estimates(&mut *search, &rmw);
        assert_eq!(truth, 34_650.0);
        for (share, factor) in bounds {
            let estimate = estimates[(truth * share) as usize];
            let (low, high) = (truth / factor, truth * factor);
            assert!((low..high).contains(&estimate), "{} after {share}: {estimate}", search.name());
        }
    }
}
