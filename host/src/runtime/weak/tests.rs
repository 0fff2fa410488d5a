//! The outcomes of all executions of litmus tests, against RC11 and C++20 by their axioms ([`super::naive`]).

use super::naive::{Op, Outcome, Outcomes, Program, outcomes, random};
use super::*;
use coyote_abi::Ordering::{self, *};
use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;
use std::collections::BTreeSet;

/// A state of a program that is executed step by step.
#[derive(Clone, Default)]
struct Machine {
    weak: Weak,
    memory: Vec<u64>,
    next: Vec<usize>,
    read: Vec<Vec<u64>>,
}

const BYTES: u32 = 4;

/// The outcomes of every schedule and every choice.
fn all(program: &Program) -> BTreeSet<Outcome> {
    let mut ends = BTreeSet::new();
    let machine = Machine {
        weak: Weak::default(),
        memory: vec![0; 4],
        next: vec![0; program.len()],
        read: vec![Vec::new(); program.len()],
    };
    explore(program, &machine, &mut ends);
    let locations = super::naive::locations(program);
    ends.into_iter().map(|(read, memory)| (read, memory[..locations].to_vec())).collect()
}

fn explore(program: &Program, machine: &Machine, ends: &mut BTreeSet<Outcome>) {
    let mut ended = true;
    for (thread, ops) in program.iter().enumerate() {
        let Some(op) = ops.get(machine.next[thread]) else { continue };
        ended = false;
        let mut after = machine.clone();
        after.next[thread] += 1;
        let worker = WorkerId(thread as u32);
        let (kind, location, expected, orders) = match *op {
            Op::Fence { order } => {
                after.weak.fence(worker, order);
                explore(program, &after, ends);
                continue;
            }
            Op::Load { location, order } => (OpKind::AtomicLoad, location, 0, Orders::always(order)),
            Op::Store { location, order, .. } => (OpKind::AtomicStore, location, 0, Orders::always(order)),
            Op::Add { location, order, .. } => (OpKind::Rmw, location, 0, Orders::always(order)),
            Op::Exchange { location, expected, success, failure, .. } => {
                (OpKind::CompareExchange, location, expected, Orders { success, failure, newest: false })
            }
        };
        let access = AtomicAccess {
            worker,
            kind,
            address: location as u32 * BYTES,
            bytes: BYTES,
            expected,
            orders,
            step: 1,
        };
        let ways = after.weak.ways(&access, after.memory[location]);
        for choice in 0..ways {
            let mut after = after.clone();
            after.weak.begin(access, choice);
            if let Some((_, _, value)) = after.weak.take_put() {
                after.memory[location] = value;
            }
            // The guest's instruction.
            let before = after.memory[location];
            match *op {
                Op::Store { value, .. } => after.memory[location] = value,
                Op::Add { value, .. } => after.memory[location] = before + value,
                Op::Exchange { expected, value, .. } if before == expected => after.memory[location] = value,
                _ => {}
            }
            if !matches!(op, Op::Store { .. }) {
                after.read[thread].push(before);
            }
            if let Some(value) = after.weak.done(after.memory[location]) {
                after.memory[location] = value;
            }
            explore(program, &after, ends);
        }
    }
    if ended {
        ends.insert((machine.read.clone(), machine.memory.clone()));
    }
}

fn load(location: usize, order: Ordering) -> Op {
    Op::Load { location, order }
}

fn store(location: usize, value: u64, order: Ordering) -> Op {
    Op::Store { location, value, order }
}

fn add(location: usize, value: u64, order: Ordering) -> Op {
    Op::Add { location, value, order }
}

fn fence(order: Ordering) -> Op {
    Op::Fence { order }
}

/// The values that threads read, in the order of threads and instructions, without those left in memory.
fn reads(program: &Program) -> BTreeSet<Vec<u64>> {
    let known = outcomes(program);
    let ends = all(program);
    assert_eq!(ends, known.ordered, "{program:?}");
    ends.into_iter().map(|(read, _)| read.concat()).collect()
}

/// All combinations of the values 0 and 1, except these.
fn all_but(count: u32, missing: &[&[u64]]) -> BTreeSet<Vec<u64>> {
    let all = (0..1 << count).map(|bits: u64| (0..count).map(|i| bits >> (count - 1 - i) & 1).collect());
    all.filter(|read: &Vec<u64>| !missing.contains(&read.as_slice())).collect()
}

