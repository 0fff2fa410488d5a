//! Depth-first search, its bounds and caches, against naive enumeration.

use crate::dpor::{flaw, program, run_in_parts};
use crate::faults::{Fault, Faulty};
use crate::oracle::{Truth, decisions, enumerate, run, run_on};
use coyote_strategies::search::bounding::Cost;
use coyote_strategies::search::caching::Caching;
use coyote_strategies::search::dfs::Dfs;
use coyote_strategies::search::{Advance, Search};
use coyote_strategies::toy::{Instruction::*, Program, Toy};
use coyote_strategies::{Decision, Pick, Status, System, WorkerId};
use std::collections::BTreeSet;

fn dfs(cost: Cost, max: Option<u32>, caching: Caching) -> Dfs<Toy> {
    Dfs::new(cost, max, caching, None)
}

/// Small random programs with what they can do.
fn programs(count: usize, schedules_max: u64) -> impl Iterator<Item = (Program, Truth)> {
    let all = (0..).map(program).filter_map(move |p| enumerate(&p, schedules_max).map(|truth| (p, truth)));
    all.take(count)
}

/// The paths of all executions, in order.
fn paths(search: &mut dyn Search<Toy>, program: &Program) -> Vec<Vec<Decision>> {
    let mut toy = Toy::new(program.clone());
    let mut paths = Vec::new();
    loop {
        match search.advance(&mut toy, u64::MAX) {
            Advance::Ended(_) => paths.push(search.path().to_vec()),
            Advance::Livelock | Advance::Round => panic!("these programs end"),
            Advance::Working => panic!("without a limit"),
            Advance::Exhausted => return paths,
        }
    }
}

/// What a path costs, by the words of the papers.
fn cost(program: &Program, path: &[Decision], delays: bool) -> u32 {
    let mut toy = Toy::new(program.clone());
    let (mut last, mut cost) = (None, 0);
    for decision in path {
        match decision {
            Decision::Value(value) => toy.choose(*value),
            Decision::Pick(pick) => {
                let enabled: Vec<usize> = toy.view().enabled.iter().map(|w| w.index()).collect();
                let workers = toy.view().workers.len();
                let step = if let Pick::Step(w) = pick { Some(w.index()) } else { None };
                if delays {
                    let turns = (0..workers).map(|i| (last.unwrap_or(0) + i) % workers);
                    let passed = turns.take_while(|w| Some(*w) != step).filter(|w| enabled.contains(w));
                    cost += passed.count() as u32;
                } else {
                    cost += u32::from(last.is_some_and(|w| enabled.contains(&w) && step != Some(w)));
                }
                last = step.or(last);
                toy.step(*pick);
            }
        }
    }
    cost
}

#[test]
fn plain_search_executes_every_schedule_once() {
    for (program, truth) in programs(200, 2_000) {
        let mut search = dfs(Cost::Nothing, None, Caching::Nothing);
        let paths = paths(&mut search, &program);
        let counts = search.counts();
        assert_eq!(counts.executions + counts.abandoned, truth.schedules);
        assert_eq!(paths.iter().collect::<BTreeSet<_>>().len() as u64, truth.schedules);
    }
}

#[test]
fn bounds_grow_and_nothing_is_explored_twice() {
    for (program, truth) in programs(200, 1_000) {
        for (kind, delays) in [(Cost::Preemptions, false), (Cost::Delays, true)] {
            let paths_of = |max| {
                let mut search = dfs(kind, max, Caching::Nothing);
                let paths = paths(&mut search, &program);
                (paths, search.counts())
            };
            let (all, counts) = paths_of(None);
            assert!(!counts.cut);
            assert_eq!(all.len() as u64, truth.schedules, "{program:?}");
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len(), "{program:?}");
            let costs: Vec<u32> = all.iter().map(|path| cost(&program, path, delays)).collect();
            assert!(costs.is_sorted(), "{kind:?} {costs:?}\n{program:?}");
            let most = costs.last().copied().unwrap_or(0);
            for max in 0..=most.min(3) {
                let (some, counts) = paths_of(Some(max));
                assert_eq!(some, all[..costs.partition_point(|cost| *cost <= max)], "{kind:?} {max}");
                assert_eq!(counts.cut, max < most);
            }
        }
    }
}

