//! A recorded schedule as a strategy.
//!
//! Strict: each choice must meet the recorded worker, operation kind and site, and the first that
//! does not is a [`Divergence`]. Lenient: used after the guest was edited or rebuilt. There a step
//! matches by worker, kind and, if any, object; recorded steps of that worker which the new program
//! no longer makes are skipped, and where nothing matches another strategy answers.

use crate::{Event, Iteration, OpKind, Operation, Pick, Standing, Strategy, View, WorkerId};
use std::collections::VecDeque;
use std::fmt;

/// A worker's creation path: empty for the first worker, else its parent's path and how many workers
/// that parent had created before it. Stable across schedules, unlike [`WorkerId`].
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct WorkerPath(pub Vec<u32>);

impl fmt::Display for WorkerPath {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "0")?;
        self.0.iter().try_for_each(|n| write!(f, ".{n}"))
    }
}
