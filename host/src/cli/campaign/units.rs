//! The units of a campaign, whatever it explores.

use super::place::{Place, Unit};
use super::stages::Stage;
use crate::units::SearchUnit;
use anyhow::Result;
use coyote_strategies::search::remembers;
use coyote_strategies::search::visited::Visited;
use std::ffi::OsString;
use std::sync::Arc;

/// What a campaign of a search has done so far.
pub struct Searched {
    /// The results, in the order of stages and parts.
    pub units: Vec<SearchUnit>,
    /// What all of them have visited, if the search remembers it.
    pub visited: Option<Arc<Visited>>,
    /// How many units have no result.
    pub open: u64,
}

/// What follows when no unit is open.
pub enum Next {
    /// More units.
    Units,
    /// Another process knows soon.
    Later,
    /// The campaign has ended, or a unit was given up.
    Nothing,
}

impl Place {
    /// The units that are known: of a search, those of all stages so far.
    ///
    /// # Errors
    /// The directory cannot be read.
    pub fn units(&self) -> Result<Vec<Unit>> {
        match self.campaign.unit_steps {
            None => Ok((1..=self.campaign.units).map(|number| Unit { stage: None, number }).collect()),
            Some(_) => Ok(Stage::all(self)?.iter().flat_map(Stage::units).collect()),
        }
    }

    /// The arguments of `test` that select a unit.
    pub fn selected(&self, unit: Unit) -> Result<Vec<OsString>> {
        match unit.stage {
            Some(_) => Stage::of(self, unit)?.arguments(self, unit),
            None => Ok(vec!["--shard".into(), format!("{}/{}", unit.number, self.campaign.units).into()]),
        }
    }

    /// Whether there is this unit.
    pub fn has(&self, unit: Unit) -> bool {
        match (unit.stage, self.campaign.unit_steps) {
            (Some(_), Some(_)) => {
                Stage::of(self, unit).is_ok_and(|stage| stage.units().any(|known| known == unit))
            }
            (None, None) => (1..=self.campaign.units).contains(&unit.number),
            _ => false,
        }
    }

    /// Whether it has no result and is not given up.
    pub fn is_open(&self, unit: Unit) -> bool {
        !self.is_done(unit) && !self.is_given_up(unit)
    }

    /// The units that are open, in their order.
    pub fn open_units(&self) -> Result<Vec<Unit>> {
        Ok(self.units()?.into_iter().filter(|unit| self.is_open(*unit)).collect())
    }

    /// Makes the next stage of a search if all units of the present one are done.
    pub fn go_on(&self) -> Result<Next> {
        if self.campaign.unit_steps.is_none() {
            return Ok(Next::Nothing);
        }
        let stage = Stage::last(self)?;
        if stage.is_end() || stage.units().any(|unit| self.is_given_up(unit)) {
            return Ok(Next::Nothing);
        }
        Ok(if stage.make_next(self)? { Next::Units } else { Next::Later })
    }

    /// A sentence about the units that there are.
    pub fn known(&self) -> Result<String> {
        let units = self.units()?;
        Ok(match (units.first(), units.last()) {
            (Some(first), Some(last)) => format!("the campaign has units {first} to {last}"),
            _ => "the campaign has ended".into(),
        })
    }

    /// The results of a search so far.
    ///
    /// # Errors
    /// A file is damaged, or they do not belong together.
    pub fn searched(&self) -> Result<Searched> {
        let stages = Stage::all(self)?;
        let (mut units, mut open) = (Vec::new(), 0);
        for (stage, unit) in stages.iter().flat_map(|stage| stage.units().map(move |unit| (stage, unit))) {
            match self.is_done(unit) {
                true => units.push(stage.result(self, unit)?),
                false => open += 1,
            }
        }
        let ended = match &stages[..] {
            [.., last, end] if end.is_end() => Some(last),
            _ => None,
        };
        let visited = match ended {
            Some(last) if open == 0 => last.check_end(self)?,
            _ => {
                // What a stage leaves is not known until the next one is made.
                open += u64::from(ended.is_none() && open == 0);
                let remembers = units.first().is_some_and(|unit| remembers(&unit.result.subject.strategy));
                let last = ended.or(stages.last()).filter(|_| remembers);
                last.map(|stage| stage.visited(self)).transpose()?.flatten()
            }
        };
        Ok(Searched { units, visited, open })
    }
}
