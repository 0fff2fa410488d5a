//! Decides which functions' memory accesses are scheduling points, and records why the others' are not.
//!
//! A function is atomic if it is a part of a library that the tool knows by name (`libraries`), or if the
//! user says so. Functions that only atomic functions call have no points either, nor have functions that the
//! user excludes.

use crate::Error;
use crate::analysis::Analyses;
use crate::analysis::calls::{self, Calls};
use crate::analysis::scope::{Scope, library_names};
use crate::draft::{Draft, PointPolicy};
use crate::libraries::{
    ATOMIC, ATOMIC_UNGUARDED, AtomicKind, C_SDK, C_SDK_OPERATIONS, C_SDK_VISIBLE, CHECKERS, EXCUSED, UNTOLD,
};
use crate::libtest;
use crate::names::names_of;
use crate::options::Options;
use crate::passes::own_names::own_functions;
use std::collections::BTreeSet;
use walrus::FunctionId;
use walrus::ir::Instr;

pub fn run(draft: &mut Draft, analyses: &mut Analyses) -> Result<(), Error> {
    let calls = analyses.calls(&draft.module);
    by_name(draft, calls)?;
    leave_out_callees(draft, calls);
    draft.tells_memory_size = tells_memory_size(draft);
    Ok(())
}

fn tells_memory_size(draft: &Draft) -> bool {
    let memory = draft.memory;
    let is_told = |instr: &Instr| match instr {
        Instr::MemorySize(i) => i.memory == memory,
        Instr::MemoryGrow(i) => i.memory == memory,
        _ => false,
    };
    draft.guest_functions().into_iter().any(|id| {
        let origin = draft.origin(id).expect("it is the guest's");
        !draft.allocating.contains(&origin) && draft.has_within(id, is_told)
    })
}

/// The patterns that decide the policies.
struct Patterns {
    /// With the kind of the functions that match. Libraries come first, since the host must be told of all of
    /// an allocator's functions or of none.
    atomic: Vec<(AtomicKind, Scope)>,
    operations: Scope,
    excluded: Scope,
    included: Scope,
}

impl Patterns {
    /// `visible`: functions of the C library of whose calls the program can tell when they happen.
    fn new(
        options: &Options,
        unguarded: bool,
        visible: &[&str],
        harness: &[&str],
    ) -> Result<Patterns, Error> {
        let strings = |patterns: &'static [&'static str]| patterns.iter().copied();
        let user = |patterns: &[String]| Scope::new(patterns.iter().map(String::as_str));
        let with_threads = if options.atomic_defaults { ATOMIC } else { &[] };
        let without = if unguarded { ATOMIC_UNGUARDED } else { &[] };
        let mut atomic = Vec::new();
        for (kind, patterns) in with_threads.iter().chain(without) {
            atomic.push((*kind, Scope::new(strings(patterns))?));
        }
        atomic.push((AtomicKind::User, user(&options.atomic_fns)?));
        let own = C_SDK.iter().chain(EXCUSED).chain(harness).copied();
        Ok(Patterns {
            atomic,
            operations: Scope::new(C_SDK_OPERATIONS.iter().chain(visible).copied())?,
            excluded: Scope::new(options.no_points_in.iter().map(String::as_str).chain(own))?,
            included: user(&options.points_only_in)?,
        })
    }

    /// The policy of a function by its names; `library` are those that identify a library's function, none for a
    /// function of the program that has such a name.
    fn policy(&self, names: &[String], library: &[String], takes_path: bool) -> PointPolicy {
        let atomic = self.atomic.iter().find_map(|(kind, scope)| {
            let names = if *kind == AtomicKind::User { names } else { library };
            Some((*kind, scope.matching(names)?.to_string()))
        });
        if let Some((kind, pattern)) = atomic {
            PointPolicy::Atomic(kind, pattern)
        } else if takes_path {
            PointPolicy::FileFunction
        } else if self.operations.matching(names).is_some() {
            PointPolicy::Operation
        } else if let Some(pattern) = self.excluded.matching(names) {
            PointPolicy::Excluded(pattern.to_string())
        } else if !self.included.is_empty() && self.included.matching(names).is_none() {
            PointPolicy::NotIncluded
        } else {
            PointPolicy::Points
        }
    }
}

