//! The trait of programs that can be searched.

use crate::{Pick, View};

/// What a system waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// A [`System::step`]: at least one pick is possible.
    Ready,
    /// A [`System::choose`] of a value below `bound`, which completes the last step.
    Choosing { bound: u64 },
    /// Nothing more: every worker ended, or the rest does not matter.
    Passed,
    /// Nothing more: a bug was found.
    Bug,
    /// Nothing more: no verdict, for example a bound was reached or an assumption failed.
    Abandoned,
}

impl Status {
    pub fn is_final(self) -> bool {
        matches!(self, Status::Passed | Status::Bug | Status::Abandoned)
    }
}

/// One access of an executed step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Objects of different classes never overlap: 0 is memory, others are the system's.
    pub class: u8,
    pub write: bool,
    pub object: u64,
    pub size: u32,
}

/// A program under control whose state can be saved and restored.
pub trait System {
    type Snapshot: Clone;

    fn status(&self) -> Status;

    /// What can be picked now.
    fn view(&self) -> View<'_>;

    /// Executes the pick. Must be possible.
    fn step(&mut self, pick: Pick);

    /// Answers [`Status::Choosing`].
    fn choose(&mut self, value: u64);

    /// What the last step really touched, which may be more than it announced.
    fn footprint(&self) -> &[Access];

    /// Whether [`System::snapshot`] works. If not, a search executes prefixes again.
    fn can_snapshot(&self) -> bool;

    fn snapshot(&mut self) -> Self::Snapshot;

    fn restore(&mut self, snapshot: &Self::Snapshot);

    /// Equal for equal states; different states differ with overwhelming probability.
    fn fingerprint(&mut self) -> u128;
}
