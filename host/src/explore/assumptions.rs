//! The assumptions of a search's verdict.

use super::{Plan, endless, watching};
use crate::detect::{DETECTORS, DetectorEntry, Switch};
use crate::machine::stack::main_stack_alone;
use crate::orderings::Counts;
use crate::outcome::BugKind;
use crate::plural::counted;
use crate::results::{
    LOOKS_AT_ONCE, NO_SPURIOUS, ONE_ORDER_OF_LOCKS, ONE_ORDER_OF_POLLS, ONE_STREAM, Resumed, TestResult,
    UNKNOWN_ORDERINGS, WHOLE_MESSAGES, Watch,
};
use crate::runtime::{FaultClass, Timers};
use crate::uses::Uses;
use coyote_instrumenter::Points;
use coyote_strategies::search::rounds::Wanted;
use coyote_strategies::search::seen::Seen;

/// The detectors that watch iterations of a sampler, and the assumptions of their verdict.
pub(super) fn watch(plan: &Plan, independent: bool) -> Watch {
    let detectors = &plan.settings.detectors;
    let in_some = plan.settings.sampled_detectors(plan.artifact);
    let sampled = |entry: &DetectorEntry| in_some.iter().any(|some| some.name == entry.name);
    let is_on = |entry: &&DetectorEntry| match entry.switch {
        Switch::Always => true,
        Switch::MemoryErrors => plan.artifact.options.memory_errors && plan.artifact.options.atomic_defaults,
        Switch::Set { .. } => detectors.watches_all(entry.name) || sampled(entry),
    };
    // A part is named where the rest watches.
    let may_watch = |entry: &DetectorEntry| entry.whole().is_none_or(|whole| detectors.watches_all(whole));
    let entries = DETECTORS.iter().filter(|entry| entry.concerns(plan.artifact) && may_watch(entry));
    let (on, off): (Vec<&DetectorEntry>, Vec<&DetectorEntry>) = entries.partition(is_on);
    let names = |entries: &[&DetectorEntry]| entries.iter().map(|entry| entry.name.to_string()).collect();
    let sampled = in_some.iter().map(|entry| (entry.name.to_string(), watching::ONE_IN)).collect();
    let mut assumptions = of_points(plan, Uses::of(&plan.artifact.original));
    assumptions.extend(detectors.assumptions().into_iter().map(String::from));
    assumptions.extend(of_orderings(plan, in_some.iter().any(|some| some.name == "races")));
    Watch { detectors: names(&on), sampled, others: names(&off), assumptions, independent }
}

/// What is assumed of operations of the program's own code whose ordering is not known, where orderings matter: to weak
/// memory and to data races, which some iterations alone may look for.
fn of_orderings(plan: &Plan, some_races: bool) -> Option<String> {
    let matter = plan.settings.weak_memory() || plan.settings.detectors.watches_all("races") || some_races;
    let Counts { without_ordering, unknown, .. } = matter.then(|| plan.artifact.own_orderings())?;
    let count = (without_ordering + unknown) as u64;
    (count > 0).then(|| format!("{}{UNKNOWN_ORDERINGS}", counted(count, "operation")))
}

/// Restrictions of what both searches and samplers can find.
fn of_points(plan: &Plan, uses: Uses) -> Vec<String> {
    let options = &plan.artifact.options;
    let mut assumptions = Vec::new();
    if plan.settings.timers == Timers::Ordered {
        assumptions.push("timeouts in their order".into());
    }
    if plan.artifact.imports("suppress") {
        assumptions.push("scopes in which the program suppresses scheduling points are atomic".into());
    }
    match options.points {
        Points::Heap => {}
        Points::Atomic => assumptions.push("no races on plain memory".into()),
        // Threads of wasi-libc, which std uses: their locks are made of atomics and futexes.
        Points::Sync if plan.artifact.table.wasi_threads => assumptions.push(ONE_ORDER_OF_LOCKS.into()),
        Points::Sync => {
            assumptions.push("no races on memory, nor on atomics, of which std's locks are made".into());
        }
    }
    if !options.atomic_fns.is_empty()
        || !options.no_points_in.is_empty()
        || !options.points_only_in.is_empty()
    {
        assumptions.push("no races in the functions left out".into());
    }
    if plan.settings.weak_memory() && uses.large_atomics {
        assumptions.push("no stale reads of atomic objects of more than 8 bytes, or misaligned ones".into());
    }
    if !plan.settings.faults.has(FaultClass::Poll) && uses.tokio {
        assumptions.push(ONE_ORDER_OF_POLLS.into());
    }
    if !plan.settings.faults.has(FaultClass::Split) && !plan.settings.world.listeners.is_empty() {
        assumptions.push(WHOLE_MESSAGES.into());
    }
    assumptions
}

