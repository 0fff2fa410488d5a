//! The samplers' rows of the table.

use super::{Entry, Parameter, Value};
use crate::*;

/// A strategy that can be made from numbers.
pub struct Sampler {
    /// The row of the catalog.
    pub entry: Entry,
    /// Another name for it.
    pub alias: Option<&'static str>,
    /// Makes the strategy from a value for each of the entry's parameters.
    pub make: fn(&[u64]) -> Box<dyn Strategy>,
}

const fn number(name: &'static str, default: u64, min: u64, max: u64) -> Parameter {
    Parameter { name, value: Value::Number { default, min, max } }
}

const UNIFORM: &str = "each value alike";
const FAIR: &str = "yes";
const UNFAIR: &str = "no";
const ONE: &str = "constant";
const ENABLED: &str = "linear in enabled workers";
const WORKERS: &str = "linear in workers";

/// Every sampler, in the order of the documentation. The first one is the default.
pub const SAMPLERS: &[Sampler] = &[
    Sampler {
        entry: Entry {
            name: "portfolio",
            parameters: &[Parameter { name: "[A,B,...]", value: Value::Text }],
            paper: "as Coyote's, with members chosen by measuring",
            promise: "the default: n members take turns, so at most n times the iterations of the best one",
            cost: "its member's",
            fair: "as its member",
            shardable: true,
            data: "as its member",
        },
        alias: None,
        make: |_| unreachable!("its members are not numbers"),
    },
    Sampler {
        entry: Entry {
            name: "random",
            parameters: &[],
            paper: "random walk",
            promise: "bugs that need few particular choices; hardly ever one worker far ahead of another",
            cost: ONE,
            fair: FAIR,
            shardable: true,
            data: UNIFORM,
        },
        alias: None,
        make: |_| Box::new(RandomWalk::default()),
    },
    Sampler {
        entry: Entry {
            name: "probabilistic",
            parameters: &[number("FLIPS", 3, 0, 20)],
            paper: "Coyote",
            promise: "a random walk that switches once in 2^FLIPS choices",
            cost: ENABLED,
            fair: FAIR,
            shardable: true,
            data: UNIFORM,
        },
        alias: None,
        make: |p| Box::new(Probabilistic::new(p[0] as u32)),
    },
    Sampler {
        entry: Entry {
            name: "pct",
            parameters: &[number("DEPTH", 3, 1, 1000)],
            paper: "Burckhardt et al., ASPLOS 2010",
            promise: "a bug of this depth with probability at least 1/(n k^(DEPTH-1)), n workers, k steps. \
                      DEPTH counts as in that paper: there are DEPTH-1 change points. Coyote's bound, and d in \
                      its paper (TACAS 2023), count change points: d there is DEPTH-1 here",
            cost: ENABLED,
            fair: UNFAIR,
            shardable: true,
            data: UNIFORM,
        },
        alias: None,
        make: |p| Box::new(Pct::new(p[0] as u32)),
    },
    Sampler {
        entry: Entry {
            name: "pct-t",
            parameters: &[number("DEPTH", 3, 1, 1000)],
            paper: "Deligiannis et al., TACAS 2023, after PCTCP (Ozkan et al., OOPSLA 2018)",
            promise: "as pct, with chains of tasks in the place of workers: who is woken goes on in the chain \
                      of who woke it",
            cost: ENABLED,
            fair: UNFAIR,
            shardable: true,
            data: UNIFORM,
        },
        alias: Some("pctcp"),
        make: |p| Box::new(PctT::new(p[0] as u32)),
    },
    Sampler {
        entry: Entry {
            name: "delay",
            parameters: &[number("DELAYS", 2, 0, 1000)],
            paper: "after Emmi et al., POPL 2011",
            promise: "a bug that needs so many delays of the order of creation with probability at least \
                      1/k^DELAYS, whatever the number of workers",
            cost: "logarithmic in enabled workers",
            fair: UNFAIR,
            shardable: true,
            data: UNIFORM,
        },
        alias: None,
        make: |p| Box::new(DelayBounding::new(p[0] as u32)),
    },
    Sampler {
        entry: Entry {
            name: "pos",
            parameters: &[],
            paper: "Yuan et al., CAV 2018",
            promise: "partial orders of racing operations, spread evenly",
            cost: WORKERS,
            fair: UNFAIR,
            shardable: true,
            data: UNIFORM,
        },
        alias: None,
        make: |_| Box::new(Pos::new()),
    },
    Sampler {
        entry: Entry {
            name: "basic-pos",
            parameters: &[],
            paper: "Yuan et al., CAV 2018",
            promise: "pos without new priorities after a race: its yardstick",
            cost: ENABLED,
            fair: UNFAIR,
            shardable: true,
            data: UNIFORM,
        },
        alias: None,
        make: |_| Box::new(Pos::basic()),
    },
    Sampler {
        entry: Entry {
            name: "surw",
            parameters: &[],
            paper: "Zhao et al., ASPLOS 2025",
            promise: "all orders of the accesses to one object, drawn for each iteration, alike",
            cost: WORKERS,
            fair: UNFAIR,
            shardable: true,
            data: UNIFORM,
        },
        alias: None,
        make: |_| Box::new(Surw::default()),
    },
    Sampler {
        entry: Entry {
            name: "urw",
            parameters: &[],
            paper: "Zhao et al., ASPLOS 2025",
            promise: "all schedules alike, if workers always do the same and do not block",
            cost: ENABLED,
            fair: FAIR,
            shardable: true,
            data: UNIFORM,
        },
        alias: None,
        make: |_| Box::new(Urw::default()),
    },
    Sampler {
        entry: Entry {
            name: "random-depth",
            parameters: &[number("PERIOD", 100, 1, 1_000_000_000)],
            paper: "P#, in Mukherjee et al., OOPSLA 2020",
            promise: "one more random preemption after each PERIOD iterations, from none on: simple bugs first",
            cost: ENABLED,
            fair: UNFAIR,
            shardable: true,
            data: UNIFORM,
        },
        alias: None,
        make: |p| Box::new(RandomDepth::new(p[0])),
    },
    Sampler {
        entry: Entry {
            name: "q-learning",
            parameters: &[],
            paper: "Mukherjee et al., OOPSLA 2020",
            promise: "learns to reach states seldom seen; for long tests with many choices",
            cost: "linear in workers, and a look into what it learned",
            fair: UNFAIR,
            shardable: false,
            data: "learned; each value that was never tried alike",
        },
        alias: None,
        make: |_| Box::new(QLearning::default()),
    },
    Sampler {
        entry: Entry {
            name: "greedy",
            parameters: &[],
            paper: "Mukherjee et al., OOPSLA 2020",
            promise: "the step into the state seen least often, as far as known",
            cost: "linear in workers, and a look into what it learned",
            fair: UNFAIR,
            shardable: false,
            data: "the least tried first, if there are at most 16; else each alike",
        },
        alias: None,
        make: |_| Box::new(Greedy::default()),
    },
    Sampler {
        entry: Entry {
            name: "feedback",
            parameters: &[],
            paper: "in the line of RFF (Wolff et al., ASPLOS 2024)",
            promise: "mutations of schedules in which dependent accesses met that had not met before",
            cost: WORKERS,
            fair: UNFAIR,
            shardable: false,
            data: "each value alike, or that of the schedule that is mutated",
        },
        alias: None,
        make: |_| Box::new(Feedback::new()),
    },
    Sampler {
        entry: Entry {
            name: "round-robin",
            parameters: &[number("QUANTUM", 1, 1, 1_000_000)],
            paper: "",
            promise: "turns of QUANTUM steps: one schedule, but for timeouts and data",
            cost: "logarithmic in enabled workers",
            fair: FAIR,
            shardable: true,
            data: UNIFORM,
        },
        alias: None,
        make: |p| Box::new(RoundRobin::new(p[0])),
    },
];
