//! Views of atomic locations: how far a worker has come in the modification order of each.

use super::Join;

/// For each location, by its number, the place in modification order before which no store can be read any more. See
/// [`super::Message::at`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct View(Vec<u32>);

impl View {
    /// The place up to which the location was seen.
    pub fn seen(&self, location: u32) -> u32 {
        self.0.get(location as usize).copied().unwrap_or(0)
    }

    /// Records that the store at this place was read or made.
    pub fn see(&mut self, location: u32, at: u32) {
        let index = location as usize;
        if self.0.len() <= index {
            self.0.resize(index + 1, 0);
        }
        self.0[index] = self.0[index].max(at);
    }
}

impl Join for View {
    fn join(&mut self, other: &View) {
        if self.0.len() < other.0.len() {
            self.0.resize(other.0.len(), 0);
        }
        for (own, other) in self.0.iter_mut().zip(&other.0) {
            *own = (*own).max(*other);
        }
    }
}
