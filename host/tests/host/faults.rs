//! Faults that the user enables, `--spurious-wakeups` and `--failing-try-locks`: bugs that they cause replay
//! from the trace alone.

use super::c_programs::{can, compile};
use super::{guest, process};
use coyote_cc::Language;
use coyote_wasm::runtime;
use coyote_wasm::trace::{Decision, Trace};

/// The number of faults in a trace.
fn struck(trace: &str) -> usize {
    let struck = |decision: &&Decision| matches!(decision, Decision::Value { value: 1.., .. });
    Trace::parse(trace.as_bytes()).unwrap().decisions.iter().filter(struck).count()
}

/// A test, the fault that makes it fail, and its message then.
const FAULTS: &[(&str, &str, &str)] = &[
    ("try_lock", "failing-try-locks", "the lock is free"),
    ("wait", "spurious-wakeups", "nobody signalled"),
];

#[test]
fn what_a_fault_breaks_replays() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    std::fs::copy(guest::wat_file("faults.wat"), at.join("faults.wat")).unwrap();
    let run = |arguments: &[&str]| process::run(at, arguments);
    for (test, option, message) in FAULTS {
        let given = format!("--{option}=1");
        for strategy in ["random", "dpor"] {
            let base = ["test", "faults.wat", "--test", test, "--seed", "0", "--strategy", strategy];
            let without = run(&[&base[..], &["-i", "300"]].concat());
            assert_eq!(without.code, Some(0), "{test}: {without:?}");
            // One of two values in every iteration that reaches it: 300 miss it with probability 2^-300 or
            // so.
            let found = run(&[&base[..], &["-i", "300", &given]].concat());
            assert_eq!(found.code, Some(2), "{test}: {found:?}");
            let verdict = format!("bug in test {test}: assertion: {message} (worker 0)");
            assert_eq!(found.line("bug in test "), verdict);
            let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");

            let replayed = run(&["replay", "faults.wat", trace]);
            assert_eq!(replayed.code, Some(2), "{test}: {replayed:?}");
            assert_eq!(replayed.line("bug in test "), verdict);
            assert_eq!(replayed.line(". Reproduced"), ". Reproduced: assertion");

            let text = std::fs::read_to_string(at.join(trace)).unwrap();
            let line = format!("option {option}=1");
            assert!(text.lines().any(|l| l == line), "{text}");
            // Without the line, the trace belongs to another program: the value is never requested.
            let mut lines: Vec<&str> = text.lines().filter(|l| *l != line).collect();
            let end = lines.pop().unwrap().rsplit_once(' ').unwrap().0;
            std::fs::write(at.join("edited.trace"), lines.join("\n") + "\n" + end + "\n").unwrap();
            let diverged = run(&["replay", "faults.wat", "edited.trace"]);
            assert_eq!(diverged.code, Some(4), "{test}: {diverged:?}");
            assert!(diverged.line(". Not reproduced").contains("assertion"), "{diverged:?}");
        }
    }
}

/// Tests of `cases/c/builtin_faults.c` that only one class of faults breaks.
const BUILT_IN: &[(&str, &str)] = &[
    ("io_broken", "io"),
    ("short_broken", "io"),
    ("open_broken", "io"),
    ("thread_broken", "thread"),
    ("alloc_broken", "alloc"),
    ("clock_broken", "clock"),
    ("random_broken", "random"),
];

/// Found within 1,000 iterations by the class's usual budget, and minimised to that one fault, which replays.
#[test]
fn built_in_faults_are_minimised_to_one() {
    if !can(Language::C) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let source = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/c/builtin_faults.c");
    compile(Language::C, &source, &at.join("faults.wasm"), &[]).unwrap();
    for (test, class) in BUILT_IN {
        for seed in ["1", "2", "3"] {
            let found = process::run(
                at,
                &["test", "faults.wasm", "--test", test, "-i", "1000", "--seed", seed, "--faults", class],
            );
            assert_eq!(found.code, Some(2), "{test}: {found:?}");
            let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
            let text = std::fs::read_to_string(at.join(trace)).unwrap();
            assert_eq!(struck(&text), 1, "{test}: {text}");
            let budget = format!("option faults={class}=1");
            assert!(text.lines().any(|line| line == budget), "{test}: {text}");
            let replayed = process::run(at, &["replay", "faults.wasm", trace]);
            assert_eq!(replayed.line(". Reproduced"), ". Reproduced: assertion", "{test}");
        }
    }
}

