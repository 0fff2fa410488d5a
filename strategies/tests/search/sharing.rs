//! Searches that share states do no more work than one search alone, and refuse states that do not fit.

use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::search::dpor::{self, Dpor, SharedState};
use coyote_strategies::search::{Advance, Counts, Item, Search, Shared, by_name};
use coyote_strategies::toy::Instruction::*;
use coyote_strategies::toy::{Program, Toy};
use std::collections::BTreeSet;

/// Steps that a job executes before it looks whether others have nothing to do.
const ALLOWANCE: u64 = 50;

/// Runs so many jobs in turns, as a pool does: a job without work gets some from any other. Also returns how many
/// livelocks there were.
fn run_jobs(spec: &str, program: &Program, jobs: usize) -> (Counts, u64) {
    let shared = Shared::default();
    let search = |items| {
        let mut search = by_name::<Toy>(spec, 0, items).unwrap_or_else(|error| panic!("{error}"));
        search.share(&shared);
        search
    };
    let mut livelocks = 0;
    let mut systems: Vec<Toy> = (0..jobs).map(|_| Toy::new(program.clone())).collect();
    let mut searches: Vec<Option<Box<dyn Search<Toy>>>> = (0..jobs).map(|_| None).collect();
    searches[0] = Some(search(None));
    let mut counts = Counts::default();
    while searches.iter().any(Option::is_some) {
        for job in 0..jobs {
            let Some(running) = &mut searches[job] else { continue };
            let until = running.counts().steps + ALLOWANCE;
            while running.counts().steps < until {
                match running.advance(&mut systems[job], ALLOWANCE) {
                    Advance::Exhausted => {
                        counts = counts + running.counts();
                        searches[job] = None;
                        break;
                    }
                    Advance::Livelock => livelocks += 1,
                    Advance::Working | Advance::Round | Advance::Ended(_) => {}
                }
            }
            if let Some(idle) = searches.iter().position(Option::is_none)
                && let Some(item) = searches[job].as_mut().and_then(|search| search.split())
            {
                searches[idle] = Some(search(Some(vec![item])));
            }
        }
    }
    assert!(shared.dpor.is_empty() && !shared.seen.cyclic());
    (counts, livelocks)
}

/// Transfers between accounts with a lock each, and a worker that adds them up: few of the steps conflict.
pub fn accounts() -> Program {
    let transfer = |from, to| {
        vec![
            Lock(from),
            Load(from),
            Store(from, -1),
            Unlock(from),
            Lock(to),
            Load(to),
            Store(to, 1),
            Unlock(to),
        ]
    };
    let sum = (0..3).flat_map(|account| [Lock(account), Load(account), Unlock(account)]);
    let sum: Vec<_> = sum.collect();
    vec![transfer(0, 1), transfer(1, 2), transfer(2, 0), sum.clone(), sum]
}

/// Everything conflicts.
fn counters() -> Program {
    vec![vec![Rmw(0, 1); 4]; 3]
}

/// Values are chosen before anything else, and between.
fn values() -> Program {
    vec![
        vec![Choose(8), Store(0, 0), Load(1)],
        vec![Load(0), Choose(3), Store(1, 0)],
        vec![Rmw(0, 1), Rmw(1, 1)],
    ]
}

/// Timeouts that are overtaken and cancelled.
fn timeouts() -> Program {
    vec![
        vec![Lock(0), Sleep(1), Unlock(0)],
        vec![LockTimeout(0, 1), Load(0), Sleep(2)],
        vec![LockTimeout(0, 2), Set(0, 1)],
    ]
}

#[test]
fn jobs_together_execute_what_one_alone_executes() {
    for (name, program) in
        [("accounts", accounts()), ("counters", counters()), ("values", values()), ("timeouts", timeouts())]
    {
        let (alone, _) = run_jobs("dpor", &program, 1);
        for jobs in [2, 8, 64] {
            let (together, _) = run_jobs("dpor", &program, jobs);
            println!(
                "{name}, {jobs} jobs: {} executions, {} steps, {} redundant; alone {}, {}",
                together.executions, together.steps, together.redundant, alone.steps, alone.redundant
            );
            assert_eq!(together.executions, alone.executions, "{name}, {jobs} jobs");
            let steps = together.steps as f64 / alone.steps as f64;
            assert!(steps <= 1.1, "{name}, {jobs} jobs: {steps} times the steps of one");
        }
    }
}

