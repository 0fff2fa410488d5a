//! Experiments on a bug: likelihoods compared with executions from the start and with exact ones, schedules
//! that pass, and `--confirm`.

use super::{c_programs, examples, guest, process};
use coyote_wasm::diagnose::{SourceLines, identity};
use coyote_wasm::execution::Execution;
use coyote_wasm::explain::{Allowance, experiments};
use coyote_wasm::machine::scheduler::Looks;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::replay::replay;
use coyote_wasm::results::{BugIdentity, Explanation, Findability, FoundBug, Rate};
use coyote_wasm::strategies::system::decide;
use coyote_wasm::strategies::{Decision, Guided, Iteration, Pick, Status, System};
use coyote_wasm::tester::Tester;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Small examples, whose states can be enumerated.
const SMALL: [(&str, &str); 5] = [
    ("racy_counter", "racy"),
    ("lost_wakeup", "lost"),
    ("dining_philosophers", "left_first"),
    ("sct_deadlock01", "deadlock01"),
    ("memory_errors", "use_after_free"),
];

fn found(module: &str, test: &str) -> FoundBug {
    let directory = tempfile::tempdir().unwrap();
    let mut tester = Tester::of(examples::artifact(module));
    tester.traces = directory.path().into();
    tester.explore(test, "random").unwrap().bugs.swap_remove(0)
}

fn with<R: Send>(
    module: &str,
    test: &str,
    function: impl FnOnce(&mut Execution, &Mutex<SourceLines>) -> R + Send,
) -> R {
    let artifact = examples::artifact(module);
    let lines = Mutex::new(SourceLines::new(&artifact));
    guest::with(&artifact, test, &guest::settings(), |execution| function(execution, &lines))
}

/// The trace's choices, with numbers of workers.
fn path(execution: &mut Execution, found: &FoundBug) -> Vec<Decision> {
    assert!(replay(execution, &found.trace, false).unwrap().reproduces(&found.trace));
    execution.choices().iter().map(|choice| Decision::from(*choice)).collect()
}

fn explained(execution: &mut Execution, found: &FoundBug, lines: &Mutex<SourceLines>) -> Explanation {
    let mut explanation = Explanation::default();
    let allowance = Allowance::of(Duration::from_secs(600));
    experiments(execution, &found.trace, &found.identity, lines, allowance, &mut explanation).unwrap();
    explanation
}

fn is_the_bug(
    execution: &mut Execution,
    outcome: &Outcome,
    bug: &BugIdentity,
    lines: &Mutex<SourceLines>,
) -> bool {
    match outcome {
        Outcome::Bug(met) => identity(execution, met, lines).unwrap() == *bug,
        _ => false,
    }
}

/// The figures from saved states equal those of executions from the start with the same random choices.
#[test]
fn saved_states_change_no_figure() {
    for (module, test) in SMALL {
        let found = found(module, test);
        with(module, test, |execution, lines| {
            let path = path(execution, &found);
            let decisive = explained(execution, &found, lines).decisive.expect("it has choices");
            assert!(decisive.curve.len() > 1, "{module}: {decisive:?}");
            for (choice, rate) in &decisive.curve {
                let mut bugs = 0;
                for index in 0..rate.of {
                    let start = path[..*choice].to_vec();
                    let guided = Guided::new(Arc::default()).after(start).then_random();
                    let iteration = Iteration { seed: *choice as u64, index };
                    let run = |e: &mut Execution| e.run(Box::new(guided), iteration).unwrap().0;
                    let outcome = execution.looking(Looks::Never, run);
                    bugs += u64::from(is_the_bug(execution, &outcome, &found.identity, lines));
                }
                assert_eq!(Rate { bugs, of: rate.of }, *rate, "{module}, choice {choice}");
            }
        });
    }
}

/// The exact probability of the bug under a random walk from the present state.
fn probability(
    execution: &mut Execution,
    bug: &BugIdentity,
    lines: &Mutex<SourceLines>,
    known: &mut BTreeMap<u128, f64>,
) -> f64 {
    let state = execution.fingerprint();
    if let Some(known) = known.get(&state) {
        return *known;
    }
    let decisions: Vec<Decision> = match execution.status() {
        Status::Ready => execution.view().picks().map(Decision::Pick).collect(),
        Status::Choosing { bound } => (0..bound).map(Decision::Value).collect(),
        Status::Bug => {
            let outcome = execution.machine().scheduler().outcome.clone().unwrap();
            let Outcome::Bug(met) = outcome else { panic!("a bug") };
            // The experiments do not compare where a block was allocated either.
            let places = coyote_wasm::record::identity(execution, &met);
            let met = lines.lock().unwrap().identity(met.kind, &places, None);
            return f64::from(u8::from((met.kind, met.stacks) == (bug.kind, bug.stacks.clone())));
        }
        _ => return 0.0,
    };
    let here = execution.snapshot();
    let mut sum = 0.0;
    for decision in &decisions {
        execution.restore(&here);
        decide(execution, *decision);
        sum += probability(execution, bug, lines, known);
    }
    known.insert(state, sum / decisions.len() as f64);
    sum / decisions.len() as f64
}