/// Fingerprints of all states and of all final states.
fn states(program: &Program) -> (BTreeSet<u128>, BTreeSet<u128>) {
    let (mut all, mut ends) = (BTreeSet::new(), BTreeSet::new());
    let mut stack = vec![Toy::new(program.clone())];
    while let Some(mut toy) = stack.pop() {
        if !all.insert(toy.fingerprint()) {
            continue;
        }
        if toy.status().is_final() {
            ends.insert(toy.fingerprint());
        }
        for decision in decisions(&toy) {
            let mut next = toy.clone();
            match decision {
                Decision::Pick(pick) => next.step(pick),
                Decision::Value(value) => next.choose(value),
            }
            stack.push(next);
        }
    }
    (all, ends)
}

/// The final states that a search comes to.
fn ends(search: &mut dyn Search<Toy>, program: &Program) -> BTreeSet<u128> {
    let mut toy = Toy::new(program.clone());
    let mut ends = BTreeSet::new();
    loop {
        match search.advance(&mut toy, u64::MAX) {
            Advance::Ended(_) => ends.insert(toy.fingerprint()),
            Advance::Livelock | Advance::Round => panic!("these programs end"),
            Advance::Working => panic!("without a limit"),
            Advance::Exhausted => return ends,
        };
    }
}

#[test]
fn a_cache_of_states_comes_to_every_state() {
    for index in 0..400 {
        let program = program(index);
        let (all, final_states) = states(&program);
        for kind in [Cost::Nothing, Cost::Preemptions, Cost::Delays] {
            let mut search = dfs(kind, None, Caching::States);
            assert_eq!(ends(&mut search, &program), final_states, "{program:?}");
            assert_eq!(search.counts().states, all.len() as u64, "{kind:?} {program:?}");
        }
    }
}

#[test]
fn a_bounded_search_with_a_cache_loses_no_final_state_of_its_bound() {
    for (program, _) in programs(200, 1_000) {
        for kind in [Cost::Preemptions, Cost::Delays] {
            for max in 0..3 {
                let plain = ends(&mut dfs(kind, Some(max), Caching::Nothing), &program);
                for caching in [Caching::States, Caching::Classes] {
                    let cached = ends(&mut dfs(kind, Some(max), caching), &program);
                    assert_eq!(cached, plain, "{kind:?} {max} {caching:?} {program:?}");
                }
            }
        }
    }
}

#[test]
fn a_cache_of_classes_executes_each_once() {
    for (program, truth) in programs(300, 5_000) {
        let found = run(&mut dfs(Cost::Nothing, None, Caching::Classes), &program);
        assert!(found.keys().eq(truth.classes.keys()), "{program:?}");
        assert!(found.values().all(|(_, times)| *times == 1), "{program:?}");
    }
}

#[test]
fn a_cache_of_classes_knows_what_a_step_touched_before_it_was_gone_back_to() {
    // A signal touches its condvar, and then chooses one of its waiters.
    let waiter = vec![Lock(0), Wait(0, 0)];
    let waiters: Program = vec![waiter.clone(), waiter.clone(), waiter, vec![Signal(0)]];
    let truth = enumerate(&waiters, 20_000).expect("it is small");
    for (program, truth) in programs(100, 5_000).chain([(waiters, truth)]) {
        let mut search = Dfs::<Faulty>::new(Cost::Nothing, None, Caching::Classes, None);
        let mut system = Faulty::new(&program, Fault::Forgetful);
        let found = run_on(&mut search, &mut system, &program).unwrap();
        assert_eq!(flaw(&truth, &found), None, "{program:?}");
    }
}

/// Where executions are cut off, a state that is reached once more and sooner may lead to another end.
#[test]
fn a_cache_of_states_loses_no_end_within_a_bound_on_steps() {
    let mut unfinished = 0;
    for (program, _) in programs(400, 1_000) {
        for steps_max in 3..8 {
            let ends = |caching| {
                let mut search = Dfs::<Faulty>::new(Cost::Nothing, None, caching, None);
                let mut system = Faulty::new(&program, Fault::Bounded(steps_max));
                let mut ends = BTreeSet::new();
                while let Advance::Ended(status) = search.advance(&mut system, u64::MAX) {
                    if status != Status::Unfinished {
                        ends.insert(system.fingerprint());
                    }
                }
                (ends, search.counts().unfinished)
            };
            let (plain, cut_off) = ends(Caching::Nothing);
            assert_eq!(ends(Caching::States).0, plain, "{steps_max} {program:?}");
            unfinished += cut_off;
        }
    }
    assert!(unfinished > 1_000, "{unfinished}");
}

