//! Code that is compiled on demand: the same executions as with code that is compiled at once, the same places in
//! reports, and what one run keeps for the next.

use super::guest;
use super::leases::{courses, settings};
use super::process::{self, Ended, ended};
use super::{examples, leases};
use coyote_wasm::artifact::{Artifact, engine};
use coyote_wasm::cache::Cache;
use coyote_wasm::code::Demand;
use coyote_wasm::explore::rehearsal::rehearse;
use coyote_wasm::explore::{Budget, Plan};
use coyote_wasm::instrumenter::{Options, instrument};
use coyote_wasm::machine::lease::Leases;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// A module whose functions are compiled one part at a time, and all together after `patience`. `None` if it cannot be
/// cut.
fn on_demand(
    wasm: &[u8],
    options: &Options,
    executed: Option<PathBuf>,
    patience: u32,
) -> Option<Arc<Artifact>> {
    let instrumented = instrument(wasm, options).unwrap();
    if instrumented.table.changes_tables {
        return None;
    }
    let engine = engine(None).unwrap();
    let demand = Demand { executed, native: None, small: 0, patience };
    let artifact = Artifact::compile_on_demand(&engine, wasm.into(), instrumented, options.clone(), demand);
    Some(Arc::new(artifact.unwrap()))
}

/// Modules of all languages and sizes: Rust with std, threads, tasks, actors and files; C, AssemblyScript, Zig.
const MODULES: &[&str] = &[
    "actors",
    "as_mutex",
    "crossbeam_channel_0_5_8",
    "key_value",
    "memory_errors",
    "musl_pthreads",
    "ordinary_c",
    "std_threads_fixed",
    "tasks",
    "trap",
    "zig_threads",
];

/// The same choices, steps, states and outputs, also if a part of the functions is in the root: the first test of each
/// module, or all tests of all examples when soaking (`COYOTE_HOST_ITERATIONS`).
#[test]
fn executions_are_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let (mut compared, mut renewed) = (0, 0);
    let all = guest::soaking();
    let mut rows = examples::index();
    if !all {
        rows.retain(|row| MODULES.contains(&row.module.as_str()));
        rows.dedup_by_key(|row| row.module.clone());
    }
    for (number, expected) in rows.into_iter().enumerate() {
        let wasm = std::fs::read(examples::module_path(&expected.module)).unwrap();
        let whole = expected.artifact();
        let executed = directory.path().join("executed");
        // Some executions go on in parts, others have a new root whenever there are parts.
        let patience = if number % 2 == 0 { 1_000_000 } else { 0 };
        let Some(cut) = on_demand(&wasm, &whole.options, Some(executed), patience) else { continue };
        let strategy = ["random", "pct", "pos+chess-fair"][number % 3];
        println!("{} {} under {strategy}", expected.module, expected.test);
        let of = |artifact: &Arc<Artifact>| {
            guest::with(artifact, &expected.test, &settings(), |execution| {
                let strategy = leases::prepared(execution, strategy).expect("it is known");
                courses(execution, strategy, Leases::Given, 3)
            })
        };
        assert!(of(&whole) == of(&cut), "{} {}", expected.module, expected.test);
        renewed += usize::from(cut.code().roots() > 1);
        compared += 1;
    }
    assert!(compared >= MODULES.len() && renewed > 2, "{compared} {renewed}");
}

fn test(module: &str, arguments: &[&str], cache: &Path, code_bytes: &str) -> Ended {
    let path = examples::module_path(module);
    let directory = tempfile::tempdir().unwrap();
    let arguments = [&["test", path.to_str().unwrap(), "--seed", "0"], arguments].concat();
    let mut command = process::command(cache, directory.path(), &arguments);
    let mut ended = ended(command.env("COYOTE_CODE_BYTES", code_bytes).output().unwrap());
    ended.stdout = ended.stdout.replace(directory.path().to_str().unwrap(), "");
    ended
}

