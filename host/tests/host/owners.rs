//! Points only where memory is shared: the same ends as with points everywhere, over all schedules; and
//! planted faults, each of which loses some.

use super::{guest, search};
use coyote_wasm::artifact::Artifact;
use coyote_wasm::epochs;
use coyote_wasm::execution::Execution;
use coyote_wasm::granules::{Granules, Sharing};
use coyote_wasm::instrumenter::{HeapPoints, Mutant as Passes, Options};
use coyote_wasm::machine::owners::Mutant;
use coyote_wasm::machine::scheduler::Choice;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{Iteration, OpKind, Pick, RandomWalk, Status, System, WorkerId};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::{Arc, OnceLock};

/// The addresses of the programs' cells and results.
const MEMORY: std::ops::Range<usize> = 0x1000..0x3000;

/// An outcome, the bytes of memory at the end that are not 0, and the output.
type End = (String, Vec<(usize, u8)>, Vec<u8>);

fn end(execution: &Execution, outcome: &Outcome) -> End {
    let output = execution.runtime().output.iter().flat_map(|o| o.text.clone()).collect();
    let bytes = MEMORY.map(|at| (at, execution.machine().memory()[at])).filter(|(_, byte)| *byte != 0);
    (outcome.describe().0, bytes.collect(), output)
}

pub fn options(heap_points: HeapPoints) -> Options {
    Options { heap_points, ..Options::default() }
}

fn compile(text: &str, heap_points: HeapPoints, mutant: Option<Passes>) -> Arc<Artifact> {
    let wasm = wat::parse_str(text).unwrap_or_else(|e| panic!("{e}\n{text}"));
    guest::compile(&wasm, &Options { mutant, ..options(heap_points) }).unwrap()
}

/// All ends with points everywhere.
fn with_all(text: &str, test: &str) -> BTreeSet<End> {
    let artifact = compile(text, HeapPoints::All, None);
    guest::with(&artifact, test, &guest::settings(), |e| search::schedules(e, &mut end).0)
}

/// The results of a search with points where memory is shared.
struct Searched {
    ends: BTreeSet<End>,
    shared: Granules,
}

/// All ends with points at shared memory, with a planted fault if one is given. A search that finds more
/// sharing begins again, unless that is the mutant.
fn with_shared(
    text: &str,
    test: &str,
    passes: Option<Passes>,
    mutant: Option<Mutant>,
    again: bool,
) -> Searched {
    let artifact = compile(text, HeapPoints::Shared, passes);
    guest::with(&artifact, test, &guest::settings(), |execution| {
        execution.machine_mut().owners_mut().mutant = mutant;
        let mut shared = Granules::default();
        loop {
            execution.share(Sharing::Only(Arc::new(shared.clone())));
            let (ends, _) = search::schedules(execution, &mut end);
            let more = execution.take_grown();
            if more.0.is_empty() || !again {
                return Searched { ends, shared };
            }
            shared.0.extend(more.0);
        }
    })
}

/// A few accesses of few places: in one granule, in two, and across their boundary.
fn accesses(rng: &mut ChoiceRng, who: u64, count: u64) -> String {
    const PLACES: [u32; 4] = [0x1000, 0x1008, 0x103c, 0x1040];
    let mut text = String::new();
    for n in 0..count {
        let mut place = || PLACES[rng.below(PLACES.len() as u64) as usize];
        let (a, b) = (place(), place());
        let value = 1 + who * 16 + n;
        let result = 0x2000 + who * 0x100 + n * 8;
        let line = match rng.below(7) {
            0 => format!("(i64.store (i32.const {result}) (i64.load (i32.const {a})))"),
            1 => format!("(i32.store (i32.const {result}) (i32.load8_u (i32.const {a})))"),
            2 => format!("(i64.store (i32.const {a}) (i64.const {}))", value * 0x0101_0101_0101_0101),
            3 => format!("(i32.store8 (i32.const {a}) (i32.const {value}))"),
            4 => {
                let sum = format!("(i32.add (i32.load (i32.const {a})) (i32.const {value}))");
                format!("(i32.store (i32.const {a}) {sum})")
            }
            5 => format!("(memory.copy (i32.const {a}) (i32.const {b}) (i32.const 8))"),
            _ => {
                let sum = format!("(i32.atomic.rmw.add (i32.const {}) (i32.const {value}))", a & !7);
                format!("(i32.store (i32.const {result}) {sum})")
            }
        };
        writeln!(text, "    {line}").unwrap();
    }
    text
}

