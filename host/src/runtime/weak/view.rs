//! Views of atomic locations: how far a worker has come in the modification order of each.

use super::Join;

/// The view of one location. Positions are places in its modification order: see [`super::Message::at`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Mark {
    /// No store before this one can be read any more: coherence.
    seen: u32,
    /// The last store that happened before, whether it was read or not. Never behind `seen`.
    done: u32,
}

/// A mark for each location, by its number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct View(Vec<Mark>);

impl View {
    /// The place up to which the location was seen.
    pub fn seen(&self, location: u32) -> u32 {
        self.0.get(location as usize).map_or(0, |mark| mark.seen)
    }

    /// The last store to the location that happened before.
    pub fn done(&self, location: u32) -> u32 {
        self.0.get(location as usize).map_or(0, |mark| mark.done)
    }

    fn mark(&mut self, location: u32) -> &mut Mark {
        let index = location as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, Mark::default());
        }
        &mut self.0[index]
    }

    /// Records that the store at this place was read.
    pub fn see(&mut self, location: u32, at: u32) {
        let mark = self.mark(location);
        mark.seen = mark.seen.max(at);
    }

    /// Records that a store was made at this place.
    pub fn store(&mut self, location: u32, at: u32) {
        let mark = self.mark(location);
        mark.seen = mark.seen.max(at);
        mark.done = mark.done.max(at);
    }

    /// Takes over the bounds on reads of the other view, but not what happened before it.
    pub fn join_seen(&mut self, other: &View) {
        self.merge(other, false);
    }

    fn merge(&mut self, other: &View, happens_before: bool) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), Mark::default());
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            own.seen = own.seen.max(other.seen);
            if happens_before {
                own.done = own.done.max(other.done);
            }
        }
    }
}

impl Join for View {
    fn join(&mut self, other: &View) {
        self.merge(other, true);
    }
}
