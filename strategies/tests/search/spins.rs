//! DPOR next to loops that wait: every execution without a turn in vain once, every end and every livelock.
//!
//! The truth is by definition. A *cycle* is a sequence of steps of one worker that leads from a state back
//! to it, also if other workers made steps in between that could have been executed before or after. All
//! executions without a cycle are enumerated by plain recursion; states are compared as wholes.

use crate::oracle::{Outcome, classify, decisions, outcome};
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::search::dpor::Dpor;
use coyote_strategies::search::{Advance, Counts, Search};
use coyote_strategies::system::decide;
use coyote_strategies::toy::{Instruction, Instruction::*, Program, Toy};
use coyote_strategies::{Access, Decision, Effect, Iteration, Operation, Pick, Status, System};
use std::collections::{BTreeMap, BTreeSet};

/// What a program with loops can do.
#[derive(Debug, Default)]
struct Truth {
    /// Classes of complete executions without a cycle.
    classes: BTreeMap<u64, Outcome>,
    /// Fingerprints of states in which it can end, and those from which it cannot.
    ends: BTreeSet<u128>,
    livelocked: BTreeSet<u128>,
}

/// A complete step of a path.
#[derive(Clone)]
struct Step {
    worker: usize,
    decisions: Vec<Decision>,
    footprint: Vec<Access>,
    /// What its worker was about to do before it, and after it.
    operations: [Operation; 2],
}

/// The complete steps of a path.
fn steps(program: &Program, path: &[Decision]) -> Vec<Step> {
    let (mut toy, mut steps) = (Toy::new(program.clone()), Vec::<Step>::new());
    for decision in path {
        if let Decision::Pick(pick) = decision {
            // Nothing here fires timeouts.
            assert!(matches!(pick, Pick::Step(_)));
            let worker = pick.worker().index();
            let operations = [toy.view().workers[worker].operation; 2];
            steps.push(Step { worker, decisions: vec![], footprint: vec![], operations });
        }
        decide(&mut toy, *decision);
        let step = steps.last_mut().expect("a path begins with a pick");
        step.decisions.push(*decision);
        step.footprint = toy.footprint().to_vec();
        step.operations[1] = toy.view().workers[step.worker].operation;
    }
    steps
}

fn dependent(a: &Step, b: &Step) -> bool {
    let met = |x: &Access, y: &Access| x.class == y.class && x.object == y.object;
    let commute = |x: Effect, y: Effect| x == y && matches!(x, Effect::Read | Effect::Await);
    let mut pairs = a.footprint.iter().flat_map(|x| b.footprint.iter().map(move |y| (x, y)));
    a.worker == b.worker || pairs.any(|(x, y)| met(x, y) && !commute(x.effect, y.effect))
}

/// Whether some order of the same steps has a cycle.
fn has_cycle(program: &Program, path: &[Decision]) -> bool {
    let steps = steps(program, path);
    let n = steps.len();
    let mut after = vec![vec![false; n]; n];
    for j in 0..n {
        for i in (0..j).rev() {
            let between = (i + 1..j).any(|k| after[i][k] && after[k][j]);
            after[i][j] = between || dependent(&steps[i], &steps[j]);
        }
    }
    let own = |i: usize, j: usize| steps[i].worker == steps[j].worker;
    (0..n).any(|i| {
        let back = |j: usize| own(i, j) && steps[i].operations[0] == steps[j].operations[1];
        (i..n).filter(|&j| back(j)).any(|j| {
            let inside = |k: usize| k != i && after[i][k] && k != j && after[k][j] && !own(i, k);
            if (i..j).any(inside) {
                return false;
            }
            // All that need not come after the first step of the cycle comes before it.
            let before = (0..j).filter(|&k| k < i || !own(i, k) && !after[i][k]);
            let mut toy = Toy::new(program.clone());
            let mut run = |k: usize| steps[k].decisions.iter().for_each(|d| decide(&mut toy, *d));
            before.for_each(&mut run);
            let mut again = toy.clone();
            let begin = toy.fingerprint();
            let cycle = (i..=j).filter(|&k| own(i, k));
            cycle.for_each(|k| steps[k].decisions.iter().for_each(|d| decide(&mut again, *d)));
            begin == again.fingerprint()
        })
    })
}