/// Two workers with a few accesses each. Half of the programs have some in the first worker before, between
/// and after the workers' lives.
fn program(rng: &mut ChoiceRng) -> String {
    let first = rng.one_in(2);
    let mut main = |who: u64| {
        let count = if first { rng.below(2) } else { 0 };
        accesses(rng, who, count)
    };
    let (before, between, after) = (main(2), main(3), main(4));
    let count = 2 + rng.below(2);
    let (a, b) = (accesses(rng, 0, 2), accesses(rng, 1, count));
    format!(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (memory (export "memory") 1)
  (table 2 funcref) (elem (i32.const 0) $a $b)
  (func $a (param i32)
{a}  )
  (func $b (param i32)
{b}  )
  (func (export "coyote.test.t") (local $a i32) (local $b i32)
{before}    (local.set $a (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
{between}    (local.set $b (call $spawn (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0)))
    (call $join (local.get $a))
    (call $join (local.get $b))
{after}  ))"#
    )
}

const PROGRAMS: u64 = 24;

/// Programs with all their ends.
fn programs() -> &'static [(String, BTreeSet<End>)] {
    static PROGRAMS_WITH_ENDS: OnceLock<Vec<(String, BTreeSet<End>)>> = OnceLock::new();
    PROGRAMS_WITH_ENDS.get_or_init(|| {
        let texts = (0..PROGRAMS).map(|index| program(&mut ChoiceRng::new(Iteration { seed: 17, index })));
        texts.map(|text| (with_all(&text, "t"), text)).map(|(ends, text)| (text, ends)).collect()
    })
}

#[test]
fn random_programs_have_the_same_ends() {
    let mut several = 0;
    for (text, all) in programs() {
        assert_eq!(with_shared(text, "t", None, None, true).ends, *all, "{text}");
        several += usize::from(all.len() > 2);
    }
    assert!(several > 5, "{several} programs have several ends");
}

/// How many random programs lose an end because of a mutant.
fn lose(passes: Option<Passes>, mutant: Option<Mutant>, again: bool) -> usize {
    let loses = |(text, all): &&(String, _)| with_shared(text, "t", passes, mutant, again).ends != *all;
    programs().iter().filter(loses).count()
}

#[test]
fn without_a_repeat_ends_are_lost() {
    assert!(lose(None, None, false) > 0);
}

/// Memory that one branch of a search shared need not be shared in another one.
#[test]
fn going_back_brings_the_table_back() {
    let more = |(text, _): &&(String, _)| {
        let faulty = with_shared(text, "t", None, Some(Mutant::NotRestored), true);
        faulty.shared != with_shared(text, "t", None, None, true).shared
    };
    assert!(programs().iter().filter(more).count() > 0);
}

const OWNERS: &str = include_str!("wat/owners.wat");

fn check(test: &str, passes: Option<Passes>, mutant: Option<Mutant>) {
    let all = with_all(OWNERS, test);
    assert_eq!(with_shared(OWNERS, test, None, None, true).ends, all, "{test}");
    let faulty = with_shared(OWNERS, test, passes, mutant, true).ends;
    assert_ne!(faulty, all, "{test} with {passes:?} {mutant:?}");
}

#[test]
fn a_straddling_access_looks_at_both_granules() {
    check("across", None, Some(Mutant::NoStraddleCheck));
    check("across", Some(Passes::PassesStraddling), None);
}

#[test]
fn accesses_by_the_host_count() {
    check("host_writes", None, Some(Mutant::HostUnchecked));
    check("host_reads", None, Some(Mutant::HostUnchecked));
    check("futex", None, Some(Mutant::HostUnchecked));
}

#[test]
fn freed_memory_is_not_accessed_unnoticed() {
    check("stale", None, Some(Mutant::NothingFreed));
    check("freed_by_another", None, Some(Mutant::FreeIsNoWrite));
    let all = with_all(OWNERS, "after_free");
    assert_eq!(with_shared(OWNERS, "after_free", None, None, true).ends, all);
}

#[test]
fn a_block_that_is_handed_out_again_is_not_shared() {
    let searched = with_shared(OWNERS, "blocks", None, None, true);
    assert_eq!(searched.shared, Granules::default());
    assert_eq!(searched.ends, with_all(OWNERS, "blocks"));
}

#[test]
fn what_nobody_writes_is_not_shared() {
    let searched = with_shared(OWNERS, "readers", None, None, true);
    assert_eq!(searched.shared, Granules::default());
}

/// A worker that spins on its own flag lets others run: otherwise it gives up before the flag is set.
#[test]
fn a_spin_on_owned_memory_yields() {
    let loops = |passes: Option<Passes>| {
        let artifact = compile(OWNERS, HeapPoints::Shared, passes);
        guest::with(&artifact, "spin", &guest::settings(), |execution| {
            execution.share(Sharing::Only(Arc::default()));
            // In half of the iterations the flag is set before the spin.
            let forced = |index| {
                execution.run(Box::new(RandomWalk::default()), Iteration { seed: 0, index }).unwrap();
                let forced = |c: &&Choice| matches!(c, Choice::Step { kind: OpKind::Loop, .. });
                execution.choices().iter().filter(forced).count()
            };
            (0..20).map(forced).sum::<usize>()
        })
    };
    assert!(loops(None) > 0);
    assert_eq!(loops(Some(Passes::PassingResetsCountdown)), 0);
}

