//! A row of the [catalog](crate::catalog).

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name by which users select it.
    pub name: &'static str,
    /// What may follow the name, each after a colon.
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
    /// The name in usage texts, in capitals.
    pub name: &'static str,
    /// What it may be.
    pub value: Value,
}

/// The values that a parameter may have.
#[derive(Clone, Copy, Debug)]
pub enum Value {
    /// A decimal number from `min` to `max`, both included.
    Number {
        /// The value if it is left out.
        default: u64,
        /// The smallest value.
        min: u64,
        /// The largest value.
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
