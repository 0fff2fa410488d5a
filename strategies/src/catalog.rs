//! Strategies by name.

use crate::{RandomWalk, Strategy};

/// What a strategy's parameters may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// After so many steps the unfair prefix of a fair variant ends.
    pub unfair_steps_max: u64,
}

/// The strategy that a user selects by this name. The error lists what there is.
pub fn by_name(name: &str, _context: &Context) -> Result<Box<dyn Strategy>, String> {
    match name {
        "random" => Ok(Box::new(RandomWalk::default())),
        _ => Err(format!("there is no strategy {name}; there is: random")),
    }
}