/// The rounds that a search has looked for, if there may be some. All executions that other searches prove something
/// about have an end, or there is a cycle of states and no proof.
fn looked(plan: &Plan, strategy: &str, seen: &Seen) -> Option<Wanted> {
    match strategy {
        "stateful" => seen.had_cycles().then(|| endless::wanted(plan)),
        "dpor" => Some(Wanted::default()),
        _ => None,
    }
}

/// What is not known about executions without an end if these rounds were looked for.
pub(super) fn of_rounds(plan: &Plan, looked: Wanted) -> Vec<&'static str> {
    let bugs = plan.settings.detectors.lassos();
    let mut assumptions = Vec::new();
    if looked != bugs && bugs.any() {
        assumptions.push("no round of steps is repeated for ever, which was not looked for");
    } else if looked != bugs {
        assumptions.push("no round of steps is repeated for ever");
    } else if plan.artifact.imports("monitor") && !looked.together {
        assumptions.push("no monitor is hot for ever in an execution without an end");
    }
    if looked.any() {
        let left =
            "no round of steps is repeated for ever in which a value is chosen or a timeout is pending";
        assumptions.push(left);
    }
    assumptions
}

/// The assumptions of a search's verdict.
pub(super) fn assumptions(
    plan: &Plan,
    result: &TestResult,
    resumed: Option<&Resumed>,
    seen: &Seen,
) -> Vec<String> {
    let mut assumptions = of_search(plan, &result.subject.strategy, seen);
    assumptions.extend(of_result(plan, result, resumed));
    assumptions
}

/// The assumptions that follow from how a search is made.
pub(super) fn of_search(plan: &Plan, strategy: &str, seen: &Seen) -> Vec<String> {
    let options = &plan.artifact.options;
    let mut assumptions = vec![plan.settings.faults.memory_model(), "virtual time".into()];
    assumptions.extend(plan.settings.faults.bounds());
    let uses = Uses::of(&plan.artifact.original);
    assumptions.extend(of_points(plan, uses));
    let table = &plan.artifact.table;
    if options.atomic_defaults && !plan.settings.exact_addresses && !table.tells_memory_size {
        assumptions.push("up to the addresses that malloc returns".into());
    }
    let checks_prints = options.memory_errors && options.atomic_defaults && options.points == Points::Heap;
    if checks_prints && !table.wasi_threads && uses.prints {
        assumptions.push("what is printed is read in the step before".into());
    }
    if table.shared_globals > table.segment_flags {
        assumptions.push("no races on wasm globals".into());
    }
    if plan.artifact.has_other_references() {
        assumptions.push("references to other things than functions are equal".into());
    }
    assumptions.extend(plan.settings.detectors.assumptions().into_iter().map(String::from));
    assumptions.extend(of_orderings(plan, false));
    if plan.settings.detectors.assumes_no_races(plan.artifact) {
        let can_look = options.memory_errors && !plan.settings.weak_memory();
        let how = if can_look { ", which --races bug looks for" } else { "" };
        assumptions.push(format!("no data races{how}"));
    }
    let watches_stacks = plan.settings.detectors.watches_all("use-after-return");
    if table.stack_pointer().is_some() && !(watches_stacks && main_stack_alone(plan.artifact).is_some()) {
        assumptions.push("no use of local variables of functions that have returned".into());
    }
    let of_rounds = looked(plan, strategy, seen).map(|looked| of_rounds(plan, looked));
    assumptions.extend(of_rounds.into_iter().flatten().map(String::from));
    assumptions
}

/// The assumptions that follow from what a search met.
pub(super) fn of_result(plan: &Plan, result: &TestResult, resumed: Option<&Resumed>) -> Vec<String> {
    let mut assumptions = Vec::new();
    if plan.settings.limits.fail_on_steps_max
        || result.bugs.iter().any(|b| b.bug.kind == BugKind::MaxSteps)
        || resumed.is_some_and(|resumed| resumed.done.has(BugKind::MaxSteps))
    {
        assumptions.push(format!("executions of at most {} steps", plan.settings.limits.unfair_steps_max));
    }
    if result.incidents.asked_random && !plan.settings.faults.has(FaultClass::Seed) {
        assumptions.push(ONE_STREAM.into());
    }
    if result.incidents.spurious_left_out {
        assumptions.push(NO_SPURIOUS.into());
    }
    if result.incidents.clock_looked_at {
        assumptions.push(LOOKS_AT_ONCE.into());
    }
    let suppressed = result.races.iter().filter(|seen| seen.race.suppressed_by.is_some()).count() as u64;
    let noted = result.races.len() as u64 - suppressed;
    for (count, how) in [(suppressed, "suppressed"), (noted, "noted")] {
        if count > 0 {
            assumptions.push(format!("without {} that {} {how}", counted(count, "data race"), is(count)));
        }
    }
    assumptions
}

fn is(count: u64) -> &'static str {
    if count == 1 { "is" } else { "are" }
}
