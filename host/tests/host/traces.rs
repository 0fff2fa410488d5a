//! Traces keep their meaning everywhere and for ever: those of the library, those whose message has other
//! wording now, and those of older versions.

use super::{examples, process};
use coyote_wasm::tester::Tester;
use coyote_wasm::trace::{Decision, Trace};
use std::path::Path;

/// The trace of a run of the command line.
fn found(directory: &Path, arguments: &[&str]) -> Trace {
    let found = process::run(directory, arguments);
    assert_eq!(found.code, Some(2), "{found:?}");
    Trace::read(directory.join(found.line("  trace:  ").trim_start_matches("  trace:  "))).unwrap()
}

/// The result of replaying a trace in another process.
fn replay(module: &Path, trace: &Trace) -> process::Ended {
    let directory = tempfile::tempdir().unwrap();
    trace.write(directory.path().join("bug.trace")).unwrap();
    process::run(directory.path(), &["replay", module.to_str().unwrap(), "bug.trace"])
}

/// A bug that the library found with other settings is reproduced by the command line without any options.
#[test]
fn a_trace_of_the_library_replays_from_the_command_line() {
    let module = examples::module_path("memory_errors");
    let directory = tempfile::tempdir().unwrap();
    for (test, leaks, expected) in [("use_after_free", false, "use-after-free"), ("leak", true, "leak")] {
        let mut tester = Tester::new(&std::fs::read(&module).unwrap()).unwrap();
        tester.traces = directory.path().into();
        tester.settings.detectors.set("leaks", leaks);
        for strategy in ["portfolio", "dpor"] {
            let exploration = tester.explore(test, strategy).unwrap();
            let found = &exploration.bugs[0];
            assert_eq!(found.bug.kind.name(), expected);
            let replayed = process::run(
                directory.path(),
                &["replay", module.to_str().unwrap(), found.path.to_str().unwrap()],
            );
            assert_eq!(replayed.code, Some(2), "{test} by {strategy}: {replayed:?}");
            assert_eq!(replayed.line(". Reproduced"), format!(". Reproduced: {expected}"));
        }
    }
}

/// The message is for reading: a later version may word it differently.
#[test]
fn a_reworded_message_is_the_same_bug() {
    let directory = tempfile::tempdir().unwrap();
    for (module, test) in
        [("memory_errors", "use_after_free"), ("dining_philosophers", "left_first"), ("racy_counter", "racy")]
    {
        let module = examples::module_path(module);
        let mut trace =
            found(directory.path(), &["test", module.to_str().unwrap(), "--test", test, "--seed", "0"]);
        trace.header.message = "in other words".into();
        let replayed = replay(&module, &trace);
        assert_eq!(replayed.code, Some(2), "{replayed:?}");
        assert_eq!(replayed.line(". Reproduced"), format!(". Reproduced: {}", trace.header.outcome));
    }
}

/// A trace that names another place, another worker or another bug is not reproduced by a bug of the same
/// kind.
#[test]
fn another_bug_of_the_same_kind_is_not_the_same() {
    let directory = tempfile::tempdir().unwrap();
    let module = examples::module_path("memory_errors");
    let arguments = ["test", module.to_str().unwrap(), "--test", "use_after_free", "--seed", "0"];
    let original = found(directory.path(), &arguments);
    let identity = original.header.identity.clone().expect("a bug has an identity");
    assert_eq!((identity.parties.len(), &identity.detail[..]), (1, ""));
    assert!(!identity.parties[0].stack.is_empty());
    assert_eq!(replay(&module, &original).code, Some(2));
    let with = |change: &dyn Fn(&mut coyote_wasm::identity::Identity)| {
        let mut trace = original.clone();
        change(trace.header.identity.as_mut().unwrap());
        trace
    };
    for other in [
        with(&|identity| identity.parties[0].stack[0].offset += 1),
        with(&|identity| identity.parties[0].worker.0.push(0)),
        with(&|identity| identity.parties.clear()),
        with(&|identity| identity.detail = "null-pointer".into()),
    ] {
        let replayed = replay(&module, &other);
        assert_eq!(replayed.code, Some(4), "{replayed:?}");
        assert!(replayed.line(". Not reproduced").contains("another bug of the same kind"), "{replayed:?}");
    }
}

/// Samples of each version that can be read: the schedule of `counter` in `examples/wat/files.wat`, and for
/// version 3 in the same module with a directory of the host.
const SAMPLES: [(&str, &str); 5] = [
    ("v1-files.trace", include_str!("../trace_samples/v1-files.trace")),
    ("v2-files.trace", include_str!("../trace_samples/v2-files.trace")),
    ("v3-files.trace", include_str!("../trace_samples/v3-files.trace")),
    ("v4-files.trace", include_str!("../trace_samples/v4-files.trace")),
    ("v5-files.trace", include_str!("../trace_samples/v5-files.trace")),
];

