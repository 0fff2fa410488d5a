//! Stratified exhaustive search against plain depth-first search and the definition of its strata.

use crate::spy::{Spy, executions};
use crate::{naive, programs};
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::search::explorers::{ByRank, Explorer, RoundRobin, RunToCompletion};
use coyote_strategies::search::fingerprints::Capacity;
use coyote_strategies::search::ses::{Ses, Settings};
use coyote_strategies::search::{self, Advance, Item};
use coyote_strategies::toy::{Instruction::*, Program};
use coyote_strategies::{Decision, Iteration, Pick, Search, WorkerId};
use std::collections::BTreeSet;

const UNCACHED: Settings =
    Settings { delays_max: None, delays_step: 1, cache: Capacity::Nothing, snapshots_max: 100 };

/// Random programs whose plain search is small.
fn small(count: usize, executions_max: u64) -> Vec<(Program, naive::All)> {
    let candidates = (0..).map(programs::random);
    candidates.filter_map(|p| Some((p.clone(), naive::all(&p, executions_max)?))).take(count).collect()
}

fn ses<E: Explorer + 'static>(explorer: E, settings: Settings) -> Box<dyn Search<Spy>> {
    Box::new(Ses::new(explorer, settings))
}

fn every_explorer(settings: Settings) -> Vec<Box<dyn Search<Spy>>> {
    vec![
        ses(RoundRobin::default(), settings),
        ses(RunToCompletion::default(), settings),
        ses(RoundRobin::probabilistic(5), settings),
        ses(ByRank::default(), settings),
    ]
}

#[test]
fn without_a_bound_it_reaches_what_plain_search_reaches() {
    let (mut most, mut total) = (0, 0);
    for (n, (program, all)) in small(200, 3_000).into_iter().enumerate() {
        (most, total) = (all.states.len().max(most), total + all.states.len());
        for cache in [Capacity::Unlimited, Capacity::First(20), Capacity::Replacing(20), Capacity::Nothing] {
            let delays_step = 1 + n as u32 % 3;
            let settings = Settings { cache, delays_step, snapshots_max: n % 50, ..UNCACHED };
            for mut search in every_explorer(settings) {
                let mut system = Spy::new(program.clone());
                system.snapshots = n % 4 != 0;
                let found = executions(&mut system, &mut *search);
                let name = search.name();
                assert_eq!(system.states, all.states, "{name} with {cache:?} on {program:?}");
                assert!(!search.counts().cut);
                if cache == Capacity::Unlimited {
                    assert_eq!(search.counts().states, all.states.len() as u64);
                }
                if cache == Capacity::Nothing {
                    assert_eq!(found.len() as u64, all.executions, "{name} on {program:?}");
                    let different: BTreeSet<_> = found.iter().map(|(path, _)| path).collect();
                    assert_eq!(different.len(), found.len());
                }
            }
        }
    }
    // The programs are not all trivial.
    assert!(most > 150 && total > 5_000, "{most} {total}");
}

#[test]
fn bounds_give_the_strata_of_the_definition() {
    for (program, all) in small(60, 600) {
        check_strata(&program, &all, RoundRobin::default());
        check_strata(&program, &all, RunToCompletion::default());
        check_strata(&program, &all, RoundRobin::probabilistic(2));
        check_strata(&program, &all, ByRank::default());
    }
}

fn check_strata<E: Explorer + 'static>(program: &Program, all: &naive::All, explorer: E) {
    for max in 0.. {
        let expected = naive::delay_bounded(program, &explorer, max);
        let mut search = Ses::<Spy, E>::new(explorer.clone(), Settings { delays_max: Some(max), ..UNCACHED });
        let found = executions(&mut Spy::new(program.clone()), &mut search);
        let paths: BTreeSet<_> = found.iter().map(|(path, _)| path.clone()).collect();
        assert_eq!(paths.len(), found.len());
        assert_eq!(paths, expected.keys().cloned().collect());
        // One more delay at a time.
        assert!(found.windows(2).all(|two| expected[&two[0].0] <= expected[&two[1].0]));
        // The last stratum is everything.
        assert_eq!(search.counts().cut, (found.len() as u64) < all.executions);
        if !search.counts().cut {
            return;
        }
    }
}

#[test]
fn with_no_delay_there_is_one_execution_for_each_choice_of_data() {
    let program =
        vec![vec![Choose(3), Store(0, 0), Choose(2)], vec![Load(0), Choose(2), Rmw(0, 1)], vec![Load(0); 3]];
    for mut search in every_explorer(Settings { delays_max: Some(0), ..UNCACHED }) {
        let found = executions(&mut Spy::new(program.clone()), &mut *search);
        let values = |path: &[Decision]| -> Vec<Decision> {
            path.iter().filter(|d| matches!(d, Decision::Value(_))).copied().collect()
        };
        let assignments: BTreeSet<_> = found.iter().map(|(path, _)| values(path)).collect();
        assert_eq!((found.len(), assignments.len()), (12, 12), "{}", search.name());
        // 0 first.
        assert!(values(&found[0].0).iter().all(|d| *d == Decision::Value(0)));
    }
}

#[test]
fn what_a_step_says_before_it_chooses_holds_for_every_value() {
    for snapshots in [true, false] {
        let mut system = Spy::new(vec![vec![Choose(3), Load(0)], vec![Load(0)]]);
        system.snapshots = snapshots;
        // Worker 0 goes behind worker 1.
        system.hint = Some(1);
        let mut search = ses(ByRank::default(), Settings { delays_max: Some(0), ..UNCACHED });
        let step = |worker| Decision::Pick(Pick::Step(WorkerId(worker)));
        for (value, (path, _)) in executions(&mut system, &mut *search).into_iter().enumerate() {
            assert_eq!(path, [step(0), Decision::Value(value as u64), step(1), step(0)]);
        }
    }
}

