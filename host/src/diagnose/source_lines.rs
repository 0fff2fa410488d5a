//! Places of a module as lines of its source, by which the bugs of an exploration are compared.

use crate::artifact::Artifact;
use crate::evidence::RacingAccess;
use crate::identity::Identity;
use crate::outcome::BugKind;
use crate::results::{BlockHistory, BugIdentity, PastEvent};
use crate::symbols::Symbols;
use coyote_instrumenter::Location;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// See the module's documentation.
pub struct SourceLines {
    artifact: Arc<Artifact>,
    /// Read when the first bug is met.
    symbols: Option<Symbols>,
    known: BTreeMap<Location, String>,
}

impl SourceLines {
    pub fn new(artifact: &Arc<Artifact>) -> SourceLines {
        SourceLines { artifact: artifact.clone(), symbols: None, known: BTreeMap::new() }
    }

    /// The identity by lines of a bug, given its identity by places.
    pub fn identity(
        &mut self,
        kind: BugKind,
        places: &Identity,
        block: Option<&BlockHistory>,
    ) -> BugIdentity {
        let mut stacks: Vec<Vec<String>> =
            places.parties.iter().map(|party| self.stack(&party.stack)).collect();
        stacks.sort();
        stacks.dedup();
        let mut of = |event: Option<&PastEvent>| event.map(|event| self.stack(&event.stack));
        BugIdentity {
            kind,
            detail: places.detail.clone(),
            stacks,
            allocated: of(block.and_then(|block| block.allocated.as_ref())),
            freed: of(block.and_then(|block| block.freed.as_ref())),
        }
    }

    /// The identity of a data race: the lines of both accesses, in any order and independent of the callers.
    pub fn race(&mut self, accesses: [&RacingAccess; 2]) -> BugIdentity {
        let mut stacks = accesses.map(|access| self.stack(access.location.as_slice())).to_vec();
        stacks.sort();
        stacks.dedup();
        BugIdentity { kind: BugKind::DataRace, detail: String::new(), stacks, allocated: None, freed: None }
    }

    fn stack(&mut self, stack: &[Location]) -> Vec<String> {
        stack.iter().map(|location| self.line(*location)).collect()
    }

    fn line(&mut self, location: Location) -> String {
        if let Some(line) = self.known.get(&location) {
            return line.clone();
        }
        // Paths as in the module, so that the current directory does not matter.
        let symbols =
            self.symbols.get_or_insert_with(|| Symbols::relative_to(&self.artifact.original, Path::new("")));
        let frames = symbols.frames(location);
        let line = match frames.first().is_some_and(|frame| frame.line.is_some()) {
            true => frames.iter().map(|f| format!("{} {:?} {:?};", f.function, f.file, f.line)).collect(),
            false => format!("{location:?}"),
        };
        self.known.insert(location, line.clone());
        line
    }
}
