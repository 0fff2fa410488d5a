//! Data races of C and C++ programs that pass a number through plain memory and announce it by a flag, for
//! each memory order of the flag: there is a race exactly where RC11 (Lahav et al., PLDI 2017) has no edge.
//! No assertion fails in any execution.

use super::c_programs::{can, compile};
use super::process;
use coyote_cc::Language;
use coyote_orderings::Ordering::{self, *};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;

/// One side of a program: statements, and whether they release earlier accesses or acquire for later ones.
#[derive(Clone)]
struct Side {
    name: String,
    code: String,
    orders: bool,
}

const LOADS: [Ordering; 3] = [Relaxed, Acquire, SeqCst];
const STORES: [Ordering; 3] = [Relaxed, Release, SeqCst];

/// How an order is written in the source.
#[derive(Clone, Copy, Debug)]
enum Written {
    Constant,
    /// As a value that the compiler does not know.
    AtRunTime,
}

/// How atomic operations are written.
#[derive(Clone, Copy, Debug)]
enum Dialect {
    C11,
    Gnu,
    Cpp,
}

struct Writer {
    dialect: Dialect,
    written: Written,
}

impl Writer {
    fn order(&self, ordering: Ordering) -> String {
        match (self.dialect, self.written) {
            (Dialect::C11 | Dialect::Gnu, Written::Constant) => (ordering as u8).to_string(),
            (Dialect::Cpp, Written::Constant) => format!("(std::memory_order){}", ordering as u8),
            (_, Written::AtRunTime) => format!("order({})", ordering as u8),
        }
    }

    fn load(&self, order: Ordering) -> String {
        let order = self.order(order);
        match self.dialect {
            Dialect::C11 => format!("atomic_load_explicit(&FLAG, {order})"),
            Dialect::Gnu => format!("__atomic_load_n(&FLAG, {order})"),
            Dialect::Cpp => format!("FLAG.load({order})"),
        }
    }

    fn store(&self, value: u32, order: Ordering) -> String {
        let order = self.order(order);
        match self.dialect {
            Dialect::C11 => format!("atomic_store_explicit(&FLAG, {value}, {order})"),
            Dialect::Gnu => format!("__atomic_store_n(&FLAG, {value}, {order})"),
            Dialect::Cpp => format!("FLAG.store({value}, {order})"),
        }
    }

    fn add(&self, value: u32, order: Ordering) -> String {
        let order = self.order(order);
        match self.dialect {
            Dialect::C11 => format!("atomic_fetch_add_explicit(&FLAG, {value}, {order})"),
            Dialect::Gnu => format!("__atomic_fetch_add(&FLAG, {value}, {order})"),
            Dialect::Cpp => format!("FLAG.fetch_add({value}, {order})"),
        }
    }

    /// Writes a new value if the flag has the value of `e`, otherwise writes the flag's value to `e`.
    fn exchange(&self, new: u32, success: Ordering, failure: Ordering) -> String {
        let (success, failure) = (self.order(success), self.order(failure));
        match self.dialect {
            Dialect::C11 => {
                format!("atomic_compare_exchange_strong_explicit(&FLAG, &e, {new}, {success}, {failure})")
            }
            Dialect::Gnu => format!("__atomic_compare_exchange_n(&FLAG, &e, {new}, 0, {success}, {failure})"),
            Dialect::Cpp => format!("FLAG.compare_exchange_strong(e, {new}, {success}, {failure})"),
        }
    }

    fn fence(&self, order: Ordering) -> String {
        let order = self.order(order);
        match self.dialect {
            Dialect::C11 => format!("atomic_thread_fence({order})"),
            Dialect::Gnu => format!("__atomic_thread_fence({order})"),
            Dialect::Cpp => format!("std::atomic_thread_fence({order})"),
        }
    }

    /// Ways to announce the number: the flag becomes 1.
    fn senders(&self) -> Vec<Side> {
        let mut all = Vec::new();
        let mut add = |name: String, code: String, orders: bool| all.push(Side { name, code, orders });
        for o in STORES {
            add(format!("store_{o:?}"), self.store(1, o), o.releases());
        }
        for o in Ordering::ALL {
            add(format!("add_{o:?}"), self.add(1, o), o.releases());
            add(
                format!("exchange_{o:?}"),
                format!("int e = 0; {}", self.exchange(1, o, Relaxed)),
                o.releases(),
            );
            add(
                format!("fence_{o:?}"),
                format!("{}; {}", self.fence(o), self.store(1, Relaxed)),
                o.releases(),
            );
        }
        all
    }

