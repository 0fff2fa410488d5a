//! Small lock-free algorithms (`programs/weakened.c`) with each of their memory orderings weakened by one step.
//!
//! As they are, no execution has a data race (`--races bug -s dpor`), and no execution with weak memory fails
//! (`--memory weak -s dfs`). With one weaker ordering, one of the two searches must find a bug, or both must prove
//! that there is none: then the algorithm does not need that ordering. Which of them it does not need was derived by
//! hand from RC11 (Lahav et al., PLDI 2017); the reasons stand beside them.

use super::c_programs::{can, compile};
use super::process;
use coyote_cc::Language;
use coyote_orderings::Ordering::{self, *};
use std::path::Path;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Load,
    Store,
    ReadModifyWrite,
    Fence,
}
use Kind::*;

/// An atomic operation of an algorithm: its kind, its ordering, and whether the algorithm needs it.
type Site = (Kind, Ordering, bool);

const ALGORITHMS: [(&str, &[Site]); 8] = [
    ("ring", &[(Load, Acquire, true), (Store, Release, true), (Load, Acquire, true), (Store, Release, true)]),
    (
        "stack",
        &[
            (ReadModifyWrite, Release, true),
            (Load, Acquire, true),
            // Whoever takes a node has acquired it before, by the load or by the exchange that failed.
            (ReadModifyWrite, Acquire, false),
            (Load, Acquire, true),
        ],
    ),
    ("ticket", &[(Load, Acquire, true), (Store, Release, true)]),
    (
        "once",
        &[
            (Load, Acquire, true),
            // Whoever goes from 0 to 1 reads nothing that another thread wrote.
            (ReadModifyWrite, Acquire, false),
            (Load, Acquire, true),
            (Store, Release, true),
        ],
    ),
    ("owners", &[(ReadModifyWrite, Release, true), (Fence, Acquire, true)]),
    (
        "seqlock",
        &[(Fence, Release, true), (Store, Release, true), (Load, Acquire, true), (Fence, Acquire, true)],
    ),
    (
        "peterson",
        &[
            (Store, SeqCst, true),
            (Store, SeqCst, true),
            (Load, SeqCst, true),
            // Each thread has written `last`, so it reads the other one's value only if that is newer: coherence.
            (Load, SeqCst, false),
            (Store, Release, true),
        ],
    ),
    ("dekker", &[(Fence, SeqCst, true)]),
];

/// The orderings one step below one; none is a fence that is left out.
fn weaker(kind: Kind, ordering: Ordering) -> Vec<Option<Ordering>> {
    match (kind, ordering) {
        (Load, SeqCst) => vec![Some(Acquire)],
        (Store, SeqCst) => vec![Some(Release)],
        (_, SeqCst) => vec![Some(AcqRel)],
        (_, AcqRel) => vec![Some(Acquire), Some(Release)],
        (Fence, Acquire | Release) => vec![None],
        (_, Acquire | Release) => vec![Some(Relaxed)],
        (_, Relaxed) => Vec::new(),
    }
}

/// Explores all executions; whether a bug is found. Anything but a bug or a proof fails.
fn fails(directory: &Path, options: &[&str], algorithm: &str, orders: &[Option<Ordering>]) -> bool {
    let orders: Vec<String> =
        orders.iter().map(|order| order.map_or(-1, |order| order as i32).to_string()).collect();
    let orders = orders.iter().map(String::as_str);
    let arguments: Vec<&str> = ["test"]
        .iter()
        .chain(options)
        .chain(&["--seed", "0", "--no-shrink", "--no-experiments", "--", algorithm])
        .copied()
        .collect();
    let ended = process::run(directory, &arguments.into_iter().chain(orders).collect::<Vec<_>>());
    match ended.code {
        Some(0) => assert!(ended.stdout.contains(". Proved: no bug in 1 test"), "{algorithm}: {ended:?}"),
        code => assert_eq!(code, Some(2), "{algorithm}: {ended:?}"),
    }
    ended.code == Some(2)
}

#[test]
fn each_ordering_that_is_needed_is_found() {
    if !can(Language::C) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host/programs/weakened.c");
    for (module, flags) in [("plain.wasm", &["-g", "-O1", "-DPLAIN"][..]), ("weak.wasm", &["-g", "-O1"])] {
        compile(Language::C, &source, &directory.join(module), flags).unwrap_or_else(|log| panic!("{log}"));
    }
    let found = |algorithm, orders: &[Option<Ordering>]| {
        let races = ["plain.wasm", "--races", "bug", "-s", "dpor"];
        let weak = ["weak.wasm", "--memory", "weak", "-s", "dfs", "--points", "atomic"];
        [fails(directory, &races, algorithm, orders), fails(directory, &weak, algorithm, orders)]
            .contains(&true)
    };
    let mut wrong = Vec::new();
    for (algorithm, sites) in ALGORITHMS {
        let orders: Vec<_> = sites.iter().map(|(_, ordering, _)| Some(*ordering)).collect();
        if found(algorithm, &orders) {
            wrong.push(format!("{algorithm} as it is: a bug"));
        }
        for (place, (kind, ordering, needed)) in sites.iter().enumerate() {
            for weaker in weaker(*kind, *ordering) {
                let mut orders = orders.clone();
                orders[place] = weaker;
                if found(algorithm, &orders) != *needed {
                    wrong.push(format!(
                        "{algorithm}, {place}: {kind:?} {ordering:?} as {weaker:?}: needed: {needed}"
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}
