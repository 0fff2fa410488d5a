//! DPOR next to loops that wait: every execution without a turn in vain once, every end and every livelock.
//!
//! The truth is by definition. A *cycle* is a sequence of steps of one worker that leads from a state back
//! to it, also if other workers made steps in between that could have been executed before or after. All
//! executions without a cycle are enumerated by plain recursion; states are compared as wholes.

use crate::division::in_stages;
use crate::dpor::stored_and_read;
use crate::oracle::{Outcome, classify, decisions, enumerate, outcome};
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::search::Shared;
use coyote_strategies::search::bounding::Cost;
use coyote_strategies::search::caching::Caching;
use coyote_strategies::search::dfs::Dfs;
use coyote_strategies::search::dpor::Dpor;
use coyote_strategies::search::{Advance, Counts, Search, by_name};
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
    (0..steps.len()).any(|end| closes_cycle(program, &steps[..=end]))
}

/// Whether the last of these steps completes a cycle in some order.
fn closes_cycle(program: &Program, steps: &[Step]) -> bool {
    let n = steps.len();
    let own = |i: usize, j: usize| steps[i].worker == steps[j].worker;
    let last = n - 1;
    (0..n).filter(|&i| own(i, last) && steps[i].operations[0] == steps[last].operations[1]).any(|start| {
        // What has to come after the first step of the cycle, and before the last one.
        let mut after = vec![false; n];
        for k in start..n {
            after[k] = k == start || (start..k).any(|j| after[j] && dependent(&steps[j], &steps[k]));
        }
        let mut before = vec![false; n];
        for k in (start..n).rev() {
            before[k] = k == last || (k + 1..n).any(|j| before[j] && dependent(&steps[k], &steps[j]));
        }
        if (start..n).any(|k| !own(k, last) && after[k] && before[k]) {
            return false;
        }
        // All that need not come after the first step of the cycle comes before it.
        let mut toy = Toy::new(program.clone());
        let mut run = |k: usize| steps[k].decisions.iter().for_each(|d| decide(&mut toy, *d));
        (0..n).filter(|&k| k < start || !own(k, last) && !after[k]).for_each(&mut run);
        let begin = toy.fingerprint();
        let cycle = (start..n).filter(|&k| own(k, last));
        cycle.for_each(|k| steps[k].decisions.iter().for_each(|d| decide(&mut toy, *d)));
        begin == toy.fingerprint()
    })
}

/// Everything, unless there are too many schedules or steps.
fn truth(program: &Program, schedules_max: usize) -> Option<Truth> {
    let (mut truth, mut schedules, mut path) = (Truth::default(), 0, Vec::new());
    let toy = Toy::new(program.clone());
    let mut paths = BTreeMap::new();
    let mut steps = 0;
    let mut visit = |toy: &Toy, path: &[Decision]| {
        steps += 1;
        if !toy.status().is_final() {
            return steps < 40 * schedules_max && path.len() < 60;
        }
        schedules += 1;
        let (class, _) = classify(program, path).expect("an execution");
        paths.entry(class).or_insert_with(|| outcome(toy));
        schedules < schedules_max
    };
    if !recurse(program, toy, &mut path, &mut visit) {
        return None;
    }
    truth.classes = paths;
    states(program, &mut truth).then_some(truth)
}

