//! Checks whether the results that workers got from a shared object can be explained by a sequential order.
//!
//! A history of operations is *linearizable* (Herlihy and Wing, TOPLAS 1990) if each can be given an instant between its
//! call and its return such that, executed at these instants, a sequential [`Model`] returns what they returned.
//! Workers record their operations in a [`Log`] each; [`assert()`] fails with the shortest stretch that cannot be explained.
//!
//! ```
//! use coyote::linearize::{self, Clock, Model};
//!
//! /// A counter whose only operation adds one and returns what was there before.
//! struct Counter;
//!
//! impl Model for Counter {
//!     type Call = ();
//!     type Return = u32;
//!     type State = u32;
//!
//!     fn initial(&self) -> u32 {
//!         0
//!     }
//!
//!     fn step(&self, state: &u32, _: &(), returned: Option<&u32>) -> Option<u32> {
//!         returned.is_none_or(|before| before == state).then_some(state + 1)
//!     }
//! }
//!
//! let clock = Clock::new();
//! let (mut one, mut other) = (clock.log(), clock.log());
//! one.record((), || 0);
//! other.record((), || 1);
//! linearize::assert(&Counter, [one, other]);
//! ```
//!
//! Logs go to workers by value or by reference and are collected when these have ended. The only memory that
//! recordings share with other workers is a counter that is accessed with `Relaxed`: they hide no data race.
//! A recorded span is never shorter than the operation, so that no correct object is reported. The counter's
//! two accesses are scheduling points.
//!
//! An operation that did not return ([`Log::begin`] without [`Log::end`], for workers that are left behind or crash) may
//! have taken effect at any time after its call, or never.
//!
//! Deciding this is NP-complete: it takes long where the order of many overlapping operations shows only much later,
//! as in a queue that grows long. Keep such queues, or histories, short. The check is that of Wing and Gong (JPDC
//! 1993) as Lowe improved it (*Testing for linearizability*, 2017): a depth-first search over orders that visits each
//! pair of executed operations and state once. Under coyote-wasm the check has no scheduling points.
//!
//! Limits: the check does not see what operations do between two recordings, and it judges one schedule only;
//! exploration provides the other schedules.

mod check;
#[cfg(test)]
mod tests;

use std::fmt::{self, Debug};
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};

/// The sequential specification of an object.
pub trait Model {
    /// An operation that can be called, with its arguments.
    type Call;
    /// The result of an operation.
    type Return;
    /// The state of the object.
    type State: Clone + Eq + Hash;

    /// The state before the first operation.
    fn initial(&self) -> Self::State;

    /// The state after an operation; `None` if the operation cannot return `returned` in this state.
    /// `returned` is `None` for an operation that never returned: any result is possible.
    fn step(
        &self,
        state: &Self::State,
        call: &Self::Call,
        returned: Option<&Self::Return>,
    ) -> Option<Self::State>;
}

/// The clock of a history, which orders the calls and returns of several workers.
#[derive(Debug, Default)]
pub struct Clock(AtomicU64);

impl Clock {
    /// A new clock. It can be a `static`.
    pub const fn new() -> Clock {
        Clock(AtomicU64::new(0))
    }

    /// A log for a worker's operations, empty.
    pub fn log<C, R>(&self) -> Log<'_, C, R> {
        Log { clock: self, operations: Vec::new() }
    }

    fn tick(&self) -> u64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }
}

/// An operation of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<C, R> {
    /// What was called.
    pub call: C,
    /// What it returned; `None` if it never did.
    pub returned: Option<R>,
    /// When it was called.
    pub from: u64,
    /// When it returned, later than `from`; [`u64::MAX`] if it never did.
    pub to: u64,
}

/// The operations of a worker.
#[derive(Debug)]
pub struct Log<'c, C, R> {
    clock: &'c Clock,
    operations: Vec<Operation<C, R>>,
}

/// An operation that has begun: see [`Log::begin`].
#[derive(Debug, PartialEq, Eq)]
#[must_use = "an operation without an end never returned"]
pub struct Begun(usize);

impl<C, R> Log<'_, C, R> {
    /// Executes an operation and records it.
    pub fn record(&mut self, call: C, operation: impl FnOnce() -> R) -> R
    where
        R: Clone,
    {
        let begun = self.begin(call);
        let returned = operation();
        self.end(begun, returned.clone());
        returned
    }

    /// Records that an operation is called.
    pub fn begin(&mut self, call: C) -> Begun {
        let from = self.clock.tick();
        self.operations.push(Operation { call, returned: None, from, to: u64::MAX });
        Begun(self.operations.len() - 1)
    }

    /// Records that the operation has returned, and its result.
    pub fn end(&mut self, begun: Begun, returned: R) {
        let to = self.clock.tick();
        let operation = &mut self.operations[begun.0];
        (operation.returned, operation.to) = (Some(returned), to);
    }

    /// The recorded operations.
    pub fn into_operations(self) -> Vec<Operation<C, R>> {
        self.operations
    }
}

/// A history that no order explains.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The longest order of operations that the model explains, as indices of the history.
    pub explained: Vec<usize>,
    /// The index in the history of the remaining operation that returns first: no order continues past its return.
    pub stuck: usize,
}

impl Violation {
    /// Describes the violation in words, for the history that has it.
    pub fn describe<C: Debug, R: Debug>(&self, history: &[Operation<C, R>]) -> String {
        let line = |operation: &Operation<C, R>| match &operation.returned {
            Some(returned) => {
                format!("[{}, {}] {:?} -> {returned:?}", operation.from, operation.to, operation.call)
            }
            None => format!("[{}, ..] {:?}, which never returned", operation.from, operation.call),
        };
        let mut text = format!(
            "not linearizable: of {} operations at most {} can be explained before\n  {}",
            history.len(),
            self.explained.len(),
            line(&history[self.stuck])
        );
        text += "\nthe last of these, with the times of call and return:";
        let skipped = self.explained.len().saturating_sub(LINES);
        for operation in self.explained.iter().skip(skipped) {
            text += &format!("\n  {}", line(&history[*operation]));
        }
        let others = (0..history.len()).filter(|other| {
            *other != self.stuck
                && !self.explained.contains(other)
                && history[*other].from < history[self.stuck].to
        });
        let others: Vec<usize> = others.collect();
        if !others.is_empty() {
            text += "\nat the same time:";
        }
        for other in others.into_iter().take(LINES) {
            text += &format!("\n  {}", line(&history[other]));
        }
        text
    }
}

/// The maximum number of operations in each list of a description.
const LINES: usize = 8;

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(
            f,
            "not linearizable: operation {} cannot follow any {} others",
            self.stuck,
            self.explained.len()
        )
    }
}

impl std::error::Error for Violation {}

/// Finds an order of the operations, as indices of the history, in which the model returns what they
/// returned. Operations that never returned may be left out.
///
/// # Errors
/// There is no such order.
pub fn check<M: Model>(
    model: &M,
    history: &[Operation<M::Call, M::Return>],
) -> Result<Vec<usize>, Violation> {
    check::search(model, history)
}

/// Panics if the operations of these logs are not linearizable, with a description of the violation.
pub fn assert<'c, M: Model>(model: &M, logs: impl IntoIterator<Item = Log<'c, M::Call, M::Return>>)
where
    M::Call: Debug + 'c,
    M::Return: Debug + 'c,
{
    let history: Vec<_> = logs.into_iter().flat_map(Log::into_operations).collect();
    if let Err(violation) = check(model, &history) {
        panic!("{}", violation.describe(&history));
    }
}
