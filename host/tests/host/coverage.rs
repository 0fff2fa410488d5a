//! Executed lines, by `--coverage`: compared with other tools' counts of the same program, with counts
//! derived from a program by hand, and with other ways to execute the same schedule.

use super::c_programs::{Built, build};
use super::examples::module_path;
use super::{guest, process};
use coyote_wasm::coverage::instructions;
use coyote_wasm::instrumenter::{HeapPoints, Options};
use coyote_wasm::results::ExecutionCounts;
use coyote_wasm::strategies::{Iteration, RandomWalk};
use coyote_wasm::symbols::Symbols;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

/// The record of a file in a tracefile.
#[derive(Debug, Default, PartialEq, Eq)]
struct Record {
    lines: BTreeMap<u32, u64>,
    functions: BTreeMap<String, u64>,
    /// First lines of functions.
    begins: BTreeMap<String, u32>,
}

/// The records of a tracefile, by the names of their files. Checks the sums in it.
fn read(tracefile: &str) -> BTreeMap<String, Record> {
    let mut all = BTreeMap::new();
    let mut record = Record::default();
    let mut file = String::new();
    let mut sums = BTreeMap::new();
    for line in tracefile.lines() {
        let (key, value) = line.split_once(':').unwrap_or((line, ""));
        let pair = || value.split_once(',').unwrap_or_else(|| panic!("{line}"));
        let number = |text: &str| text.parse::<u64>().unwrap_or_else(|e| panic!("{line}: {e}"));
        match key {
            "SF" => file = Path::new(value).file_name().unwrap().to_string_lossy().into_owned(),
            "DA" => record.lines.extend([(number(pair().0) as u32, number(pair().1))]),
            "FN" => record.begins.extend([(pair().1.to_string(), number(pair().0) as u32)]),
            "FNDA" => record.functions.extend([(pair().1.to_string(), number(pair().0))]),
            "LF" | "LH" | "FNF" | "FNH" => sums.extend([(key.to_string(), number(value) as usize)]),
            "end_of_record" => {
                let executed = |counts: &mut dyn Iterator<Item = &u64>| counts.filter(|n| **n > 0).count();
                let expected = [
                    ("LF", record.lines.len()),
                    ("LH", executed(&mut record.lines.values())),
                    ("FNF", record.functions.len()),
                    ("FNH", executed(&mut record.functions.values())),
                ];
                for (key, expected) in expected {
                    assert_eq!(sums.get(key), Some(&expected), "{key} of {file}:\n{tracefile}");
                }
                sums.clear();
                all.insert(std::mem::take(&mut file), std::mem::take(&mut record));
            }
            _ => {}
        }
    }
    all
}

/// Runs a test with coverage. Returns the record of its only source, and how the run ended.
fn covered(built: &Built, source: &str, options: &[&str]) -> (Record, process::Ended) {
    let arguments = [&["test", "program.wasm", "--seed", "0", "--coverage", "cov.info"], options].concat();
    let ended = process::run(built.directory.path(), &arguments);
    let path = built.directory.path().join("cov.info");
    let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{e}: {ended:?}"));
    let mut all = read(&text);
    assert_eq!(all.keys().collect::<Vec<_>>(), [source], "only the guest's own source: {ended:?}");
    (all.remove(source).unwrap(), ended)
}

/// A program with everything in which counts of lines may differ.
const SEQUENTIAL: &str = r#"#include <stdio.h>
#include <stdlib.h>

static int calls;
typedef int (*order)(const void *, const void *);

static void sort(int *values, int count, order before)
{
    for (int i = 1; i < count; i++) {
        for (int j = i; j > 0 && before(&values[j], &values[j - 1]) < 0; j--) {
            int other = values[j];
            values[j] = values[j - 1];
            values[j - 1] = other;
        }
    }
}


static int fibonacci(int n)
{
    calls++;
    if (n < 2)
        return n;
    return fibonacci(n - 1) + fibonacci(n - 2);
}

