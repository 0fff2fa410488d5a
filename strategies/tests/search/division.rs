//! Searches that are divided into parts, which know nothing of each other, find what one search finds.

use crate::dpor::{flaw, program};
use crate::oracle::{Found, classify, enumerate};
use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::search::division::Work;
use coyote_strategies::search::seen::Seen;
use coyote_strategies::search::visited::Visited;
use coyote_strategies::search::{Advance, Counts, by_name, remembers};
use coyote_strategies::system::Decision;
use coyote_strategies::toy::Instruction::*;
use coyote_strategies::toy::{Program, Toy, generate_sections, generate_timed};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Told of everything that a search comes to, with the system and the path there.
type Told<'a> = &'a mut dyn FnMut(Advance, &mut Toy, &[Decision]);

/// A part is searched until it has executed so many steps, and an execution has ended.
fn search(
    spec: &str,
    program: &Program,
    part: &Work,
    (steps, pieces): (u64, usize),
    told: Told,
) -> (Work, Counts) {
    let mut search = by_name::<Toy>(spec, 0, Some(part.items.clone())).unwrap();
    let mut shared = part.shared().unwrap_or_else(|error| panic!("{error}"));
    shared.seen = Arc::new(Seen::default().of_part(part.visited.clone()));
    search.share(&shared);
    let mut toy = Toy::new(program.clone());
    let (mut items, mut patience) = (Vec::new(), 100);
    loop {
        let left = steps.saturating_sub(search.counts().steps).max(1);
        let advance = search.advance(&mut toy, left);
        if advance == Advance::Exhausted {
            break assert_eq!(search.error(), None);
        }
        told(advance, &mut toy, search.path());
        let counts = search.counts();
        let ended = counts.executions + counts.abandoned + counts.unfinished + counts.redundant;
        if counts.steps >= steps && ended > 0 {
            // Not within steps that it may have to take back.
            items.extend(search.split());
            patience -= 1;
            if patience == 0 || !items.is_empty() {
                break;
            }
        }
    }
    items.extend(std::iter::from_fn(|| search.split()).take(pieces));
    search.each_left(&mut |item| items.push(item.clone()));
    let mut states = Vec::new();
    shared.dpor.each_state(&mut |number, state| states.push((number, state.clone())));
    let mut visited = if remembers(spec) { shared.seen.visited() } else { Visited::default() };
    visited.cyclic |= search.counts().cyclic;
    let common = shared.dpor.common();
    (Work { items, states, common, visited: Arc::new(visited), turn: 0 }, search.counts())
}

/// Explores a program in stages of at most so many parts, each for a number of steps that `steps` chooses. Returns the
/// counts of all parts together, with what was visited counted once, and the number of stages.
pub fn in_stages(
    spec: &str,
    program: &Program,
    parts: usize,
    mut steps: impl FnMut() -> u64,
    told: Told,
) -> (Counts, u32) {
    let (mut counts, mut stages, mut work) = (Counts::default(), 0, Work::whole());
    while !work.is_empty() {
        stages += 1;
        let divided = work.divide(parts).unwrap_or_else(|error| panic!("{error}"));
        assert!((1..=parts).contains(&divided.len()) && divided.iter().all(|part| !part.items.is_empty()));
        let mut left = Vec::new();
        for part in &divided {
            let (left_of_part, of_part) = search(spec, program, part, (steps(), 2 * parts), told);
            left.push(left_of_part);
            counts = counts + of_part;
        }
        work = Work::join(&divided, left).unwrap_or_else(|error| panic!("{error}"));
    }
    if remembers(spec) {
        let Counts { executions, bugs, abandoned, unfinished, .. } = work.visited.ends();
        let states = if counts.states > 0 { work.visited.states.len() as u64 } else { 0 };
        let cyclic = work.visited.may_not_end();
        counts = Counts { executions, bugs, abandoned, unfinished, states, cyclic, ..counts };
    }
    (counts, stages)
}

/// What the parts of an exploration found together.
#[derive(Default)]
struct Explored {
    /// Every end, with how often it was met.
    paths: BTreeMap<Vec<Decision>, u64>,
    counts: Counts,
    stages: u32,
}

fn explore(spec: &str, program: &Program, parts: usize, steps: impl FnMut() -> u64) -> Explored {
    let mut paths = BTreeMap::new();
    let (counts, stages) = in_stages(spec, program, parts, steps, &mut |advance, _, path| match advance {
        Advance::Ended(_) => *paths.entry(path.to_vec()).or_default() += 1,
        Advance::Livelock | Advance::Round => panic!("these programs end"),
        Advance::Working | Advance::Exhausted => {}
    });
    Explored { paths, counts, stages }
}

/// The classes of all ends.
fn classes(program: &Program, explored: &Explored) -> Found {
    let mut found = Found::new();
    for (path, times) in &explored.paths {
        let (class, outcome) = classify(program, path).expect("possible");
        found.entry(class).or_insert((outcome, 0)).1 += times;
    }
    found
}

fn rng(seed: u64, index: u64) -> ChoiceRng {
    ChoiceRng::new(Iteration { seed, index })
}

/// Or what the environment says.
const PROGRAMS: u64 = 300;

