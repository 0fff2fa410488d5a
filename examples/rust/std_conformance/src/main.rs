//! An interpreter of small concurrent programs, whose workers are std's threads and whose calls are std's: an
//! ordinary program that knows nothing of coyote. `host/tests/host/std_conformance` compares what programs can
//! come to with a model.
//!
//! The first argument lists the channels: `u` is unbounded, a number the bound. Each other argument is a worker:
//! the first one is `main`, the others are started by its `Spawn`. What calls returned stands in memory, to
//! be read from outside, also if the program never ends.
//!
//! - [`action`]: what a worker can do.
//! - [`objects`]: what they share.
//! - [`results`]: what calls returned.
//! - [`worker`]: a worker and what it holds.
//! - [`threads`]: the first one, which has the others.

mod action;
mod objects;
mod results;
mod threads;
mod worker;

fn main() {
    results::keep();
    let mut arguments = std::env::args().skip(1);
    let channels = arguments.next().unwrap_or_default();
    let programs = arguments.map(|text| worker::parse(&text)).collect();
    threads::run(worker::equip(programs, &channels));
}