static int never(int x)
{
    if (x)
        return 1;
    return 2;
}

static const char *name(int kind)
{
    switch (kind) {
    case 0:
        return "zero";
    case 1:
        calls++;
        /* fall through */
    case 2:
        return "few";
    default:
        break;
    }
    return "many";
}

static int collatz(unsigned n)
{
    int steps = 0;
    while (n != 1) {
        if (n % 2)
            n = 3 * n + 1;
        else
            n /= 2;
        steps++;
    }
    do {
        steps--;
    } while (steps > 100);
    return steps;
}

static int compare(const void *a, const void *b)
{
    const int x = *(const int *)a;
    const int y = *(const int *)b;
    if (x < y)
        return -1;
    return x > y ? 1 : 0;
}

int main(int argc, char **argv)
{
    int values[8];
    int sum = 0;
    for (int i = 0; i < 8; i++)
        values[i] = (i * 5) % 8;
    sort(values, 8, compare);
    for (int i = 0; i < 8; i++) {
        if (i == 2)
            continue;
        if (i == 6)
            goto out;
        sum += values[i];
    }
    sum = -1;
out:
    for (int kind = 0; kind < 5; kind++)
        printf("%s\n", name(kind));
    sum += fibonacci(10) + collatz(27);
    if (argc > 100 && never(argc))
        exit(3);
    if (sum < 0 ||
        calls == 0)
        return never(0);
    return 0;
}
"#;

