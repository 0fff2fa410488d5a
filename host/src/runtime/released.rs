//! Knowledge that was released at a sync object, from which happens-before is computed.

use super::stream::SyncKind;

/// Knowledge about other workers: clocks, views.
pub trait Join {
    /// Adds the knowledge of the other.
    fn join(&mut self, other: &Self);
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Released<T> {
    /// Released by all workers.
    all: T,
    /// Released by all workers except readers.
    exclusive: T,
}

impl<T: Join> Released<T> {
    /// Lets a worker whose knowledge is `own` acquire, or release, or both.
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