#[test]
fn a_spin_loop_ends_with_a_cache_of_states() {
    // One waits for the flag of the other.
    let program = vec![vec![Load(0), BackUnless(1, 1), Rmw(1, 1)], vec![Rmw(1, 1), Set(0, 1)]];
    let (all, _) = states(&program);
    let mut search = dfs(Cost::Nothing, None, Caching::States);
    ends(&mut search, &program);
    assert_eq!(search.counts().states, all.len() as u64);
    // Nobody sets it: a state space without an end.
    let mut search = dfs(Cost::Nothing, None, Caching::States);
    let mut toy = Toy::new(vec![vec![Load(0), BackUnless(1, 1)], vec![Yield]]);
    assert_eq!(search.advance(&mut toy, u64::MAX), Advance::Livelock);
    assert!(Search::<Toy>::path(&search).is_empty(), "no end can be reached from the first state");
    assert_eq!(search.advance(&mut toy, u64::MAX), Advance::Exhausted);
    assert_eq!((search.counts().executions, search.counts().bugs, search.counts().states), (0, 1, 4));
}

#[test]
fn work_can_be_given_away_and_stored_at_any_time() {
    for (index, (program, _)) in programs(150, 500).enumerate() {
        for kind in [Cost::Nothing, Cost::Preemptions, Cost::Delays] {
            for max in [None, Some(1)] {
                let new = |items| Dfs::<Toy>::new(kind, max, Caching::Nothing, items);
                let mut search = new(None);
                let whole = run(&mut search, &program);
                let (parts, counts) = run_in_parts(&program, index as u64, new);
                assert_eq!(parts, whole, "{kind:?} {max:?} {program:?}");
                assert_eq!(counts.executions, search.counts().executions);
            }
        }
    }
}

/// What waits for a level waits for it after it was stored, too: to find out again what it costs would be to
/// execute its prefix for nothing.
#[test]
fn stored_items_are_begun_once() {
    for (program, _) in programs(50, 500) {
        for kind in [Cost::Preemptions, Cost::Delays] {
            let mut whole = dfs(kind, None, Caching::Nothing);
            run(&mut whole, &program);
            let (mut first, mut toy) = (dfs(kind, None, Caching::Nothing), Toy::new(program.clone()));
            (0..5).for_each(|_| _ = first.advance(&mut toy, u64::MAX));
            let items = Search::<Toy>::save(&first);
            // The one that was interrupted is begun again.
            let again = items.iter().map(|item| item.prefix.len()).max().unwrap_or(0) as u64;
            let mut rest = Dfs::<Toy>::new(kind, None, Caching::Nothing, Some(items));
            run(&mut rest, &program);
            let [whole, first, rest] = [&whole, &first, &rest].map(Search::<Toy>::counts);
            assert_eq!(first.executions + rest.executions, whole.executions);
            assert!(
                first.steps + rest.steps <= whole.steps + again,
                "{kind:?}: {first:?} and {rest:?}, {whole:?}"
            );
        }
    }
}

#[test]
fn a_program_without_steps_has_one_execution() {
    let program: Program = vec![vec![], vec![]];
    let mut searches: Vec<Box<dyn Search<Toy>>> = vec![
        Box::new(dfs(Cost::Nothing, None, Caching::Nothing)),
        Box::new(dfs(Cost::Delays, Some(0), Caching::States)),
        Box::new(coyote_strategies::search::dpor::Dpor::new(None)),
    ];
    for search in &mut searches {
        let mut toy = Toy::new(program.clone());
        assert_eq!(search.advance(&mut toy, 1), Advance::Ended(Status::Passed));
        assert_eq!(search.advance(&mut toy, 1), Advance::Exhausted);
        assert_eq!(search.counts().executions, 1);
        assert!(search.save().is_empty());
    }
}

#[test]
fn costs_are_those_of_the_papers() {
    let toy = Toy::new(vec![vec![Load(0)], vec![Lock(0)], vec![Load(0)]]);
    let (view, step) = (toy.view(), |w| Pick::Step(WorkerId(w)));
    let costs = |cost: Cost, last| [0, 1, 2].map(|w| cost.of(step(w), last, &view));
    assert_eq!(costs(Cost::Preemptions, None), [0, 0, 0]);
    assert_eq!(costs(Cost::Preemptions, Some(WorkerId(1))), [1, 0, 1]);
    assert_eq!(costs(Cost::Delays, None), [0, 1, 2]);
    assert_eq!(costs(Cost::Delays, Some(WorkerId(1))), [2, 0, 1]);
}