/// The output of a tool of LLVM or GCC, if it succeeds.
fn succeeds(directory: &Path, program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(arguments)
        .current_dir(directory)
        .env("LLVM_PROFILE_FILE", "native.profraw")
        .output()
        .ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Counts of a native executable by clang's source-based coverage.
fn by_clang(directory: &Path) -> Option<Record> {
    ["", "-19", "-18", "-20", "-21"].iter().find_map(|version| {
        let tool = |name: &str| format!("{name}{version}");
        let flags =
            ["-O0", "-g", "-fprofile-instr-generate", "-fcoverage-mapping", "program.c", "-o", "native"];
        succeeds(directory, &tool("clang"), &flags)?;
        succeeds(directory, "./native", &[])?;
        let merge = ["merge", "native.profraw", "-o", "native.profdata"];
        succeeds(directory, &tool("llvm-profdata"), &merge)?;
        let export = ["export", "-format=lcov", "-instr-profile=native.profdata", "native"];
        // Its sums of functions count something else.
        let text = succeeds(directory, &tool("llvm-cov"), &export)?;
        let text: Vec<&str> =
            text.lines().filter(|line| line.starts_with("DA:") || line.starts_with("FNDA:")).collect();
        Some(unchecked(&text))
    })
}

/// Counts of a native executable by gcov.
fn by_gcov(directory: &Path) -> Option<Record> {
    succeeds(directory, "gcc", &["-O0", "--coverage", "program.c", "-o", "counted"])?;
    succeeds(directory, "./counted", &[])?;
    let text = succeeds(directory, "gcov", &["--stdout", "counted-program.gcda"])?;
    // `     11*:   63:    text`: executed; `#####`: not; `-`: no code.
    let mut record = Record::default();
    for line in text.lines() {
        let mut parts = line.splitn(3, ':').map(str::trim);
        let (Some(times), Some(line)) = (parts.next(), parts.next().and_then(|line| line.parse().ok()))
        else {
            continue;
        };
        let times = match times.trim_end_matches('*') {
            "-" => continue,
            times if times.starts_with(['#', '=']) => 0,
            times => times.parse().unwrap_or_else(|e| panic!("{times}: {e}")),
        };
        record.lines.insert(line, times);
    }
    Some(record)
}

fn unchecked(lines: &[&str]) -> Record {
    let mut record = Record::default();
    for line in lines {
        let (first, second) = line.split_once(':').and_then(|(_, pair)| pair.split_once(',')).unwrap();
        if line.starts_with("DA:") {
            record.lines.insert(first.parse().unwrap(), second.parse().unwrap());
        } else {
            // The names of static functions contain their file.
            let name = second.rsplit(':').next().unwrap();
            record.functions.insert(name.into(), first.parse().unwrap());
        }
    }
    record
}

/// Lines that both records contain.
fn common<'a>(one: &'a Record, other: &'a Record) -> impl Iterator<Item = (u32, u64, u64)> + 'a {
    one.lines.iter().filter_map(|(line, times)| Some((*line, *times, *other.lines.get(line)?)))
}

#[test]
fn a_sequential_program_has_the_counts_of_other_tools() {
    let Some(built) = build(SEQUENTIAL, &["-O0", "-g"]) else { return };
    let (ours, ended) = covered(&built, "program.c", &["-s", "random", "-i", "1"]);
    assert_eq!(ended.code, Some(5), "it has no choice: {ended:?}");
    let mut compared = 0;
    let directory = built.directory.path();
    for (tool, theirs) in [("clang", by_clang(directory)), ("gcov", by_gcov(directory))] {
        let Some(theirs) = theirs else {
            eprintln!("skipped: no coverage by {tool} here");
            continue;
        };
        let different: Vec<_> = common(&ours, &theirs).filter(|(_, ours, theirs)| ours != theirs).collect();
        assert!(different.is_empty(), "line, ours, {tool}'s: {different:?}");
        let lines = common(&ours, &theirs).count();
        assert!(lines > 40, "only {lines} lines are compared with {tool}: {ours:?} {theirs:?}");
        for (function, times) in &theirs.functions {
            // The name that compilers for WASI give to a `main` with arguments.
            let function = if function == "main" { "__main_argc_argv" } else { function };
            assert_eq!(ours.functions.get(function), Some(times), "{function} by {tool}");
        }
        compared += 1;
    }
    eprintln!("compared with {compared} tools");
    let line = |text: &str| SEQUENTIAL.lines().position(|line| line.contains(text)).unwrap() as u32 + 1;
    assert_eq!(ours.lines[&line("calls++;")], 177, "fibonacci(10)");
    assert_eq!((ours.functions["never"], ours.functions["name"]), (0, 5));
}

/// Two threads; counts do not depend on the schedule.
const CONCURRENT: &str = r#"#include <pthread.h>
#include <assert.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int counter;

static void *add(void *unused)
{
    for (int i = 0; i < 3; i++) {      // LOOP
        pthread_mutex_lock(&mutex);    // LOCK
        int seen = __atomic_load_n(&counter, __ATOMIC_RELAXED);  // READ
        pthread_mutex_unlock(&mutex);  // UNLOCK
#ifdef RACY
        pthread_mutex_lock(&mutex);
        counter = seen + 1;
        pthread_mutex_unlock(&mutex);
#else
        (void)seen;
        __atomic_fetch_add(&counter, 1, __ATOMIC_SEQ_CST);  // ADD
#endif
    }
    return unused;                     // END
}

static int never(void)
{
    return 7;                          // NEVER
}

int main(void)
{
    pthread_t threads[2];              // NOTHING
    for (int i = 0; i < 2; i++)        // START
        pthread_create(&threads[i], 0, add, 0);  // CREATE
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], 0);   // JOIN
    assert(counter == 6);              // ASSERT
    if (counter > 6)
        return never();                // CALL
    return 0;                          // PASSED
}
"#;

/// The count of the line with this comment.
fn at(record: &Record, comment: &str) -> Option<u64> {
    let comment = format!("// {comment}");
    let line = CONCURRENT.lines().position(|line| line.ends_with(&comment)).unwrap() as u32 + 1;
    record.lines.get(&line).copied()
}

