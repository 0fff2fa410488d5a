//! The parts of a campaign's search: divided, and put together again. See [`coyote_strategies::search::division`].

use super::{Frontier, FrontierError, Section, write_file};
use crate::results::Done;
use coyote_strategies::search::division::Work;
use std::path::Path;

impl Frontier {
    /// What is left of a whole search after a stage. `parts`: the parts of the stage, in their order. `left`: what each of
    /// them has left, if anything. `None`: nothing is left.
    ///
    /// # Errors
    /// This is not what these parts can have left.
    pub fn join(parts: &[Work], left: Vec<Option<Frontier>>) -> Result<Option<Frontier>, String> {
        let Some(Frontier { identity, from, done, .. }) = left.iter().flatten().next().cloned() else {
            return Ok(None);
        };
        if left.iter().flatten().any(|left| left.identity != identity || !left.is_part) {
            return Err("what is left is of different searches".into());
        }
        let left = left.into_iter().map(|left| left.map_or_else(Work::default, |left| left.work)).collect();
        let work = Work::join(parts, left)?;
        Ok((!work.is_empty()).then_some(Frontier { identity, from, done, work, is_part: true }))
    }

    /// Divides the work into at most `parts` parts, none of them empty.
    ///
    /// # Errors
    /// The work does not fit together.
    pub fn divide(self, parts: usize) -> Result<Vec<Frontier>, String> {
        let Frontier { identity, from, done, work, is_part } = self;
        let part = |work| Frontier {
            identity: identity.clone(),
            from: from.clone(),
            done: done.clone(),
            work,
            is_part,
        };
        Ok(work.divide(parts)?.into_iter().map(part).collect())
    }

    /// Writes a part.
    ///
    /// # Errors
    /// [`FrontierError::Write`].
    pub fn write_part(&self, path: &Path) -> Result<(), FrontierError> {
        let section = Section::of_work(&self.work);
        write_file(path, self.identity.clone(), Done::default(), Some(self.work.common.clone()), &[section])
    }
}