#[test]
fn it_ends_on_programs_that_do_not() {
    // Two workers spin on each other's flags.
    let spin = |mine, other| vec![Load(other), BackUnless(1, 1), Set(mine, 1), Load(mine)];
    let program = vec![spin(0, 1), spin(1, 0), vec![Choose(2), Store(1, 0)]];
    for mut search in every_explorer(Settings { cache: Capacity::Unlimited, ..UNCACHED }) {
        let mut system = Spy::new(program.clone());
        executions(&mut system, &mut *search);
        assert_eq!(search.counts().states, system.states.len() as u64);
        assert!(!search.counts().cut);
    }
}

/// Does a search's work in pieces: after some steps it is saved, or split, and all pieces go on later.
fn in_pieces(
    program: &Program,
    system: &mut Spy,
    seed: u64,
    search: impl Fn(Vec<Item>) -> Box<dyn Search<Spy>>,
) -> (Vec<Vec<Decision>>, u64) {
    let mut rng = ChoiceRng::new(Iteration { seed, index: 0 });
    let mut waiting = vec![vec![Item::default()]];
    let (mut found, mut pieces) = (Vec::new(), 0);
    while let Some(items) = waiting.pop() {
        pieces += 1;
        let mut search = search(items);
        let mut turns = 1 + rng.below(6);
        loop {
            match search.advance(system, 1 + rng.below(30)) {
                Advance::Ended(_) => found.push(search.path().to_vec()),
                Advance::Livelock | Advance::Round => panic!("these programs end"),
                Advance::Working => {}
                Advance::Exhausted => break,
            }
            // Somebody else uses the system between two jobs, but a search leaves it alone in between.
            if rng.one_in(4) {
                waiting.extend(search.split().map(|item| vec![item]));
            }
            turns -= 1;
            if turns == 0 {
                waiting.push(search.save());
                break;
            }
        }
        assert_eq!(search.error(), None, "{program:?}");
    }
    (found, pieces)
}

#[test]
fn pieces_do_what_the_whole_does() {
    let mut most = 0;
    for (n, (program, all)) in small(60, 600).into_iter().enumerate() {
        let mut system = Spy::new(program.clone());
        let (found, pieces) = in_pieces(&program, &mut system, n as u64, |items| {
            Box::new(Ses::resume(RunToCompletion::default(), UNCACHED, items))
        });
        most = most.max(pieces);
        // Nothing is lost and nothing is done twice.
        assert_eq!(found.len() as u64, all.executions);
        assert_eq!(found.iter().collect::<BTreeSet<_>>().len(), found.len());
        assert_eq!(system.states, all.states);

        // With caches, which are not shared, at least every state is reached.
        let mut system = Spy::new(program.clone());
        in_pieces(&program, &mut system, n as u64, |items| {
            search::by_name("ses:prr", 9, Some(items)).unwrap()
        });
        assert_eq!(system.states, all.states);
    }
    assert!(most > 50, "{most}");
}

#[test]
fn a_larger_bound_goes_on_where_a_smaller_one_ended() {
    for (program, all) in small(40, 600) {
        let mut system = Spy::new(program.clone());
        let mut total = 0;
        let mut items = None;
        for max in 0..40 {
            let settings = Settings { delays_max: Some(max), ..UNCACHED };
            let mut search = match items {
                None => Ses::new(RoundRobin::default(), settings),
                Some(items) => Ses::resume(RoundRobin::default(), settings, items),
            };
            total += executions(&mut system, &mut search).len() as u64;
            items = Some(search.save());
        }
        assert_eq!(items, Some(vec![]));
        assert_eq!(total, all.executions);
    }
}

#[test]
fn prefixes_are_executed_again_only_without_snapshots() {
    let program = vec![vec![Load(0); 4], vec![Load(1); 4]];
    let mut system = Spy::new(program.clone());
    let mut search = ses(RoundRobin::default(), UNCACHED);
    executions(&mut system, &mut *search);
    assert_eq!(system.restarts, 1);
    let shared = search.counts().steps;

    system = Spy::new(program);
    system.snapshots = false;
    let mut search = ses(RoundRobin::default(), UNCACHED);
    assert_eq!(executions(&mut system, &mut *search).len(), 70);
    assert_eq!(system.restarts, 70);
    // Eight steps each: what is executed again is counted.
    assert_eq!((search.counts().steps, shared < 70 * 8), (70 * 8, true));
}

#[test]
fn names_are_read() {
    let name = |spec: &str| match search::by_name::<Spy>(spec, 0, None) {
        Ok(search) => search.name(),
        Err(error) => error,
    };
    assert_eq!(name("ses"), "ses:run-to-completion");
    assert_eq!(name("ses:rr:3"), "ses:round-robin:3");
    assert_eq!(name("ses:2"), "ses:run-to-completion:2");
    assert_eq!(name("ss:prr"), "ss:probabilistic-round-robin");
    assert_eq!(name("ss:by-rank:4:100:2"), "ss:by-rank:4");
    assert_eq!(name("ses-ss:rtc"), "ses-ss:run-to-completion:2");
    assert_eq!(
        name("ses:fifo"),
        "there is no explorer fifo; there are: round-robin (rr), run-to-completion (rtc), \
         probabilistic-round-robin (prr), by-rank"
    );
    assert_eq!(name("ses:rr:x"), "\"x\" is not a number of delays or samples");
    assert_eq!(name("ses:rr:1:2"), "\"2\" is one parameter too many");
}