/// All paths without a cycle, each state told to `visit` as long as it wants more.
fn recurse(
    program: &Program,
    toy: Toy,
    path: &mut Vec<Decision>,
    visit: &mut dyn FnMut(&Toy, &[Decision]) -> bool,
) -> bool {
    if !visit(&toy, path) {
        return false;
    }
    for decision in decisions(&toy) {
        let mut next = toy.clone();
        decide(&mut next, decision);
        path.push(decision);
        let complete = !matches!(next.status(), Status::Choosing { .. });
        let cycle = complete && closes_cycle(program, &steps(program, path));
        let more = cycle || recurse(program, next, path, visit);
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

impl Found {
    fn ended(&mut self, program: &Program, toy: &mut Toy, path: &[Decision]) {
        self.ends.insert(toy.fingerprint());
        if toy.status() == Status::Bug && has_cycle(program, path) {
            self.spun += 1;
        } else {
            let (class, _) = classify(program, path).expect("an execution");
            *self.classes.entry(class).or_default() += 1;
        }
    }
}

fn search(program: &Program) -> Found {
    let (mut found, mut toy) = (Found::default(), Toy::new(program.clone()));
    let mut dpor = Dpor::new(None);
    loop {
        match dpor.advance(&mut toy, 1_000_000) {
            Advance::Ended(_) => found.ended(program, &mut toy, Search::<Toy>::path(&dpor)),
            Advance::Livelock => {
                let mut again = Toy::new(program.clone());
                Search::<Toy>::path(&dpor).iter().for_each(|decision| decide(&mut again, *decision));
                assert_eq!(again.fingerprint(), toy.fingerprint(), "the system is elsewhere");
                found.livelocks.insert(again.fingerprint());
            }
            Advance::Working | Advance::Round => {
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

fn seed() -> u64 {
    std::env::var("COYOTE_SPIN_SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(31)
}

/// Programs of two or three workers with a few phrases each.
fn program(index: u64) -> Program {
    let mut rng = ChoiceRng::new(Iteration { seed: seed(), index });
    let workers = 2 + usize::from(rng.one_in(3));
    let phrases = if workers == 2 { 3 } else { 2 };
    let worker = |rng: &mut ChoiceRng| {
        let mut code: Vec<_> = (0..1 + rng.below(phrases)).flat_map(|_| phrase(rng)).collect();
        // What somebody may wait for.
        if !rng.one_in(3) {
            code.push(Set(rng.below(2) as u8, rng.below(2) as i8));
        }
        code
    };
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
        classes += truth.classes.len();
        livelocks += usize::from(!truth.livelocked.is_empty());
        redundant += found.counts.redundant;
    }
    println!(
        "{done} programs, {skipped} skipped; {classes} classes, {redundant} redundant, {livelocks} livelocks"
    );
    assert!(livelocks > 100 && classes > 2_000);
}

/// What a search that is stored, or gives work away, at random moments comes to in all.
fn search_in_parts(program: &Program, seed: u64) -> Found {
    let mut rng = ChoiceRng::new(Iteration { seed, index: 0 });
    let mut shared = Shared::default();
    let start = |items, shared: &Shared| {
        let mut search = Dpor::<Toy>::new(items);
        search.share(shared);
        (search, Toy::new(program.clone()))
    };
    let (mut found, mut moved) = (Found::default(), 0);
    let mut jobs = vec![start(None, &shared)];
    while !jobs.is_empty() {
        let at = rng.below(jobs.len() as u64) as usize;
        let (job, toy) = &mut jobs[at];
        match job.advance(toy, 1 + rng.below(12)) {
            Advance::Ended(_) => found.ended(program, toy, job.path()),
            Advance::Livelock => drop(found.livelocks.insert(toy.fingerprint())),
            Advance::Working | Advance::Round => {}
            Advance::Exhausted => {
                found.counts = found.counts + jobs.swap_remove(at).0.counts();
                continue;
            }
        }
        if rng.one_in(3) && moved < 50 {
            moved += 1;
            let items = if rng.one_in(2) {
                let (old, _) = jobs.swap_remove(at);
                found.counts = found.counts + old.counts();
                old.save()
            } else {
                job.split().into_iter().collect()
            };
            if !items.is_empty() {
                jobs.push(start(Some(items), &shared));
            }
        }
        if rng.one_in(20) && moved < 50 {
            let mut items = Vec::new();
            for (job, _) in jobs.drain(..) {
                found.counts = found.counts + job.counts();
                items.extend(job.save());
            }
            shared = stored_and_read(&shared, &items);
            jobs.push(start(Some(items), &shared));
        }
    }
    found
}

/// What a search comes to in all whose parts know nothing of each other.
fn search_in_stages(program: &Program, seed: u64) -> Found {
    let mut rng = ChoiceRng::new(Iteration { seed, index: 1 });
    let (parts, mut found) = (1 + rng.below(8) as usize, Found::default());
    let steps = || 1 + rng.below(60);
    let (counts, _) = in_stages("dpor", program, parts, steps, &mut |advance, toy, path| match advance {
        Advance::Ended(_) => found.ended(program, toy, path),
        Advance::Livelock => drop(found.livelocks.insert(toy.fingerprint())),
        Advance::Working | Advance::Round | Advance::Exhausted => {}
    });
    found.counts = counts;
    found
}

/// A search of states that goes by stages knows whether an end can be reached from each state, as one that keeps the graph
/// of all states does.
#[test]
fn stages_of_states_tell_livelocks() {
    let (mut told, mut none) = (0, 0);
    for index in 0..300 {
        let program = program(index);
        let mut livelocks = 0;
        let alone = in_stages("stateful", &program, 1, || u64::MAX, &mut |advance, _, _| {
            livelocks += u32::from(advance == Advance::Livelock);
        });
        let mut rng = ChoiceRng::new(Iteration { seed: 9, index });
        let (steps, parts) = (alone.0.steps / 3, 1 + rng.below(6) as usize);
        let (counts, stages) =
            in_stages("stateful", &program, parts, || 1 + rng.below(1 + steps), &mut |_, _, _| {});
        if stages == 1 || alone.0.unfinished > 0 {
            continue;
        }
        assert_eq!(counts.cyclic, livelocks > 0, "{program:?}");
        assert_eq!(counts.states, alone.0.states, "{program:?}");
        if livelocks > 0 { told += 1 } else { none += 1 }
    }
    println!("{told} programs with livelocks, {none} without");
    assert!(told > 20 && none > 20);
}

#[test]
fn work_can_be_given_away_and_stored_at_any_time() {
    for index in 0..300 {
        let program = program(index);
        let whole = search(&program);
        let in_parts = |seed: u64| search_in_parts(&program, seed * 1_000 + index);
        let in_stages = |seed: u64| search_in_stages(&program, seed * 1_000 + index);
        for parts in (0..3).map(in_parts).chain((0..3).map(in_stages)) {
            let lost = whole.classes.keys().filter(|class| !parts.classes.contains_key(class)).count();
            let extra = parts.classes.keys().filter(|class| !whole.classes.contains_key(class)).count();
            let twice = parts.classes.values().filter(|times| **times > 1).count();
            assert_eq!((lost, extra, twice), (0, 0, 0), "lost, new, found again: {program:?}");
            assert_eq!((&parts.ends, &parts.livelocks), (&whole.ends, &whole.livelocks), "{program:?}");
            let told = |c: Counts| (c.executions, c.bugs, c.abandoned, c.unfinished);
            assert_eq!(told(parts.counts), told(whole.counts), "{program:?}");
        }
    }
}

/// The number of executions of a program with loops, and of one that assumes that it leaves them at once: the
/// latter by naive enumeration.
fn check(executions: u64, spinning: &Program, assuming: &Program) {
    let naive = enumerate(assuming, 1_000_000).expect("it is small");
    let complete = naive.classes.values().filter(|(status, _)| *status != 2).count() as u64;
    assert_eq!(complete, executions, "{assuming:?}");
    let found = search(spinning);
    assert_eq!(found.counts.executions, executions, "{:?} {spinning:?}", found.counts);
    assert!(found.livelocks.is_empty() && found.counts.unfinished == 0, "{spinning:?}");
}

/// The same code in every worker, with the loop's end replaced by an assumption that it is not come to.
fn both(executions: u64, workers: Vec<Vec<Instruction>>) {
    let stop = |i: &Instruction| if matches!(i, BackUnless(99, _)) { Assume(99) } else { *i };
    let assuming = workers.iter().map(|code| code.iter().map(stop).collect()).collect();
    check(executions, &workers, &assuming);
}

/// Goes back to the start of the loop, forgetting what was read.
fn again(steps: u8) -> [Instruction; 2] {
    [Choose(1), BackUnless(99, steps + 1)]
}

#[test]
fn loops_that_wait_count_as_assumptions() {
    let wait = |variable| vec![Load(variable), SkipUnless(0, 2), Choose(1), BackUnless(99, 3)];
    let set = |variable| vec![Set(variable, 1)];
    let then = |a: Vec<Instruction>, b: &[Instruction]| [&a[..], b].concat();
    // Who waits is created first, or last.
    both(2, vec![then(wait(0), &[Load(1)]), vec![Set(0, 1), Set(1, 1)]]);
    both(2, vec![vec![Set(0, 1), Set(1, 1)], then(wait(0), &[Load(1)])]);
    both(1, vec![then(wait(0), &[Load(1)]), vec![Set(1, 1), Set(0, 1)]]);
    // Two and three that wait for one, and one for two.
    both(1, vec![wait(0), wait(0), set(0)]);
    both(1, vec![wait(0), set(0), wait(0), wait(0)]);
    both(1, vec![then(wait(0), &then(vec![Choose(1)], &wait(1))), set(0), set(1)]);
    both(2, vec![then(wait(0), &[Rmw(2, 1)]), then(wait(0), &[Rmw(2, 1)]), set(0)]);
    // Each waits for the other.
    both(1, vec![then(set(0), &wait(1)), then(set(1), &wait(0))]);
    // Test-and-set locks; the number of orders.
    let lock = || [&[Swap(0, 1), SkipUnless(1, 2)], &again(2)[..], &[Rmw(1, 1), Set(0, 0)]].concat();
    both(2, vec![lock(), lock()]);
    both(6, vec![lock(), lock(), lock()]);
    // Ticket locks: a loop of one step, which has no other form here.
    let lock = |last| [&[Rmw(0, 1), last, Rmw(2, 1), Rmw(1, 1)][..]].concat();
    for (workers, orders) in [(2, 2), (3, 6), (4, 24)] {
        let found = search(&vec![lock(Until(1)); workers]);
        assert_eq!((found.counts.executions, found.counts.bugs), (orders, 0));
    }
    // Peterson, with a counter in the critical section.
    let enter = |me: u8, other: u8, turn: i8| {
        let ask = [Set(me, 1), Set(2, turn), Load(other), SkipUnless(1, 4), Load(2), SkipUnless(turn, 2)];
        [&ask[..], &again(4), &[Load(3), Store(3, 1), Set(me, 0)]].concat()
    };
    let peterson = vec![enter(0, 1, 1), enter(1, 0, 0)];
    let found = search(&peterson);
    assert_eq!((found.counts.bugs, found.counts.unfinished), (0, 0));
    assert!(!found.ends.is_empty());
    both(found.counts.executions, peterson);
}

/// Algorithms whose loops are not left alone by those who wait in them.
#[test]
fn known_algorithms_are_explored_once() {
    let dekker = |me: u8, other: u8, mine: i8| {
        vec![
            Set(me, 1),
            Load(other),
            SkipUnless(1, 6),
            Load(2),
            SkipUnless(1 - mine, 3),
            Set(me, 0),
            Load(2),
            BackUnless(mine, 1),
            BackUnless(99, 8),
            Rmw(3, 1),
            Set(2, 1 - mine),
            Set(me, 0),
        ]
    };
    let reader = vec![
        Load(0),
        SkipUnless(0, 6),
        Load(1),
        Load(0),
        SkipUnless(0, 1),
        SkipUnless(99, 7),
        Choose(1),
        BackUnless(99, 7),
        SkipUnless(2, 2),
        Load(1),
        SkipUnless(99, 2),
        Choose(1),
        BackUnless(99, 12),
        Rmw(3, 1),
    ];
    let writer = vec![Rmw(0, 1), Set(1, 5), Rmw(0, 1)];
    for program in [vec![dekker(0, 1, 0), dekker(1, 0, 1)], vec![writer, reader]] {
        let truth = truth(&program, 100_000).expect("it is small");
        assert_eq!(flaw(&truth, &search(&program)), None, "{program:?}");
        assert!(truth.livelocked.is_empty() && truth.classes.len() > 2);
    }
}

#[test]
fn a_livelock_is_found_at_its_state() {
    for (program, steps) in [
        // Nobody sets it.
        (vec![vec![Load(0), BackUnless(1, 1)], vec![Yield]], 3),
        // Who holds the lock has ended.
        (vec![vec![Cas(0, 0, 1), BackUnless(1, 1)]; 2], 4),
        // Each waits for the other to be first.
        (vec![vec![Load(0), BackUnless(1, 1), Set(1, 1)], vec![Load(1), BackUnless(1, 1), Set(0, 1)]], 4),
    ] {
        let found = search(&program);
        let truth = truth(&program, 10_000).expect("it is small");
        assert_eq!(flaw(&truth, &found), None, "{program:?}");
        let mut dpor = Dpor::<Toy>::new(None);
        let mut toy = Toy::new(program.clone());
        while dpor.advance(&mut toy, u64::MAX) != Advance::Livelock {}
        assert_eq!(Search::<Toy>::path(&dpor).len(), steps, "{program:?}");
        assert!(Search::<Toy>::counts(&dpor).bugs > 0);
    }
    // A ping-pong without an end, in which nobody's own steps are a cycle for long.
    let ping = |mine, other| vec![Load(0), BackUnless(mine, 1), Set(0, other), BackUnless(99, 3)];
    let program = vec![ping(0, 1), ping(1, 0)];
    let mut dpor = Dpor::<Toy>::new(None);
    let mut toy = Toy::new(program);
    assert_eq!(dpor.advance(&mut toy, 1_000), Advance::Livelock);
}

/// Decisions to the nearest state of a set.
fn distance(program: &Program, wanted: &BTreeSet<u128>) -> Option<usize> {
    let (mut level, mut seen, mut depth) = (vec![Toy::new(program.clone())], BTreeSet::new(), 0);
    while !level.is_empty() {
        let mut next = Vec::new();
        for mut toy in level {
            if wanted.contains(&toy.fingerprint()) {
                return Some(depth);
            }
            if seen.insert(toy.fingerprint()) {
                next.extend(decisions(&toy).into_iter().map(|decision| {
                    let mut next = toy.clone();
                    decide(&mut next, decision);
                    next
                }));
            }
        }
        (level, depth) = (next, depth + 1);
    }
    None
}

#[test]
fn a_search_of_all_states_tells_every_livelock_by_a_shortest_path() {
    let mut livelocks = 0;
    for index in 0..1_000 {
        let program = program(index);
        let mut truth = Truth::default();
        if !states(&program, &mut truth) {
            continue;
        }
        let new = |items| Dfs::<Toy>::new(Cost::Nothing, None, Caching::States, items);
        let (mut search, mut toy) = (new(None), Toy::new(program.clone()));
        let mut shortest = None;
        loop {
            match search.advance(&mut toy, 100) {
                Advance::Livelock => {
                    livelocks += 1;
                    let mut again = Toy::new(program.clone());
                    search.path().iter().for_each(|decision| decide(&mut again, *decision));
                    assert_eq!(again.fingerprint(), toy.fingerprint(), "the system is elsewhere");
                    assert!(truth.livelocked.contains(&again.fingerprint()), "{program:?}");
                    let length = search.path().len();
                    shortest = Some(shortest.map_or(length, |least: usize| least.min(length)));
                }
                Advance::Exhausted => break,
                Advance::Ended(_) | Advance::Round | Advance::Working => {}
            }
        }
        assert_eq!(shortest, distance(&program, &truth.livelocked), "{program:?}");
        // Who has a part of the work only says nothing.
        let (mut first, mut toy) = (new(None), Toy::new(program.clone()));
        if first.advance(&mut toy, 5) == Advance::Working {
            let mut rest = new(Some(first.save()));
            loop {
                match rest.advance(&mut toy, u64::MAX) {
                    Advance::Exhausted => break,
                    other => assert_ne!(other, Advance::Livelock),
                }
            }
        }
    }
    assert!(livelocks > 300, "{livelocks}");
}

/// Those with a bound on what they explore claim nothing.
#[test]
fn searches_within_a_bound_invent_no_livelock() {
    let program = vec![vec![Load(0), BackUnless(1, 1)], vec![Yield]];
    for spec in ["preemption-bounding+states:1", "delay-bounding+states:1"] {
        let mut search = by_name::<Toy>(spec, 0, None).expect("a search");
        let mut toy = Toy::new(program.clone());
        assert_eq!(search.advance(&mut toy, u64::MAX), Advance::Exhausted, "{spec}");
    }
}

/// Whether some state can be reached from itself; `None` if there are too many.
fn has_cycle_of_states(program: &Program) -> Option<bool> {
    let mut first = Toy::new(program.clone());
    let mut after = BTreeMap::<u128, BTreeSet<u128>>::from([(first.fingerprint(), BTreeSet::new())]);
    let mut open = vec![first];
    while let Some(mut toy) = open.pop() {
        let here = toy.fingerprint();
        for decision in decisions(&toy) {
            let mut next = toy.clone();
            decide(&mut next, decision);
            let there = next.fingerprint();
            after.get_mut(&here).expect("it was reached").insert(there);
            if after.len() > 20_000 {
                return None;
            }
            after.entry(there).or_insert_with(|| {
                open.push(next);
                BTreeSet::new()
            });
        }
    }
    // Takes away states that lead nowhere, as long as there are some.
    loop {
        let before = after.len();
        let known: BTreeSet<u128> = after.keys().copied().collect();
        after.retain(|_, next| next.iter().any(|state| known.contains(state)));
        if after.is_empty() || after.len() == before {
            return Some(!after.is_empty());
        }
    }
}

/// A search that goes on from each state once, and does not ask what follows, never passes a cycle in silence.
#[test]
fn who_goes_round_says_so() {
    let (mut cycles, mut silent) = (0, 0);
    for index in 0..400 {
        let without_loops = || crate::dpor::program(index);
        let program = if index % 2 == 0 { program(index) } else { without_loops() };
        let Some(cycle) = has_cycle_of_states(&program) else { continue };
        cycles += usize::from(cycle);
        for spec in ["ses", "preemption-bounding+states", "delay-bounding+states"] {
            let mut search = by_name::<Toy>(spec, 0, None).expect("a search");
            let mut toy = Toy::new(program.clone());
            while search.advance(&mut toy, u64::MAX) != Advance::Exhausted {}
            let counts = search.counts();
            assert!(counts.cyclic || !cycle, "{spec}: {program:?}");
            silent += usize::from(!counts.cyclic);
        }
    }
    assert!(cycles > 100 && silent > 100, "{cycles} with a cycle, {silent} silent");
}
