//! Strategies and searches by name: the only table of all of them.
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
//! - [`nearest`]: suggestions for mistyped names.
//! - [`table`]: the catalog as text.

pub mod nearest;
pub mod parse;
mod samplers;
pub mod table;

pub use crate::entry::{Entry, Parameter, Value};
pub use crate::search::catalog::SEARCHES;
pub use samplers::{SAMPLERS, Sampler};

use crate::Strategy;

/// Settings that a strategy's parameters may refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// Steps after which the unfair prefix of a fair variant ends.
    pub unfair_steps_max: u64,
}

/// All strategies, then all searches.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    SAMPLERS.iter().map(|s| &s.entry).chain(SEARCHES)
}

/// The strategy that a user selects by this text. Its name is the complete text, with every parameter.
///
/// # Errors
/// A sentence for the user: what is wrong with the text, and the names that are nearest to it.
pub fn by_name(spec: &str, context: &Context) -> Result<Box<dyn Strategy>, String> {
    parse::parse(spec, context)
}