#[test]
fn parts_together_find_every_class_once() {
    let programs = std::env::var("COYOTE_TOY_PROGRAMS").map_or(PROGRAMS, |n| n.parse().unwrap());
    let timed = |index| generate_timed(&mut rng(21, index), 7 + (index % 5) as usize);
    let (mut redundant, mut alone_redundant, mut stages) = (0, 0, 0);
    for (index, program) in (0..programs).flat_map(|index| [(index, program(index)), (index, timed(index))]) {
        let Some(truth) = enumerate(&program, 20_000) else { continue };
        let alone = explore("dpor", &program, 1, || u64::MAX);
        for parts in [1, 2, 3, 8] {
            let mut rng = rng(40, index);
            let explored = explore("dpor", &program, parts, || 1 + rng.below(60));
            let wrong = flaw(&truth, &classes(&program, &explored));
            assert_eq!(wrong, None, "program {index} in {parts} parts\n{program:?}");
            assert_eq!(explored.counts.executions, alone.counts.executions);
            redundant += explored.counts.redundant;
            alone_redundant += alone.counts.redundant;
            stages += explored.stages;
        }
    }
    println!("{stages} stages, {redundant} redundant executions, {alone_redundant} of one search");
    assert!(u64::from(stages) > 10 * programs);
}

#[test]
fn parts_together_execute_what_one_search_executes() {
    for index in 0..PROGRAMS {
        let program = generate_sections(&mut rng(22, index), 6 + (index % 6) as usize);
        if enumerate(&program, 3_000).is_none() {
            continue;
        }
        for spec in ["dfs", "preemption-bounding:1", "preemption-bounding", "delay-bounding:2"] {
            let alone = explore(spec, &program, 1, || u64::MAX);
            for parts in [2, 8] {
                let mut rng = rng(41, index);
                let explored = explore(spec, &program, parts, || 1 + rng.below(100));
                assert_eq!(explored.paths, alone.paths, "{spec}, program {index}\n{program:?}");
                let told = |explored: &Explored| Counts { steps: 0, ..explored.counts };
                assert_eq!(told(&explored), told(&alone), "{spec}, program {index}");
            }
        }
    }
}

/// What the parts of a stage visit twice is counted once, and no part visits what was visited in an earlier stage.
#[test]
fn parts_that_remember_visit_what_one_search_visits() {
    let (mut stages, mut cut, mut visited, mut twice) = (0, 0, 0, 0);
    for index in 0..PROGRAMS {
        let programs = [
            generate_sections(&mut rng(23, index), 6 + (index % 6) as usize),
            generate_timed(&mut rng(24, index), 7 + (index % 5) as usize),
        ];
        for (program, spec) in
            programs.iter().flat_map(|program| [(program, "stateful"), (program, "dfs+hb")])
        {
            let alone = in_stages(spec, program, 1, || u64::MAX, &mut |_, _, _| {}).0;
            for parts in [1, 2, 8] {
                let mut rng = rng(42, index);
                let mut met = 0;
                let told: Told = &mut |advance, _, _| met += u64::from(matches!(advance, Advance::Ended(_)));
                let (counts, number) =
                    in_stages(spec, program, parts, || 1 + rng.below(1 + alone.steps / 3), told);
                let told = |counts: Counts| Counts { steps: 0, redundant: 0, ..counts };
                assert_eq!(
                    told(counts),
                    told(alone),
                    "{spec} in {parts} parts, program {index}\n{program:?}"
                );
                stages += number;
                cut += u64::from(number > 1);
                let ends = counts.executions + counts.abandoned + counts.unfinished;
                visited += ends;
                twice += met - ends;
                assert!(parts > 1 || met == ends, "one part a stage meets nothing twice");
            }
        }
    }
    println!("{stages} stages of {cut} explorations; {visited} ends, {twice} met once more");
    assert!(cut > PROGRAMS && twice > 0);
}

/// Values of a step are not all taken at once, of which there may be 2^32.
#[test]
fn many_values_are_divided_too() {
    let program: Program = vec![vec![Choose(200), Store(0, 0)], vec![Load(0), Choose(100)]];
    for spec in ["dpor", "dfs"] {
        let alone = explore(spec, &program, 1, || u64::MAX);
        let parts = explore(spec, &program, 4, || 500);
        assert_eq!(parts.counts.executions, alone.counts.executions, "{spec}");
        assert!(parts.stages > 2, "{spec}");
    }
}

/// Parts that do not know what others ask for do little in vain.
#[test]
fn parts_keep_the_reduction() {
    let program = crate::sharing::accounts();
    let alone = explore("dpor", &program, 1, || u64::MAX);
    for (parts, steps) in [(2, 20_000), (8, 3_000), (64, 500), (64, 20_000)] {
        let together = explore("dpor", &program, parts, || steps);
        let ratio = together.counts.steps as f64 / alone.counts.steps as f64;
        println!(
            "{parts} parts: {} stages, {} executions, {} redundant, {ratio:.3} times the {} steps of one search",
            together.stages, together.counts.executions, together.counts.redundant, alone.counts.steps
        );
        assert_eq!(together.counts.executions, alone.counts.executions);
        assert!(ratio <= 1.1, "{parts} parts: {ratio} times the steps");
    }
}
