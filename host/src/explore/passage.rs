//! The passage of an iteration: the lines that it executed, and the data that it chose.

use crate::artifact::Artifact;
use crate::execution::Execution;
use crate::machine::scheduler::Choice;
use crate::results::{Configuration, Correlation, IterationResult, Passage, SourceLine};
use crate::symbols::{SourceFrame, Symbols, is_library};
use coyote_strategies::OpKind;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

/// The passage of the iteration that has just ended.
pub fn of(execution: &Execution) -> Passage {
    let mut passage = Passage::default();
    let mut last = None;
    for choice in execution.choices() {
        match *choice {
            Choice::Step { kind, site, .. } => {
                *passage.sites.entry(site).or_default() += 1;
                last = (kind == OpKind::ChooseInt).then_some(site);
            }
            Choice::Value { value, .. } => {
                passage.data.extend(last.take().map(|site| (site, u64::from(value))));
            }
            Choice::Timeout { .. } => {}
        }
    }
    passage
}

/// Adds the passages of iterations, one after the other.
pub struct Passages {
    artifact: Arc<Artifact>,
    /// Read for the first iteration.
    symbols: Option<Symbols>,
    known: BTreeMap<u32, Option<SourceLine>>,
}

impl Passages {
    pub fn new(artifact: &Arc<Artifact>) -> Passages {
        Passages { artifact: artifact.clone(), symbols: None, known: BTreeMap::new() }
    }

    /// Counts an iteration that passed or has a bug of the guest.
    pub fn count(&mut self, correlation: &mut Correlation, iteration: &IterationResult) {
        let Some(passage) = &iteration.passage else { return };
        let cut_off = iteration.record.abandoned || iteration.record.hit_max_steps;
        let limit = iteration.bug.as_ref().is_some_and(|bug| bug.is_limit());
        if limit || iteration.bug.is_none() && cut_off {
            return;
        }
        let lines: BTreeSet<SourceLine> = passage.sites.keys().filter_map(|site| self.line(*site)).collect();
        let data =
            passage.data.iter().filter_map(|(site, value)| Some((self.line(*site)?, *value))).collect();
        let bug = iteration.bug.as_ref().map(|bug| bug.identity.short());
        correlation.count(bug, lines.into_iter(), Configuration(data));
    }

    /// The innermost line of the guest's own source; for an operation in a library that was not inlined, the library's
    /// line.
    fn line(&mut self, site: u32) -> Option<SourceLine> {
        if let Some(line) = self.known.get(&site) {
            return line.clone();
        }
        let symbols =
            self.symbols.get_or_insert_with(|| Symbols::relative_to(&self.artifact.original, Path::new("")));
        let location = self.artifact.table.sites.get(site as usize).map(|site| site.location);
        let frames = location.map(|location| symbols.frames(location)).unwrap_or_default();
        let of = |frame: &SourceFrame| Some(SourceLine { file: frame.file.clone()?, line: frame.line? });
        let own = frames.iter().filter(|frame| !is_library(frame)).find_map(of);
        let line = own.or_else(|| frames.iter().find_map(of));
        self.known.insert(site, line.clone());
        line
    }
}
