//! Counts of the rounds of a loop of which only the first few can be told apart.
//!
//! A loop that waits may count its rounds without end, and yield from the seventh on: so does `Backoff` of Rust's std, with
//! which its channels wait. No state of the program repeats then, and a search cannot see that the worker spins. But if such
//! a count is only compared with constants, then all values above the largest of these have the same effect, and the count
//! need not grow further. This argument needs nothing to be known of the program but its code. It ignores that a count is
//! negative after 2^31 and 0 again after 2^32: all increments of a count stand in loops that wait and add at most
//! [`ADDED_MAX`] in one turn, so that an execution comes to that after 2^31 / 8 turns at the earliest. It has 268,435 steps
//! then, since a loop without accesses counts as a step in every 1,000 turns; usual bounds on steps are far below.
//!
//! - [`round_counts`]: counts in locals, as optimised code has them. Each value that an increment can receive is a constant,
//!   or comes from another increment of the same local; each use of what it makes is a comparison with a constant, or
//!   another increment.
//! - [`of_backoff`]: that of `Backoff` in a build without optimisation, which is in memory, by the function's name.

use super::flow::{Flow, Place, assigned};
use crate::code::{constant, sequences};
use crate::names::is_one_of;
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::*;
use walrus::{LocalFunction, LocalId};

/// The largest constant that a count is compared with. A larger one is no bound that a search would reach.
const LIMIT_MAX: i32 = 1_000;

/// What all increments of a count may add together. Those of a channel of std stand where several of its functions were
/// inlined.
const ADDED_MAX: i64 = 8;

/// The function in which a round of a channel of std waits.
const BACKOFF: &str = "std::sync::mpmc::utils::Backoff::spin_heavy";

/// An increment of a count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoundCount {
    /// The addition.
    pub add: Place,
    /// All values from this one on have the same effect.
    pub limit: i32,
}

/// The counts of a function in locals.
pub fn round_counts(function: &LocalFunction) -> Vec<RoundCount> {
    let candidates = candidates(function);
    if candidates.is_empty() {
        return Vec::new();
    }
    let flow = Flow::of(function);
    let waits = loops_that_wait(function, &flow);
    let mut found = BTreeMap::new();
    for (local, set) in candidates {
        if !found.contains_key(&set) {
            found.extend(count(function, &flow, local, set, &waits).into_iter().flatten());
        }
    }
    found
        .into_iter()
        .map(|((sequence, index), limit)| RoundCount { add: (sequence, index - 1), limit })
        .collect()
}

/// The count of [`BACKOFF`], if this function is it, in a build without optimisation.
pub fn of_backoff(function: &LocalFunction, name: &str) -> Option<RoundCount> {
    if !is_one_of(name, &[BACKOFF]) {
        return None;
    }
    let (mut limits, mut adds) = (Vec::new(), Vec::new());
    for sequence in sequences(function) {
        let instrs: Vec<&Instr> = function.block(sequence).instrs.iter().map(|(instr, _)| instr).collect();
        for (index, window) in instrs.windows(3).enumerate() {
            // An older std asks a function for the count.
            let [Instr::Load(_) | Instr::Call(_), value, Instr::Binop(Binop { op })] = window else {
                continue;
            };
            match (constant(value), op) {
                (Some(1), BinaryOp::I32Add) => adds.push((sequence, index + 2)),
                (Some(constant), op) => limits.extend(alike_from(*op, constant)),
                (None, _) => {}
            }
        }
    }
    match (&limits[..], &adds[..]) {
        ([limit], [add]) => Some(RoundCount { add: *add, limit: *limit }),
        _ => None,
    }
}

/// The assignments of locals that are increased by a constant.
fn candidates(function: &LocalFunction) -> Vec<(LocalId, Place)> {
    let mut found = Vec::new();
    for sequence in sequences(function) {
        let instrs = &function.block(sequence).instrs;
        for index in 0..instrs.len() {
            let get = |index: usize| instrs.get(index).map(|(instr, _)| instr);
            if let Some((local, set)) = increment(get, index) {
                found.push((local, (sequence, set)));
            }
        }
    }
    found
}

/// The instructions of an increment before its assignment.
const INCREMENT: usize = 3;

/// If a local is read at an index and increased by a constant: the local, and the index of its assignment.
fn increment<'a>(instr: impl Fn(usize) -> Option<&'a Instr>, index: usize) -> Option<(LocalId, usize)> {
    let Instr::LocalGet(LocalGet { local }) = instr(index)? else { return None };
    let by = constant(instr(index + 1)?)?;
    let adds = matches!(instr(index + 2)?, Instr::Binop(Binop { op: BinaryOp::I32Add }));
    let set = index + INCREMENT;
    let is_count = adds && assigned(instr(set)?) == Some(*local) && (1..=LIMIT_MAX).contains(&by);
    is_count.then_some((*local, set))
}

