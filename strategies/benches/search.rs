//! How fast searches are on the toy machine: executions per second of process time.

use coyote_strategies::search::dpor::Dpor;
use coyote_strategies::search::{Advance, Search};
use coyote_strategies::toy::{Instruction::*, Program, Toy};
// Clocks are banned where choices are made; here time is the result.
#[allow(clippy::disallowed_types)]
use std::time::Instant;

#[allow(clippy::disallowed_types)]
fn measure(name: &str, program: &Program, new: impl Fn() -> Box<dyn Search<Toy>>) {
    let mut times = Vec::new();
    let mut counts = None;
    for _ in 0..5 {
        let mut toy = Toy::new(program.clone());
        let mut search = new();
        let start = Instant::now();
        while search.advance(&mut toy, u64::MAX) != Advance::Exhausted {}
        times.push(start.elapsed().as_secs_f64());
        counts = Some(search.counts());
    }
    times.sort_by(f64::total_cmp);
    let (time, counts) = (times[2], counts.expect("it ran"));
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

fn main() {
    let rmw = |workers, times| vec![vec![Rmw(0, 1); times]; workers];
    let dpor = || Box::new(Dpor::new(None)) as Box<dyn Search<Toy>>;
    measure("dpor, 3 x 4 RMW", &rmw(3, 4), dpor);
    measure("dpor, 2 x 8 RMW", &rmw(2, 8), dpor);
}