/// Litmus tests by their names, with their outcomes. Sources: Lahav et al., PLDI 2017 (SB, IRIW, 2+2W, Z6.U, RWC);
/// Sarkar et al., PLDI 2011, and Maranget, Sarkar, Sewell, "A Tutorial Introduction to the ARM and POWER Relaxed
/// Memory Models" (MP, LB, WRC, ISA2, CoRR, CoWR, S, R); Batty et al., POPL 2011 (release sequences).
#[test]
fn known_litmus_tests_have_their_outcomes() {
    let (x, y, z) = (0, 1, 2);
    // MP: the message is seen, but the store before it is not.
    let mp = |s, l| vec![vec![store(x, 1, Relaxed), store(y, 1, s)], vec![load(y, l), load(x, Relaxed)]];
    for (s, l) in [(Relaxed, Relaxed), (Release, Relaxed), (Relaxed, Acquire), (Relaxed, SeqCst)] {
        assert_eq!(reads(&mp(s, l)), all_but(2, &[]), "{s:?} {l:?}");
    }
    for (s, l) in [(Release, Acquire), (SeqCst, SeqCst), (Release, SeqCst)] {
        assert_eq!(reads(&mp(s, l)), all_but(2, &[&[1, 0]]), "{s:?} {l:?}");
    }
    let mp_fences = |f, g| {
        let first = vec![store(x, 1, Relaxed), fence(f), store(y, 1, Relaxed)];
        vec![first, vec![load(y, Relaxed), fence(g), load(x, Relaxed)]]
    };
    assert_eq!(reads(&mp_fences(Release, Acquire)), all_but(2, &[&[1, 0]]));
    assert_eq!(reads(&mp_fences(Acquire, Release)), all_but(2, &[]));
    assert_eq!(reads(&mp_fences(Release, Release)), all_but(2, &[]));
    assert_eq!(reads(&mp_fences(SeqCst, SeqCst)), all_but(2, &[&[1, 0]]));

    // SB: both read the old values.
    let sb = |s, l| vec![vec![store(x, 1, s), load(y, l)], vec![store(y, 1, s), load(x, l)]];
    for (s, l) in [(Relaxed, Relaxed), (Release, Acquire), (Relaxed, SeqCst), (SeqCst, Acquire)] {
        assert_eq!(reads(&sb(s, l)), all_but(2, &[]), "{s:?} {l:?}");
    }
    assert_eq!(reads(&sb(SeqCst, SeqCst)), all_but(2, &[&[0, 0]]));
    let sb_fences = |f| {
        let thread = |a, b| vec![store(a, 1, Relaxed), fence(f), load(b, Relaxed)];
        vec![thread(x, y), thread(y, x)]
    };
    assert_eq!(reads(&sb_fences(SeqCst)), all_but(2, &[&[0, 0]]));
    assert_eq!(reads(&sb_fences(AcqRel)), all_but(2, &[]));

    // LB: never, here and in RC11; C++ and hardware allow it for relaxed accesses.
    let lb = vec![vec![load(x, Relaxed), store(y, 1, Relaxed)], vec![load(y, Relaxed), store(x, 1, Relaxed)]];
    assert_eq!(reads(&lb), all_but(2, &[&[1, 1]]));

    // IRIW: two readers see two stores in different orders.
    let iriw = |s, l| {
        let reader = |a, b| vec![load(a, l), load(b, l)];
        vec![vec![store(x, 1, s)], vec![store(y, 1, s)], reader(x, y), reader(y, x)]
    };
    assert_eq!(reads(&iriw(Release, Acquire)), all_but(4, &[]));
    assert_eq!(reads(&iriw(SeqCst, Acquire)), all_but(4, &[]));
    for s in [Relaxed, Release, SeqCst] {
        assert_eq!(reads(&iriw(s, SeqCst)), all_but(4, &[&[1, 0, 1, 0]]), "{s:?}");
    }
    // RC11 orders SC accesses by stores alone; C++20 also by what they read from others.
    let Outcomes { rc11, cpp20, .. } = outcomes(&iriw(Relaxed, SeqCst));
    assert_eq!(rc11.difference(&cpp20).count(), 1);

    // 2+2W: each thread's first store is the last one of its location.
    let twice = |order| {
        vec![vec![store(x, 1, order), store(y, 2, order)], vec![store(y, 1, order), store(x, 2, order)]]
    };
    let last = |order| -> BTreeSet<Vec<u64>> {
        let program = twice(order);
        let ends = all(&program);
        assert_eq!(ends, outcomes(&program).ordered);
        ends.into_iter().map(|(_, memory)| memory).collect()
    };
    assert!(last(Relaxed).contains(&vec![1, 1]) && last(Release).contains(&vec![1, 1]));
    assert!(!last(SeqCst).contains(&vec![1, 1]));

    // CoRR, CoWR, CoRW: reads of one location go with its order.
    let corr = vec![vec![store(x, 1, Relaxed)], vec![load(x, Relaxed), load(x, Relaxed)]];
    assert_eq!(reads(&corr), all_but(2, &[&[1, 0]]));
    let cowr = vec![vec![store(x, 1, Relaxed), load(x, Relaxed)], vec![store(x, 2, Relaxed)]];
    assert_eq!(reads(&cowr), BTreeSet::from([vec![1], vec![2]]));
    let ends = all(&cowr);
    assert!(!ends.contains(&(vec![vec![2], vec![]], vec![1, 0, 0, 0][..1].to_vec())), "{ends:?}");
    let corw = vec![vec![load(x, Relaxed), store(x, 1, Relaxed)], vec![]];
    assert_eq!(reads(&corw), BTreeSet::from([vec![0]]));

    // WRC: a thread passes on what it has read with its own release.
    let wrc = |s, l| {
        let second = vec![load(x, l), store(y, 1, s)];
        vec![vec![store(x, 1, s)], second, vec![load(y, l), load(x, Relaxed)]]
    };
    assert_eq!(reads(&wrc(Relaxed, Relaxed)), all_but(3, &[]));
    assert_eq!(reads(&wrc(Release, Acquire)), all_but(3, &[&[1, 1, 0]]));

    // ISA2: along a chain of releases and acquires.
    let isa2 = |s, l| {
        let first = vec![store(x, 1, Relaxed), store(y, 1, s)];
        vec![first, vec![load(y, l), store(z, 1, s)], vec![load(z, l), load(x, Relaxed)]]
    };
    assert_eq!(reads(&isa2(Release, Acquire)), all_but(3, &[&[1, 1, 0]]));
    assert_eq!(reads(&isa2(Release, Relaxed)), all_but(3, &[]));

    // Release sequences: a read-modify-write continues one, a store does not (C++20).
    let sequence = |op| {
        let first = vec![store(x, 1, Relaxed), store(y, 1, Release)];
        vec![first, vec![op], vec![load(y, Acquire), load(x, Relaxed)]]
    };
    let by_add = reads(&sequence(add(y, 1, Relaxed)));
    assert!(!by_add.iter().any(|read| read[1..] == [2, 0]), "{by_add:?}");
    let own = vec![
        vec![store(x, 1, Relaxed), store(y, 1, Release), store(y, 2, Relaxed)],
        vec![load(y, Acquire), load(x, Relaxed)],
    ];
    assert!(reads(&own).contains(&vec![2, 0]));

    // Read-modify-writes: no two read the same store, and the chain has no gap.
    let chain = vec![vec![add(x, 1, Relaxed)], vec![add(x, 1, Relaxed)], vec![add(x, 1, Relaxed)]];
    let each: BTreeSet<Vec<u64>> = reads(&chain);
    assert!(each.len() == 6 && each.iter().all(|read| BTreeSet::from_iter(read).len() == 3), "{each:?}");

    // R and S, RWC, Z6.U (PLDI 2017, section 2: SC accesses do not order as fences do).
    let rwc = |f| {
        let third = vec![store(y, 1, Relaxed), f, load(x, Relaxed)];
        vec![vec![store(x, 1, Relaxed)], vec![load(x, Acquire), f, load(y, Relaxed)], third]
    };
    assert!(!reads(&rwc(fence(SeqCst))).contains(&vec![1, 0, 0]));
    assert!(reads(&rwc(fence(AcqRel))).contains(&vec![1, 0, 0]));
    let z6u = vec![
        vec![store(x, 1, SeqCst), store(y, 1, Release)],
        vec![add(y, 1, SeqCst), load(y, Relaxed)],
        vec![store(y, 3, SeqCst), load(x, SeqCst)],
    ];
    // RC11 allows 1, 3, 0 for the sake of Power: there the SC accesses have another order than that of execution.
    let weakest = (vec![vec![], vec![1, 3], vec![0]], vec![1, 3]);
    let Outcomes { rc11, cpp20, .. } = outcomes(&z6u);
    assert!(rc11.contains(&weakest) && cpp20.contains(&weakest) && !all(&z6u).contains(&weakest));
    assert!(!reads(&z6u).contains(&vec![1, 3, 0]));
}

