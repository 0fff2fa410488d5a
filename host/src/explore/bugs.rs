//! The bugs of an exploration, equal ones counted together.

use super::Found;
use std::path::Path;

/// In the order in which they were found.
#[derive(Default)]
pub struct Bugs(pub Vec<Found>);

impl Bugs {
    /// Keeps the shortest trace of each bug.
    pub fn add(&mut self, found: Found) {
        let known = self.0.iter_mut().find(|f| f.findings.same_bug(&found.findings));
        match known {
            None => self.0.push(found),
            Some(known) => {
                let count = known.count + 1;
                if found.trace.decisions.len() < known.trace.decisions.len() {
                    let longer = std::mem::replace(known, found);
                    remove(&longer.path);
                } else {
                    remove(&found.path);
                }
                known.count = count;
            }
        }
    }
}

/// A trace that another one stands for. That it may already be gone is no error.
pub fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}
