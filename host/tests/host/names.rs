//! Names of memory: programs print where their variables are, and these addresses must get the variables'
//! names.
//!
//! Each line that a program prints is a name, an address in hexadecimal and a number of bytes; `-` is memory that must
//! not get a name.

use super::debugger::trace_of;
use super::{c_programs, guest, process};
use coyote_cc::Language;
use coyote_wasm::debug::Debugger;
use coyote_wasm::engine_thread::on_engine_thread;
use coyote_wasm::execution::Test;
use coyote_wasm::instrumenter::Options;
use coyote_wasm::symbols::{self, Variables};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program that ends with exit code 3, and compares what it prints with its debug information.
fn check(module: &Path) -> usize {
    let directory = module.parent().unwrap();
    let file = module.file_name().unwrap().to_str().unwrap();
    let ended = process::run(directory, &["test", file, "--seed", "0", "-i", "1", "--format", "json"]);
    let report: serde_json::Value =
        serde_json::from_str(&ended.stdout).unwrap_or_else(|_| panic!("{ended:?}"));
    let bug = &report["tests"][0]["bugs"][0];
    assert_eq!(bug["kind"], "exit-code", "{ended:?}");
    let variables = symbols::variables(&std::fs::read(module).unwrap());
    let lines = bug["output"].as_array().unwrap().iter().map(|line| line["text"].as_str().unwrap());
    lines.map(|line| compare(&variables, line)).count()
}

fn compare(variables: &Variables, line: &str) {
    let [name, address, bytes] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
    let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).unwrap();
    let bytes: u32 = bytes.parse().unwrap();
    let found = variables.at(address, bytes).map_or("-".to_string(), |found| found.name);
    assert_eq!(found, name, "{line}");
    // An access that reaches beyond the variable does not belong to it alone.
    if let Some(outside) = variables.at(address, 1 << 20) {
        panic!("{line}: a megabyte is called {}", outside.name);
    }
}

const C: &str = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <stdbool.h>
struct slot { bool ready; union { int whole; short parts[2]; } u; unsigned low : 3, high : 5; double weight; };
struct buffer { struct slot slots[3]; int grid[2][3]; struct buffer *next; pthread_mutex_t lock; };
volatile int counter;
static struct buffer buffer;
static const volatile char letters[4] = "abc";
pthread_mutex_t forks[3];
_Atomic long total;
#define SAY(name, what) printf("%s %p %zu\n", name, (void *)&(what), sizeof(what))
#define SAME(what) SAY(#what, what)
static void *run(void *unused) {
    static volatile int calls;
    volatile int local = 1;
    calls++;
    SAME(calls);
    SAY("-", local);
    return unused;
}
int main(void) {
    int *block = malloc(4 * sizeof *block);
    volatile int local = (int)(size_t)block;
    SAME(counter); SAME(total); SAME(letters[2]);
    SAME(buffer.slots[1].ready); SAME(buffer.slots[2].weight); SAME(buffer.grid[1][2]); SAME(buffer.grid[0][1]);
    SAME(buffer.next);
    /* More than one member lies there, or more than one field. */
    SAY("buffer.slots[0].u", buffer.slots[0].u.whole);
    SAY("buffer.slots[1]", buffer.slots[1]);
    SAY("buffer", buffer);
    SAY("-", local); SAY("-", block[1]);
    buffer.next = &buffer;
    buffer.slots[0].high = (unsigned)local;
    pthread_mutex_lock(&forks[1]);
    pthread_t thread;
    pthread_create(&thread, NULL, run, NULL);
    pthread_join(thread, NULL);
    exit(3);
}
"#;

#[test]
fn variables_of_c() {
    for level in ["-O0", "-O2"] {
        let Some(built) = c_programs::build(C, &["-g", level]) else { return };
        assert_eq!(check(&built.module), 15, "{level}");
    }
    // Without its own debug information, no memory of the program has a name.
    let built = c_programs::build(C, &["-g0"]).unwrap();
    let variables = symbols::variables(&std::fs::read(&built.module).unwrap());
    let named: Vec<String> =
        (0..100_000).filter_map(|address| Some(variables.at(address, 1)?.name)).collect();
    for name in ["counter", "buffer", "letters", "forks", "total", "calls"] {
        assert!(!named.iter().any(|other| other.starts_with(name)), "{name}");
    }
}

