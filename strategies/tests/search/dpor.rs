//! DPOR finds every class of executions once.

use crate::oracle::{Found, Truth, classify, enumerate, run};
use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::search::Shared;
use coyote_strategies::search::dpor::{self, Dpor};
use coyote_strategies::search::{Advance, Counts, Item, Search};
use coyote_strategies::toy::Instruction::{self, Join, Spawn};
use coyote_strategies::toy::{Program, Toy, generate, generate_timed};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// What is wrong with a search for classes, if anything.
pub fn flaw(truth: &Truth, found: &Found) -> Option<String> {
    let missing = truth.classes.iter().find(|(class, _)| !found.contains_key(class));
    if let Some((_, outcome)) = missing {
        let lost = truth.classes.keys().filter(|class| !found.contains_key(class)).count();
        return Some(format!("{lost} of {} classes lost, one of outcome {outcome:?}", truth.classes.len()));
    }
    let extra = found.keys().filter(|class| !truth.classes.contains_key(class)).count();
    let twice = found.values().filter(|(_, times)| *times > 1).count();
    (extra + twice > 0).then(|| format!("{extra} classes are not there, {twice} found again"))
}

/// Takes instructions away as long as something is wrong.
fn smallest(mut program: Program, mut why: String) -> (Program, String) {
    'again: loop {
        for worker in 0..program.len() {
            for at in 0..program[worker].len() {
                let mut smaller = program.clone();
                smaller[worker].remove(at);
                let named = |i: &Instruction| matches!(i, Spawn(w) | Join(w) if usize::from(*w) == worker);
                let is_named = smaller.iter().flatten().any(named);
                if smaller[worker].is_empty() && worker + 1 == smaller.len() && !is_named {
                    smaller.pop();
                }
                let Some(truth) = enumerate(&smaller, 20_000) else { continue };
                if let Some(flaw) = flaw(&truth, &run(&mut Dpor::<Toy>::new(None), &smaller)) {
                    (program, why) = (smaller, flaw);
                    continue 'again;
                }
            }
        }
        return (program, why);
    }
}

/// Programs of 8 to 13 instructions.
pub fn program(index: u64) -> Program {
    generate(&mut ChoiceRng::new(Iteration { seed: 20, index }), 8 + (index % 6) as usize)
}

/// Or what the environment says.
const PROGRAMS: u32 = 1_000;

#[test]
fn all_classes_of_random_programs_once() {
    explore_all(program);
}

/// Whether a step touches the clock may depend on who has a lock by then.
#[test]
fn all_classes_of_programs_with_timers_once() {
    explore_all(|index| {
        generate_timed(&mut ChoiceRng::new(Iteration { seed: 21, index }), 7 + (index % 5) as usize)
    });
}

fn explore_all(program: impl Fn(u64) -> Program) {
    let programs = std::env::var("COYOTE_TOY_PROGRAMS").map_or(PROGRAMS, |n| n.parse().unwrap());
    let (mut done, mut skipped, mut redundant, mut classes, mut schedules) = (0, 0, 0, 0, 0);
    let mut statuses = BTreeMap::<u8, u32>::new();
    for index in 0.. {
        if done == programs {
            break;
        }
        let program = program(index);
        let Some(truth) = enumerate(&program, 20_000) else {
            skipped += 1;
            continue;
        };
        let mut dpor = Dpor::<Toy>::new(None);
        let found = run(&mut dpor, &program);
        if let Some(flaw) = flaw(&truth, &found) {
            let (program, flaw) = smallest(program, flaw);
            panic!("program {index}: {flaw}\n{program:?}");
        }
        let counts = dpor.counts();
        assert_eq!(counts.executions + counts.abandoned, truth.classes.len() as u64);
        done += 1;
        redundant += counts.redundant;
        classes += truth.classes.len();
        schedules += truth.schedules;
        truth.outcomes().iter().for_each(|outcome| *statuses.entry(outcome.0).or_default() += 1);
    }
    println!(
        "{done} programs, {skipped} skipped; {schedules} schedules, {classes} classes, {redundant} redundant; \
         outcomes by status {statuses:?}"
    );
}

/// A reader that comes while another one reads: a writer cannot be executed before it, but before the first one.
#[test]
fn a_writer_is_in_a_race_with_the_first_of_several_readers() {
    use Instruction::{ReadLock, RwUnlock, TryReadLock, WriteLock};
    for program in [
        vec![vec![Spawn(3), TryReadLock(0), Spawn(2)], vec![], vec![ReadLock(0)], vec![WriteLock(0)]],
        vec![vec![Spawn(2), ReadLock(0), Spawn(1)], vec![ReadLock(0)], vec![WriteLock(0)]],
        vec![
            vec![Spawn(2), ReadLock(0), Spawn(1), RwUnlock(0)],
            vec![ReadLock(0)],
            vec![WriteLock(0), RwUnlock(0)],
        ],
    ] {
        let truth = enumerate(&program, 20_000).unwrap();
        assert_eq!(flaw(&truth, &run(&mut Dpor::<Toy>::new(None), &program)), None, "{program:?}");
    }
}

