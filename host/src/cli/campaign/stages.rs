//! The stages of a campaign of a search: see [`crate::units::search`].
//!
//! | in the directory | |
//! |---|---|
//! | `stages/S/K.frontier` | the part of unit S-K; the first stage has one unit and no part |
//! | `stages/S/parts` | the BLAKE3 of each part, a line each, and of these lines |
//! | `stages/S/visited.frontier` | the states that the stages before have visited, if the search remembers them |
//! | `results/S-K.result` | the result of unit S-K; written after the next one |
//! | `results/S-K.frontier` | what it left, if anything, and the states that it has visited |
//!
//! A stage without parts is the last one: nothing is left, or a bug was found and the campaign ends with it. The process
//! that finds all units of a stage done makes the next one. It appears as a whole, and two processes would make the same.

use super::place::{Place, UNITS, Unit, to_remove};
use crate::cli::units::{LEFT, WHOLE, hash_of};
use crate::explore::frontier::Frontier;
use crate::results::Stop;
use crate::units::SearchUnit;
use crate::units::search::budget_of_stage;
use anyhow::{Context, Result, anyhow, bail, ensure};
use coyote_strategies::search::division::Work;
use coyote_strategies::search::visited::Visited;
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const STAGES: &str = "stages";
const PARTS: &str = "parts";

/// A stage.
pub struct Stage {
    number: u64,
    /// Its directory.
    directory: PathBuf,
    /// The blake3 of each part, in hex; `None`: the whole search.
    parts: Vec<Option<String>>,
}

impl Stage {
    fn at(place: &Place, number: u64) -> Result<Stage> {
        let directory = place.directory.join(STAGES).join(number.to_string());
        let parts = match number {
            1 => vec![None],
            _ => {
                let path = directory.join(PARTS);
                // An incomplete copy of the directory must not look like the end.
                let parts = fs::read_to_string(&path).ok().and_then(|text| parts_of(&text));
                parts.with_context(|| {
                    let directory = directory.display();
                    format!(
                        "{} is damaged: remove {directory} and later stages, and they are made again",
                        path.display()
                    )
                })?
            }
        };
        Ok(Stage { number, directory, parts })
    }