/// Two variables with the same name are distinguished, and objects have the names of their variables.
#[test]
fn objects_and_equal_names() {
    let program = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
struct account { int balance; pthread_mutex_t lock; } accounts[2];
pthread_mutex_t forks[3];
static pthread_mutex_t *first(void) { static pthread_mutex_t lock; return &lock; }
static pthread_mutex_t *second(void) { static pthread_mutex_t lock; return &lock; }
int main(void) {
    pthread_mutex_lock(first());
    pthread_mutex_lock(second());
    printf("forks[2] %p\naccounts[1].lock %p\n", (void *)&forks[2], (void *)&accounts[1].lock);
    printf("lock_(program.c) %p\nlock_(program.c) %p\n", (void *)first(), (void *)second());
    exit(3);
}"#;
    let Some(built) = c_programs::build(program, &["-g"]) else { return };
    let ended =
        process::run(built.directory.path(), &["test", "program.wasm", "-i", "1", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let variables = symbols::variables(&std::fs::read(&built.module).unwrap());
    let lines = report["tests"][0]["bugs"][0]["output"].as_array().unwrap().clone();
    assert_eq!(lines.len(), 4, "{ended:?}");
    for line in lines {
        let (name, address) = line["text"].as_str().unwrap().split_once(' ').unwrap();
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).unwrap();
        assert_eq!(variables.object_at(address), Some(name.replace('_', " ")));
    }
}

#[test]
fn variables_of_cpp() {
    if !c_programs::can(Language::Cpp) {
        return;
    }
    let program = r#"
#include <atomic>
#include <cstdio>
#include <cstdlib>
struct Base { int id; };
class Queue : public Base {
  public:
    int items[2] = {};
    std::atomic<int> count{0};
    static int made;
};
int Queue::made = 1;
namespace bank { struct { int a, b; } pair; Queue queue; }
#define SAY(name, what) std::printf("%s %p %zu\n", name, (void *)&(what), sizeof(what))
int main() {
    SAY("queue.items[1]", bank::queue.items[1]);
    SAY("queue.count", bank::queue.count);
    SAY("pair.b", bank::pair.b);
    bank::queue.id = bank::pair.a;
    std::exit(3);
}"#;
    let directory = tempfile::tempdir().unwrap();
    let (source, module) = (directory.path().join("program.cpp"), directory.path().join("program.wasm"));
    std::fs::write(&source, program).unwrap();
    c_programs::compile(Language::Cpp, &source, &module, &["-g"]).unwrap();
    assert_eq!(check(&module), 3);
}

#[test]
fn variables_of_rust() {
    let program = r#"
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering::SeqCst};
static COUNT: AtomicU32 = AtomicU32::new(0);
struct Slot { ready: AtomicBool, value: AtomicU64 }
static TABLE: [Slot; 3] = [const { Slot { ready: AtomicBool::new(false), value: AtomicU64::new(0) } }; 3];
struct State { items: [u32; 3], occupied: u32, last: Option<u32> }
static STATE: Mutex<State> = Mutex::new(State { items: [0; 3], occupied: 0, last: None });
fn say<T>(name: &str, what: &T) { println!("{name} {what:p} {}", size_of::<T>()) }
fn main() {
    say("COUNT", &COUNT);
    say("TABLE[1].ready", &TABLE[1].ready);
    say("TABLE[2].value", &TABLE[2].value);
    let mut state = STATE.lock().unwrap();
    say("STATE.occupied", &state.occupied);
    say("STATE.items[1]", &state.items[1]);
    let last = state.last.insert(COUNT.fetch_add(1, SeqCst));
    println!("STATE.last {last:p} 4");
    state.occupied += TABLE[0].ready.load(SeqCst) as u32;
    let local = AtomicU32::new(1);
    say("-", &local);
    say("-", &*Box::new(5u32));
    std::process::exit(3);
}"#;
    for level in ["0", "3"] {
        let Some((_directory, module)) = build_rust(program, level) else { return };
        assert_eq!(check(&module), 8, "opt-level {level}");
    }
}