/// Every figure is near the exact probability, and no choice makes the bug much more likely than the one that
/// is called decisive.
#[test]
fn the_decisive_choice_is_the_one_by_enumeration() {
    for (module, test) in SMALL {
        let found = found(module, test);
        with(module, test, |execution, lines| {
            let path = path(execution, &found);
            let decisive = explained(execution, &found, lines).decisive.expect("it has choices");
            let mut known = BTreeMap::new();
            let mut exact = Vec::new();
            for at in 0..=path.len() {
                execution.begin().unwrap();
                path[..at].iter().for_each(|decision| decide(execution, *decision));
                exact.push(probability(execution, &found.identity, lines, &mut known));
            }
            assert_eq!(*exact.last().unwrap(), 1.0, "{module}");
            for (choice, Rate { bugs, of }) in &decisive.curve {
                let (p, n) = (exact[*choice], *of as f64);
                // 5 standard deviations, and a little more if these are 0: wrong once in a million figures.
                let far = 5.0 * (p * (1.0 - p) / n).sqrt() + 1e-9;
                assert!(
                    (*bugs as f64 / n - p).abs() <= far,
                    "{module}, choice {choice}: {bugs} of {of}, not {p}"
                );
            }
            let growth = |at: usize| exact[at + 1] - exact[at];
            let most = (0..path.len()).map(growth).fold(0.0, f64::max);
            // The decisive choice has the largest measured growth; its exact growth may be smaller than the
            // largest. A measured growth is the difference between two figures of 200 executions each, so its
            // standard deviation is at most sqrt(2 * 0.25 / 200) = 0.05. Three of these are allowed.
            assert!(growth(decisive.decision) >= most - 0.15, "{module}: {decisive:?}, exactly {exact:?}");
            assert!(growth(decisive.decision) > 0.0, "{module}: {decisive:?}");
            let steps = path[..=decisive.decision].iter();
            let steps = steps.filter(|d| matches!(d, Decision::Pick(Pick::Step(_)))).count();
            assert_eq!(decisive.step, steps as u64);
        });
    }
}

/// The schedule that is reported to pass does pass, and first differs in the decisive choice.
#[test]
fn what_passes_instead_was_tried() {
    let mut passing = 0;
    for (module, test) in SMALL {
        let found = found(module, test);
        with(module, test, |execution, lines| {
            let explanation = explained(execution, &found, lines);
            let (Some(decisive), Some(passes)) = (explanation.decisive, explanation.passing) else { return };
            passing += 1;
            let replayed = replay(execution, &passes.trace, false).unwrap();
            assert!(
                replayed.outcome == Outcome::Passed && replayed.divergence.is_none(),
                "{module}: {replayed:?}"
            );
            let (one, other) = (&found.trace.decisions, &passes.trace.decisions);
            let common = one.iter().zip(other).take_while(|(one, other)| one == other).count();
            assert_eq!(common, decisive.decision, "{module}");
        });
    }
    assert_eq!(passing, SMALL.len());
}

#[test]
fn a_fix_needs_so_many_iterations() {
    let iterations =
        |bugs, of| Findability { rate: Rate { bugs, of }, fresh: true, grows: false }.iterations();
    // ln 0.05 / ln(1 - p).
    assert_eq!([iterations(43, 1000), iterations(1, 22), iterations(1, 2)], [69, 65, 5]);
    assert_eq!([iterations(1, 1), iterations(1, 1_000_000), iterations(0, 5)], [1, 2_995_731, u64::MAX]);
}

fn confirm(directory: &Path, module: &str, arguments: &[&str]) -> process::Ended {
    let module = examples::module_path(module);
    process::run(directory, &[&["test", module.to_str().unwrap(), "--seed", "7"], arguments].concat())
}