/// The loops in which something atomic happens, as it does where one waits for another worker.
fn loops_that_wait(function: &LocalFunction, flow: &Flow) -> BTreeSet<InstrSeqId> {
    let mut found = BTreeSet::new();
    for sequence in sequences(function) {
        if function.block(sequence).instrs.iter().any(|(instr, _)| is_atomic(instr)) {
            let mut around = flow.loop_around(sequence);
            while let Some(outer) = around.filter(|outer| found.insert(*outer)) {
                around = flow.outer_loop(outer);
            }
        }
    }
    found
}

/// What a place that reads a count does with it.
enum Use {
    /// Compares it with a constant: values from this one on are alike.
    Compare(i32),
    /// Increases it; and may compare what it assigns.
    Increment(Place, Option<i32>),
}

/// The increments that belong to the same count as one, each with the limit of all; `None` if values above a limit can be
/// told apart.
/// `waits`: loops that wait.
fn count(
    function: &LocalFunction,
    flow: &Flow,
    local: LocalId,
    first: Place,
    waits: &BTreeSet<InstrSeqId>,
) -> Option<Vec<(Place, i32)>> {
    let (mut limit, mut added) = (0, 0);
    let mut increments = BTreeSet::new();
    // The first one counts as a use, too: what a `local.tee` leaves on the stack must be compared.
    let mut todo = vec![(first.0, first.1 - INCREMENT)];
    while let Some(place) = todo.pop() {
        match what_for(flow, place)? {
            Use::Compare(alike) => limit = limit.max(alike),
            Use::Increment(set, alike) => {
                limit = limit.max(alike.unwrap_or(0));
                if increments.insert(set) {
                    flow.loop_around(set.0).filter(|around| waits.contains(around))?;
                    let by = flow.instr((set.0, set.1 - INCREMENT + 1)).and_then(constant)?;
                    added += i64::from(by);
                    todo.extend(flow.uses(local, (set.0, set.1 + 1))?);
                }
            }
        }
    }
    // A count may start from small constants alone.
    let entry = (!function.args.contains(&local)).then_some(0);
    let starts = flow.assignments(local).into_iter().filter(|set| !increments.contains(set));
    let starts = starts.map(|(sequence, index)| {
        let before = index.checked_sub(1).and_then(|before| flow.instr((sequence, before)));
        ((sequence, index + 1), before.and_then(constant))
    });
    for (from, value) in starts.chain([(flow.entry(), entry)]) {
        let uses = flow.uses(local, from)?;
        let counts = |place: &Place| matches!(what_for(flow, *place), Some(Use::Increment(set, _)) if increments.contains(&set));
        if uses.iter().any(counts) && !value.is_some_and(|value| (0..=LIMIT_MAX).contains(&value)) {
            return None;
        }
    }
    (limit > 0 && added <= ADDED_MAX).then(|| increments.into_iter().map(|place| (place, limit)).collect())
}

fn what_for(flow: &Flow, (sequence, index): Place) -> Option<Use> {
    let instr = |index| flow.instr((sequence, index));
    if let Some((_, set)) = increment(instr, index) {
        let keeps = matches!(instr(set), Some(Instr::LocalTee(_)));
        let compared = if keeps { Some(compared(instr, set)?) } else { None };
        return Some(Use::Increment((sequence, set), compared));
    }
    compared(instr, index).map(Use::Compare)
}

/// If the value of the instruction at an index is compared with a constant: the value from which on all have the same
/// result.
fn compared<'a>(instr: impl Fn(usize) -> Option<&'a Instr>, index: usize) -> Option<i32> {
    let Instr::Binop(Binop { op }) = instr(index + 2)? else { return None };
    alike_from(*op, constant(instr(index + 1)?)?)
}

/// The value, at least 0, from which on all have the same result in a comparison with a constant on the right.
fn alike_from(op: BinaryOp, constant: i32) -> Option<i32> {
    use BinaryOp::*;
    let alike = match op {
        I32LtS | I32LtU | I32GeS | I32GeU => constant,
        I32Eq | I32Ne | I32GtS | I32GtU | I32LeS | I32LeU => constant + 1,
        _ => return None,
    };
    (0..=LIMIT_MAX).contains(&constant).then_some(alike)
}