/// A lock that sleeps and whose timeout fires would have been taken after another timeout, which is tried before that one.
#[test]
fn a_step_that_sleeps_is_made_impossible() {
    use coyote_strategies::toy::Instruction::*;
    let program = vec![
        vec![Signal(0)],
        vec![LockTimeout(1, 2)],
        vec![Lock(1), WaitTimeout(0, 1, 1)],
        vec![LockTimeout(1, 1)],
    ];
    let truth = enumerate(&program, 20_000).unwrap();
    assert_eq!(truth.classes.len(), 216);
    assert_eq!(flaw(&truth, &run(&mut Dpor::<Toy>::new(None), &program)), None);
}

/// Who gives its timer up when it has its lock depends on all other timers; that is no reason not to try it before the
/// one who had the lock instead.
#[test]
fn a_timed_lock_is_in_a_race_with_whoever_had_it_first() {
    use coyote_strategies::toy::Instruction::*;
    for span in [1, 2] {
        let program =
            vec![vec![LockTimeout(0, 1)], vec![Lock(0), WaitTimeout(0, 0, span)], vec![LockTimeout(0, 2)]];
        let truth = enumerate(&program, 20_000).unwrap();
        assert_eq!(flaw(&truth, &run(&mut Dpor::<Toy>::new(None), &program)), None, "{program:?}");
    }
}

/// The states that searches share, as those that go on with these items read them.
pub fn stored_and_read(shared: &Shared, items: &[Item]) -> Shared {
    let mut states = Vec::new();
    shared.dpor.each_state(&mut |number, state| states.push((number, state.clone())));
    let states =
        dpor::Shared::restore(states, &BTreeSet::new(), items).unwrap_or_else(|error| panic!("{error}"));
    Shared { dpor: Arc::new(states), ..Shared::default() }
}

/// Runs jobs that give work to each other, or are stored and loaded, at random moments.
pub fn run_in_parts<T: Search<Toy>>(
    program: &Program,
    seed: u64,
    new: impl Fn(Option<Vec<Item>>) -> T,
) -> (Found, Counts) {
    let mut rng = ChoiceRng::new(Iteration { seed, index: 0 });
    let mut shared = Shared::default();
    let start = |items, shared: &Shared| {
        let mut search = new(items);
        search.share(shared);
        (search, Toy::new(program.clone()))
    };
    let mut jobs = vec![start(None, &shared)];
    let (mut found, mut total) = (BTreeMap::new(), Counts::default());
    let (mut moved, mut stops) = (0, 0);
    let mut add = |counts: Counts| {
        total.executions += counts.executions;
        total.abandoned += counts.abandoned;
        total.redundant += counts.redundant;
        total.steps += counts.steps;
    };
    while !jobs.is_empty() {
        let at = rng.below(jobs.len() as u64) as usize;
        let (job, toy) = &mut jobs[at];
        match job.advance(toy, 1 + rng.below(12)) {
            Advance::Livelock | Advance::Round => panic!("these programs end"),
            Advance::Ended(_) => {
                let (class, outcome) = classify(program, job.path()).expect("possible");
                found.entry(class).or_insert((outcome, 0)).1 += 1;
            }
            Advance::Working => {}
            Advance::Exhausted => {
                add(jobs.swap_remove(at).0.counts());
                continue;
            }
        }
        if rng.one_in(3) && moved < 50 {
            moved += 1;
            let items = if rng.one_in(2) {
                let (old, _) = jobs.swap_remove(at);
                add(old.counts());
                old.save()
            } else {
                job.split().into_iter().collect()
            };
            if !items.is_empty() {
                jobs.push(start(Some(items), &shared));
            }
        }
        // All jobs stop, and others go on with what they left.
        if rng.one_in(20) && stops < 3 {
            stops += 1;
            let mut items = Vec::new();
            for (job, _) in jobs.drain(..) {
                add(job.counts());
                items.extend(job.save());
            }
            shared = stored_and_read(&shared, &items);
            jobs.push(start(Some(items), &shared));
        }
    }
    shared.dpor.each_state(&mut |_, state| panic!("{state:?} is left"));
    (found, total)
}

/// Or what the environment says.
const PROGRAMS_IN_PARTS: u64 = 300;

#[test]
fn work_can_be_given_away_and_stored_at_any_time() {
    let programs = std::env::var("COYOTE_TOY_PROGRAMS").map_or(PROGRAMS_IN_PARTS, |n| n.parse().unwrap());
    let timed =
        |index| generate_timed(&mut ChoiceRng::new(Iteration { seed: 21, index }), 7 + (index % 5) as usize);
    let mut grown = 0;
    for (index, program) in (0..programs).flat_map(|index| [(index, program(index)), (index, timed(index))]) {
        let mut dpor = Dpor::<Toy>::new(None);
        let whole = run(&mut dpor, &program);
        for seed in 0..5 {
            let (parts, counts) = run_in_parts(&program, seed * 1000 + index, Dpor::<Toy>::new);
            assert_eq!(parts, whole, "program {index}, seed {seed}\n{program:?}");
            assert_eq!(counts.executions, dpor.counts().executions);
            assert_eq!(counts.abandoned, dpor.counts().abandoned);
            grown += counts.redundant - dpor.counts().redundant.min(counts.redundant);
        }
    }
    println!("{grown} redundant executions more in parts");
}