/// A crate's bug, its fix, and a trace that proves nothing about either.
#[test]
fn confirming_tells_a_fix_from_a_miss() {
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let found = confirm(directory, "flume_0_10_14", &[]);
    assert_eq!(found.code, Some(2), "{found:?}");
    let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
    assert!(found.line("  a fix: ").ends_with(&format!("--confirm {trace}")), "{found:?}");
    let said = |ended: &process::Ended| ended.stdout.lines().last().unwrap_or_default().to_string();

    let unchanged = confirm(directory, "flume_0_10_14", &["--confirm", trace]);
    assert_eq!(unchanged.code, Some(2), "{unchanged:?}");
    assert!(
        said(&unchanged).starts_with(". Still there: the schedule of the trace ends with panic"),
        "{unchanged:?}"
    );

    let corrected = confirm(directory, "flume_0_11_0", &["--confirm", trace]);
    assert_eq!(corrected.code, Some(0), "{corrected:?}");
    assert!(said(&corrected).starts_with(". Gone: "), "{corrected:?}");
    // Fewer iterations would not mean what this line says.
    let fewer = confirm(directory, "flume_0_11_0", &["--confirm", trace, "--iterations", "2"]);
    assert!(fewer.code == Some(0) && said(&fewer) == said(&corrected), "{fewer:?}");
    assert!(said(&fewer).ends_with("with 95 % probability"), "{fewer:?}");

    let short = confirm(directory, "flume_0_11_0", &["--confirm", trace, "--timeout", "0.001"]);
    assert_eq!(short.code, Some(6), "{short:?}");
    assert!(said(&short).starts_with(". Not enough: "), "{short:?}");

    // A trace without a measurement does not tell how many iterations are sufficient.
    let unmeasured =
        confirm(directory, "flume_0_10_14", &["--no-experiments", "--no-shrink", "--outdir", "plain"]);
    let trace = unmeasured.line("  trace:  ").trim_start_matches("  trace:  ");
    let refused = confirm(directory, "flume_0_11_0", &["--confirm", trace]);
    assert!(refused.code == Some(1) && refused.stderr.contains("give --iterations"), "{refused:?}");
    let given = confirm(directory, "flume_0_11_0", &["--confirm", trace, "--iterations", "20"]);
    assert!(given.code == Some(0) && said(&given).starts_with(". Gone: 20 iterations"), "{given:?}");
    assert!(said(&given).ends_with("how frequent it was is not known"), "{given:?}");
}

const EDITED: &str = r#"
#include <assert.h>
#include <pthread.h>
static _Atomic int sum;
#ifdef MOVED


#endif
static void *add(void *unused) { int before = sum; sum = before + 1; return unused; }
static void check(void) {
#ifdef OTHER
    assert(sum != 1);
#else
    assert(sum == 2);
#endif
}
int main(void) {
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) pthread_create(&threads[i], 0, add, 0);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], 0);
#ifdef ELSEWHERE
    assert(sum == 2);
#endif
    check();
    return 0;
}
"#;

/// A bug of an edited program is the same at other lines, and perhaps another one with other words or in another function.
#[test]
fn a_bug_of_an_edited_program_is_compared() {
    let Some(found) = c_programs::build(EDITED, &[]) else { return };
    let here = found.directory.path();
    let bug = process::run(here, &["test", "program.wasm", "--seed", "1", "--no-shrink"]);
    assert_eq!(bug.code, Some(2), "{bug:?}");
    let trace = bug.line("  trace:  ").trim_start_matches("  trace:  ");
    for (edit, said) in [
        ("-DMOVED", ". Still there: "),
        ("-DOTHER", ". Still there, or another bug of its kind, where the trace ends with assertion: "),
        ("-DELSEWHERE", ". Still there, or another bug of its kind, where the trace ends with assertion: "),
    ] {
        let edited = c_programs::build(EDITED, &[edit]).expect("the other one could be compiled");
        let module = edited.module.to_str().unwrap();
        let confirmed =
            process::run(here, &["test", module, "--seed", "1", "--confirm", trace, "--no-shrink"]);
        assert_eq!(confirmed.code, Some(2), "{edit}: {confirmed:?}");
        confirmed.line(said);
    }
}

/// As many iterations as were measured, where the first ones are made otherwise than the later ones.
#[test]
fn a_strategy_that_grows_repeats_all_iterations() {
    let rate = Rate { bugs: 300, of: 1_000 };
    let iterations = |grows| Findability { rate, fresh: true, grows }.iterations();
    assert_eq!([iterations(false), iterations(true)], [9, 1_000]);
    let directory = tempfile::tempdir().unwrap();
    let directory = directory.path();
    let module = examples::module_path("racy_counter");
    // The profiling run of this seed does not show it.
    let options = ["test", module.to_str().unwrap(), "--test", "racy", "--seed", "0", "--races", "off"];
    let found = process::run(directory, &[&options[..], &["--strategy", "random-depth"]].concat());
    let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
    assert!(found.line("  a fix: ").contains(": 1000 without it mean that it is gone"), "{found:?}");
    let still = confirm(directory, "racy_counter", &["--confirm", trace, "--races", "off"]);
    assert!(still.line(". Confirming ").contains("1000 iterations"), "{still:?}");
    assert_eq!(still.code, Some(2), "{still:?}");
}
