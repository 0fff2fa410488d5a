//! What the engine costs: schedules, decisions, switches, restores, instrumentation. Prints one JSON
//! object a line; `cargo xtask bench` adds peers and ratios.
//!
//! Every figure is the best of some runs: what the machine can do when nobody disturbs it.

use coyote_wasm::artifact::{Artifact, THREAD_STACK_BYTES, engine};
use coyote_wasm::execution::{Execution, Settings, Test};
use coyote_wasm::instrumenter::{Options, Points, instrument};
use coyote_wasm::machine::scheduler::Limits;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::runtime::Timers;
use coyote_wasm::strategies::{Iteration, Pick, RandomWalk, Strategy, View};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const RUNS: usize = 5;

fn main() {
    let thread = std::thread::Builder::new().stack_size(THREAD_STACK_BYTES).spawn(measure_all);
    thread.expect("a thread").join().expect("no measurement panics");
}

fn measure_all() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/wasm");
    let buffer = std::fs::read(examples.join("bounded_buffer.wasm")).expect("committed with the examples");
    let load_store = wat::parse_str(include_str!("wat/load_store.wat")).expect("valid");
    for points in [Points::Sync, Points::Heap] {
        schedules("bounded buffer", &buffer, "minimal_notify_all", points, 20_000);
        schedules("load store", &load_store, "load_store", points, 5_000);
    }
    let tasks = std::fs::read(examples.join("tasks.wasm")).expect("committed with the examples");
    for points in [Points::Sync, Points::Heap] {
        for test in ["permits_of_tasks", "permits_of_threads", "yields_of_tasks", "yields_of_threads"] {
            schedules(test, &tasks, test, points, 500);
        }
    }
    let depth = wat::parse_str(include_str!("wat/depth.wat")).expect("valid");
    for test in ["depth1", "depth5"] {
        decisions(&depth, test);
    }
    restore(&buffer);
    let kernel = wat::parse_str(include_str!("wat/kernel.wat")).expect("valid");
    slow_down(&kernel);
    for module in ["bounded_buffer.wasm", "std_threads.wasm"] {
        let bytes = std::fs::read(examples.join(module)).expect("committed with the examples");
        preparation(module, &bytes);
    }
    if let Some(path) = std::env::var_os("COYOTE_BENCH_MODULE") {
        let bytes = std::fs::read(&path).expect("COYOTE_BENCH_MODULE names a file");
        preparation(&Path::new(&path).display().to_string(), &bytes);
    }
}

fn report(name: &str, values: Value) {
    let mut line = json!({ "engine": "coyote-wasm", "name": name });
    for (key, value) in values.as_object().expect("an object") {
        line[key] = value.clone();
    }
    println!("{line}");
}

fn settings() -> Settings {
    Settings {
        limits: Limits { unfair_steps_max: u64::MAX, fair_steps_max: u64::MAX, fail_on_steps_max: false },
        timers: Timers::Any,
        memory_bytes_max: 512 << 20,
        ..Settings::default()
    }
}

fn artifact(wasm: &[u8], points: Points) -> Arc<Artifact> {
    let options = Options { points, ..Options::default() };
    let instrumented = instrument(wasm, &options).expect("instruments");
    let engine = engine(None).expect("an engine");
    Arc::new(Artifact::compile(&engine, wasm.into(), instrumented, options).expect("compiles"))
}

fn execution(wasm: &[u8], test: &str, points: Points) -> Execution {
    let artifact = artifact(wasm, points);
    let test = Test::all(&artifact.table).into_iter().find(|t| t.name == test).expect("the test exists");
    let mut execution = Execution::new(&artifact, &test, &settings()).expect("starts");
    // As explorations do.
    execution.take_awaits_of_bugs();
    execution
}

/// Runs iterations under a strategy: the time, and all steps and decisions.
fn run(execution: &mut Execution, strategy: &dyn Fn() -> Box<dyn Strategy>, n: u64) -> (Duration, u64, u64) {
    let mut strategy = strategy();
    let (mut steps, mut decisions) = (0, 0);
    let started = Instant::now();
    for index in 0..n {
        let (outcome, used) = execution.run(strategy, Iteration { seed: 1, index }).expect("runs");
        assert_eq!(outcome, Outcome::Passed);
        strategy = used;
        let record = execution.record(true);
        steps += record.steps;
        decisions += record.decisions;
    }
    (started.elapsed(), steps, decisions)
}

fn best(execution: &mut Execution, strategy: &dyn Fn() -> Box<dyn Strategy>, n: u64) -> (Duration, u64, u64) {
    run(execution, strategy, n.div_ceil(10));
    (0..RUNS).map(|_| run(execution, strategy, n)).min().expect("some runs")
}

