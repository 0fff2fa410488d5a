//! The searches' rows of the table of [`crate::catalog`].

use crate::catalog::{Entry, Parameter, Value};

const BOUND: Parameter = Parameter { name: "BOUND", value: Value::Text };
const EXPLORER: Parameter = Parameter {
    name: "EXPLORER",
    value: Value::Word(&["round-robin", "run-to-completion", "probabilistic-round-robin"]),
};
const ENUMERATED: &str = "every value, 0 and false first";
const NO_MATTER: &str = "does not matter";

pub const SEARCHES: &[Entry] = &[
    Entry {
        name: "dfs",
        parameters: &[],
        paper: "depth-first search",
        promise: "every execution, if there are finitely many",
        cost: "a step and a snapshot",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
    Entry {
        name: "preemption-bounding",
        parameters: &[BOUND],
        paper: "Musuvathi and Qadeer, PLDI 2007 (CHESS)",
        promise: "every execution of at most BOUND preemptions, those with fewer first",
        cost: "a step and a snapshot",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
    Entry {
        name: "delay-bounding",
        parameters: &[BOUND],
        paper: "Emmi et al., POPL 2011",
        promise: "every execution of at most BOUND delays of the order of creation, those with fewer first",
        cost: "a step and a snapshot",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
    Entry {
        name: "dpor",
        parameters: &[],
        paper: "Abdulla et al., POPL 2014",
        promise: "every execution up to the order of independent steps: a verdict, with its assumptions",
        cost: "a step, a snapshot and its races with earlier steps",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
    Entry {
        name: "stateful",
        parameters: &[],
        paper: "explicit-state search",
        promise: "every state once; ends on spin loops, too",
        cost: "a step, a snapshot and a fingerprint",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
    Entry {
        name: "ses",
        parameters: &[EXPLORER],
        paper: "delaying explorers: Desai et al., FSE 2015",
        promise: "every state of few delays of the explorer first, all of them in the end",
        cost: "a step, a snapshot and a fingerprint",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
    Entry {
        name: "ss",
        parameters: &[EXPLORER],
        paper: "delaying explorers: Desai et al., FSE 2015",
        promise: "executions of d delays in at most L steps with probability at least 1/L^d each",
        cost: "d + 1 executions for each sample",
        fair: NO_MATTER,
        shardable: true,
        data: ENUMERATED,
    },
];
