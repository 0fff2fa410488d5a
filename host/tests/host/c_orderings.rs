//! Memory orderings of C and C++: every operation with every legal order, executed, at several optimisation
//! levels.
//!
//! The program executes one operation after the other on one variable, in the order of its source; the
//! operations that the machine announces, step by step, must have the kinds and orders of that list.

use super::c_programs::{can, compile};
use super::guest::{self, settings};
use coyote_cc::Language;
use coyote_orderings::Ordering::{self, *};
use coyote_wasm::instrumenter::{HeapPoints, Options, Points};
use coyote_wasm::orderings::{Atomicity, Order};
use coyote_wasm::strategies::{OpKind, Pick, Status, System, WorkerId};

const LOADS: [Ordering; 3] = [Relaxed, Acquire, SeqCst];
const STORES: [Ordering; 3] = [Relaxed, Release, SeqCst];

/// The text of an operation on `x`, and its kinds and orders.
type Line = (String, Vec<(OpKind, Order)>);

fn one(text: String, kind: OpKind, order: Order) -> Line {
    (text, vec![(kind, order)])
}

fn looped(text: String, order: Ordering) -> Line {
    let attempt = (OpKind::CompareExchange, Order::always(order));
    (text, vec![(OpKind::AtomicLoad, Order::always(Relaxed)), attempt])
}

/// Every operation, with orders written by `name`.
fn lines(language: Language, name: &dyn Fn(Ordering) -> String) -> Vec<Line> {
    let mut all = Vec::new();
    let cpp = language == Language::Cpp;
    let exchanges = if cpp {
        ["x.compare_exchange_weak(e, 1, ", "x.compare_exchange_strong(e, 1, "]
    } else {
        [
            "atomic_compare_exchange_weak_explicit(&x, &e, 1, ",
            "atomic_compare_exchange_strong_explicit(&x, &e, 1, ",
        ]
    };
    for o in LOADS {
        let n = name(o);
        let load = if cpp { format!("x.load({n})") } else { format!("atomic_load_explicit(&x, {n})") };
        for text in
            [load, format!("__atomic_load_n(&y, {})", gnu(o)), format!("__atomic_load(&y, &z, {})", gnu(o))]
        {
            all.push(one(text, OpKind::AtomicLoad, Order::always(o)));
        }
    }
    for o in STORES {
        let n = name(o);
        let store =
            if cpp { format!("x.store(1, {n})") } else { format!("atomic_store_explicit(&x, 1, {n})") };
        for text in [
            store,
            format!("__atomic_store_n(&y, 1, {})", gnu(o)),
            format!("__atomic_store(&y, &z, {})", gnu(o)),
        ] {
            all.push(one(text, OpKind::AtomicStore, Order::always(o)));
        }
    }
    for o in Ordering::ALL {
        let (n, g) = (name(o), gnu(o));
        for method in ["exchange", "fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor"] {
            let text = if cpp {
                format!("x.{method}(1, {n})")
            } else {
                format!("atomic_{method}_explicit(&x, 1, {n})")
            };
            all.push(one(text, OpKind::Rmw, Order::always(o)));
        }
        for method in ["exchange_n", "fetch_add", "sub_fetch", "and_fetch", "fetch_or", "xor_fetch"] {
            all.push(one(format!("__atomic_{method}(&y, 1, {g})"), OpKind::Rmw, Order::always(o)));
        }
        all.push(one(format!("__atomic_exchange(&y, &z, &w, {g})"), OpKind::Rmw, Order::always(o)));
        for method in ["nand_fetch", "fetch_min", "max_fetch"] {
            all.push(looped(format!("__atomic_{method}(&y, 1, {g})"), o));
        }
        all.push(looped(
            if cpp {
                format!("__c11_atomic_fetch_add(&f, 1.5f, {g})")
            } else {
                format!("atomic_fetch_add_explicit(&f, 1.5f, {n})")
            },
            o,
        ));
        let flag = if cpp {
            format!("flag.test_and_set({n})")
        } else {
            format!("atomic_flag_test_and_set_explicit(&flag, {n})")
        };
        all.push(one(flag, OpKind::Rmw, Order::always(o)));
        for f in LOADS {
            let order = Order { success: o, failure: f };
            for exchange in exchanges {
                all.push(one(format!("{exchange}{n}, {})", name(f)), OpKind::CompareExchange, order));
            }
            let orders = format!("{g}, {}", gnu(f));
            all.push(one(
                format!("__atomic_compare_exchange_n(&y, &z, 1, 0, {orders})"),
                OpKind::CompareExchange,
                order,
            ));
            all.push(one(
                format!("__atomic_compare_exchange(&y, &z, &w, 1, {orders})"),
                OpKind::CompareExchange,
                order,
            ));
        }
        let fence = if o == Relaxed { vec![] } else { vec![(OpKind::Fence, Order::always(o))] };
        all.push((format!("atomic_thread_fence({n})"), fence.clone()));
        all.push((format!("__atomic_thread_fence({g})"), fence));
        all.push((format!("atomic_signal_fence({n})"), vec![]));
    }
    // The stored value is the result of another atomic operation.
    let (inner, outer) = (gnu(Relaxed), gnu(Release));
    all.push((
        format!("__atomic_store_n(&y, __atomic_load_n(&y, {inner}), {outer})"),
        vec![(OpKind::AtomicLoad, Order::always(Relaxed)), (OpKind::AtomicStore, Order::always(Release))],
    ));
    for method in ["fetch_and_add", "sub_and_fetch", "swap"] {
        all.push(one(format!("__sync_{method}(&y, 1)"), OpKind::Rmw, Order::always(SeqCst)));
    }
    all.push(looped("__sync_fetch_and_nand(&y, 1)".into(), SeqCst));
    for method in ["bool", "val"] {
        let text = format!("__sync_{method}_compare_and_swap(&y, 1, 2)");
        all.push(one(text, OpKind::CompareExchange, Order::always(SeqCst)));
    }
    all.push(one("__sync_lock_test_and_set(&y, 1)".into(), OpKind::Rmw, Order::always(Acquire)));
    all.push(one("__sync_lock_release(&y)".into(), OpKind::AtomicStore, Order::always(Release)));
    all
}