fn by_name(draft: &mut Draft, calls: &Calls) -> Result<(), Error> {
    let unguarded = draft.options.atomic_defaults && !draft.original.wasi_threads;
    let names = draft.original.functions.iter().map(|function| function.name.as_str());
    let harness = if draft.original.libtest { libtest::patterns(names) } else { Vec::new() };
    let has = |name: &&str| draft.original.functions.iter().any(|function| function.name == **name);
    let visible = C_SDK_VISIBLE.iter().filter(|(_, by)| by.iter().any(&has));
    let visible: Vec<&str> = visible.map(|(name, _)| *name).collect();
    let patterns = Patterns::new(draft.options, unguarded, &visible, &harness)?;
    let files = if unguarded { file_functions(draft, calls) } else { BTreeSet::new() };
    let own = own_functions(draft);
    let untold = Scope::new(UNTOLD.iter().copied())?;
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        let mut names = names_of(&draft.original.functions[origin as usize].name);
        let exported = draft.original.exported_as.get(&origin).into_iter().flatten();
        let library: Vec<String> = match own.contains(&id) {
            true => Vec::new(),
            false => library_names(&names).cloned().chain(exported.clone().cloned()).collect(),
        };
        names.extend(exported.cloned());
        if untold.matching(&names).is_some() {
            draft.untold.insert(origin);
        }
        draft.policies[origin as usize] = patterns.policy(&names, &library, files.contains(&id));
    }
    Ok(())
}

/// Finds the functions that only atomic functions and allocators call.
fn leave_out_callees(draft: &mut Draft, calls: &Calls) {
    let functions = draft.guest_functions();
    let of = |wanted: &dyn Fn(&PointPolicy) -> bool| -> BTreeSet<FunctionId> {
        let is = |id: &FunctionId| wanted(draft.policy(*id));
        functions.iter().copied().filter(is).collect()
    };
    let atomic = of(&|policy| matches!(policy, PointPolicy::Atomic(..) | PointPolicy::FileFunction));
    let allocators = of(&|policy| matches!(policy, PointPolicy::Atomic(AtomicKind::Allocator, _)));
    let outside_allocators = outside(draft, calls, &allocators);
    let trusted = of(&|policy| match policy {
        PointPolicy::Atomic(kind, pattern) => {
            *kind == AtomicKind::Allocator || CHECKERS.contains(&pattern.as_str())
        }
        PointPolicy::Excluded(pattern) => C_SDK.iter().chain(EXCUSED).any(|own| own == pattern),
        PointPolicy::Operation => true,
        _ => false,
    });
    let outside_trusted = outside(draft, calls, &trusted);
    let outside = outside(draft, calls, &atomic);
    for id in functions {
        let origin = draft.origin(id).expect("it is the guest's");
        let allocator = allocators.contains(&id);
        if allocator || !outside_allocators.contains(&id) {
            draft.allocating.insert(origin);
        }
        let is_atomic = atomic.contains(&id) || !outside.contains(&id);
        if is_atomic && outside_trusted.contains(&id) && !trusted.contains(&id) {
            draft.checked.insert(origin);
        }
        // What an allocator does to blocks is reported, even if only an atomic function calls it.
        let told = allocator && outside_allocators.contains(&id);
        if !outside.contains(&id) && !told {
            draft.policies[origin as usize] = PointPolicy::OnlyFromAtomic;
        }
    }
}

/// Functions of a C library that take a path. From the resolution of the path until the call of WASI, the
/// part of it below a preopened directory is kept in a variable that a libc with threads would make
/// thread-local.
fn file_functions(draft: &Draft, calls: &Calls) -> BTreeSet<FunctionId> {
    let resolves = |id: &FunctionId| {
        let origin = draft.origin(*id).expect("it is the guest's");
        let name = draft.original.functions[origin as usize].name.as_str();
        RESOLVERS.contains(&name.trim_start_matches("undefined_weak:"))
    };
    let functions = draft.guest_functions();
    let resolvers: BTreeSet<FunctionId> = functions.iter().copied().filter(resolves).collect();
    let calls_one = |id: &FunctionId| calls.called_by([id]).any(|callee| resolvers.contains(&callee));
    functions.into_iter().filter(|id| !resolvers.contains(id) && calls_one(id)).collect()
}

/// Functions that resolve paths in wasi-libc, and the wrappers around them where they are not inlined.
const RESOLVERS: &[&str] = &[
    "__wasilibc_find_relpath",
    "__wasilibc_find_relpath_alloc",
    "find_relpath",
    "find_relpath2",
    "find_relpath_alt",
];

/// Functions that run outside of `bracketed`: those that the host can start, those reached without passing
/// one of `bracketed`, and those that these call directly. All others run within brackets and need none.
fn outside(draft: &Draft, calls: &Calls, bracketed: &BTreeSet<FunctionId>) -> BTreeSet<FunctionId> {
    if bracketed.is_empty() {
        return draft.guest_functions().into_iter().collect();
    }
    let mut roots = calls::roots(&draft.module);
    roots.extend(&calls.taken);
    let mut outside = calls.reachable(roots.iter().copied(), bracketed);
    let called: Vec<_> = calls.called_by(&outside).collect();
    outside.extend(called);
    outside.extend(roots);
    outside
}
