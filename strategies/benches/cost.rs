//! What a decision costs each strategy: `cargo bench -p coyote-strategies [NAME...]`.
//!
//! Four workers, and 64, that are always enabled, each at one of 64 places with one of 8 objects; what a
//! worker is about to do changes with each of its steps, as it does in a program. The first line is what
//! that alone costs, and is subtracted. The last column is the ratio: 16 is linear in the number of workers.
#![allow(clippy::disallowed_types)] // Time is what is measured.

use coyote_strategies::catalog::SAMPLERS;
use coyote_strategies::{
    Context, Iteration, OpKind, Operation, Pending, Pick, Profile, Summary, View, WorkerId, WorkerPath,
    WorkerState, by_name,
};
use std::hint::black_box;
use std::time::Instant;

const STEPS: u64 = 5_000;
const WORKERS: [u32; 2] = [4, 64];

/// The synthetic program.
struct Bench {
    workers: Vec<Pending>,
    enabled: Vec<WorkerId>,
    current: Option<WorkerId>,
    step: u64,
}

impl Bench {
    fn new(count: u32) -> Bench {
        let workers = (0..count).map(|w| pending(u64::from(w) * 17)).collect();
        Bench { workers, enabled: (0..count).map(WorkerId).collect(), current: None, step: 0 }
    }

    #[inline]
    fn view(&self) -> View<'_> {
        let Bench { workers, enabled, current, step } = self;
        View {
            enabled,
            timeouts: &[],
            workers,
            current: *current,
            step: *step,
            changes: 0,
            in_section: false,
            fault: None,
        }
    }

    #[inline]
    fn step(&mut self, worker: WorkerId) {
        self.step += 1;
        self.workers[worker.index()] = pending(self.step * 31 + u64::from(worker.0));
        self.current = Some(worker);
    }

    fn iteration(&mut self, mut pick: impl FnMut(&View) -> WorkerId) {
        self.step = 0;
        for _ in 0..STEPS {
            let worker = pick(&self.view());
            self.step(black_box(worker));
        }
    }
}

fn pending(n: u64) -> Pending {
    let kinds = [OpKind::Load, OpKind::Load, OpKind::Store, OpKind::Rmw];
    let (kind, site) = (kinds[n as usize % 4], (n % 64) as u32);
    let operation = Operation { kind, site, object: 1024 + n / 4 % 8 * 8, size: 4 };
    Pending { operation, state: WorkerState::Enabled }
}

/// The fastest of many measurements, in nanoseconds a step: what makes others slower is not the strategy,
/// except for those that learn, which are measured while they know little.
fn measure(mut iteration: impl FnMut(u64)) -> f64 {
    let time = |index| {
        let start = Instant::now();
        iteration(index);
        start.elapsed().as_secs_f64() * 1e9 / STEPS as f64
    };
    (0..200).map(time).fold(f64::INFINITY, f64::min)
}

fn main() {
    let chosen: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with('-')).collect();
    let mut names: Vec<String> = SAMPLERS.iter().map(|s| s.entry.name.to_string()).collect();
    names.extend(["fair-pct", "pct+chess-fair", "random+chess-fair"].map(String::from));
    if !chosen.is_empty() {
        names = chosen;
    }
    let own = WORKERS.map(|count| {
        let mut bench = Bench::new(count);
        measure(|_| bench.iteration(|view| view.enabled[(view.step % 4) as usize]))
    });
    println!("{:8.1} ns {:8.1} ns        the bench itself", own[0], own[1]);
    for name in names {
        let costs = [0, 1].map(|i| cost(&name, WORKERS[i]) - own[i]);
        println!("{:8.1} ns {:8.1} ns {:5.1}  {name}", costs[0], costs[1], costs[1] / costs[0]);
    }
}

/// Nanoseconds a step under the strategy of this name, with so many workers.
fn cost(name: &str, workers: u32) -> f64 {
    let mut bench = Bench::new(workers);
    let mut strategy = by_name(name, &Context { unfair_steps_max: 10_000 }).expect("a strategy");
    strategy.prepare(&profile(workers));
    measure(|index| {
        strategy.begin(Iteration { seed: 1, index });
        bench.iteration(|view| match strategy.pick(view) {
            Some(Pick::Step(worker)) => worker,
            other => unreachable!("{other:?}"),
        });
        strategy.end(Summary { steps: STEPS, buggy: false });
    })
}

fn profile(count: u32) -> Profile {
    let path = |w| if w == 0 { WorkerPath::default() } else { WorkerPath(vec![w - 1]) };
    let workers = (0..count).map(|w| (path(w), STEPS / u64::from(count))).collect();
    Profile { steps: STEPS, decisions: STEPS, concurrent_steps: STEPS, workers, ..Profile::default() }
}