fn is_atomic(instr: &Instr) -> bool {
    match instr {
        Instr::Load(i) => i.kind.atomic(),
        Instr::AtomicRmw(_) | Instr::Cmpxchg(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::{RoundCount, round_counts};

    /// The limits of the counts of a function that waits for a flag. `body`: a round; `end`: what comes after the loop.
    fn limits(body: &str, end: &str) -> Vec<i32> {
        let text = format!(
            "(module (memory 1) (func (param $flag i32) (result i32) (local $n i32) (local $m i32)
               (local.set $n (i32.const 0))
               (block $out
                 (loop $again {body} (br_if $again (i32.eqz (i32.atomic.load (local.get $flag))))))
               {end}))"
        );
        let module = walrus::Module::from_buffer(&wat::parse_str(text).unwrap()).unwrap();
        let (_, function) = module.funcs.iter_local().next().unwrap();
        round_counts(function).into_iter().map(|RoundCount { limit, .. }| limit).collect()
    }

    const COUNT: &str = "(local.set $n (i32.add (local.get $n) (i32.const 1)))";

    fn compare(op: &str, constant: i32) -> String {
        format!("(br_if $out (i32.{op} (local.get $n) (i32.const {constant})))")
    }

    #[test]
    fn counts_that_are_only_compared_have_a_limit() {
        for (op, constant, limit) in
            [("ge_u", 7, 7), ("lt_s", 7, 7), ("gt_u", 6, 7), ("le_s", 6, 7), ("eq", 3, 4), ("ne", 3, 4)]
        {
            assert_eq!(limits(&(compare(op, constant) + COUNT), "i32.const 0"), [limit], "{op}");
        }
        // Two increments and two comparisons are of one count.
        let body = [&compare("gt_u", 2), COUNT, &compare("lt_u", 9), COUNT].concat();
        assert_eq!(limits(&body, "i32.const 0"), [9, 9]);
        // What the local holds later is another value.
        let end = "(local.set $n (i32.const 5)) (local.get $n)";
        assert_eq!(limits(&(compare("ge_u", 7) + COUNT), end), [7]);
        let tee =
            "(br_if $out (i32.gt_u (local.tee $n (i32.add (local.get $n) (i32.const 1))) (i32.const 3)))";
        assert_eq!(limits(tee, "i32.const 0"), [4]);
    }

    #[test]
    fn counts_that_somebody_sees_have_none() {
        let compared = compare("ge_u", 7) + COUNT;
        for (what, body, end) in [
            ("is returned", &compared[..], "(local.get $n)"),
            ("is never compared", COUNT, "i32.const 0"),
            ("is stored", &format!("{compared} (i32.store (i32.const 0) (local.get $n))"), "i32.const 0"),
            ("is copied", &format!("{compared} (local.set $m (local.get $n))"), "(local.get $m)"),
            ("starts anywhere", &format!("(local.set $n (local.get $flag)) {compared}"), "i32.const 0"),
            ("starts below 0", &format!("(local.set $n (i32.const -9)) {compared}"), "i32.const 0"),
            (
                "goes down, too",
                &format!("{compared} (local.set $n (i32.sub (local.get $n) (i32.const 1)))"),
                "i32.const 0",
            ),
            (
                "is compared with what varies",
                &format!("(br_if $out (i32.eq (local.get $n) (local.get $flag))) {compared}"),
                "i32.const 0",
            ),
            (
                "is kept on the stack, and begins anew in each round",
                &format!(
                    "(local.set $n (i32.const 10)) (i32.store (i32.const 0) (local.tee $n (i32.add (local.get $n) (i32.const 1)))) {}",
                    compare("ge_u", 7)
                ),
                "i32.const 0",
            ),
            (
                "may wrap, since much is added in one round",
                &format!("{compared} (local.set $n (i32.add (local.get $n) (i32.const 8)))"),
                "i32.const 0",
            ),
            (
                "may wrap, since a loop that does not wait adds to it",
                &format!(
                    "{compared} (local.set $m (i32.const 0))
                     (loop $fast {COUNT} (local.set $m (i32.add (local.get $m) (local.get $flag)))
                       (br_if $fast (i32.lt_u (local.get $m) (i32.const 0x1000000))))"
                ),
                "i32.const 0",
            ),
            ("is compared with a negative number", &(compare("lt_s", -1) + COUNT), "i32.const 0"),
            (
                "is kept on the stack",
                &format!(
                    "(drop (i32.const 1)) (i32.store (i32.const 0) (local.tee $n (i32.add (local.get $n) (i32.const 1)))) {}",
                    compare("ge_u", 7)
                ),
                "i32.const 0",
            ),
        ] {
            assert_eq!(limits(body, end), [0; 0], "a count that {what}");
        }
    }

    /// A loop that waits for nobody has an end of its own.
    #[test]
    fn loops_without_atomics_are_left_alone() {
        let text = "(module (memory 1) (func (local $n i32)
             (loop $again
               (local.set $n (i32.add (local.get $n) (i32.const 1)))
               (br_if $again (i32.lt_u (local.get $n) (i32.const 5))))))";
        let module = walrus::Module::from_buffer(&wat::parse_str(text).unwrap()).unwrap();
        let (_, function) = module.funcs.iter_local().next().unwrap();
        assert_eq!(round_counts(function), []);
    }
}
