//! Sweeps over a transaction of SQLite, on files through its own VFS (`examples/large/sqlite/transaction.c`): whatever fails,
//! and wherever it crashes, what was committed is there, and nothing is half there. Without a journal, or if nothing is
//! synced, it is not so, and that is found. With `synchronous=FULL`, which is the default, a crash can undo what was
//! committed: <https://www.sqlite.org/pragma.html#pragma_synchronous> says the same.

use super::module;
use coyote_wasm::execution::{Faults, Limits, Settings, Test};
use coyote_wasm::explore::sweep;
use coyote_wasm::explore::{Budget, MakeStrategy, Plan, Unwatched};
use coyote_wasm::instrumenter::{Options, Points, instrument};
use coyote_wasm::results::TestResult;
use coyote_wasm::runtime::FaultClass;
use coyote_wasm::strategies::RandomWalk;
use coyote_wasm::verdict::Verdict;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn swept(wasm: &[u8], name: &str, class: FaultClass) -> TestResult {
    let faults = Faults::default().with(class, sweep::lasting(class.row().name));
    let mut options = Options { points: Points::Sync, ..Options::default() };
    faults.prepare(&mut options);
    let instrumented = instrument(wasm, &options).unwrap();
    let engine = coyote_wasm::artifact::engine(None).unwrap();
    let artifact = coyote_wasm::artifact::Artifact::compile(&engine, wasm.into(), instrumented, options);
    let artifact = Arc::new(artifact.unwrap());
    let test = Test::all(&artifact.table).into_iter().find(|test| test.name == name).unwrap();
    let limits = Limits { unfair_steps_max: 100_000, fair_steps_max: 1_000_000, fail_on_steps_max: false };
    let settings = Settings { faults, limits, ..Settings::default() };
    let traces = tempfile::tempdir().unwrap();
    let budget = Budget { iterations_max: u64::MAX, timeout: None, ..Budget::default() };
    let trace_stem = traces.path().join(name);
    let plan = Plan { artifact: &artifact, test: &test, settings: &settings, seed: 0, budget, trace_stem };
    let walk: MakeStrategy = &|_| Box::new(RandomWalk::default());
    let result = sweep::explore(&plan, 0, walk, &AtomicBool::new(false), &Unwatched).unwrap();
    let sweep = result.sweep.as_ref().unwrap();
    println!(
        "{name}: {} opportunities, {} executions, {:.1?}",
        sweep.opportunities(),
        sweep.tried(),
        result.elapsed
    );
    // Of the ways in which a crash leaves the files, some are left out.
    let all_tried = sweep.sites.iter().all(|site| site.swept.tried == site.planned);
    assert!(all_tried && sweep.opportunities() > 5, "{sweep:?}");
    result
}

/// The messages of the bugs that a sweep finds.
fn found(wasm: &[u8], name: &str, class: FaultClass) -> Vec<String> {
    let result = swept(wasm, name, class);
    assert_eq!(result.verdict(), Verdict::Bug, "{name}");
    result.bugs.iter().map(|found| found.bug.message()).collect()
}

#[test]
fn sqlite_keeps_its_transactions() {
    let Some(wasm) = module("sweep/sqlite_transaction") else { return };
    let result = swept(&wasm, "transaction", FaultClass::Io);
    assert_eq!(result.verdict(), Verdict::NotFound, "{:?}", result.bugs);
    let sweep = result.sweep.unwrap();
    assert!(sweep.is_complete() && sweep.opportunities() > 50, "{sweep:?}");
    let messages = found(&wasm, "without_journal", FaultClass::Io);
    assert!(messages.iter().any(|message| message.contains("a part of the transaction")), "{messages:?}");
}

#[test]
fn sqlite_survives_crashes() {
    let Some(wasm) = module("sweep/sqlite_transaction") else { return };
    let result = swept(&wasm, "crashing", FaultClass::Crash);
    assert_eq!(result.verdict(), Verdict::NotFound, "{:?}", result.bugs);
    let messages = found(&wasm, "crashing_full", FaultClass::Crash);
    let undone = |message: &String| message.contains("a transaction that was committed is not there");
    assert!(messages.iter().all(undone), "{messages:?}");
    let messages = found(&wasm, "crashing_unsynced", FaultClass::Crash);
    assert!(messages.iter().any(|message| message.contains("the file is damaged")), "{messages:?}");
}
