//! What was released at a sync object, for whoever tells what happens before what.

use super::stream::SyncKind;

/// What can be known of others: clocks, views.
pub trait Join {
    /// Knows what both know.
    fn join(&mut self, other: &Self);
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Released<T> {
    /// By all.
    all: T,
    /// Without readers.
    exclusive: T,
}

impl<T: Join> Released<T> {
    /// A worker that knows `own` acquires, or releases, or both.
    pub fn exchange(&mut self, own: &mut T, kind: SyncKind) {
        if kind.acquires() {
            own.join(if kind == SyncKind::AcquireShared { &self.exclusive } else { &self.all });
        }
        if kind.releases() {
            self.all.join(own);
            if kind != SyncKind::ReleaseShared {
                self.exclusive.join(own);
            }
        }
    }
}
