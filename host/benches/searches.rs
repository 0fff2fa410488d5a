//! What searches cost on compiled guests: executions a second, and what sharing prefixes is worth. Prints
//! one JSON object a line.
//!
//! Every figure is the best of some runs: what the machine can do when nobody disturbs it.

use coyote_wasm::artifact::engine;
use coyote_wasm::engine_thread::on_engine_thread;
use coyote_wasm::execution::{Execution, Settings, Test};
use coyote_wasm::instrumenter::{Options, instrument};
use coyote_wasm::strategies::search::{Advance, Counts, by_name, rests_on_footprints};
use coyote_wasm::strategies::{Access, Event, Pick, Status, System, View, WorkerId};
use coyote_wasm::{artifact::Artifact, machine::Snapshot};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

const RUNS: usize = 3;

/// Executions of the programs with a long beginning.
const EXECUTIONS: u64 = 300;

fn main() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/wasm");
    let counts = std::fs::read(examples.join("counts.wasm")).expect("committed with the examples");
    for (test, target_us) in [("rmw_3x4", 7.0), ("rmw_2x8", 15.0)] {
        let (counts, time) = best(&counts, test, "dpor", |e| explore(e, "dpor", u64::MAX));
        let us = time.as_secs_f64() * 1e6 / counts.executions as f64;
        let (executions, steps) = (counts.executions, counts.steps);
        println!(
            "{}",
            json!({ "name": "exhaustive", "test": test, "executions": executions, "steps": steps,
                    "us_per_execution": us, "target_us": target_us })
        );
    }
    for depth in [20, 100, 500] {
        let module = wat::parse_str(program(depth)).expect("valid");
        for strategy in ["dpor", "dfs"] {
            let (shared, with) = best(&module, "t", strategy, |e| explore(e, strategy, EXECUTIONS));
            let (again, without) = best(&module, "t", strategy, |e| explore(Again(e), strategy, EXECUTIONS));
            let rate = |counts: Counts, time: Duration| counts.executions as f64 / time.as_secs_f64();
            println!(
                "{}",
                json!({ "name": "prefixes", "strategy": strategy, "depth": depth,
                        "steps_per_execution_shared": shared.steps as f64 / shared.executions as f64,
                        "steps_per_execution_again": again.steps as f64 / again.executions as f64,
                        "executions_per_second_shared": rate(shared, with),
                        "executions_per_second_again": rate(again, without) })
            );
        }
    }
}

/// The first worker takes `depth` steps alone; then two workers race.
fn program(depth: u32) -> String {
    format!(
        r#"(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $work)
  (func $add (param $left i32)
    (loop $again
      (drop (i32.atomic.rmw.add (i32.const 4096) (i32.const 1)))
      (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1))))))
  (func $work (param i32) (call $add (i32.const 5)))
  (func (export "coyote.test.t") (local $a i32) (local $b i32)
    (call $add (i32.const {depth}))
    (local.set $a (call $spawn (i32.const 0) (i32.const 0) (i32.const 8192) (i32.const 12288)))
    (local.set $b (call $spawn (i32.const 0) (i32.const 0) (i32.const 12288) (i32.const 16384)))
    (call $join (local.get $a))
    (call $join (local.get $b))))"#
    )
}

/// The shortest time of some runs.
fn best(
    wasm: &[u8],
    test: &str,
    strategy: &str,
    run: impl Fn(Execution) -> Counts + Sync,
) -> (Counts, Duration) {
    let options = Options { footprints: rests_on_footprints(strategy), ..Options::default() };
    let instrumented = instrument(wasm, &options).expect("a good module");
    let engine = engine(None).expect("the engine can be set up");
    let artifact = Artifact::compile(&engine, wasm.into(), instrumented, options).expect("it compiles");
    let artifact = Arc::new(artifact);
    let settings = Settings::default();
    let tests = Test::all(&artifact.table);
    let test = tests.iter().find(|t| t.name == test).expect("the module has it");
    on_engine_thread(|| {
        let timed = (0..RUNS).map(|_| {
            let execution = Execution::new(&artifact, test, &settings).expect("it starts");
            let started = Instant::now();
            let counts = run(execution);
            (counts, started.elapsed())
        });
        timed.min_by_key(|(_, time)| *time).expect("at least one run")
    })
}

fn explore<S: System + 'static>(mut system: S, strategy: &str, executions_max: u64) -> Counts {
    let mut search = by_name::<S>(strategy, 0, None).expect("there is such a search");
    while search.advance(&mut system, u64::MAX) != Advance::Exhausted
        && search.counts().executions < executions_max
    {}
    search.counts()
}

/// The same guest for a search that has no snapshots: prefixes are executed again.
struct Again(Execution);

impl System for Again {
    type Snapshot = Option<Snapshot>;

    fn status(&self) -> Status {
        self.0.status()
    }
    fn view(&self) -> View<'_> {
        self.0.view()
    }
    fn step(&mut self, pick: Pick) {
        self.0.step(pick);
    }
    fn choose(&mut self, value: u64) {
        self.0.choose(value);
    }
    fn restart(&mut self) {
        self.0.restart();
    }
    fn footprint(&self) -> &[Access] {
        self.0.footprint()
    }
    fn announced(&self, pick: Pick, into: &mut Vec<Access>) {
        self.0.announced(pick, into);
    }
    fn take_events(&mut self, into: &mut Vec<Event>) {
        self.0.take_events(into);
    }
    fn can_snapshot(&self) -> bool {
        false
    }
    fn snapshot(&mut self) -> Option<Snapshot> {
        None
    }
    fn restore(&mut self, _: &Option<Snapshot>) {
        unreachable!("it said that it cannot");
    }
    fn fingerprint(&mut self) -> u128 {
        self.0.fingerprint()
    }

    fn worker_fingerprint(&self, worker: WorkerId) -> u64 {
        self.0.worker_fingerprint(worker)
    }
}
