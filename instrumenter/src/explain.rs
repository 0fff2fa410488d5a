//! Explains why each function was changed or left unchanged.

use crate::analysis::calls::Calls;
use crate::draft::PointPolicy;
use crate::pipeline::{Pipeline, unwatched};
use crate::{Draft, Error, Options, check};
use coyote_abi::OpKind;
use std::collections::{BTreeMap, BTreeSet};
use walrus::FunctionId;

/// What was done to a function, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// The function's name, or its number where it has none.
    pub function: String,
    /// One line: the function's policy and the pattern behind it, the number of its points by kind, or the
    /// call that makes it suspend.
    pub reason: String,
}

/// One explanation for each function with a body, in the order of the original module.
///
/// # Errors
/// As [`crate::instrument`], except for those of the suspend pass and later stages.
pub fn explain(wasm: &[u8], options: &Options) -> Result<Vec<Explanation>, Error> {
    let original = check::check(wasm, options)?;
    let draft = Pipeline::new().run(wasm, &original, options, &mut unwatched)?;
    let suspending: BTreeSet<FunctionId> = draft.suspending_imports().collect();
    let leading = Calls::new(&draft.module).leading_to(&suspending);
    let mut next_of: BTreeMap<u32, Vec<FunctionId>> = BTreeMap::new();
    for (from, to) in &leading {
        if let Some(origin) = draft.origin(*from) {
            next_of.entry(origin).or_default().push(*to);
        }
    }
    let explanations =
        original.functions.iter().enumerate().filter(|(_, f)| f.start != 0).map(|(index, _)| {
            let index = index as u32;
            let next = next_of.get(&index).map(Vec::as_slice).unwrap_or_default();
            Explanation {
                function: original.display_name(index),
                reason: reason(&draft, index, next, &suspending),
            }
        });
    Ok(explanations.collect())
}

fn reason(draft: &Draft, index: u32, next: &[FunctionId], suspending: &BTreeSet<FunctionId>) -> String {
    let mut parts = Vec::new();
    match &draft.policies[index as usize] {
        PointPolicy::Points => {}
        PointPolicy::FileFunction => parts.push("atomic: one operation on files".into()),
        PointPolicy::Operation => parts.push("announced; no points at accesses".into()),
        PointPolicy::Atomic(_, pattern) => parts.push(format!("atomic: matches `{pattern}`")),
        PointPolicy::OnlyFromAtomic => {
            parts.push("no points at accesses: only atomic functions call it".into())
        }
        PointPolicy::Excluded(pattern) => {
            parts.push(format!("no points at accesses: excluded by `{pattern}`"));
        }
        PointPolicy::NotIncluded => parts.push("no points at accesses: not included".into()),
    }
    let (mut accesses, mut ticks, mut calls) = (0, 0, 0);
    for site in draft.sites.iter().filter(|s| s.location.function == index && s.alternative == 0) {
        match site.kind() {
            OpKind::Loop => ticks += 1,
            OpKind::FutexWait | OpKind::FutexNotify => calls += 1,
            kind if kind.accesses_memory() || kind == OpKind::Fence => accesses += 1,
            _ => calls += 1,
        }
    }
    let mut count = |n: usize, one: &str, more: &str| match n {
        0 => {}
        1 => parts.push(format!("1 {one}")),
        _ => parts.push(format!("{n} {more}")),
    };
    match draft.owners {
        None => count(accesses, "memory access is a point", "memory accesses are points"),
        Some(_) => count(
            accesses,
            "memory access is a point if its memory is shared",
            "memory accesses are points if their memory is shared",
        ),
    }
    count(calls, "synchronisation call", "synchronisation calls");
    count(ticks, "countdown", "countdowns");
    count(
        draft.private_accesses.get(&index).copied().unwrap_or(0) as usize,
        "access to its own frame is left out",
        "accesses to its own frame are left out",
    );
    // Not the function itself, which its own wrapper calls.
    match next.iter().find(|f| !suspending.contains(f) && draft.origin(**f) != Some(index)) {
        Some(callee) if accesses + calls + ticks == 0 => {
            let name = draft.module.funcs.get(*callee).name.clone().unwrap_or_default();
            parts.push(format!("may suspend because it calls {name}"));
        }
        None if next.is_empty() => parts.push("cannot suspend".into()),
        _ => {}
    }
    parts.join("; ")
}