/// Memory that a worker gets from its creator is not shared, unless the creator accesses it again; memory
/// that other workers get from the first one is.
#[test]
fn memory_is_handed_over_to_new_workers_alone() {
    let given = with_shared(OWNERS, "given", None, None, true);
    assert_eq!((given.shared, given.ends), (Granules::default(), with_all(OWNERS, "given")));
    let prepared = with_shared(OWNERS, "prepared", None, None, true);
    assert_eq!((prepared.shared, prepared.ends), (Granules::default(), with_all(OWNERS, "prepared")));
    check("taken_back", None, Some(Mutant::AlwaysHandedOver));
}

/// Memory that several workers have read is shared as soon as one of them writes it or frees it, even if no
/// schedule with fewer points has another access after that.
#[test]
fn what_several_have_read_is_shared_by_who_changes_it() {
    for test in ["read_and_written", "read_and_freed"] {
        let all = with_all(OWNERS, test);
        assert!(all.len() > 1, "{test}");
        assert_eq!(with_shared(OWNERS, test, None, None, true).ends, all, "{test}");
    }
}

/// The writer is remembered when another worker owns the memory. A search that tries one order of two reads
/// detects by this that a third worker's read is in a race with the write.
#[test]
fn what_was_handed_over_keeps_its_writer() {
    let artifact = compile(OWNERS, HeapPoints::All, None);
    let all = guest::with(&artifact, "handed_on", &guest::settings(), |e| search::distinct(e, &mut end));
    assert_eq!(all.len(), 2, "{all:?}");
    let options = Options { footprints: true, ..options(HeapPoints::Shared) };
    let artifact = guest::compile(&wat::parse_str(OWNERS).unwrap(), &options).unwrap();
    guest::with(&artifact, "handed_on", &guest::settings(), |execution| {
        let (mut ends, mut shared) = (BTreeSet::new(), Granules::default());
        loop {
            execution.share(Sharing::Only(Arc::new(shared.clone())));
            search::exhaust("dpor", execution, |execution, outcome| _ = ends.insert(end(execution, outcome)));
            let more = execution.take_grown();
            if more.0.is_empty() {
                break;
            }
            shared.0.extend(more.0);
        }
        assert_eq!(ends, all);
    });
}

/// Earlier accesses are part of the state as long as they decide which accesses will be points.
#[test]
fn states_differ_by_who_accessed_what() {
    let text = r#"(module
  (import "coyote" "choose_bool" (func $choose_bool (result i32)))
  (import "coyote" "yield" (func $yield))
  (memory (export "memory") 1)
  (func (export "coyote.test.t")
    (if (call $choose_bool) (then (drop (i32.load (i32.const 0x1000)))))
    (call $yield)))"#;
    let artifact = compile(text, HeapPoints::Shared, None);
    guest::with(&artifact, "t", &guest::settings(), |execution| {
        for (sharing, differ) in [(Sharing::Only(Arc::default()), true), (Sharing::All, false)] {
            execution.share(sharing);
            let mut print = |value| {
                execution.begin().unwrap();
                while execution.view().workers[0].operation.kind != OpKind::Yield {
                    execution.step(Pick::Step(WorkerId(0)));
                    if execution.status() == (Status::Choosing { bound: 2 }) {
                        execution.choose(value);
                    }
                }
                execution.fingerprint()
            };
            assert_eq!(print(0) != print(1), differ);
        }
    });
}

/// Only repeats find the race in the first iteration: there are no points before sharing is known.
#[test]
fn an_iteration_that_finds_sharing_is_repeated_with_it() {
    let artifact = compile(include_str!("wat/racy.wat"), HeapPoints::Shared, None);
    let found = guest::with(&artifact, "racy", &guest::settings(), |execution| {
        let seeds = 0..50;
        let buggy = |seed: &u64| {
            let iteration = Iteration { seed: *seed, index: 0 };
            let known = Sharing::Only(Arc::default());
            let ran = epochs::run(execution, Box::new(RandomWalk::default()), iteration, &known).unwrap();
            assert_eq!(ran.grown, [0x800 / 64].into_iter().collect());
            assert_eq!(ran.repeats, 1);
            ran.outcome.is_bug()
        };
        seeds.filter(buggy).count()
    });
    // A random walk finds it with a probability above 1/5: 50 seeds all miss it with one below 2e-5.
    assert!(found > 0);
}

#[test]
fn a_module_for_both_can_have_points_everywhere() {
    for (text, all) in &programs()[..6] {
        let artifact = compile(text, HeapPoints::Shared, None);
        let ends = guest::with(&artifact, "t", &guest::settings(), |e| search::schedules(e, &mut end).0);
        assert_eq!(ends, *all, "{text}");
    }
}
