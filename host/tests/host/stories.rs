//! Stories of bugs, word for word: the text between the verdict and the stacks.

use super::{c_programs, golden, guest, process};
use coyote_wasm::trace::Trace;
use std::path::{Path, PathBuf};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/wasm")
}

/// The report of a bug from its verdict up to the first worker's stack.
fn told(report: &str) -> String {
    let lines = report.lines().skip_while(|line| !line.starts_with("bug in "));
    let goes_on = |line: &&str| !line.starts_with("  worker ") || line.trim_start().starts_with("worker 0  ");
    lines.take_while(goes_on).map(|line| format!("{line}\n")).collect()
}

/// Explores a test in a directory.
fn explore(directory: &Path, module: &str, test: &str, seed: u64, outdir: &Path) -> process::Ended {
    let (seed, outdir) = (seed.to_string(), outdir.to_str().unwrap());
    process::run(
        directory,
        &["test", module, "--test", test, "--races", "off", "--seed", &seed, "--outdir", outdir, "-j1"],
    )
}

/// Tests of the examples that fail; each stands for a kind of bug.
const STORIES: [(&str, &str); 22] = [
    ("account", "overdraft"),
    ("account_bad", "main"),
    ("as_counter", "main"),
    ("as_mutex", "main"),
    ("bounded_buffer", "minimal"),
    ("deadlock01_bad", "main"),
    ("dining_philosophers", "left_first"),
    ("flume_0_10_14", "main"),
    ("lazy01_bad", "main"),
    ("lost_wakeup", "lost"),
    ("memory_errors", "double_free"),
    ("memory_errors", "heap_overflow"),
    ("memory_errors", "invalid_free"),
    ("memory_errors", "use_after_free"),
    ("null_race_bad", "main"),
    ("philosophers_bad", "main"),
    ("racy_counter", "racy"),
    ("stack_bad", "main"),
    ("std_threads", "main"),
    ("trap", "division"),
    ("twostage_bad", "main"),
    ("zig_threads", "lost_wakeup"),
];

#[test]
fn stories_of_the_examples_are_as_they_were() {
    let outdir = tempfile::tempdir().unwrap();
    let mut text = String::new();
    for (module, test) in STORIES {
        let ended = explore(&examples(), &format!("{module}.wasm"), test, 1, outdir.path());
        let told = told(&ended.stdout);
        assert!(told.contains("\n   step  ") || told.lines().count() > 2, "{module} {test}: {ended:?}");
        text += &format!("--- {module}, {test}\n{told}\n");
    }
    golden::check("stories", &text);
}

/// A trace has the same story everywhere: when it is found, when it is replayed, and in another folder.
#[test]
fn the_same_trace_tells_the_same() {
    for (module, test) in
        [("racy_counter", "racy"), ("bounded_buffer", "minimal"), ("memory_errors", "use_after_free")]
    {
        let outdir = tempfile::tempdir().unwrap();
        let file = format!("{module}.wasm");
        let found = explore(&examples(), &file, test, 3, outdir.path());
        // The original trace is next to the minimised one.
        let trace = PathBuf::from(found.line("  trace: ").trim_start_matches("  trace:").trim());
        let replay = |directory: &Path, module: &str| {
            told(&process::run(directory, &["replay", module, trace.to_str().unwrap()]).stdout)
        };
        // Replay makes no experiments, so it does not know the decisive step.
        let unmarked = told(&found.stdout).replace("\n ! ", "\n   ");
        assert_eq!(replay(&examples(), &file), unmarked, "{found:?}");
        let above = examples().join("..");
        assert_eq!(replay(&above, &format!("wasm/{file}")), unmarked);
        // It contains neither an address nor the number of the iteration.
        let said = told(&found.stdout);
        let story: String = said.lines().skip(1).collect();
        assert!(!story.contains("0x") && !story.contains("iteration"), "{said}");
        assert!(Trace::read(&trace).is_ok());
    }
}

/// Statements of a story about memory are true: a program whose values are known at each line.
#[test]
fn values_are_those_of_the_program() {
    let program = r#"
#include <assert.h>
#include <pthread.h>
#include <stdbool.h>
static volatile int level = 7;
static volatile bool open;
static volatile long long big;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *run(void *unused) {
    pthread_mutex_lock(&lock);
    level = -3;
    open = true;
    big = 1LL << 40;
    pthread_mutex_unlock(&lock);
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    pthread_mutex_lock(&lock);
    int seen = level;
    pthread_mutex_unlock(&lock);
    pthread_join(thread, 0);
    level += 1;
    assert(seen == 7 || big != 1LL << 40);
    return 0;
}
"#;
    let Some(built) = c_programs::build(program, &["-g", "-O1"]) else { return };
    let ended = explore(built.directory.path(), "program.wasm", "main", 0, built.directory.path());
    let told = told(&ended.stdout);
    golden::check("story_values", &told);
}