    /// Ways to read the flag: `seen` becomes its value.
    fn receivers(&self) -> Vec<Side> {
        let mut all = Vec::new();
        let mut add = |name: String, code: String, orders: bool| all.push(Side { name, code, orders });
        for o in LOADS {
            add(format!("load_{o:?}"), format!("seen = {}", self.load(o)), o.acquires());
        }
        for o in Ordering::ALL {
            add(format!("add_{o:?}"), format!("seen = {}", self.add(0, o)), o.acquires());
            let taken = format!("int e = 1; seen = {}", self.exchange(2, o, Relaxed));
            add(format!("exchange_{o:?}"), taken, o.acquires());
            add(
                format!("fence_{o:?}"),
                format!("seen = {}; {}", self.load(Relaxed), self.fence(o)),
                o.acquires(),
            );
        }
        for (success, failure) in [Relaxed, AcqRel].into_iter().flat_map(|s| LOADS.map(|f| (s, f))) {
            let refused = format!("int e = 7; {}; seen = e == 1", self.exchange(8, success, failure));
            add(format!("refused_{success:?}_{failure:?}"), refused, failure.acquires());
        }
        all
    }

    /// Operations of a third worker in between, and whether the release sequence continues through them.
    fn between(&self) -> Vec<Side> {
        let side = |name: &str, code, orders| Side { name: name.into(), code, orders };
        let after = |code: String| format!("if ({} == 1) {code}", self.load(Relaxed));
        vec![
            side("rmw", format!("if ({} == 1) {}", self.load(Relaxed), self.add(1, Relaxed)), true),
            side("store", after(self.store(2, Relaxed)), false),
            side("released", after(self.store(2, Release)), false),
        ]
    }

    /// Pairs of a sender and a receiver: all, or each of them with the plainest of the other side, one that orders and one
    /// that does not.
    fn pairs(&self, all: bool) -> Vec<(Side, Side)> {
        let plain =
            |name: &str| ["store_Release", "store_Relaxed", "load_Acquire", "load_Relaxed"].contains(&name);
        let (senders, receivers) = (self.senders(), self.receivers());
        let each = senders.iter().flat_map(|s| receivers.iter().map(move |r| (s.clone(), r.clone())));
        each.filter(|(sender, receiver)| all || plain(&sender.name) || plain(&receiver.name)).collect()
    }

    /// The source, and for each test by name whether it has a race. `all`: see [`Writer::pairs`].
    fn program(&self, all: bool) -> (String, BTreeMap<String, bool>) {
        let mut text = String::from("#include <coyote.h>\n#include <pthread.h>\n");
        text += match self.dialect {
            Dialect::C11 => "#include <stdatomic.h>\n#define ATOMIC _Atomic int\n",
            Dialect::Gnu => "#define ATOMIC int\n",
            Dialect::Cpp => "#include <atomic>\n#define ATOMIC std::atomic<int>\n",
        };
        text += match self.dialect {
            Dialect::Cpp => {
                "std::memory_order order(int o) { return (std::memory_order)*(volatile int *)&o; }\n"
            }
            _ => "int order(int o) { return *(volatile int *)&o; }\n",
        };
        let mut expected = BTreeMap::new();
        let mut add = |threads: &[String], name: String, race: bool| {
            let test = format!("{name}_{}", expected.len());
            writeln!(text, "static volatile int number_{test}; static ATOMIC flag_{test};").unwrap();
            for (i, code) in threads.iter().enumerate() {
                let code = code.replace("NUMBER", &format!("number_{test}"));
                let code = code.replace("FLAG", &format!("flag_{test}"));
                writeln!(text, "static void *t{i}_{test}(void *a) {{ {code}; return a; }}").unwrap();
            }
            writeln!(text, "COYOTE_TEST({test}) {{ pthread_t t[{}];", threads.len()).unwrap();
            for i in 0..threads.len() {
                writeln!(text, "  pthread_create(&t[{i}], 0, t{i}_{test}, 0);").unwrap();
            }
            for i in 0..threads.len() {
                writeln!(text, "  pthread_join(t[{i}], 0);").unwrap();
            }
            text += "}\n";
            expected.insert(test, race);
        };
        let sent = |code: &str| format!("NUMBER = 42; {code}");
        let received = |code: &str, seen: &str| {
            format!("int seen = 0; {code}; if (seen == {seen} && NUMBER != 42) __builtin_trap()")
        };
        for (sender, receiver) in self.pairs(all) {
            let threads = [sent(&sender.code), received(&receiver.code, "1")];
            let name = format!("{}__{}", sender.name, receiver.name);
            add(&threads, name, !(sender.orders && receiver.orders));
        }
        for between in self.between() {
            for (release, acquire) in [(Release, Acquire), (Relaxed, Acquire), (Release, Relaxed)] {
                let receive = format!("seen = {}", self.load(acquire));
                let threads = [sent(&self.store(1, release)), between.code.clone(), received(&receive, "2")];
                let ordered = between.orders && release == Release && acquire == Acquire;
                add(&threads, format!("{}_{release:?}_{acquire:?}", between.name), !ordered);
            }
        }
        (text, expected)
    }
}

