//! Data races of generated programs, whose locks say whether there is one.

use super::c_programs::{can, compile};
use super::{examples, guest, process};
use coyote_cc::Language;
use coyote_wasm::execution::Test;
use coyote_wasm::instrumenter::Options;
use coyote_wasm::observe::{Event, GuestState, Interest, Observer};
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{Iteration, RandomWalk, System};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const VARIABLES: u64 = 3;

/// A thread's accesses: which variable, and whether under that variable's lock.
type Thread = Vec<(u64, bool)>;

/// Threads whose every access of a variable is under its lock, but for one if `broken`. That one is in a race with
/// each access of the variable by another thread: nothing that its thread does after it comes before the other.
fn program(index: u64, broken: bool) -> Vec<Thread> {
    let mut rng = ChoiceRng::new(Iteration { seed: 31, index });
    let mut threads: Vec<Thread> = (0..2 + rng.below(2))
        .map(|_| (0..1 + rng.below(3)).map(|_| (rng.below(VARIABLES), true)).collect())
        .collect();
    // Of another thread, too.
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

/// Programs that keep to their locks have no race, and each with one lock less has one.
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

/// Examples without a race have none under any of these.
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

/// What cannot be looked for is an error, not a test that passes.
#[test]
fn nothing_to_see_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let file = format!("{}/../examples/wasm/racy_counter.wasm", env!("CARGO_MANIFEST_DIR"));
    let arguments = ["test", &file, "--detect", "races", "--no-memory-errors"];
    let ended = process::run(directory.path(), &arguments);
    assert_eq!(ended.code, Some(1), "{}{}", ended.stdout, ended.stderr);
    assert!(ended.stderr.contains("leave --no-memory-errors out"), "{}", ended.stderr);
}

/// Counts the accesses that it is told of.
struct Counter {
    interest: Interest,
    told: Arc<AtomicUsize>,
}

impl Observer for Counter {
    fn interest(&self) -> Interest {
        self.interest
    }

    fn event(&mut self, _: &GuestState<'_>, event: &Event<'_>) {
        self.told.fetch_add(usize::from(matches!(event, Event::Access(_))), Ordering::Relaxed);
    }
}

/// What who looks for races is not told shows none: one who is told of every access comes to the same end, and knows the
/// same. On the spot as well as with an unwind at every scheduling point.
#[test]
fn repetitions_show_nothing() {
    let (mut ends, mut few, mut all) = (BTreeSet::new(), 0, 0);
    for (module, test) in [
        ("account", "overdraft_fixed"),
        ("bounded_buffer", "minimal_notify_all"),
        ("crossbeam_channel_0_5_7", "main"),
        ("flume_0_11_0", "main"),
        ("ordinary_c", "main"),
        ("racy_counter", "racy"),
        ("sct_queue", "queue_correct"),
        ("sct_stack", "stack"),
        ("std_threads", "main"),
    ] {
        let wasm = std::fs::read(examples::module_path(module)).unwrap();
        let artifact = guest::compile(&wasm, &Options { exchanges: true, ..Options::default() }).unwrap();
        let tests = Test::all(&artifact.table);
        let test = tests.iter().find(|t| t.name == test).unwrap_or(&tests[0]).name.clone();
        let mut settings = guest::settings();
        assert!(settings.detectors.set("races", true));
        guest::with(&artifact, &test, &settings, |execution| {
            for index in 0..40 {
                let mut run = |interest: Interest| {
                    let told = Arc::new(AtomicUsize::new(0));
                    execution.observe(Box::new(Counter { interest, told: told.clone() }));
                    let iteration = Iteration { seed: 5, index };
                    let (outcome, _) = execution.run(Box::new(RandomWalk::default()), iteration).unwrap();
                    execution.take_observers();
                    let choices = execution.choices().to_vec();
                    ((outcome, choices, execution.fingerprint()), told.load(Ordering::Relaxed))
                };
                let (seldom, told_few) = run(Interest::RACES);
                let (always, told_all) = run(Interest::ACCESSES);
                assert!(seldom == always, "{module}, iteration {index}: {:?}, {:?}", seldom.0, always.0);
                let (unwound, _) = run(Interest::RACES | Interest::STACKS);
                assert_eq!((&seldom.0, &seldom.1), (&unwound.0, &unwound.1), "{module}, iteration {index}");
                assert!(told_few <= told_all, "{module}");
                ends.insert(seldom.0.is_bug());
                (few, all) = (few + told_few, all + told_all);
            }
        });
    }
    assert_eq!(ends.len(), 2, "races are found, and none");
    assert!(few < all, "{few} of {all} accesses are told");
}