/// Everything, unless there are too many schedules or steps.
fn truth(program: &Program, schedules_max: usize) -> Option<Truth> {
    let (mut truth, mut schedules, mut path) = (Truth::default(), 0, Vec::new());
    let toy = Toy::new(program.clone());
    let mut paths = BTreeMap::new();
    let mut ended = |toy: &Toy, path: &[Decision]| {
        schedules += 1;
        let (class, _) = classify(program, path).expect("an execution");
        paths.entry(class).or_insert_with(|| (path.to_vec(), outcome(toy)));
        schedules < schedules_max
    };
    if !recurse(toy, &mut path, &mut vec![], &mut ended) {
        return None;
    }
    for (class, (path, outcome)) in paths {
        if !has_cycle(program, &path) {
            truth.classes.insert(class, outcome);
        }
    }
    states(program, &mut truth).then_some(truth)
}

/// All paths without a cycle of steps in succession. `run`: fingerprints of the states since the present
/// worker began, with its number.
fn recurse(
    mut toy: Toy,
    path: &mut Vec<Decision>,
    run: &mut Vec<(u32, u128)>,
    ended: &mut dyn FnMut(&Toy, &[Decision]) -> bool,
) -> bool {
    if toy.status().is_final() {
        return ended(&toy, path);
    }
    if path.len() > 60 {
        return false;
    }
    let here = toy.fingerprint();
    for decision in decisions(&toy) {
        let mut next = toy.clone();
        decide(&mut next, decision);
        let worker = match decision {
            Decision::Pick(pick) => pick.worker().0,
            Decision::Value(_) => run.last().expect("a step asks for it").0,
        };
        let mut run: Vec<_> = run.iter().copied().filter(|(w, _)| *w == worker).collect();
        run.push((worker, here));
        if run.iter().any(|(_, state)| *state == next.fingerprint()) {
            continue;
        }
        path.push(decision);
        let more = recurse(next, path, &mut run, ended);
        path.pop();
        if !more {
            return false;
        }
    }
    true
}

/// Ends and livelocks, by the graph of states.
fn states(program: &Program, truth: &mut Truth) -> bool {
    let mut first = Toy::new(program.clone());
    let mut before = BTreeMap::<u128, BTreeSet<u128>>::from([(first.fingerprint(), BTreeSet::new())]);
    let mut open = vec![first];
    while let Some(mut toy) = open.pop() {
        let here = toy.fingerprint();
        if toy.status().is_final() {
            truth.ends.insert(here);
        }
        for decision in decisions(&toy) {
            let mut next = toy.clone();
            decide(&mut next, decision);
            let there = next.fingerprint();
            if !before.contains_key(&there) {
                open.push(next);
            }
            before.entry(there).or_default().insert(here);
        }
        if before.len() > 20_000 {
            return false;
        }
    }
    let mut reach = truth.ends.clone();
    let mut open: Vec<u128> = reach.iter().copied().collect();
    while let Some(state) = open.pop() {
        open.extend(before[&state].iter().copied().filter(|s| reach.insert(*s)));
    }
    truth.livelocked = before.keys().copied().filter(|s| !reach.contains(s)).collect();
    true
}

/// What a search comes to.
#[derive(Debug, Default)]
struct Found {
    /// Classes of executions, and how often each was found.
    classes: BTreeMap<u64, u64>,
    /// Of executions with a bug although somebody spun.
    spun: u64,
    ends: BTreeSet<u128>,
    livelocks: BTreeSet<u128>,
    counts: Counts,
}

fn search(program: &Program) -> Found {
    let (mut found, mut toy) = (Found::default(), Toy::new(program.clone()));
    let mut dpor = Dpor::new(None);
    loop {
        match dpor.advance(&mut toy, 1_000_000) {
            Advance::Ended(status) => {
                let path = Search::<Toy>::path(&dpor);
                found.ends.insert(toy.fingerprint());
                if status == Status::Bug && has_cycle(program, path) {
                    found.spun += 1;
                } else {
                    let (class, _) = classify(program, path).expect("an execution");
                    *found.classes.entry(class).or_default() += 1;
                }
            }
            Advance::Livelock => {
                let mut again = Toy::new(program.clone());
                Search::<Toy>::path(&dpor).iter().for_each(|decision| decide(&mut again, *decision));
                assert_eq!(again.fingerprint(), toy.fingerprint(), "the system is elsewhere");
                found.livelocks.insert(again.fingerprint());
            }
            Advance::Working => {
                assert!(Search::<Toy>::counts(&dpor).steps < 3_000_000, "it does not end: {program:?}")
            }
            Advance::Exhausted => {
                found.counts = Search::<Toy>::counts(&dpor);
                return found;
            }
        }
    }
}

