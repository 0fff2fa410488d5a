//! How fast searches are on the toy machine, and what sharing prefixes through snapshots saves.

use coyote_strategies::search::bounding::Cost;
use coyote_strategies::search::caching::Caching;
use coyote_strategies::search::dfs::Dfs;
use coyote_strategies::search::dpor::Dpor;
use coyote_strategies::search::{Advance, Counts, Search};
use coyote_strategies::toy::{Instruction::*, Program, Toy};
use coyote_strategies::{Access, Event, Pick, Status, System, View, WorkerId};
// Clocks are banned where choices are made; here time is the result.
#[allow(clippy::disallowed_types)]
use std::time::Instant;

/// A machine without snapshots: every prefix is executed again.
struct Again(Toy);

impl System for Again {
    type Snapshot = ();

    fn status(&self) -> Status {
        self.0.status()
    }
    fn ends_program(&self) -> bool {
        self.0.ends_program()
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
    fn snapshot(&mut self) {}
    fn restore(&mut self, _snapshot: &()) {}
    fn fingerprint(&mut self) -> u128 {
        self.0.fingerprint()
    }

    fn worker_fingerprint(&self, worker: WorkerId) -> u64 {
        self.0.worker_fingerprint(worker)
    }
}

/// The median of five runs, in seconds, and what each of them counts.
#[allow(clippy::disallowed_types)]
fn time<S: System>(system: impl Fn() -> S, new: impl Fn() -> Box<dyn Search<S>>) -> (f64, Counts) {
    let mut times = Vec::new();
    let mut counts = None;
    for _ in 0..5 {
        let mut system = system();
        let mut search = new();
        let start = Instant::now();
        while search.advance(&mut system, u64::MAX) != Advance::Exhausted {}
        times.push(start.elapsed().as_secs_f64());
        counts = Some(search.counts());
    }
    times.sort_by(f64::total_cmp);
    (times[2], counts.expect("it ran"))
}

fn measure<S: System>(name: &str, system: impl Fn() -> S, new: impl Fn() -> Box<dyn Search<S>>) {
    let (time, counts) = time(system, new);
    let executions = counts.executions as f64;
    println!(
        "{name}: {} executions, {} redundant, {:.2} steps and {:.2} us per execution, {:.0}/s",
        counts.executions,
        counts.redundant,
        counts.steps as f64 / executions,
        time / executions * 1e6,
        executions / time,
    );
}

fn dpor<S: System + 'static>() -> Box<dyn Search<S>> {
    Box::new(Dpor::new(None))
}

fn dfs<S: System + 'static>() -> Box<dyn Search<S>> {
    Box::new(Dfs::new(Cost::Nothing, None, Caching::Nothing, None))
}

/// What a step of a long execution costs against one of a short one: 1 if looking for races costs what is
/// concurrent, whatever was before.
fn growth(name: &str, program: impl Fn(usize) -> Program) {
    let step = |length| {
        let (time, counts) = time(|| Toy::new(program(length)), dpor);
        time / counts.steps as f64 * 1e6
    };
    let (short, long) = (step(400), step(6_400));
    let ratio = long / short;
    println!("dpor, {name}: {short:.2} us per step of 400, {long:.2} of 6400: {ratio:.2} times");
}

fn main() {
    for (workers, times) in [(3, 4), (2, 8)] {
        let program = vec![vec![Rmw(0, 1); times]; workers];
        measure(&format!("dpor, {workers} x {times} RMW"), || Toy::new(program.clone()), dpor);
    }
    // The second worker begins when the first one has made its steps, takes turns with it, or never meets it: then
    // all steps of one are concurrent with all of the other.
    growth("one after the other", |length| {
        vec![[vec![Rmw(1, 1); length / 2], vec![Spawn(1)]].concat(), vec![Rmw(0, 1); length / 2]]
    });
    growth("handing over", |length| {
        let semaphores =
            |wait, post| [SemaphoreWait(wait), Rmw(1, 1), SemaphorePost(post)].repeat(length / 6);
        vec![[vec![SemaphorePost(0)], semaphores(0, 1)].concat(), semaphores(1, 0)]
    });
    growth("apart", |length| vec![vec![Rmw(0, 1); length / 2], vec![Rmw(1, 1); length / 2]]);
    for depth in [20, 100, 500] {
        // A long beginning, then all orders of 2 x 4 RMW.
        let beginning = [vec![Rmw(1, 1); depth], vec![Spawn(1)], vec![Rmw(0, 1); 4]].concat();
        let program: Program = vec![beginning, vec![Rmw(0, 1); 4]];
        let (shared, again) = (|| Toy::new(program.clone()), || Again(Toy::new(program.clone())));
        measure(&format!("dpor, depth {depth}, shared prefixes"), shared, dpor);
        measure(&format!("dpor, depth {depth}, executed again"), again, dpor);
        measure(&format!("dfs, depth {depth}, shared prefixes"), shared, dfs);
        measure(&format!("dfs, depth {depth}, executed again"), again, dfs);
    }
}
