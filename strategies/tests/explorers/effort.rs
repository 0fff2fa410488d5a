//! What searches need until they find the bugs of programs that pass messages: a golden table.

use crate::programs::protocols;
use coyote_strategies::search;
use coyote_strategies::search::effort::{End, states_to_bug};
use coyote_strategies::toy::Toy;
use coyote_strategies::{Status, System};
use std::fmt::Write;

const SEARCHES: [&str; 10] = [
    "preemption-bounding+states",
    "delay-bounding+states",
    "ses:round-robin",
    "ses:run-to-completion",
    "ses:probabilistic-round-robin",
    "ses:by-rank",
    "ss:round-robin",
    "ss:run-to-completion",
    "ss:by-rank",
    "ses-ss:run-to-completion:1",
];

const STEPS_MAX: u64 = 2_000_000;

fn table() -> String {
    let mut table = String::new();
    for (name, program) in protocols() {
        writeln!(table, "{name}").unwrap();
        for spec in SEARCHES {
            let mut system = Toy::new(program.clone());
            let mut search = search::by_name(spec, 1, None).unwrap();
            let effort = states_to_bug(&mut system, &mut *search, STEPS_MAX);
            let counts = effort.counts;
            let end = match &effort.end {
                End::Bug(path) => {
                    // The path leads to the bug.
                    let mut system = Toy::new(program.clone());
                    path.iter().for_each(|d| coyote_strategies::system::decide(&mut system, *d));
                    assert_eq!(system.status(), Status::Bug);
                    "bug".to_string()
                }
                end => format!("{end:?}"),
            };
            let (states, executions, steps) = (counts.states, counts.executions, counts.steps);
            writeln!(table, "  {spec:32} {end}: {states} states, {executions} executions, {steps} steps")
                .unwrap();
        }
    }
    table
}

#[test]
fn states_until_the_bug_are_as_recorded() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/states_to_bug.txt");
    let table = table();
    if std::env::var_os("COYOTE_BLESS").is_some() {
        std::fs::write(path, &table).unwrap();
    }
    let golden = std::fs::read_to_string(path).unwrap();
    assert!(table == golden, "was:\n{golden}\nis now (COYOTE_BLESS=1 records it):\n{table}");
}