/// Two workers that wait for each other's flag, and one that may set it: from some states no end can be reached.
fn waiting() -> Program {
    let wait = |flag, other| vec![Set(flag, 1), Load(other), BackUnless(0, 1), Set(flag, 0)];
    vec![wait(0, 1), wait(1, 0), vec![Choose(2), Rmw(2, 1), Rmw(2, 1)]]
}

#[test]
fn jobs_together_see_the_states_that_one_alone_sees() {
    let programs = [accounts(), counters(), values(), timeouts(), waiting()];
    for (spec, number) in
        ["stateful", "dfs+hb"].iter().flat_map(|spec| (0..programs.len()).map(move |i| (*spec, i)))
    {
        let program = &programs[number];
        if spec == "dfs+hb" && number == 4 {
            // Every round of a loop is another class.
            continue;
        }
        let (alone, stuck) = run_jobs(spec, program, 1);
        for jobs in [2, 8, 64] {
            let (together, livelocks) = run_jobs(spec, program, jobs);
            println!(
                "{spec}, program {number}, {jobs} jobs: {} states, {} steps",
                together.states, together.steps
            );
            let told =
                |c: Counts| (c.states, c.executions, c.redundant, c.bugs, c.unfinished, c.cut, c.cyclic);
            assert_eq!(told(together), told(alone), "{spec}, program {number}, {jobs} jobs");
            assert_eq!(livelocks, stuck, "{spec}, program {number}, {jobs} jobs");
            // Steps to the states from which work is continued.
            assert!(
                together.steps * 10 <= alone.steps * 11 + 10_000,
                "{} and {} steps",
                together.steps,
                alone.steps
            );
        }
    }
    let (counts, livelocks) = run_jobs("stateful", &waiting(), 8);
    assert!(livelocks > 0 && counts.bugs == livelocks);
}

/// An exploration that has been stopped while its searches shared states.
fn stopped() -> (Vec<(u64, SharedState)>, Vec<Item>) {
    let program = values();
    let shared = Shared::default();
    let mut first = Dpor::<Toy>::new(None);
    first.share(&shared);
    let mut toy = Toy::new(program.clone());
    for _ in 0..40 {
        first.advance(&mut toy, 20);
    }
    let mut items: Vec<Item> = (0..4).filter_map(|_| first.split()).collect();
    items.extend(first.save());
    let mut states = Vec::new();
    shared.dpor.each_state(&mut |number, state| states.push((number, state.clone())));
    assert!(states.len() > 1 && items.len() > 2, "{} states, {} items", states.len(), items.len());
    (states, items)
}

#[test]
fn what_does_not_fit_is_refused() {
    let (states, items) = stopped();
    assert!(dpor::Shared::restore(states.clone(), &BTreeSet::new(), &items).is_ok());
    let refused = |states: &[(u64, SharedState)], items: &[Item], what: &str| {
        assert!(dpor::Shared::restore(states.to_vec(), &BTreeSet::new(), items).is_err(), "{what}");
    };
    for i in 0..states.len() {
        let mut fewer = states.clone();
        fewer.remove(i);
        refused(&fewer, &items, "a state is lost");
        let mut more = states.clone();
        more.push(states[i].clone());
        refused(&more, &items, "a state is there twice");
    }
    let mut rng = ChoiceRng::new(Iteration { seed: 30, index: 0 });
    for i in 0..items.len() {
        let Some(place) = items[i].place else { continue };
        let mut fewer = items.clone();
        fewer.remove(i);
        refused(&states, &fewer, "an item is lost");
        let mut more = items.clone();
        more.push(items[i].clone());
        refused(&states, &more, "an item is there twice");
        let mut other = items.clone();
        other[i].place = None;
        refused(&states, &other, "an item belongs nowhere");
        let others = items.iter().filter_map(|item| item.place).filter(|other| *other != place);
        if let Some(elsewhere) = others.collect::<Vec<_>>().get(rng.below(2) as usize) {
            other[i].place = Some(*elsewhere);
            refused(&states, &other, "an item is elsewhere");
        }
    }
}