/// What is wrong, if anything.
fn flaw(truth: &Truth, found: &Found) -> Option<String> {
    let lost = truth.classes.keys().filter(|class| !found.classes.contains_key(class)).count();
    let extra = found.classes.keys().filter(|class| !truth.classes.contains_key(class)).count();
    let twice = found.classes.values().filter(|times| **times > 1).count();
    if lost + extra + twice > 0 {
        let all = truth.classes.len();
        return Some(format!("{lost} of {all} classes lost, {extra} with a cycle, {twice} found again"));
    }
    if !truth.ends.is_subset(&found.ends) {
        return Some("an end is lost".into());
    }
    if !found.livelocks.is_subset(&truth.livelocked) {
        return Some("a livelock can end".into());
    }
    if found.livelocks.is_empty() != truth.livelocked.is_empty() {
        return Some(format!("{} states of livelocks, none found", truth.livelocked.len()));
    }
    let counts = found.counts;
    let told = counts.executions + counts.abandoned;
    if told != truth.classes.len() as u64 || counts.unfinished > 0 {
        return Some(format!("{counts:?} for {} classes", truth.classes.len()));
    }
    None
}

/// Takes instructions away as long as something is wrong.
fn smallest(mut program: Program, mut why: String) -> (Program, String) {
    'again: loop {
        for worker in 0..program.len() {
            for at in 0..program[worker].len() {
                let mut smaller = program.clone();
                smaller[worker].remove(at);
                let jumps = smaller[worker].iter().enumerate();
                if !jumps.into_iter().all(|(i, x)| !matches!(x, BackUnless(_, n) if usize::from(*n) > i)) {
                    continue;
                }
                let Some(truth) = truth(&smaller, 2_000) else { continue };
                if let Some(flaw) = flaw(&truth, &search(&smaller)) {
                    (program, why) = (smaller, flaw);
                    continue 'again;
                }
            }
        }
        return (program, why);
    }
}

/// Loops that wait, and what others wait for.
fn phrase(rng: &mut ChoiceRng) -> Vec<Instruction> {
    let (v, w, value) = (rng.below(2) as u8, rng.below(2) as u8, 1 + rng.one_in(4) as i8);
    match rng.below(18) {
        0..3 => vec![Load(v), BackUnless(value, 1)],
        3 => vec![Load(v), Yield, BackUnless(value, 2)],
        4 => vec![Load(0), BackUnless(1, 1), Load(1), BackUnless(1, 3)],
        5 => vec![Load(v), SkipUnless(0, 1), Load(1 - v), BackUnless(value, 3)],
        6 => vec![Cas(v, 0, 1), BackUnless(1, 1)],
        7 => vec![Swap(v, 1), BackUnless(0, 1)],
        8 => vec![Lock(0), Load(v), Unlock(0), BackUnless(value, 3)],
        9 => vec![Until(v)],
        10 => vec![TryLock(0), Unlock(0), BackUnless(1, 2)],
        11 => vec![Choose(2), BackUnless(1, 1)],
        12..15 => vec![Set(v, value)],
        15 => vec![Rmw(w, 1)],
        16 => vec![Load(w), Assert(value)],
        _ => vec![Store(w, 1)],
    }
}

/// Programs of two or three workers with a few phrases each.
fn program(index: u64) -> Program {
    let mut rng = ChoiceRng::new(Iteration { seed: 31, index });
    let workers = 2 + usize::from(rng.one_in(3));
    let phrases = if workers == 2 { 3 } else { 2 };
    let worker = |rng: &mut ChoiceRng| (0..1 + rng.below(phrases)).flat_map(|_| phrase(rng)).collect();
    (0..workers).map(|_| worker(&mut rng)).collect()
}

#[test]
fn all_executions_without_a_cycle_once() {
    let (mut done, mut skipped, mut classes, mut livelocks, mut redundant) = (0, 0, 0, 0, 0);
    for index in 0.. {
        if done == 1_000 {
            break;
        }
        let program = program(index);
        let Some(truth) = truth(&program, 500) else {
            skipped += 1;
            continue;
        };
        let found = search(&program);
        if let Some(flaw) = flaw(&truth, &found) {
            let (program, flaw) = smallest(program, flaw);
            panic!("program {index}: {flaw}\n{program:?}");
        }
        done += 1;
        if std::env::var_os("SPIN_VERBOSE").is_some() && done % 50 == 0 {
            eprintln!("{done} {index}");
        }
        classes += truth.classes.len();
        livelocks += usize::from(!truth.livelocked.is_empty());
        redundant += found.counts.redundant;
    }
    println!("{done} programs, {skipped} skipped; {classes} classes, {redundant} redundant, {livelocks} livelocks");
    assert!(livelocks > 100 && classes > 5_000);
}
