//! What points only where memory is shared are worth: how many points are left, what finding out costs,
//! and whether sites would do instead of granules. Prints one JSON object for each guest.
//!
//! `COYOTE_BENCH_MODULES` names more modules, separated by colons: of each, the first test.

use coyote_wasm::artifact::{Artifact, engine};
use coyote_wasm::engine_thread::on_engine_thread;
use coyote_wasm::epochs::{self, Epochs, Ran};
use coyote_wasm::execution::{Execution, Settings, Test};
use coyote_wasm::instrumenter::{HeapPoints, Options, instrument};
use coyote_wasm::machine::scheduler::Limits;
use coyote_wasm::strategies::{Iteration, Pick, RandomWalk, Strategy, View};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const ITERATIONS: u64 = 200;
const RUNS: usize = 7;

/// Guests whose tests end in every schedule.
const GUESTS: &[(&str, &str)] = &[
    ("racy_counter", "atomic"),
    ("account", "overdraft_fixed"),
    ("bounded_buffer", "minimal_notify_all"),
    ("dining_philosophers", "ordered"),
    ("sct_queue", "queue_correct"),
    ("sct_wsq", "wsq_correct"),
    ("std_threads_fixed", "main"),
];

fn main() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/wasm");
    let guests = GUESTS.iter().map(|(m, t)| (examples.join(m).with_extension("wasm"), t.to_string()));
    let more = std::env::var_os("COYOTE_BENCH_MODULES").unwrap_or_default();
    let more = std::env::split_paths(&more).filter(|path| !path.as_os_str().is_empty());
    let more: Vec<_> = more.map(|path: PathBuf| (path, String::new())).collect();
    for (path, test) in guests.chain(more) {
        on_engine_thread(|| measure(&path, &test));
    }
}

fn settings() -> Settings {
    let limits = Limits { unfair_steps_max: 200_000, fair_steps_max: 200_000, fail_on_steps_max: false };
    Settings { limits, ..Settings::default() }
}

fn execution(wasm: &[u8], test: &str, heap_points: HeapPoints) -> Execution {
    let options = Options { heap_points, ..Options::default() };
    let instrumented = instrument(wasm, &options).expect("instruments");
    let artifact = Artifact::compile(&engine(None).expect("an engine"), wasm.into(), instrumented, options);
    let artifact = Arc::new(artifact.expect("compiles"));
    let tests = Test::all(&artifact.table);
    let test = tests.iter().find(|t| t.name == test || test.is_empty()).expect("the test exists");
    Execution::new(&artifact, test, &settings()).expect("starts")
}

/// A memory access as it was executed.
#[derive(Clone, Copy)]
struct Accessed {
    worker: u32,
    site: u32,
    address: u64,
    size: u32,
    write: bool,
}

impl Accessed {
    fn granules(&self) -> std::ops::RangeInclusive<u64> {
        self.address / 64..=(self.address + u64::from(self.size.max(1)) - 1) / 64
    }
}

/// A random walk that writes down what is accessed.
#[derive(Default)]
struct Listening {
    walk: RandomWalk,
    heard: Arc<Mutex<Vec<Accessed>>>,
}

impl Strategy for Listening {
    fn name(&self) -> String {
        "listening".into()
    }
    fn fair(&self) -> bool {
        true
    }
    fn begin(&mut self, iteration: Iteration) {
        self.walk.begin(iteration);
    }
    fn pick(&mut self, view: &View) -> Option<Pick> {
        let pick = self.walk.pick(view);
        if let Some(Pick::Step(worker)) = pick {
            let operation = &view.workers[worker.index()].operation;
            if operation.kind.accesses_memory() {
                self.heard.lock().expect("one thread").push(Accessed {
                    worker: worker.0,
                    site: operation.site,
                    address: operation.object,
                    size: operation.size,
                    write: operation.kind.writes(),
                });
            }
        }
        pick
    }
    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.walk.value(bound, view)
    }
}

/// Granules that two workers access, one of them writing.
fn shared(iterations: &[Vec<Accessed>]) -> BTreeSet<u64> {
    let mut shared = BTreeSet::new();
    for iteration in iterations {
        let mut by: BTreeMap<u64, (u32, bool, bool)> = BTreeMap::new();
        for access in iteration {
            for granule in access.granules() {
                let state = by.entry(granule).or_insert((access.worker, false, false));
                state.1 |= state.0 != access.worker;
                state.2 |= access.write;
            }
        }
        shared.extend(by.iter().filter(|(_, (_, several, written))| *several && *written).map(|(g, _)| *g));
    }
    shared
}

