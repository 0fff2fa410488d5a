//! Primitives of C programs among threads, and of Rust's among tasks: the outcomes that a search finds are
//! those that POSIX, C and the SDK's documentation allow. Programs and outcomes are in
//! `examples/c/pthread/outcomes_*.c` and in `examples/rust/outcomes_tasks`.

use super::examples::artifact_for;
use super::guest;
use coyote_wasm::execution::{Execution, Settings};
use coyote_wasm::outcome::Outcome;
use coyote_wasm::runtime::{FaultClass, Faults, Mutant};
use coyote_wasm::strategies::search::{Advance, by_name};
use std::collections::BTreeSet;

const MODULES: &[&str] = &["outcomes_locks", "outcomes_threads", "outcomes_waits", TASKS];

/// The module of tasks.
const TASKS: &str = "outcomes_tasks";

/// The claim of one line of a comment about a test.
#[derive(Clone, Debug)]
struct Claim {
    module: &'static str,
    test: String,
    /// `dpor`, or also `dfs` if an outcome depends on memory of the C library.
    search: String,
    faults: Faults,
    outcomes: BTreeSet<String>,
}

/// All sources of a module.
fn source(module: &str) -> String {
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap();
    if module != TASKS {
        return read(guest::root().join("examples/c/pthread").join(module).with_extension("c"));
    }
    let files = std::fs::read_dir(guest::root().join("examples/rust").join(module).join("src")).unwrap();
    files.map(|file| read(file.unwrap().path())).collect()
}

/// The lines `outcomes: .. ; ..`, each with the test after it.
fn claims(module: &'static str) -> Vec<Claim> {
    let text = source(module);
    let (mut claims, mut above) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let words = line.trim_start_matches(['/', '*', ' ']).trim_end_matches("*/").trim_end();
        let function = line.strip_prefix("fn ").filter(|_| module == TASKS && !above.is_empty());
        if let Some((how, outcomes)) = words.strip_prefix("outcomes").and_then(|w| w.split_once(": ")) {
            above.push((how, outcomes));
        } else if let Some(rest) = line.strip_prefix("COYOTE_TEST(").or(function) {
            let test = rest.split([')', '(']).next().unwrap();
            assert!(!above.is_empty(), "{module}: {test}: a comment lists the outcomes");
            for (how, outcomes) in above.drain(..) {
                let (mut search, mut faults) = ("dpor", Faults::default());
                match how.split([' ', '=']).skip(1).collect::<Vec<_>>()[..] {
                    [] => {}
                    ["by", other] => search = other,
                    ["with", "--spurious-wakeups", number] => {
                        faults.set(FaultClass::Spurious, number.parse().unwrap())
                    }
                    ["with", "--failing-try-locks", number] => {
                        faults.set(FaultClass::TryLock, number.parse().unwrap())
                    }
                    _ => panic!("{module}: {test}: outcomes{how}"),
                }
                let outcomes = outcomes.split("; ").map(str::to_string).collect();
                let claim = Claim { module, test: test.into(), search: "dpor".into(), faults, outcomes };
                if search != claim.search {
                    claims.push(Claim { search: search.into(), ..claim.clone() });
                }
                claims.push(claim);
            }
        }
    }
    claims
}

/// All that a test prints in an execution, or the kind of its bug.
pub fn outcome(execution: &Execution) -> String {
    match execution.machine().scheduler().outcome.as_ref().expect("it has ended") {
        Outcome::Passed => {
            let said = execution.runtime().output.iter();
            said.map(|o| String::from_utf8_lossy(&o.text).trim().to_string()).collect::<Vec<_>>().join(" ")
        }
        Outcome::Bug(bug) => bug.kind.name().into(),
        other => panic!("{other:?}"),
    }
}

/// The outcomes of a search that is exhausted, and the number of its executions.
pub fn all_outcomes(execution: &mut Execution, search: &str) -> (BTreeSet<String>, u64) {
    let mut search = by_name::<Execution>(search, 0, None).unwrap();
    let mut outcomes = BTreeSet::new();
    loop {
        match search.advance(execution, u64::MAX) {
            Advance::Ended(_) => outcomes.insert(outcome(execution)),
            Advance::Livelock | Advance::Round => panic!("these programs end"),
            Advance::Working => continue,
            Advance::Exhausted => break,
        };
    }
    assert!(!search.counts().cut, "{outcomes:?}");
    (outcomes, search.counts().executions)
}

/// The same for a claim's program.
fn searched(claim: &Claim, mutant: Option<Mutant>) -> (BTreeSet<String>, u64) {
    let settings = Settings { faults: claim.faults.clone().with_mutant(mutant), ..guest::settings() };
    let artifact = artifact_for(claim.module, &claim.search);
    println!("{claim:?}");
    guest::with(&artifact, &claim.test, &settings, |execution| all_outcomes(execution, &claim.search))
}

#[test]
fn all_outcomes_are_reached_and_no_others() {
    let mut wrong = String::new();
    for claim in MODULES.iter().flat_map(|module| claims(module)) {
        let (outcomes, executions) = searched(&claim, None);
        println!("{}.{}: {executions} executions, {outcomes:?}", claim.module, claim.test);
        if outcomes != claim.outcomes {
            wrong += &format!("{claim:#?}: {outcomes:?}\n");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

/// Each planted fault of the runtime changes the outcomes of some test.
#[test]
fn planted_faults_change_outcomes() {
    let faults = [
        (Mutant::OnlyOneWaiterIsEnabled, "outcomes_waits", "cond_broadcast_wakes_all"),
        (Mutant::NestedLocksAreNotCounted, "outcomes_locks", "mutex_recursive"),
        (Mutant::ReaderBesideWriter, "outcomes_locks", "rwlock_try_read"),
        (Mutant::TimedOutTakes, "outcomes_locks", "mutex_timed"),
        (Mutant::PostWakesNobody, "outcomes_waits", "semaphore_wakes_any"),
        (Mutant::SerialTwice, "outcomes_waits", "barrier_has_one_serial_thread"),
        (Mutant::SignalIsLost, "outcomes_waits", "cond_signal_wakes_any"),
        (Mutant::NeverSpurious, "outcomes_waits", "cond_without_loop"),
    ];
    for (mutant, module, test) in faults {
        let claims = claims(module);
        let mut of_test = claims.iter().filter(|claim| claim.test == test);
        assert!(of_test.any(|claim| searched(claim, Some(mutant)).0 != claim.outcomes), "{mutant:?}");
    }
}