/// Compiles a program for std's threads; `None` if rustc has no such target.
fn build_rust(program: &str, level: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    const TARGET: &str = "wasm32-wasip1-threads";
    let libraries = Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]).output();
    let folder = libraries.ok().map(|output| String::from_utf8(output.stdout).unwrap());
    if !folder.is_some_and(|folder| Path::new(folder.trim()).is_dir()) {
        eprintln!("skipped: rustc has no {TARGET}");
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, module) = (directory.path().join("program.rs"), directory.path().join("program.wasm"));
    std::fs::write(&source, program).unwrap();
    let built = Command::new("rustc")
        .args(["--target", TARGET, "--edition", "2024", "-g", "-C", &format!("opt-level={level}"), "-o"])
        .args([&module, &source])
        .output()
        .unwrap();
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Some((directory, module))
}

/// Addresses of local variables, by the last parts of their functions' names and their own names.
type Addresses = BTreeMap<(String, String), BTreeSet<u64>>;

/// The addresses at which the debugger finds each local variable of a program that ends with exit code 3,
/// looked for before each step in all frames of all workers; and what the program prints.
fn locals(module: &Path) -> (Addresses, Vec<String>) {
    let directory = module.parent().unwrap();
    let file = module.file_name().unwrap().to_str().unwrap();
    let ended = process::run(directory, &["test", file, "--seed", "0", "-i", "1", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&ended.stdout).unwrap();
    let bug = &report["tests"][0]["bugs"][0];
    assert_eq!(bug["kind"], "exit-code", "{ended:?}");
    let lines = bug["output"].as_array().unwrap().iter();
    let lines = lines.map(|line| line["text"].as_str().unwrap().to_string()).collect();
    let artifact = guest::compile(&std::fs::read(module).unwrap(), &Options::default()).unwrap();
    let test = Test::all(&artifact.table).remove(0);
    let trace = trace_of(&artifact, &test.name, 0);
    let module = module.to_owned();
    let found = on_engine_thread(move || {
        let settings = guest::settings();
        let mut debugger = Debugger::new(&artifact, &module, &test, &settings, &trace, false).unwrap();
        let mut found = Addresses::new();
        for position in 0..debugger.end() {
            debugger.go_to(position).unwrap();
            for worker in debugger.workers() {
                for (index, frame) in debugger.frames(worker.id).iter().enumerate() {
                    let function = frame.source.function.rsplit("::").next().unwrap().to_string();
                    for place in debugger.locals(worker.id, index).unwrap_or_default() {
                        let key = (function.clone(), place.name.clone());
                        found.entry(key).or_default().insert(place.address);
                    }
                }
            }
        }
        found
    });
    (found, lines)
}

/// Compares the debugger's local variables with what the program prints: lines of a function, a variable of it and its
/// address. No two calls of a function are in the same place of a stack, so that one printed function is called once.
fn compare_locals(module: &Path, count: usize, at: &str) {
    let (found, lines) = locals(module);
    let mut printed = Addresses::new();
    for line in &lines {
        let [function, name, address] = line.split(' ').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16).unwrap();
        printed.entry((function.into(), name.into())).or_default().insert(address);
    }
    assert_eq!(printed.len(), count, "{at}: {lines:?}");
    for (key, addresses) in &printed {
        let found = found.get(key);
        assert_eq!(found, Some(addresses), "{at}: {key:?}");
    }
}