    /// The present stage.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn last(place: &Place) -> Result<Stage> {
        let mut number = 1;
        while place.directory.join(STAGES).join((number + 1).to_string()).is_dir() {
            number += 1;
        }
        Stage::at(place, number)
    }

    /// The stage of a unit.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn of(place: &Place, unit: Unit) -> Result<Stage> {
        Stage::at(place, unit.stage.unwrap_or(1))
    }

    /// All stages so far, the first one first.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn all(place: &Place) -> Result<Vec<Stage>> {
        let last = Stage::last(place)?.number;
        (1..=last).map(|number| Stage::at(place, number)).collect()
    }

    pub fn units(&self) -> impl Iterator<Item = Unit> + use<> {
        let stage = Some(self.number);
        (1..=self.parts.len() as u64).map(move |number| Unit { stage, number })
    }

    /// Whether the campaign ends here.
    pub fn is_end(&self) -> bool {
        self.parts.is_empty()
    }

    pub fn number(&self) -> u64 {
        self.number
    }

    /// The part of a unit; `None` if it is the whole search.
    fn part(&self, unit: Unit) -> Option<PathBuf> {
        (self.number > 1).then(|| self.directory.join(unit.number.to_string()).with_extension(LEFT))
    }

    /// The arguments of `test` for a unit.
    ///
    /// # Errors
    /// Its part is damaged.
    pub fn arguments(&self, place: &Place, unit: Unit) -> Result<Vec<OsString>> {
        let steps = place.campaign.unit_steps.unwrap_or_default();
        let budget = budget_of_stage(self.parts.len() as u64, place.campaign.units, steps);
        let part = self.checked_part(unit)?.map_or_else(|| WHOLE.into(), PathBuf::into_os_string);
        let (steps, pieces) = (budget.steps.to_string().into(), budget.pieces.to_string().into());
        Ok(vec!["--part".into(), part, "--unit-steps".into(), steps, "--pieces".into(), pieces])
    }

    /// The results of its units, and what each of them has left.
    ///
    /// # Errors
    /// A result is missing or damaged, or is not of the unit's part.
    fn ended(&self, place: &Place) -> Result<Vec<Ended>> {
        self.units().map(|unit| self.ended_unit(place, unit)).collect()
    }

    fn ended_unit(&self, place: &Place, unit: Unit) -> Result<Ended> {
        let result = self.result(place, unit)?;
        let path = place.result(unit).with_extension(LEFT);
        let left = match &result.work.left {
            None => None,
            Some(hash) if hash_of(&path).is_ok_and(|found| found == *hash) => Some(Frontier::read(&path)?),
            Some(_) => bail!(
                "{} is not what unit {unit} has left: remove it and the unit's result, and `coyote-wasm campaign work` \
                 executes it again",
                path.display()
            ),
        };
        Ok((result, left))
    }

    /// The result of one of its units.
    ///
    /// # Errors
    /// The result is damaged, or is not of the unit's part.
    pub fn result(&self, place: &Place, unit: Unit) -> Result<SearchUnit> {
        let path = place.result(unit);
        let result = SearchUnit::read(&path).map_err(to_remove)?;
        if self.parts.get(unit.number as usize - 1).is_none_or(|part| *part != result.work.part) {
            let found = self.part(unit).map(|part| hash_of(&part)).transpose().ok().flatten();
            let directory = self.directory.display();
            match found == result.work.part {
                true => bail!("{directory} is damaged: remove it and later stages, and they are made again"),
                false => bail!(
                    "{} is not the result of the part of this unit: remove it, and `coyote-wasm campaign work` executes \
                     it again",
                    path.display()
                ),
            }
        }
        Ok(result)
    }

    /// Checks that nothing is left after this stage, which is the last one with parts.
    ///
    /// # Errors
    /// Something is left, or is damaged.
    pub fn check_end(&self, place: &Place) -> Result<Option<Arc<Visited>>> {
        let ended = self.ended(place)?;
        let ends_with_bug = ends_with_bug(&ended);
        let left = self.left(ended)?;
        ensure!(
            ends_with_bug || left.as_ref().is_none_or(|left| left.work.is_empty()),
            "there is work after stage {}, and stage {} has no parts: remove {} to make it again",
            self.number,
            self.number + 1,
            place.directory.join(STAGES).join((self.number + 1).to_string()).display()
        );
        Ok(left.map(|left| left.work.visited).filter(|visited| !visited.is_empty()))
    }

    /// The states that this stage and those before it have visited so far, if the search remembers them.
    ///
    /// # Errors
    /// A file is damaged.
    pub fn visited(&self, place: &Place) -> Result<Option<Arc<Visited>>> {
        let done = self.units().filter(|unit| place.is_done(*unit));
        let ended = done.map(|unit| self.ended_unit(place, unit)).collect::<Result<Vec<_>>>()?;
        let mut visited = Visited::clone(&*self.visited_before()?);
        for left in ended.iter().filter_map(|(_, left)| left.as_ref()) {
            visited.join(&left.work.visited);
        }
        Ok((!visited.is_empty()).then(|| Arc::new(visited)))
    }

    /// The states that the stages before this one have visited, if the search remembers them.
    fn visited_before(&self) -> Result<Arc<Visited>> {
        match self.units().next().map(|unit| self.checked_part(unit)).transpose()?.flatten() {
            Some(path) => Ok(Frontier::read_part(&path)?.work.visited),
            None => Ok(Arc::default()),
        }
    }

    /// The part of a unit, which is as it was made; `None` if it is the whole search.
    fn checked_part(&self, unit: Unit) -> Result<Option<PathBuf>> {
        let Some(path) = self.part(unit) else { return Ok(None) };
        let made = self.parts.get(unit.number as usize - 1).cloned().flatten();
        ensure!(
            hash_of(&path).ok() == made,
            "{} is damaged: remove {} and later stages, and they are made again",
            path.display(),
            self.directory.display()
        );
        Ok(Some(path))
    }

    /// Makes the next stage once all units are done. Returns whether it is there now; not if another process is making it.
    ///
    /// # Errors
    /// A result is damaged, or errors of the environment.
    pub fn make_next(&self, place: &Place) -> Result<bool> {
        let lock = place.directory.join(UNITS).join(format!("after-{}", self.number));
        let file = File::options().create(true).truncate(false).write(true).open(&lock);
        let file = file.with_context(|| format!("cannot lock {}", lock.display()))?;
        if file.try_lock().is_err() {
            return Ok(false);
        }
        let next = place.directory.join(STAGES).join((self.number + 1).to_string());
        if next.is_dir() {
            return Ok(true);
        }
        let cannot = || format!("cannot make {}", next.display());
        let ended = self.ended(place)?;
        // Nobody else has the lock: what is there is of a process that was killed.
        let aside = place.directory.join(STAGES).join(format!(".after-{}", self.number));
        if aside.is_dir() {
            fs::remove_dir_all(&aside).with_context(cannot)?;
        }
        fs::create_dir(&aside).with_context(cannot)?;
        let ends_with_bug = ends_with_bug(&ended);
        let mut parts = Vec::new();
        if let Some(mut left) = self.left(ended)?.filter(|left| !ends_with_bug && !left.work.is_empty()) {
            left.write_visited(&aside)?;
            let units = usize::try_from(place.campaign.units).unwrap_or(usize::MAX);
            parts = left.divide(units).map_err(|error| self.wrong(error))?;
        }
        let mut hashes = String::new();
        for (number, part) in parts.iter().enumerate() {
            let path = aside.join((number + 1).to_string()).with_extension(LEFT);
            part.write_part(&path)?;
            hashes += &format!("{}\n", hash_of(&path)?);
        }
        let text = format!("{hashes}{}\n", blake3::hash(hashes.as_bytes()).to_hex());
        fs::write(aside.join(PARTS), text).with_context(cannot)?;
        fs::rename(&aside, &next).with_context(cannot)?;
        Ok(true)
    }

    /// What is left after this stage, all units of which are done, and what was visited.
    fn left(&self, ended: Vec<Ended>) -> Result<Option<Frontier>> {
        let part = |unit| match self.checked_part(unit)? {
            None => Ok(Work::whole()),
            Some(path) => Ok::<_, anyhow::Error>(Frontier::read(&path)?.work),
        };
        let mut parts: Vec<Work> = self.units().map(part).collect::<Result<_>>()?;
        if let Some(first) = parts.first_mut() {
            first.visited = self.visited_before()?;
        }
        let left = ended.into_iter().map(|(_, left)| left).collect();
        Frontier::join(&parts, left).map_err(|error| self.wrong(error))
    }

    fn wrong(&self, error: String) -> anyhow::Error {
        anyhow!("stage {}: {error}", self.number)
    }
}

/// The result of a unit, and what it has left.
type Ended = (SearchUnit, Option<Frontier>);

fn ends_with_bug(ended: &[Ended]) -> bool {
    ended.iter().any(|(unit, _)| unit.result.stop == Stop::Bug)
}

/// The hashes in the file `parts`, if it is whole.
fn parts_of(text: &str) -> Option<Vec<Option<String>>> {
    let lines = text.strip_suffix('\n')?;
    let last = lines.rfind('\n').map_or(0, |at| at + 1);
    let (hashes, of_hashes) = lines.split_at(last);
    let is_whole = blake3::hash(hashes.as_bytes()).to_hex().as_str() == of_hashes;
    is_whole.then(|| hashes.lines().map(|hash| Some(hash.to_string())).collect())
}

/// Creates what a campaign of a search needs.
///
/// # Errors
/// The directory cannot be made.
pub fn create(directory: &Path) -> std::io::Result<()> {
    fs::create_dir_all(directory.join(STAGES))
}
