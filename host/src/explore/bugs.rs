//! The bugs of an exploration, equal ones counted together.
//!
//! Two bugs are the same if they are of one kind and happened at the same places: of who did it, or of those
//! for whom all others wait; for a block of the heap also where it was allocated and freed. Places are lines of
//! the source where the module has them, since one line may have several instructions that go wrong.
//! Neither the wording matters nor where bystanders were, nor who of several workers did it.

use super::Found;
use crate::artifact::Artifact;
use crate::outcome::BugKind;
use crate::report::Findings;
use crate::report::history::Event;
use crate::symbols::Symbols;
use crate::trace::Trace;
use coyote_instrumenter::Location;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// In the order in which they were found.
pub struct Bugs {
    found: Vec<(Key, Found)>,
    lines: Lines,
}

/// What makes two bugs the same. Stacks are lists of lines, the innermost one first.
#[derive(Debug, PartialEq, Eq)]
struct Key {
    kind: BugKind,
    detail: String,
    /// Of those who did it.
    stacks: Vec<Vec<u32>>,
    allocated: Option<Vec<u32>>,
    freed: Option<Vec<u32>>,
}

impl Bugs {
    pub fn new(artifact: &Arc<Artifact>) -> Bugs {
        let lines =
            Lines { artifact: artifact.clone(), symbols: None, known: BTreeMap::new(), all: BTreeMap::new() };
        Bugs { found: Vec::new(), lines }
    }

    /// The bugs, each with its simplest trace so far.
    pub fn iter(&self) -> impl Iterator<Item = &Found> {
        self.found.iter().map(|(_, found)| found)
    }

    /// Keeps the simplest trace of each bug: the one with the fewest switches, of these the shortest. Which
    /// one that is does not depend on the order in which they come.
    pub fn add(&mut self, found: Found) {
        let key = self.key(&found.findings);
        match self.found.iter_mut().find(|(known, _)| *known == key) {
            None => self.found.push((key, found)),
            Some((_, known)) => {
                let count = known.count + 1;
                if simplicity(&found.trace) < simplicity(&known.trace) {
                    let other = std::mem::replace(known, found);
                    remove(&other.path);
                } else if found.path != known.path {
                    remove(&found.path);
                }
                known.count = count;
            }
        }
    }

    pub fn len(&self) -> usize {
        self.found.len()
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub fn into_found(self) -> Vec<Found> {
        self.found.into_iter().map(|(_, found)| found).collect()
    }

    /// Those with the simplest traces first: an order that does not depend on that in which they came.
    pub fn into_sorted(self) -> Vec<Found> {
        let mut found = self.into_found();
        found.sort_by(|a, b| simplicity(&a.trace).cmp(&simplicity(&b.trace)));
        found
    }

    fn key(&mut self, findings: &Findings) -> Key {
        let mut stacks: Vec<Vec<u32>> =
            findings.identity.parties.iter().map(|party| self.lines.stack(&party.stack)).collect();
        stacks.sort();
        stacks.dedup();
        let history = findings.history.as_ref();
        let mut of = |event: Option<&Event>| event.map(|event| self.lines.stack(&event.stack));
        Key {
            kind: findings.kind(),
            detail: findings.identity.detail.clone(),
            stacks,
            allocated: of(history.and_then(|h| h.allocated.as_ref())),
            freed: of(history.and_then(|h| h.freed.as_ref())),
        }
    }
}

/// Less is simpler. The decisions themselves make the order total.
fn simplicity(trace: &Trace) -> impl Ord + '_ {
    (trace.switches(), trace.decisions.len(), &trace.decisions)
}

/// Numbers for lines of the source.
struct Lines {
    artifact: Arc<Artifact>,
    /// Read when the first bug is met.
    symbols: Option<Symbols>,
    known: BTreeMap<Location, u32>,
    all: BTreeMap<String, u32>,
}

impl Lines {
    fn stack(&mut self, stack: &[Location]) -> Vec<u32> {
        stack.iter().map(|location| self.number(*location)).collect()
    }

    fn number(&mut self, location: Location) -> u32 {
        if let Some(number) = self.known.get(&location) {
            return *number;
        }
        let symbols = self.symbols.get_or_insert_with(|| Symbols::new(&self.artifact.original));
        let frames = symbols.frames(location);
        let line = match frames.first().is_some_and(|frame| frame.line.is_some()) {
            true => frames.iter().map(|f| format!("{} {:?} {:?};", f.function, f.file, f.line)).collect(),
            false => format!("{location:?}"),
        };
        let next = self.all.len() as u32;
        let number = *self.all.entry(line).or_insert(next);
        self.known.insert(location, number);
        number
    }
}

/// A trace that another one stands for. That it may already be gone is no error.
pub fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
}