#[test]
fn counts_of_a_concurrent_program_follow_from_it() {
    let Some(built) = build(CONCURRENT, &["-O0", "-g"]) else { return };
    for (iterations, options) in [
        (50, &["-i", "50", "-j", "1"][..]),
        (50, &["-i", "50", "-j", "2"]),
        (50, &["-i", "50", "--heap-points", "shared"]),
        (50, &["-i", "50", "--heap-points", "all", "-s", "pct"]),
        (3, &["-i", "3", "--no-cache", "-s", "pos"]),
        // Repeated for comparison, but counted once.
        (7, &["-i", "7", "-s", "random", "--check-determinism"]),
        (2, &["-i", "2", "--points", "sync", "-s", "random"]),
    ] {
        let (record, ended) = covered(&built, "program.c", options);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        // The profiling run of a strategy that needs one counts too.
        let executed: u64 = ended.line("... Explored ").split(' ').nth(2).unwrap().parse().unwrap();
        assert!((iterations..=iterations + 1).contains(&executed), "{ended:?}");
        let counts = |comments: &[&str]| comments.iter().map(|c| at(&record, c)).collect::<Vec<_>>();
        let times = |times: &[u64]| times.iter().map(|n| Some(n * executed)).collect::<Vec<_>>();
        let lines = ["LOOP", "LOCK", "READ", "UNLOCK", "ADD", "END", "NEVER", "CALL"];
        assert_eq!(counts(&lines), times(&[8, 6, 6, 6, 6, 2, 0, 0]), "{options:?}: {record:?}");
        let lines = ["START", "CREATE", "JOIN", "ASSERT", "PASSED"];
        assert_eq!(counts(&lines), times(&[3, 2, 2, 1, 1]), "{options:?}: {record:?}");
        assert_eq!(at(&record, "NOTHING"), None);
        let functions: Vec<_> = record.functions.iter().map(|(name, times)| (&name[..], *times)).collect();
        let [add, main] = [2 * executed, executed];
        assert!(functions.contains(&("add", add)) && functions.contains(&("never", 0)), "{functions:?}");
        assert!(
            functions.iter().any(|(name, times)| name.contains("main") && *times == main),
            "{functions:?}"
        );
        assert_eq!(functions.len(), 3, "{functions:?}");
    }
}

/// Iterations up to the first bug count, but not its replays and the search for a shorter trace; and the
/// trace is that of a run without coverage.
#[test]
fn what_comes_after_a_bug_does_not_count() {
    let Some(built) = build(CONCURRENT, &["-O0", "-g", "-DRACY"]) else { return };
    let directory = built.directory.path();
    let trace = || {
        let traces = std::fs::read_dir(directory.join("coyote-output")).unwrap().map(|e| e.unwrap().path());
        let mut traces = traces.filter(|path| path.extension().is_some_and(|e| e == "trace"));
        let text = std::fs::read_to_string(traces.next().expect("a bug has a trace")).unwrap();
        std::fs::remove_dir_all(directory.join("coyote-output")).unwrap();
        text
    };
    for options in [&["-s", "random"][..], &["-s", "random", "-j", "2"], &["--heap-points", "shared"]] {
        let (record, ended) = covered(&built, "program.c", options);
        assert_eq!(ended.code, Some(2), "{ended:?}");
        let executed: u64 = ended.line("... Explored ").split(' ').nth(2).unwrap().parse().unwrap();
        let counts = ["START", "CREATE", "JOIN", "ASSERT", "END", "LOCK"].map(|c| at(&record, c).unwrap());
        assert_eq!(counts, [3, 2, 2, 1, 2, 6].map(|n| n * executed), "{options:?}: {ended:?}");
        assert_eq!(at(&record, "PASSED"), Some(executed - 1), "not after the assertion failed");
        let counted = trace();
        let plain = process::run(directory, &[&["test", "program.wasm", "--seed", "0"], options].concat());
        assert_eq!(plain.code, Some(2), "{plain:?}");
        assert_eq!(counted, trace(), "{options:?}");
    }
}