/// `--faults list` has all classes; wrong names and budgets are named.
#[test]
fn faults_on_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    std::fs::copy(guest::wat_file("faults.wat"), at.join("faults.wat")).unwrap();
    let listed = process::run(at, &["test", "--faults", "list"]);
    assert_eq!(listed.code, Some(0), "{listed:?}");
    for row in runtime::FAULTS {
        assert!(listed.stdout.lines().any(|line| line.split(' ').next() == Some(row.name)), "{listed:?}");
    }
    for (given, said) in [
        ("colour=1", "there is no class of faults colour"),
        ("io=x", "io=x: the budget is a number of faults in an execution"),
    ] {
        let wrong = process::run(at, &["test", "faults.wat", "--faults", given]);
        assert_eq!(wrong.code, Some(1), "{wrong:?}");
        assert!(wrong.stderr.contains(said), "{wrong:?}");
    }
}

/// Options that contradict a sweep are refused; a bug of a sweep has one fault, or the fewest lasting ones,
/// and replays without options; and the report lists what was tried at each place, in every format.
#[test]
fn a_sweep_on_the_command_line() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    std::fs::copy(guest::wat_file("faults.wat"), at.join("faults.wat")).unwrap();
    let run = |arguments: &[&str]| process::run(at, &[&["test", "faults.wat"], arguments].concat());
    for (given, said) in [
        (&["--fault-sweep", "try-lock", "--faults", "io"][..], "cannot be used with"),
        (&["--fault-sweep", "try-lock", "-s", "dpor"], "dpor tries all faults with all schedules by itself"),
        (&["--fault-sweep", "colour"], "there is no class of faults colour"),
        (&["--fault-sweep", "io=0"], "there is nothing to sweep"),
        (&["--sweep-samples", "3"], "--fault-sweep"),
    ] {
        let wrong = run(given);
        assert_eq!(wrong.code, Some(1), "{wrong:?}");
        assert!(wrong.stderr.contains(said), "{wrong:?}");
    }
    for (test, option, message) in FAULTS {
        let class = if *option == "failing-try-locks" { "try-lock" } else { "spurious" };
        let base = ["--test", test, "--seed", "3", "--fault-sweep", class];
        let found = run(&base);
        assert_eq!(found.code, Some(2), "{found:?}");
        assert_eq!(
            found.line("bug in test "),
            format!("bug in test {test}: assertion: {message} (worker 0)")
        );
        let trace = found.line("  trace:  ").trim_start_matches("  trace:  ");
        let text = std::fs::read_to_string(at.join(trace)).unwrap();
        assert_eq!(struck(&text), 1, "{text}");
        let replayed = process::run(at, &["replay", "faults.wat", trace]);
        assert_eq!(replayed.line(". Reproduced"), ". Reproduced: assertion");

        let markdown = run(&[&base[..], &["--format", "markdown"]].concat());
        assert!(
            markdown.stdout.contains("| fault | at | opportunities | tried | failed | bugs |"),
            "{markdown:?}"
        );
        let json = run(&[&base[..], &["--format", "json", "--jobs", "2"]].concat());
        let one = run(&[&base[..], &["--format", "json", "--jobs", "1"]].concat());
        let sweep = |output: &str| {
            let report: serde_json::Value = serde_json::from_str(output).unwrap();
            report["tests"][0]["sweep"].clone()
        };
        assert_eq!(sweep(&json.stdout), sweep(&one.stdout));
        let swept = sweep(&json.stdout);
        assert_eq!((&swept["complete"], &swept["faults"][0]), (&true.into(), &(*class).into()), "{swept}");
        assert_eq!(swept["planned"], swept["tried"]);
        let sites = swept["sites"].as_array().unwrap();
        assert!(
            sites.iter().any(|site| site["failed"].as_u64() > Some(0) && site["fault"] == *class),
            "{swept}"
        );
    }
}