/// The names of the tests in which a data race is found; in all others no execution has one.
fn racy(directory: &Path, language: Language, text: &str, level: &str, tests: usize) -> BTreeSet<String> {
    let source = directory.join(if language == Language::C { "p.c" } else { "p.cpp" });
    std::fs::write(&source, text).unwrap();
    let module = directory.join("p.wasm");
    let flags = [level, "-g", "-w", "-mexec-model=reactor"];
    compile(language, &source, &module, &flags).unwrap_or_else(|log| panic!("{log}"));
    let options = ["-s", "dpor", "--detect", "races", "--seed", "0", "--no-shrink", "--no-experiments"];
    let ended = process::run(directory, &[&["test", "p.wasm"], &options[..]].concat());
    assert_eq!(ended.code, Some(2), "{}", ended.stderr);
    let bugs = ended.stdout.lines().filter_map(|line| line.strip_prefix("bug in test ")?.split_once(": "));
    let names = bugs.map(|(name, what)| {
        assert!(what.starts_with("data-race: "), "{name}: {what}");
        name.to_string()
    });
    let names: BTreeSet<String> = names.collect();
    let proofs =
        ended.stdout.lines().filter(|l| l.starts_with("... All ") && l.contains(", no bug ")).count();
    assert_eq!(proofs + names.len(), tests, "{}", ended.stdout);
    names
}

fn check(language: Language, dialect: Dialect) {
    if !can(language) {
        return;
    }
    for (written, level) in [(Written::Constant, "-O2"), (Written::AtRunTime, "-O0")] {
        let directory = tempfile::tempdir().unwrap();
        // The languages differ in how an order is said, and not in what it means: all pairs in one of them are enough.
        let all = matches!((dialect, written), (Dialect::C11, Written::Constant));
        let (text, tests) = Writer { dialect, written }.program(all);
        let found = racy(directory.path(), language, &text, level, tests.len());
        let wrong: Vec<_> = tests.iter().filter(|(name, race)| found.contains(*name) != **race).collect();
        assert!(wrong.is_empty(), "{dialect:?} {written:?} {level}: not as expected: {wrong:?}");
    }
}

/// A program with markers has the same points as one without, and its searches the same counts.
#[test]
fn markers_add_no_points() {
    if !can(Language::C) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let writer = Writer { dialect: Dialect::C11, written: Written::Constant };
    let (text, tests) = writer.program(false);
    std::fs::write(directory.path().join("p.c"), text).unwrap();
    for level in ["-O0", "-O2"] {
        let counts = ["-DCOYOTE_ORDERINGS", "-DCOYOTE_NO_ORDERINGS"].map(|orders| {
            let flags = [level, orders, "-w", "-mexec-model=reactor"];
            let (source, module) = (directory.path().join("p.c"), directory.path().join("p.wasm"));
            compile(Language::C, &source, &module, &flags).unwrap_or_else(|log| panic!("{log}"));
            let arguments = ["test", "p.wasm", "-s", "dpor", "-j", "1", "--seed", "0"];
            let ended = process::run(directory.path(), &arguments);
            assert_eq!(ended.code, Some(0), "{}", ended.stderr);
            let is_count = |l: &&str| l.starts_with("... Explored ");
            ended.timeless().lines().filter(is_count).map(str::to_string).collect::<Vec<_>>()
        });
        assert_eq!(counts[0].len(), tests.len());
        assert_eq!(counts[0], counts[1], "{level}");
    }
}

#[test]
fn c11_races_where_nothing_orders() {
    check(Language::C, Dialect::C11);
}

#[test]
fn gnu_races_where_nothing_orders() {
    check(Language::C, Dialect::Gnu);
}

#[test]
fn cpp_races_where_nothing_orders() {
    check(Language::Cpp, Dialect::Cpp);
}
