//! The stores to an atomic location, in modification order.

use super::view::View;
use coyote_strategies::WorkerId;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Maximum number of stores that are kept for a location: older ones cannot be read any more.
pub const MESSAGES_MAX: usize = 16;

/// Distance between the places of a store and of the next one behind it, which leaves places for stores
/// between them.
const GAP: u32 = 1 << 8;

/// A store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its place in the modification order of its location.
    pub at: u32,
    pub value: u64,
    /// Whether it is a read-modify-write: no store comes between it and the store that it read.
    pub modifies: bool,
    /// The view that a worker gets by acquiring it.
    pub view: Arc<View>,
    /// The step that made it, from 1 on, and its worker; `None` for a value that was there before. For
    /// reports.
    pub origin: Option<(u64, WorkerId)>,
}

impl Hash for Message {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Message { at, value, modifies, view, origin: _ } = self;
        (at, value, modifies, view).hash(hasher);
    }
}

/// A location: an address with a size.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Location {
    pub bytes: u32,
    /// Its number in views.
    pub number: u32,
    /// The largest place that a store has had so far.
    top: u32,
    /// In modification order. The last one is in memory; empty until it is accessed.
    pub messages: Vec<Message>,
}

impl Location {
    pub fn new(bytes: u32, number: u32) -> Location {
        Location { bytes, number, top: 0, messages: Vec::new() }
    }

    /// The store that is in memory.
    pub fn newest(&self) -> Option<&Message> {
        self.messages.last()
    }

    /// Forgets all stores, and starts with the value that memory has now, which is newer than all of them.
    pub fn restart(&mut self, value: u64, view: View) {
        self.messages.clear();
        let at = self.next();
        self.messages.push(Message { at, value, modifies: false, view: Arc::new(view), origin: None });
    }

    /// A place behind all others.
    pub fn next(&mut self) -> u32 {
        self.top = self.top.saturating_add(GAP);
        self.top
    }

    /// A place right behind the store of this index, if there is one.
    pub fn behind(&self, index: usize) -> Option<u32> {
        let (at, next) = (self.messages[index].at, self.messages.get(index + 1)?.at);
        (next - at >= 2 && !self.is_modified(index)).then(|| at + (next - at) / 2)
    }

    /// Whether a read-modify-write follows the store of this index.
    pub fn is_modified(&self, index: usize) -> bool {
        self.messages.get(index + 1).is_some_and(|next| next.modifies)
    }

    /// The index of the store at a place.
    pub fn index(&self, at: u32) -> Option<usize> {
        self.messages.iter().position(|message| message.at == at)
    }

    /// Inserts a store at its place.
    pub fn insert(&mut self, message: Message) {
        let index = self.messages.partition_point(|other| other.at <= message.at);
        self.messages.insert(index, message);
        if self.messages.len() > MESSAGES_MAX {
            self.messages.remove(0);
        }
    }
}
