//! The parts of a campaign's search: divided, and put together again. See [`coyote_strategies::search::division`].

use super::{Frontier, FrontierError, Part, Section, write_file};
use crate::results::Done;
use coyote_strategies::search::division::Work;
use coyote_strategies::search::visited::Visited;
use std::path::Path;
use std::sync::Arc;

/// The name of the file with what was visited before, beside the parts of a stage.
pub const VISITED: &str = "visited.frontier";

impl Frontier {
    /// Reads a part, with what was visited before.
    ///
    /// # Errors
    /// One of the files cannot be read or is damaged, or they do not belong together.
    pub fn read_part(path: &Path) -> Result<Frontier, FrontierError> {
        let mut part = Frontier::read(path)?;
        if let Some(hash) = &part.visited_in {
            part.work.visited = part.read_visited(&path.with_file_name(VISITED), hash)?;
        }
        Ok(part)
    }

    /// Reads what was visited before the stage of this part. `hash`: the BLAKE3 of the file, in hex.
    fn read_visited(&self, path: &Path, hash: &str) -> Result<Arc<Visited>, FrontierError> {
        let bytes = std::fs::read(path).ok();
        let bytes = bytes.filter(|bytes| blake3::hash(bytes).to_hex().as_str() == hash);
        let visited = bytes.and_then(|bytes| Frontier::parse(path, &bytes).ok());
        let visited = visited.filter(|visited| visited.identity == self.identity);
        visited.map(|visited| visited.work.visited).ok_or_else(|| {
            let reason = "it is not what was visited before the stage: remove the stage's directory and those of later \
                          stages, and they are made again";
            FrontierError::Damaged { path: path.into(), reason: reason.into() }
        })
    }

    /// What is left of a whole search after a stage, and what was visited. `parts`: the parts of the stage, in their order.
    /// `left`: what each of them has left, if anything. `None`: no part has left anything.
    ///
    /// # Errors
    /// This is not what these parts can have left.
    pub fn join(parts: &[Work], left: Vec<Option<Frontier>>) -> Result<Option<Frontier>, String> {
        let Some(Frontier { identity, from, done, .. }) = left.iter().flatten().next() else {
            return Ok(None);
        };
        let (identity, from, done) = (identity.clone(), from.clone(), done.clone());
        if left.iter().flatten().any(|left| left.identity != identity || !left.is_part) {
            return Err("what is left is of different searches".into());
        }
        let left = left.into_iter().map(|left| left.map_or_else(Work::default, |left| left.work)).collect();
        let work = Work::join(parts, left)?;
        Ok(Some(Frontier { identity, from, done, work, is_part: true, visited_in: None }))
    }

    /// Divides the work into at most `parts` parts, none of them empty.
    ///
    /// # Errors
    /// The work does not fit together.
    pub fn divide(self, parts: usize) -> Result<Vec<Frontier>, String> {
        let Frontier { identity, from, done, work, is_part, visited_in } = self;
        let part = |work| Frontier {
            identity: identity.clone(),
            from: from.clone(),
            done: done.clone(),
            work,
            is_part,
            visited_in: visited_in.clone(),
        };
        Ok(work.divide(parts)?.into_iter().map(part).collect())
    }

    /// Writes a part, without what was visited before.
    ///
    /// # Errors
    /// [`FrontierError::Write`].
    pub fn write_part(&self, path: &Path) -> Result<(), FrontierError> {
        let section = Section::of_work(&self.work);
        let Work { common, turn, .. } = &self.work;
        let part = Part { common: common.clone(), visited: self.visited_in.clone(), turn: *turn };
        write_file(path, self.identity.clone(), Done::default(), Some(part), &[section])
    }

    /// Writes what was visited, if anything, beside the parts into which this will be divided.
    ///
    /// # Errors
    /// [`FrontierError::Write`].
    pub fn write_visited(&mut self, directory: &Path) -> Result<(), FrontierError> {
        if self.work.visited.is_empty() {
            return Ok(());
        }
        let path = directory.join(VISITED);
        let section = Section::of_visited(&self.work.visited);
        write_file(&path, self.identity.clone(), Done::default(), Some(Part::default()), &[section])?;
        let written = std::fs::read(&path).map_err(|error| FrontierError::Read { path, error })?;
        self.visited_in = Some(blake3::hash(&written).to_hex().to_string());
        Ok(())
    }
}
