//! What a program did in its dry run: what strategies scale their random choices by.

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// Steps executed.
    pub steps: u64,
    /// Choices of a worker among at least two that were enabled.
    pub decisions: u64,
}