fn gnu(ordering: Ordering) -> String {
    (ordering as u8).to_string()
}

fn c_name(ordering: Ordering) -> String {
    let name = match ordering {
        Relaxed => "relaxed",
        Acquire => "acquire",
        Release => "release",
        AcqRel => "acq_rel",
        SeqCst => "seq_cst",
    };
    format!("memory_order_{name}")
}

fn program(language: Language, lines: &[Line]) -> String {
    let body: String = lines.iter().map(|(text, _)| format!("  e = y; (void)({text});\n")).collect();
    let head = match language {
        Language::C => "#include <stdatomic.h>\n_Atomic int x; _Atomic float f; atomic_flag flag;",
        Language::Cpp => {
            "#include <atomic>\nusing namespace std;\natomic<int> x; _Atomic(float) f; atomic_flag flag;"
        }
    };
    format!(
        "{head}\nint y, z, w, asked;\n\
         {} order(int o) {{ asked++; return ({})*(volatile int *)&o; }}\n\
         int main() {{\n  int e;\n{body}  return asked != {};\n}}\n",
        if language == Language::Cpp { "memory_order" } else { "int" },
        if language == Language::Cpp { "memory_order" } else { "int" },
        lines.iter().map(|(text, _)| text.matches("order(").count()).sum::<usize>(),
    )
}

/// The atomic operations that the program announces, in their order.
fn announced(module: &[u8], options: &Options) -> Vec<(OpKind, Option<Order>)> {
    let artifact = guest::compile(module, options).unwrap();
    let orderings = artifact.orderings();
    guest::with(&artifact, "_start", &settings(), |execution| {
        let mut found = Vec::new();
        execution.begin().unwrap();
        while let Status::Ready = execution.status() {
            let runtime = execution.runtime();
            let operation = runtime.pending(WorkerId(0)).operation;
            match operation.kind {
                OpKind::Start => {}
                _ => match orderings.of(runtime.ordered_site(WorkerId(0))) {
                    Atomicity::Atomic(order) => found.push((operation.kind, order)),
                    Atomicity::Fence(order) => found.push((operation.kind, order.map(Order::always))),
                    Atomicity::Plain | Atomicity::Unknown | Atomicity::None => {}
                },
            }
            execution.step(Pick::Step(WorkerId(0)));
        }
        // The program counts how often the order was evaluated.
        assert_eq!(execution.status(), Status::Passed);
        found
    })
}

fn check(language: Language, level: &str, name: &dyn Fn(Ordering) -> String, options: &Options) {
    if !can(language) {
        return;
    }
    let lines = lines(language, name);
    let directory = tempfile::tempdir().unwrap();
    let extension = if language == Language::C { "c" } else { "cpp" };
    let source = directory.path().join("program").with_extension(extension);
    std::fs::write(&source, program(language, &lines)).unwrap();
    let module = directory.path().join("program.wasm");
    compile(language, &source, &module, &[level]).unwrap_or_else(|log| panic!("{language:?} {level}: {log}"));
    let found = announced(&std::fs::read(&module).unwrap(), options);
    let expected = lines.iter().flat_map(|(text, sites)| sites.iter().map(move |site| (text, site)));
    for ((text, (kind, order)), found) in expected.clone().zip(&found) {
        assert_eq!((*kind, Some(*order)), *found, "{language:?} {level}: {text}");
    }
    assert_eq!(found.len(), expected.count(), "{language:?} {level}");
}

const LEVELS: [&str; 3] = ["-O0", "-O1", "-O2"];

#[test]
fn every_operation_has_the_order_that_its_source_says() {
    for (language, level) in [Language::C, Language::Cpp].into_iter().flat_map(|l| LEVELS.map(|v| (l, v))) {
        check(language, level, &c_name, &Options::default());
    }
}

/// The order is a value at run time, and evaluated only once.
#[test]
fn an_order_of_run_time_is_that_of_the_call() {
    let name = |ordering: Ordering| format!("order({})", ordering as u8);
    for (language, level) in [Language::C, Language::Cpp].into_iter().flat_map(|l| LEVELS.map(|v| (l, v))) {
        check(language, level, &name, &Options::default());
    }
}

#[test]
fn orders_are_the_same_with_all_options() {
    let name = |ordering: Ordering| format!("order({})", ordering as u8);
    for options in [
        Options { points: Points::Atomic, ..Options::default() },
        Options { footprints: true, ..Options::default() },
        Options { heap_points: HeapPoints::Shared, ..Options::default() },
    ] {
        check(Language::C, "-O0", &name, &options);
        check(Language::Cpp, "-O2", &name, &options);
    }
}