/// Traces that older versions wrote are not only read, but executed, and reproduce their bug.
#[test]
fn samples_of_all_versions_reproduce() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    super::files::in_directory(at);
    let module = examples::module_path("files");
    for (version, (name, text)) in SAMPLES.into_iter().enumerate() {
        assert!(text.starts_with(&format!("coyote-wasm trace {}\n", version + 1)), "{name}");
        let trace = Trace::parse(text.as_bytes()).unwrap();
        assert_eq!(
            trace.to_text() == text,
            version + 1 == SAMPLES.len(),
            "{name}: the newest version is written"
        );
        assert_eq!(Trace::parse(trace.to_text().as_bytes()).unwrap(), trace, "{name}");
        std::fs::write(at.join(name), text).unwrap();
        let module = if version + 1 == 3 { "files.wat" } else { module.to_str().unwrap() };
        let replayed = process::run(at, &["replay", module, name]);
        assert_eq!(replayed.code, Some(2), "{name}: {replayed:?}");
        let verdict = "bug in test counter: assertion: an update is lost (worker 0)";
        assert_eq!(replayed.line("bug in test"), verdict, "{name}");
        assert_eq!(replayed.line(". Reproduced"), ". Reproduced: assertion", "{name}");

        // The schedule decides: without the last decision of a worker it is a different one.
        let mut cut = trace;
        let last = cut.decisions.iter().rposition(|d| matches!(d, Decision::Step { .. })).unwrap();
        cut.decisions.remove(last);
        std::fs::write(at.join(name), cut.to_text()).unwrap();
        assert_eq!(process::run(at, &["replay", module, name]).code, Some(4), "{name}");
    }
}

/// Samples that end where a round of steps begins: of `trace_samples/rounds.wat`, to whose first round taking turns
/// leads, and whose second one is in the trace.
const ROUNDS: [(&str, &str, usize); 2] = [
    ("v5-round.trace", include_str!("../trace_samples/v5-round.trace"), 6),
    ("v5-cycle.trace", include_str!("../trace_samples/v5-cycle.trace"), 4),
];

/// Traces with the options `round` and `cycle` that older tools wrote reproduce their round.
#[test]
fn samples_of_rounds_reproduce() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    std::fs::write(at.join("rounds.wat"), include_str!("../trace_samples/rounds.wat")).unwrap();
    for (name, text, steps) in ROUNDS {
        assert!(text.contains("\noption round=1\n"), "{name}");
        assert_eq!(text.contains("\noption cycle=0.1,0.0,0.1,0.1\n"), name == "v5-cycle.trace", "{name}");
        let trace = Trace::parse(text.as_bytes()).unwrap();
        assert_eq!(trace.to_text(), text, "{name}");
        let replayed = |text: &str| {
            std::fs::write(at.join(name), text).unwrap();
            process::run(at, &["replay", "rounds.wat", name])
        };
        let same = replayed(text);
        assert_eq!(same.code, Some(2), "{name}: {same:?}");
        assert!(same.line("bug in test").contains(&format!("can repeat a round of {steps} steps")), "{name}");
        assert_eq!(same.line(". Reproduced"), ". Reproduced: lasso", "{name}");
        let mut other = trace;
        other.header.options.retain(|(option, _)| option != "cycle");
        other.header.options.push(("cycle".into(), "0.1".into()));
        assert_eq!(replayed(&other.to_text()).code, Some(4), "{name}: a worker that has no round");
    }
}

/// cargo names the module by an absolute path and runs the tool in the package's directory. The user may be
/// elsewhere.
#[test]
fn the_replay_command_works_from_any_directory() {
    let (package, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let module = examples::module_path("racy_counter");
    let module = module.to_str().unwrap();
    let arguments = ["test", module, "--test", "racy", "--races", "off", "--seed", "0"];
    let found = process::run(package.path(), &arguments);
    let command = found.line("  replay: ").trim_start_matches("  replay: coyote-wasm ");
    let replayed = process::run(elsewhere.path(), &command.split(' ').collect::<Vec<_>>());
    assert_eq!(replayed.line(". Reproduced"), ". Reproduced: assertion");
    assert!(Path::new(found.line("  log: ").split_whitespace().nth(1).unwrap()).is_absolute(), "{found:?}");
    let json = process::run(package.path(), &[&arguments[..], &["--format", "json"]].concat());
    let run: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert!(Path::new(run["tests"][0]["bugs"][0]["trace"].as_str().unwrap()).is_absolute(), "{json:?}");

    // If the module is named by a relative path, the command contains relative ones.
    std::fs::copy(module, package.path().join("racy_counter.wasm")).unwrap();
    let found = process::run(
        package.path(),
        &["test", "racy_counter.wasm", "--test", "racy", "--races", "off", "--seed", "0"],
    );
    let command = found.line("  replay: ");
    assert!(
        command.starts_with("  replay: coyote-wasm replay racy_counter.wasm coyote-output/"),
        "{command}"
    );
}
