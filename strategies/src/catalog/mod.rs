//! Strategies and searches by name: the one table of what there is.
//!
//! ```text
//! spec     = { stage "@" STEPS ",then:" } stage     one after another within an iteration
//! stage    = primary { "+chess-fair" }              spins wait for others
//! primary  = "[" spec "]"
//!          | [ "fair-" ] NAME { ":" PARAMETER }     fair-: after the unfair bound on steps, random
//!          | "portfolio" [ ":[" spec { "," spec } "]" ]     taking turns by iteration
//! ```
//!
//! - [`parse`]: text to strategy.
//! - [`nearest`]: what was probably meant.
//! - [`table`]: the catalog as text.

pub mod nearest;
pub mod parse;
mod samplers;
pub mod table;

pub use crate::search::catalog::SEARCHES;
pub use samplers::{SAMPLERS, Sampler};

use crate::Strategy;

/// What a strategy's parameters may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// After so many steps the unfair prefix of a fair variant ends.
    pub unfair_steps_max: u64,
}

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    pub name: &'static str,
    pub parameters: &'static [Parameter],
    /// Where it comes from.
    pub paper: &'static str,
    /// What it finds, and how surely.
    pub promise: &'static str,
    /// Work for each decision, in words of workers and what else counts.
    pub cost: &'static str,
    /// Whether every enabled worker gets its turn.
    pub fair: &'static str,
    /// Whether several processes can share the work.
    pub shardable: bool,
    /// How data choices are made, in which order if they are enumerated.
    pub data: &'static str,
}

/// What may follow a name after a colon.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    pub name: &'static str,
    pub value: Value,
}

#[derive(Clone, Copy, Debug)]
pub enum Value {
    Number {
        default: u64,
        min: u64,
        max: u64,
    },
    /// One of some words, of which the first is the default.
    Word(&'static [&'static str]),
    /// Anything the description says; no default.
    Text,
}

impl Entry {
    /// The name with its parameters and their defaults, such as `pct[:DEPTH=3]`.
    pub fn usage(&self) -> String {
        let parameter = |p: &Parameter| match p.value {
            Value::Number { default, .. } => format!("[:{}={default}]", p.name),
            Value::Word(words) => format!("[:{}={}]", p.name, words[0]),
            Value::Text => format!("[:{}]", p.name),
        };
        self.name.to_string() + &self.parameters.iter().map(parameter).collect::<String>()
    }
}

/// All strategies, then all searches.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    SAMPLERS.iter().map(|s| &s.entry).chain(SEARCHES)
}

/// The strategy that a user selects by this text. Its name is the text in full: every parameter is
/// spelled out. The error says what is wrong with the text, and what there is instead.
pub fn by_name(spec: &str, context: &Context) -> Result<Box<dyn Strategy>, String> {
    parse::parse(spec, context)
}
