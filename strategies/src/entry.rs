//! A row of the [catalog](crate::catalog).

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