/// A search restores states; what it executed once counts once, and lines that no schedule reaches do not
/// count.
#[test]
fn a_search_knows_what_can_be_executed() {
    let Some(built) = build(CONCURRENT, &["-O0", "-g", "-DRACY"]) else { return };
    for strategy in ["dpor", "dfs", "stateful"] {
        let options = ["-s", strategy, "--explore", "-i", "300"];
        let (record, ended) = covered(&built, "program.c", &options);
        // Plain depth-first search has not reached the bug within these iterations.
        assert_eq!(ended.code, Some(if strategy == "dfs" { 0 } else { 2 }), "{ended:?}");
        for comment in
            ["LOOP", "LOCK", "READ", "UNLOCK", "END", "START", "CREATE", "JOIN", "ASSERT", "PASSED"]
        {
            assert!(at(&record, comment).is_some_and(|times| times > 0), "{strategy}: {comment}: {record:?}");
        }
        assert_eq!([at(&record, "NEVER"), at(&record, "CALL")], [Some(0), Some(0)], "{strategy}");
        // The code before the threads start can be executed in only one way.
        assert!(at(&record, "START").unwrap() < at(&record, "LOCK").unwrap(), "{strategy}: {record:?}");
    }
}

/// Instructions are counted equally often whether a worker is unwound and rewound at every scheduling point
/// or hardly ever, and also if the search for livelocks restores states in between.
#[test]
fn unwinding_does_not_count_twice() {
    let mut counted = 0;
    for (module, test) in [
        ("bounded_buffer", "one_reader_one_writer"),
        ("bounded_buffer", "random_config"),
        ("racy_counter", "racy"),
        ("counts", "peterson"),
        ("std_threads", "*"),
        ("eventually", "*"),
        ("ordinary_c", "*"),
    ] {
        let wasm = std::fs::read(module_path(module)).unwrap();
        let symbols = Symbols::new(&wasm);
        for heap_points in [HeapPoints::All, HeapPoints::Shared] {
            let options =
                Options { counted: instructions(&wasm, &symbols), heap_points, ..Options::default() };
            assert!(!options.counted.is_empty(), "{module} has line tables");
            let artifact = guest::compile(&wasm, &options).unwrap();
            let plain = guest::compile(&wasm, &Options { counted: Vec::new(), ..options }).unwrap();
            assert_eq!(artifact.table.sites, plain.table.sites, "{module}: points stay the same");
            let all = coyote_wasm::execution::Test::all(&artifact.table);
            for test in all.iter().filter(|t| test == "*" || t.name == test).take(3) {
                let settings = guest::settings();
                guest::with(&artifact, &test.name, &settings, |execution| {
                    for index in 0..10 {
                        let iteration = Iteration { seed: 5, index };
                        execution.run(Box::new(RandomWalk::default()), iteration).unwrap();
                        let inline = execution.machine_mut().take_counts().unwrap();
                        let choices = execution.choices().len();
                        let mut strategy = RandomWalk::default();
                        execution.run_stepwise(&mut strategy, iteration, &mut |_| {}).unwrap();
                        let stepwise = execution.machine_mut().take_counts().unwrap();
                        // An iteration that ends as a livelock may end at another place in the stepwise
                        // execution.
                        if choices == execution.choices().len() {
                            assert!(
                                inline == stepwise,
                                "{module} {} {index}: {}",
                                test.name,
                                differ(&inline, &stepwise)
                            );
                            counted += inline.0.values().sum::<u64>();
                        }
                    }
                });
            }
        }
    }
    assert!(counted > 10_000, "only {counted} counts were compared");
}

fn differ(one: &ExecutionCounts, other: &ExecutionCounts) -> String {
    let differs = |offset: &&u32| one.0.get(offset) != other.0.get(offset);
    let offsets: Vec<&u32> = one.0.keys().chain(other.0.keys()).filter(differs).take(9).collect();
    format!(
        "at {offsets:?}: {:?}",
        offsets.iter().map(|o| (one.0.get(o), other.0.get(o))).collect::<Vec<_>>()
    )
}

