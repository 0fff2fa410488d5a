//! Data races of generated programs; their use of locks decides whether there is one.

use super::c_programs::{can, compile};
use super::process;
use coyote_cc::Language;
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

const VARIABLES: u64 = 3;

/// A thread's accesses: the variable, and whether under that variable's lock.
type Thread = Vec<(u64, bool)>;

/// Threads whose every access of a variable is under its lock, except for one if `broken`. That one is in a
/// race with each access of the variable by another thread: nothing that its thread does after it orders it
/// before the other.
fn program(index: u64, broken: bool) -> Vec<Thread> {
    let mut rng = ChoiceRng::new(Iteration { seed: 31, index });
    let mut threads: Vec<Thread> = (0..2 + rng.below(2))
        .map(|_| (0..1 + rng.below(3)).map(|_| (rng.below(VARIABLES), true)).collect())
        .collect();
    // Another thread accesses it too.
    let variable = threads[0][0].0;
    threads[1].push((variable, true));
    if broken {
        threads[0][0].1 = false;
    }
    threads
}

fn source(programs: u64, broken: bool) -> String {
    let mut text = "#include <coyote.h>\n#include <pthread.h>\n".to_string();
    for index in 0..programs {
        let threads = program(index, broken);
        writeln!(text, "static int x_{index}[{VARIABLES}]; static pthread_mutex_t m_{index}[{VARIABLES}];")
            .unwrap();
        for (number, accesses) in threads.iter().enumerate() {
            writeln!(text, "static void *t_{index}_{number}(void *a) {{").unwrap();
            for (variable, locked) in accesses {
                let access = format!("x_{index}[{variable}]++;");
                let (lock, unlock) = (
                    format!("pthread_mutex_lock(&m_{index}[{variable}]);"),
                    format!("pthread_mutex_unlock(&m_{index}[{variable}]);"),
                );
                let line = if *locked { format!("{lock} {access} {unlock}") } else { access };
                writeln!(text, "  {line}").unwrap();
            }
            text += "  return a;\n}\n";
        }
        writeln!(text, "COYOTE_TEST(p_{index}) {{ pthread_t t[{}];", threads.len()).unwrap();
        for number in 0..threads.len() {
            writeln!(text, "  pthread_create(&t[{number}], 0, t_{index}_{number}, 0);").unwrap();
        }
        for number in 0..threads.len() {
            writeln!(text, "  pthread_join(t[{number}], 0);").unwrap();
        }
        text += "}\n";
    }
    text
}

/// The tests of a module in which a data race is found.
fn racy(directory: &Path, programs: u64, broken: bool, options: &[&str]) -> BTreeSet<String> {
    let (code, module) = (directory.join("p.c"), directory.join("p.wasm"));
    std::fs::write(&code, source(programs, broken)).unwrap();
    let flags = ["-O1", "-w", "-mexec-model=reactor"];
    compile(Language::C, &code, &module, &flags).unwrap_or_else(|log| panic!("{log}"));
    let arguments = [&["test", "p.wasm", "--detect", "races", "--seed", "0"], options].concat();
    let ended = process::run(directory, &arguments);
    assert!(matches!(ended.code, Some(0 | 2)), "{ended:?}");
    let bugs = ended.stdout.lines().filter_map(|line| line.strip_prefix("bug in test "));
    let names = bugs.map(|bug| {
        let (name, what) = bug.split_once(": ").unwrap();
        assert!(what.starts_with("data-race: "), "{bug}");
        name.to_string()
    });
    names.collect()
}

/// Programs that always take their locks have no race, and each with one lock less has one.
#[test]
fn locks_decide() {
    if !can(Language::C) {
        return;
    }
    let programs = 40;
    let directory = tempfile::tempdir().unwrap();
    let all: BTreeSet<String> = (0..programs).map(|index| format!("p_{index}")).collect();
    for options in [&["-s", "dpor", "--max-steps", "2000", "-t", "5"][..], &["-i", "100"]] {
        assert_eq!(racy(directory.path(), programs, false, options), BTreeSet::new(), "{options:?}");
    }
    assert_eq!(racy(directory.path(), programs, true, &["-s", "dpor"]), all);
    assert_eq!(racy(directory.path(), programs, true, &["-i", "1000"]), all);
}

/// Examples without a race have none under any of these strategies.
#[test]
fn correct_examples_have_none() {
    let modules = [
        ("std_threads_fixed", "main"),
        ("crossbeam_channel_0_5_8", "main"),
        ("flume_0_11_0", "main"),
        ("bounded_buffer", "minimal_notify_all"),
        ("account", "overdraft_fixed"),
        ("dining_philosophers", "ordered"),
        ("sct_queue", "queue_correct"),
    ];
    let directory = tempfile::tempdir().unwrap();
    for (module, test) in modules {
        let file = format!("{}/../examples/wasm/{module}.wasm", env!("CARGO_MANIFEST_DIR"));
        let arguments = ["test", &file, "--test", test, "--detect", "races", "-i", "100", "--seed", "1"];
        let ended = process::run(directory.path(), &arguments);
        assert_eq!(ended.code, Some(0), "{module}: {}{}", ended.stdout, ended.stderr);
    }
}

/// If races cannot be detected in a module, this is an error, not a test that passes.
#[test]
fn nothing_to_see_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = format!("{}/../examples/wasm/racy_counter.wasm", env!("CARGO_MANIFEST_DIR"));
    let arguments = ["test", &file, "--detect", "races", "--no-memory-errors"];
    let ended = process::run(directory.path(), &arguments);
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("leave --no-memory-errors out"), "{}", ended.stderr);
}