fn points_name(points: Points) -> String {
    format!("{points:?}").to_lowercase()
}

fn schedules(name: &str, wasm: &[u8], test: &str, points: Points, n: u64) {
    let mut execution = execution(wasm, test, points);
    let (time, steps, decisions) = best(&mut execution, &|| Box::new(RandomWalk::default()), n);
    let seconds = time.as_secs_f64();
    report(
        name,
        json!({
            "points": points_name(points),
            "schedules_per_second": n as f64 / seconds,
            "decisions_per_schedule": steps as f64 / n as f64,
            "free_decisions_per_schedule": decisions as f64 / n as f64,
            "ns_per_decision": seconds * 1e9 / steps as f64,
        }),
    );
}

/// Stays with a worker as long as it can, or leaves it as often as it can.
struct Fixed {
    stay: bool,
}

impl Strategy for Fixed {
    fn name(&self) -> String {
        "fixed".into()
    }
    fn fair(&self) -> bool {
        false
    }
    fn begin(&mut self, _: Iteration) {}
    fn pick(&mut self, view: &View) -> Option<Pick> {
        let other = view.enabled.iter().find(|w| (Some(**w) == view.current) == self.stay);
        Some(Pick::Step(*other.unwrap_or(&view.enabled[0])))
    }
    fn value(&mut self, _: u64, _: &View) -> Option<u64> {
        Some(0)
    }
}

fn decisions(wasm: &[u8], test: &str) {
    let mut execution = execution(wasm, test, Points::Heap);
    for stay in [true, false] {
        let (time, steps, _) = best(&mut execution, &|| Box::new(Fixed { stay }), 20);
        let what = if stay { "decision without a switch" } else { "decision with a switch" };
        let ns = time.as_secs_f64() * 1e9 / steps as f64;
        report(what, json!({ "test": test, "ns_per_decision": ns }));
    }
}

fn restore(wasm: &[u8]) {
    let mut execution = execution(wasm, "minimal_notify_all", Points::Heap);
    let mut best = Duration::MAX;
    for index in 0..2_000 {
        let walk = Box::new(RandomWalk::default());
        execution.run(walk, Iteration { seed: 1, index }).expect("runs");
        let started = Instant::now();
        execution.begin().expect("restores");
        best = best.min(started.elapsed());
    }
    report("restore", json!({ "ns": best.as_nanos() as u64 }));
}

/// The kernel on plain wasmtime against the kernel under control, with one worker.
fn slow_down(wasm: &[u8]) {
    let engine = engine(None).expect("an engine");
    let module = wasmtime::Module::new(&engine, wasm).expect("compiles");
    let mut store = wasmtime::Store::new(&engine, ());
    let instance = wasmtime::Instance::new(&mut store, &module, &[]).expect("starts");
    let kernel = instance.get_typed_func::<(), ()>(&mut store, "coyote.test.kernel").expect("exported");
    let plain = (0..50).map(|_| {
        let started = Instant::now();
        kernel.call(&mut store, ()).expect("runs");
        started.elapsed()
    });
    let plain = plain.min().expect("some runs");
    for points in [Points::Sync, Points::Heap] {
        let mut execution = execution(wasm, "kernel", points);
        let (time, _, _) = best(&mut execution, &|| Box::new(RandomWalk::default()), 5);
        let ratio = time.as_secs_f64() / 5.0 / plain.as_secs_f64();
        report("slow-down", json!({ "points": points_name(points), "times_plain": ratio }));
    }
}

fn preparation(name: &str, wasm: &[u8]) {
    for points in [Points::Sync, Points::Heap] {
        let options = Options { points, ..Options::default() };
        let started = Instant::now();
        let instrumented = instrument(wasm, &options).expect("instruments");
        let instrumenting = started.elapsed();
        let size = instrumented.wasm.len();
        let sites = instrumented.table.sites.len();
        let engine = engine(None).expect("an engine");
        let started = Instant::now();
        let artifact = Artifact::compile(&engine, wasm.into(), instrumented, options).expect("compiles");
        let compiling = started.elapsed();
        report(
            "preparation",
            json!({
                "module": name,
                "points": points_name(points),
                "bytes": wasm.len(),
                "instrumented_bytes": size,
                "sites": sites,
                "instrument_ms": instrumenting.as_secs_f64() * 1e3,
                "compile_ms": compiling.as_secs_f64() * 1e3,
            }),
        );
        drop(artifact);
    }
}