fn measure(path: &Path, test: &str) {
    let wasm = std::fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut all = execution(&wasm, test, HeapPoints::All);
    let mut adaptive = execution(&wasm, test, HeapPoints::Shared);

    // Sets by granule and by site, found in the first half of some iterations and tried on the second.
    let mut heard: Vec<Vec<Accessed>> = Vec::new();
    for index in 0..100 {
        let listening = Listening::default();
        let log = listening.heard.clone();
        all.run(Box::new(listening), Iteration { seed: 2, index }).expect("runs");
        heard.push(std::mem::take(&mut *log.lock().expect("one thread")));
    }
    let (first, second) = heard.split_at(50);
    let (known, truly) = (shared(first), shared(second));
    let at = |access: &Accessed, set: &BTreeSet<u64>| access.granules().any(|g| set.contains(&g));
    let sites: BTreeSet<u32> = first.iter().flatten().filter(|a| at(a, &known)).map(|a| a.site).collect();
    let all_sites: BTreeSet<u32> = heard.iter().flatten().map(|a| a.site).collect();
    let all_granules: BTreeSet<u64> = heard.iter().flatten().flat_map(Accessed::granules).collect();
    let count = |wanted: &dyn Fn(&Accessed) -> bool| {
        second.iter().flatten().filter(|a| wanted(a)).count() as f64 / second.len() as f64
    };
    let by_granule = |a: &Accessed| at(a, &known);
    let by_site = |a: &Accessed| sites.contains(&a.site);
    let needed = |a: &Accessed| at(a, &truly);
    if std::env::var_os("COYOTE_BENCH_GRANULES").is_some() {
        let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
        second
            .iter()
            .flatten()
            .filter(|a| needed(a))
            .for_each(|a| *counts.entry(a.address / 64).or_default() += 1);
        let mut counts: Vec<_> = counts.into_iter().map(|(g, n)| (n, g * 64)).collect();
        counts.sort_by(|a, b| b.cmp(a));
        eprintln!("{} {:x?}", path.display(), &counts[..counts.len().min(12)]);
    }

    // What finding out takes, and what is left then.
    let epochs = Epochs::new(&adaptive.machine().artifact().options);
    let mut strategy: Box<dyn Strategy> = Box::new(RandomWalk::default());
    let (mut repeats, mut found, mut steps) = (0, BTreeSet::new(), 0);
    for index in 0..ITERATIONS {
        let known = epochs.enter(index, || true).expect("one job waits for nobody");
        let ran = epochs::run(&mut adaptive, strategy, Iteration { seed: 1, index }, &known).expect("runs");
        epochs.leave(&ran);
        repeats += ran.repeats;
        found.extend(ran.grown.0.iter().copied());
        steps += adaptive.record(true).steps;
        Ran { strategy, .. } = ran;
    }
    let known = epochs.known();
    let (shared_time, _) = best(&mut || {
        adaptive.share(known.clone());
        run(&mut adaptive)
    });
    let (all_time, all_steps) = best(&mut || run(&mut all));
    let ns = |time: Duration| time.as_nanos() as f64 / ITERATIONS as f64;
    println!(
        "{}",
        json!({
            "engine": "coyote-wasm",
            "name": "sharing",
            "module": path.file_stem().expect("a file").to_string_lossy(),
            "steps_all": all_steps as f64 / ITERATIONS as f64,
            "steps_shared": steps as f64 / ITERATIONS as f64,
            "granules": all_granules.len(),
            "granules_shared": found.len(),
            "repeats": repeats,
            "us_all": ns(all_time) / 1e3,
            "us_shared": ns(shared_time) / 1e3,
            "accesses": count(&|_| true),
            "by_granule": count(&by_granule),
            "by_granule_missed": count(&|a| needed(a) && !by_granule(a)),
            "by_site": count(&by_site),
            "by_site_missed": count(&|a| needed(a) && !by_site(a)),
            "by_site_extra": count(&|a| !needed(a) && by_site(a)),
            "sites": all_sites.len(),
            "sites_shared": sites.len(),
        })
    );
}

/// The time of all iterations, and their steps.
fn run(execution: &mut Execution) -> (Duration, u64) {
    let mut strategy: Box<dyn Strategy> = Box::new(RandomWalk::default());
    let mut steps = 0;
    let started = Instant::now();
    for index in 0..ITERATIONS {
        (_, strategy) = execution.run(strategy, Iteration { seed: 1, index }).expect("runs");
        steps += execution.runtime().steps();
    }
    (started.elapsed(), steps)
}

fn best(run: &mut dyn FnMut() -> (Duration, u64)) -> (Duration, u64) {
    (0..RUNS).map(|_| run()).min().expect("some runs")
}