/// Reports name the same places, of memory errors, traps, panics and deadlocks, whatever is compiled when.
#[test]
fn reports_are_the_same() {
    for module in
        ["memory_errors", "std_threads", "trap", "ordinary_c", "crossbeam_channel_0_5_7", "racy_counter"]
    {
        let arguments = ["-i", "2000", "-j", "1", "--no-shrink", "--no-experiments"];
        let (whole, cut) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let said = |cache: &Path, code_bytes| {
            let said = test(module, &arguments, cache, code_bytes);
            (said.code, said.timeless())
        };
        let expected = said(whole.path(), "1000000000");
        assert!(matches!(expected.0, Some(0 | 2)), "{module}: {expected:?}");
        assert_eq!(said(cut.path(), "0"), expected, "{module}: the first run");
        assert_eq!(said(cut.path(), "0"), expected, "{module}: from the cache");
    }
}

/// What a run executes is compiled at once in the next run, of this module after a change or of another one.
#[test]
fn what_was_executed_is_in_the_next_root() {
    let directory = tempfile::tempdir().unwrap();
    let cache = Cache::at(directory.path());
    assert!(test("std_threads_fixed", &["-i", "2"], directory.path(), "0").code == Some(0));
    let known = std::fs::metadata(cache.executed()).unwrap().len();
    assert!(known > 8 * 20, "{known}");
    let wasm = std::fs::read(examples::module_path("std_threads_fixed")).unwrap();
    let artifact = on_demand(&wasm, &Options::default(), Some(cache.executed()), 1_000_000).unwrap();
    guest::with(&artifact, &artifact_test(&artifact), &settings(), |execution| {
        let strategy = leases::prepared(execution, "random").expect("it is known");
        courses(execution, strategy, Leases::Given, 2);
    });
    let after = std::fs::metadata(cache.executed()).unwrap().len();
    assert!(after - known < known / 10, "few functions were not known: {known}, then {after}");
}

/// What an execution needs is compiled before the time of its test begins.
#[test]
fn a_rehearsal_leaves_nothing_to_compile() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("executed");
    let wasm = std::fs::read(examples::module_path("std_threads_fixed")).unwrap();
    let artifact = on_demand(&wasm, &Options::default(), Some(file.clone()), 1_000_000).unwrap();
    let test = guest::find(&artifact, &artifact_test(&artifact));
    let (settings, seed) = (settings(), 5);
    let budget = Budget {
        iterations_max: 1,
        first: 0,
        timeout: None,
        search_memory_bytes: u64::MAX,
        bounds_follow: false,
        explore: false,
        bugs_max: 1,
        check_determinism: false,
        island: None,
        unit: None,
        steer: false,
        jobs: 1,
    };
    let trace_stem = directory.path().join("trace");
    let plan = Plan { artifact: &artifact, test: &test, settings: &settings, seed, budget, trace_stem };
    rehearse(&plan, &AtomicBool::new(false));
    let known = std::fs::metadata(&file).unwrap().len();
    assert!(known > 8 * 20, "{known}");
    guest::with(&artifact, &test.name, &settings, |execution| {
        let strategy = leases::prepared(execution, "random").expect("it is known");
        courses(execution, strategy, Leases::Given, 1);
    });
    assert_eq!(std::fs::metadata(&file).unwrap().len(), known, "the same iteration compiled something");
}

/// Calls into parts take more of the native stack than calls within the root, but what exhausts it is the same.
#[test]
fn exhausted_stacks_are_the_same() {
    let wasm = wat::parse_file(guest::wat_file("bounds.wat")).unwrap();
    let whole = guest::compile(&wasm, &Options::default()).unwrap();
    let cut = on_demand(&wasm, &Options::default(), None, 1_000_000).unwrap();
    let of = |artifact: &Arc<Artifact>| {
        guest::with(artifact, "deep", &settings(), |execution| {
            let strategy = leases::prepared(execution, "random").expect("it is known");
            courses(execution, strategy, Leases::Given, 3)
        })
    };
    assert!(of(&whole) == of(&cut));
    assert_eq!(cut.code().roots(), 2, "the first attempt was executed in parts");
}

fn artifact_test(artifact: &Artifact) -> String {
    coyote_wasm::execution::Test::all(&artifact.table)[0].name.clone()
}