/// An optimised Rust guest: counts derived from the program, wherever the compiler has put its functions.
#[test]
fn a_rust_guest_has_its_lines() {
    let directory = tempfile::tempdir().unwrap();
    let module = module_path("bounded_buffer");
    let tests = ["minimal_notify_all", "one_reader_one_writer"];
    let mut arguments = vec!["test", module.to_str().unwrap(), "--seed", "0", "-i", "20", "-s", "random"];
    arguments.extend(["--coverage", "cov.info"]);
    tests.iter().for_each(|test| arguments.extend(["--test", test]));
    let ended = process::run(directory.path(), &arguments);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains(" were executed: cov.info"), "{ended:?}");
    let all = read(&std::fs::read_to_string(directory.path().join("cov.info")).unwrap());
    assert_eq!(all.len(), 1, "neither std nor the library of guests: {:?}", all.keys());
    let record = &all["lib.rs"];
    let source = guest::root().join("examples/rust/bounded_buffer/src/lib.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let at = |text: &str| {
        let line = source.lines().position(|line| line.trim() == text).unwrap_or_else(|| panic!("{text}"));
        record.lines.get(&(line as u32 + 1)).copied()
    };
    // In each of 20 iterations, 10 items by a reader and a writer, and 10 by a writer and two readers.
    assert_eq!(at("buffer.put(item);"), Some(400), "{record:?}");
    assert_eq!(at("buffer.take();"), Some(400), "{record:?}");
    assert_eq!(at("state.occupied += 1;"), Some(400), "{record:?}");
    assert_eq!(at("state.occupied -= 1;"), Some(400), "{record:?}");
    assert_eq!(at("run(1, Wakeup::NotifyAll, &[5, 5], &[10]);"), Some(20), "{record:?}");
    assert_eq!(at("run(1, Wakeup::NotifyOne, &[5, 5], &[10]);"), Some(0), "{record:?}");
    assert_eq!(at("let length = nondet::int(1..=5);"), Some(0), "{record:?}");
}

/// Debian's lcov reads the file and makes its pages from it.
#[test]
fn lcov_accepts_the_file() {
    let Some(built) = build(CONCURRENT, &["-O0", "-g"]) else { return };
    let directory = built.directory.path();
    covered(&built, "program.c", &["-i", "2", "-s", "random"]);
    if Command::new("genhtml").arg("--version").output().is_err() {
        eprintln!("skipped: lcov is not installed");
        return;
    }
    let run = |program: &str, arguments: &[&str]| {
        let output = Command::new(program).args(arguments).current_dir(directory).output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{program}: {text}");
        assert!(!text.contains("WARNING") && !text.contains("ERROR"), "{program}: {text}");
        text.into_owned()
    };
    let summary = run("lcov", &["--summary", "cov.info"]);
    assert!(summary.contains("lines") && summary.contains("functions"), "{summary}");
    run("genhtml", &["cov.info", "--output-directory", "pages"]);
    assert!(directory.join("pages/index.html").is_file());
}

/// A module without lines is refused before anything is executed.
#[test]
fn modules_without_lines_are_refused() {
    let directory = tempfile::tempdir().unwrap();
    let text = "(module (func (export \"coyote.test.main\")))";
    std::fs::write(directory.path().join("m.wat"), text).unwrap();
    let ended = process::run(directory.path(), &["test", "m.wat", "--coverage", "cov.info"]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.contains("--coverage: m.wat has no line table: "), "{ended:?}");
    let lines = module_path("bounded_buffer");
    let nowhere = ["test", lines.to_str().unwrap(), "--coverage", "none/cov.info"];
    let ended = process::run(directory.path(), &nowhere);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(ended.stderr.contains("cannot write none/cov.info"), "{ended:?}");
}