/// Locals of several functions, of blocks, parameters, and in leaf functions, whose frames lie below the stack pointer. The
/// accesses of the program are scheduling points, before which the debugger looks.
#[test]
fn local_variables_of_c() {
    let program = r#"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
struct pair { int first; long long second; };
volatile int shared;
static void *volatile leaf_address;
#define SAY(function, what) printf("%s %s %p\n", function, #what, (void *)&(what))
__attribute__((noinline)) static int leaf(int number) {
    volatile int room[5] = { number, 2, 3, 4, 5 };
    leaf_address = (void *)room;
    return room[shared] + room[1];
}
__attribute__((noinline)) static long long work(struct pair by_value, int *out) {
    volatile int total = 0;
    struct pair copies[2] = { by_value, by_value };
    SAY("work", total); SAY("work", copies);
    for (int round = 0; round < 2; round++) {
        volatile short inner = (short)(round + shared);
        if (round == 0) SAY("work", inner);
        total += inner;
        shared = total;
    }
    *out = (int)copies[1].second;
    shared = copies[0].first;
    return total;
}
static void *run(void *start) {
    struct pair mine = { 1, *(int *)start };
    int result;
    SAY("run", mine); SAY("run", result);
    work(mine, &result);
    shared = leaf(result);
    printf("leaf room %p\n", leaf_address);
    return NULL;
}
int main(void) {
    int begun = 7;
    pthread_t thread;
    SAY("main", begun); SAY("main", thread);
    pthread_create(&thread, NULL, run, &begun);
    pthread_join(thread, NULL);
    shared = begun;
    exit(3);
}"#;
    for level in ["-O0", "-O1", "-O2"] {
        let Some(built) = c_programs::build(program, &["-g", level]) else { return };
        compare_locals(&built.module, 8, level);
    }
}

/// Objects whose fields the optimiser looks at one by one: their places are in lists of locations, piece by piece.
#[test]
fn local_variables_of_cpp() {
    if !c_programs::can(Language::Cpp) {
        return;
    }
    let program = r#"
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
class Account {
  public:
    Account(std::string owner, long balance) : owner_(std::move(owner)), balance_(balance) {}
    void add(long amount) { std::lock_guard<std::mutex> held(mutex_); balance_ += amount; }
    void say(const char *name) const { std::printf("main %s %p\n", name, (const void *)this); }
  private:
    mutable std::mutex mutex_;
    std::string owner_;
    long balance_;
};
int main() {
    Account alice("alice", 100), bob("bob", 100);
    alice.say("alice");
    bob.say("bob");
    std::thread other([&] { alice.add(5); bob.add(-5); });
    bob.add(1);
    other.join();
    std::exit(3);
}"#;
    for level in ["-O0", "-O1", "-O2"] {
        let directory = tempfile::tempdir().unwrap();
        let (source, module) = (directory.path().join("program.cpp"), directory.path().join("program.wasm"));
        std::fs::write(&source, program).unwrap();
        c_programs::compile(Language::Cpp, &source, &module, &["-g", level]).unwrap();
        compare_locals(&module, 2, level);
    }
}

#[test]
fn local_variables_of_rust() {
    let program = r#"
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
struct Stats { hits: AtomicU32, misses: AtomicU32 }
fn say<T>(function: &str, name: &str, what: &T) { println!("{function} {name} {what:p}") }
#[inline(never)]
fn count(stats: &Stats) {
    let own = AtomicU32::new(1);
    say("count", "own", &own);
    stats.hits.fetch_add(own.load(SeqCst), SeqCst);
    own.store(2, SeqCst);
    stats.misses.fetch_add(own.load(SeqCst), SeqCst);
}
fn main() {
    let stats = Stats { hits: AtomicU32::new(0), misses: AtomicU32::new(0) };
    let other = [AtomicU32::new(5), AtomicU32::new(6)];
    say("main", "stats", &stats);
    say("main", "other", &other);
    std::thread::scope(|scope| {
        scope.spawn(|| count(&stats));
    });
    other[1].fetch_add(stats.hits.load(SeqCst), SeqCst);
    std::process::exit(3);
}"#;
    for level in ["0", "1", "3"] {
        let Some((_directory, module)) = build_rust(program, level) else { return };
        compare_locals(&module, 3, level);
    }
}