/// Checks for equal sets of outcomes on generated programs, and counts how often the model is stronger than
/// C++20.
#[test]
fn generated_programs_have_the_outcomes_of_the_axioms() {
    let (mut weak, mut stronger) = (0, 0);
    for index in 0..PROGRAMS {
        let program = random(&mut ChoiceRng::new(Iteration { seed: 0x7765_616b, index }));
        let Outcomes { rc11, cpp20, ordered, interleaved } = outcomes(&program);
        let ends = all(&program);
        let (more, less): (Vec<_>, Vec<_>) =
            (ends.difference(&ordered).collect(), ordered.difference(&ends).collect());
        assert!(
            more.is_empty() && less.is_empty(),
            "program {index}: {program:?}\nmore {more:?}\nless {less:?}"
        );
        assert!(interleaved.is_subset(&ends) && ends.is_subset(&cpp20), "program {index}: {program:?}");
        assert!(cpp20.is_subset(&rc11), "program {index}: {program:?}");
        weak += usize::from(interleaved.len() < ends.len());
        stronger += usize::from(ends.len() < cpp20.len());
    }
    // Many programs have weak outcomes; the order in which SC accesses are executed hardly ever makes a
    // difference.
    assert!(weak > PROGRAMS as usize / 10, "{weak}");
    assert!(stronger <= PROGRAMS as usize / 100, "{stronger}");
}

/// Number of generated programs.
const PROGRAMS: u64 = 400;