/// Without sources, without lines and without names a story has less information, but none that is wrong.
#[test]
fn stories_without_debug_information() {
    let program = r#"
#include <assert.h>
#include <pthread.h>
static volatile int counter;
static void *run(void *unused) {
    counter = counter + 1;
    return unused;
}
int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, run, 0);
    counter = counter + 1;
    pthread_join(thread, 0);
    assert(counter == 2);
    return 0;
}
"#;
    let mut text = String::new();
    for flags in [&["-g"][..], &["-gline-tables-only"], &["-g0"]] {
        let Some(built) = c_programs::build(program, flags) else { return };
        let of = |directory: &Path| told(&explore(directory, "program.wasm", "main", 0, directory).stdout);
        text += &format!("--- {flags:?}\n{}\n", of(built.directory.path()));
        let elsewhere = tempfile::tempdir().unwrap();
        std::fs::copy(&built.module, elsewhere.path().join("program.wasm")).unwrap();
        std::fs::remove_file(built.directory.path().join("program.c")).unwrap();
        text += &format!("--- {flags:?}, without the source\n{}\n", of(elsewhere.path()));
    }
    golden::check("story_sources", &text);
}

/// Each kind of bug that the examples have, in several languages.
const SAME: [(&str, &str); 16] = [
    ("account", "overdraft"),
    ("as_mutex", "main"),
    ("bounded_buffer", "minimal"),
    ("dining_philosophers", "left_first"),
    ("lazy01_bad", "main"),
    ("lost_wakeup", "lost"),
    ("memory_errors", "double_free"),
    ("memory_errors", "heap_overflow"),
    ("memory_errors", "invalid_free"),
    ("memory_errors", "use_after_free"),
    ("memory_slot", "read_replaced"),
    ("null_race_bad", "main"),
    ("ordinary_c", "main"),
    ("racy_counter", "racy"),
    ("trap", "division"),
    ("zig_threads", "lost_wakeup"),
];

/// The whole report of a bug, without the parts about how it was found: iteration, strategy, and switches
/// before minimising.
fn canonical(report: &str) -> String {
    let lines = report.lines().skip_while(|line| !line.starts_with("bug in "));
    let lines = lines.take_while(|line| !line.starts_with("... "));
    let mut text = String::new();
    for line in lines {
        let line = match line.split_once("; found with ") {
            Some((smallest, after)) => {
                smallest.to_owned() + after.trim_start_matches(|c: char| c.is_ascii_digit())
            }
            None => line.into(),
        };
        let words = line.split(' ').map(|word| match word.rsplit_once('-') {
            Some((stem, end)) if end.ends_with(".trace") || end.ends_with(".log") => {
                let number = end.trim_end_matches(".trace").trim_end_matches(".log");
                let kept = if number.parse::<u64>().is_ok() || number == "dry" { "N" } else { number };
                format!("{}-{kept}", stem.rsplit('/').next().unwrap())
            }
            _ => word.into(),
        });
        let line = words.collect::<Vec<String>>().join(" ");
        let choices = line.starts_with("  found in iteration ").then(|| line.rsplit(", ").next().unwrap());
        text += choices.unwrap_or(&line);
        text += "\n";
    }
    text
}

/// The same bug is reported in the same words, under every seed that finds it.
#[test]
fn the_same_bug_is_told_the_same_under_every_seed() {
    for (module, test) in SAME {
        let outdir = tempfile::tempdir().unwrap();
        let told = |seed: u64| {
            let (seed, outdir) = (seed.to_string(), outdir.path().to_str().unwrap());
            let module = format!("{module}.wasm");
            // No result depends on the clock.
            let arguments =
                ["test", &module, "--test", test, "--races", "off", "--seed", &seed, "--shrink-time", "600"];
            let ended = process::run(&examples(), &[&arguments[..], &["--outdir", outdir, "-j1"]].concat());
            let text = canonical(&ended.stdout);
            assert!(text.starts_with("bug in ") && text.contains("  replay: "), "{module}: {ended:?}");
            text
        };
        let first = told(0);
        for seed in 1..guest::scaled(5, 20) {
            assert_eq!(told(seed), first, "{module}, {test}: seed {seed} and seed 0");
        }
    }
}
