//! A row of the [catalog](crate::catalog).

/// A row of the table: a strategy or a search.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name by which users select it.
    pub name: &'static str,
    /// The parameters that may follow the name, each after a colon.
    pub parameters: &'static [Parameter],
    /// The paper or program that it comes from.
    pub paper: &'static str,
    /// Which bugs it finds, and with what certainty.
    pub promise: &'static str,
    /// Work per decision, as a formula of the number of workers and other counts.
    pub cost: &'static str,
    /// Whether every enabled worker gets its turn.
    pub fair: &'static str,
    /// Whether the work can be shared: by several processes for a sampler, by the jobs of one for a search.
    pub shardable: bool,
    /// How data choices are made, in which order if they are enumerated.
    pub data: &'static str,
}

/// A parameter that may follow a name after a colon.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// The name in usage texts, in capitals.
    pub name: &'static str,
    /// The values that it may have.
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
    /// Any text that fits the description; there is no default.
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
