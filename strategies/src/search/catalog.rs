//! The searches' rows of the table of [`crate::catalog`].

use crate::entry::{Entry, Parameter, Value};

const BOUND: Parameter = Parameter { name: "BOUND", value: Value::Text };
const EXPLORER: Parameter = Parameter {
    name: "EXPLORER",
    value: Value::Word(&["run-to-completion", "round-robin", "probabilistic-round-robin", "by-rank"]),
};
const MAX_DELAYS: Parameter = Parameter { name: "MAX_DELAYS", value: Value::Text };
const SAMPLES: [Parameter; 2] = [
    Parameter { name: "FACTOR", value: Value::Number { default: 10, min: 1, max: u32::MAX as u64 } },
    Parameter { name: "BASE", value: Value::Number { default: 3, min: 1, max: u32::MAX as u64 } },
];
const ENUMERATED: &str = "every value, 0 and false first";
const NO_MATTER: &str = "does not matter";

/// Every search, in the order of the documentation.
pub const SEARCHES: &[Entry] = &[
    Entry {
        name: "dfs",
        parameters: &[],
        paper: "depth-first search",
        promise: "every execution, if there are finitely many; dfs+hb: one of those with equal happens-before",
        cost: "a step and a snapshot; +hb: happens-before",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
    Entry {
        name: "preemption-bounding",
        parameters: &[BOUND],
        paper: "Musuvathi and Qadeer, PLDI 2007 (CHESS)",
        promise: "every execution of at most BOUND preemptions, those with fewer first; +states or +hb: what it \
                  has seen not again",
        cost: "a step and a snapshot; with a cache also a fingerprint or happens-before",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
    Entry {
        name: "delay-bounding",
        parameters: &[BOUND],
        paper: "Emmi et al., POPL 2011",
        promise: "every execution of at most BOUND delays of the order of creation, those with fewer first; \
                  +states or +hb: what it has seen not again",
        cost: "a step and a snapshot; with a cache also a fingerprint or happens-before",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
    Entry {
        name: "dpor",
        parameters: &[],
        paper: "Abdulla et al., POPL 2014",
        promise: "every execution up to the order of independent steps, and without turns of loops that only wait: \
                  a verdict, with its assumptions; livelocks",
        cost: "a step, a snapshot and its races with earlier steps",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
    Entry {
        name: "stateful",
        parameters: &[],
        paper: "explicit-state search",
        promise: "every state once; ends on spin loops, too; in the end livelocks: states from which no end can be \
                  reached; if wanted, also fair rounds that can be repeated for ever",
        cost: "a step, a snapshot and a fingerprint; about 100 bytes for each state and 8 for each step from one; if \
               rounds are wanted, 4 more for each of both",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
    Entry {
        name: "ses",
        parameters: &[EXPLORER, MAX_DELAYS],
        paper: "delaying explorers: Desai et al., FSE 2015",
        promise: "every state of few delays of the explorer first, all of them in the end",
        cost: "a step, a snapshot and a fingerprint",
        fair: NO_MATTER,
        shardable: false,
        data: ENUMERATED,
    },
    Entry {
        name: "ss",
        parameters: &[EXPLORER, MAX_DELAYS, SAMPLES[0], SAMPLES[1]],
        paper: "delaying explorers: Desai et al., FSE 2015",
        promise: "FACTOR * BASE^d executions of d delays, each of all those with probability at least 1/L^d",
        cost: "d executions for each sample, without what they begin with",
        fair: NO_MATTER,
        shardable: true,
        data: "0 and false, unless a delay is made there",
    },
    Entry {
        name: "ses-ss",
        parameters: &[
            EXPLORER,
            Parameter {
                name: "EXHAUSTIVE",
                value: Value::Number { default: 2, min: 0, max: u32::MAX as u64 },
            },
        ],
        paper: "delaying explorers: Desai et al., FSE 2015, future work",
        promise: "as ses up to EXHAUSTIVE delays, then samples of what is left",
        cost: "as ses, then as ss",
        fair: NO_MATTER,
        shardable: true,
        data: "as ses, then as ss",
    },
];
