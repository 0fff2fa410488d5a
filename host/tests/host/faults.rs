//! Faults that the user allows, `--spurious-wakeups` and `--failing-try-locks`: what they find replays, by
//! what the trace says and nothing else.

use super::{guest, process};

/// A test, the option that it fails with, and what it says then.
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
            // One of two values in every iteration that comes to it: 300 miss it with 2^-300, or so.
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
            // A trace that does not say it is of another program: nobody asks for the value.
            let mut lines: Vec<&str> = text.lines().filter(|l| *l != line).collect();
            let end = lines.pop().unwrap().rsplit_once(' ').unwrap().0;
            std::fs::write(at.join("edited.trace"), lines.join("\n") + "\n" + end + "\n").unwrap();
            let diverged = run(&["replay", "faults.wat", "edited.trace"]);
            assert_eq!(diverged.code, Some(4), "{test}: {diverged:?}");
            assert!(diverged.line(". Not reproduced").contains("assertion"), "{diverged:?}");
        }
    }
}
