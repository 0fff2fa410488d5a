//! Injected faults: legal but rare behaviour that the user enabled, with a budget for each execution.
//!
//! A fault is a data value, chosen where it may happen (an *opportunity*): 0 is none, so that minimising drops faults.
//! What is left of a budget is part of the fingerprint, and an object of its own in the relation: a fault of one worker
//! takes from what others may have. A class without a budget has no opportunities at all.
//!
//! - `registry`: the classes; `mutant`: planted defects.

mod mutant;
mod registry;

use super::footprint::Footprint;
use coyote_strategies::{Class, Effect};
pub use mutant::Mutant;
use registry::CLASSES;
pub use registry::{FAULTS, FaultClass, FaultRow};

/// How often each may still happen in an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Faults {
    left: [u32; CLASSES],
    /// A defect of ours, so that tests can show that they would notice it.
    #[doc(hidden)]
    pub mutant: Option<Mutant>,
}

/// Why a budget cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaultError {
    #[error("there is no class of faults {0}; there are {all}", all = names())]
    Unknown(String),
    #[error("{0}: the budget is a number of faults in an execution, as in {1}=1")]
    Budget(String, String),
}

fn names() -> String {
    FAULTS.iter().map(|row| row.name).collect::<Vec<_>>().join(", ")
}

impl Faults {
    /// With this budget of a class.
    #[must_use]
    pub fn with(mut self, class: FaultClass, budget: u32) -> Faults {
        self.set(class, budget);
        self
    }

    /// Sets the budget of a class.
    pub fn set(&mut self, class: FaultClass, budget: u32) {
        self.left[class as usize] = budget;
    }

    /// What is left of a class' budget.
    pub fn budget(&self, class: FaultClass) -> u32 {
        self.left[class as usize]
    }

    /// Reads `NAME=BUDGET`, or `NAME` for the usual budget of the class.
    ///
    /// # Errors
    /// There is no such class, or its budget is no number.
    pub fn read(&mut self, text: &str) -> Result<(), FaultError> {
        let (name, budget) = text.split_once('=').map_or((text, None), |(name, budget)| (name, Some(budget)));
        let class = FaultClass::by_name(name).ok_or_else(|| FaultError::Unknown(name.into()))?;
        let wrong = |_| FaultError::Budget(text.into(), name.into());
        let budget = budget.map_or(Ok(class.row().usual), |budget| budget.parse().map_err(wrong))?;
        self.set(class, budget);
        Ok(())
    }

    /// The budgets that are not 0, as [`Faults::read`] reads them, of classes that have no option of their own.
    pub fn write(&self) -> Vec<String> {
        let rows = FAULTS.iter().filter(|row| row.option.is_none() && self.budget(row.class) > 0);
        rows.map(|row| format!("{}={}", row.name, self.budget(row.class))).collect()
    }

    /// Whether any fault may happen.
    pub fn any(&self) -> bool {
        self.left.iter().any(|left| *left > 0)
    }
}

/// The budgets among the objects of the relation.
const OBJECTS: u64 = 1 << 41;

/// Which of the ways in which a fault can happen here does happen: the first value says so, 0 is none. The error is
/// the bound of that value, if it is missing.
pub(super) fn choose(
    faults: &mut Faults,
    class: FaultClass,
    ways: u64,
    values: &[u64],
    footprint: &mut Footprint,
) -> Result<u64, u64> {
    let (left, object) = (&mut faults.left[class as usize], OBJECTS | class as u64);
    let chosen = match values.first() {
        _ if *left == 0 => 0,
        None => return Err(ways + 1),
        Some(value) => *value,
    };
    let effect = if chosen > 0 { Effect::Write } else { Effect::Read };
    footprint.touch(Class::Other, effect, object);
    *left -= u32::from(chosen > 0);
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let mut faults = Faults::default();
        for row in FAULTS {
            faults.read(&format!("{}=7", row.name)).unwrap();
            assert_eq!(faults.budget(row.class), 7);
            faults.read(row.name).unwrap();
            assert_eq!(faults.budget(row.class), row.usual);
        }
        let mut again = Faults::default();
        faults.write().iter().for_each(|text| again.read(text).unwrap());
        for row in FAULTS.iter().filter(|row| row.option.is_some()) {
            again.set(row.class, row.usual);
        }
        assert_eq!(again, faults);
        assert!(faults.any() && !Faults::default().any());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let error = |text: &str| Faults::default().read(text).unwrap_err().to_string();
        assert!(
            error("colour=1").starts_with("there is no class of faults colour; there are try-lock, spurious")
        );
        assert_eq!(
            error("spurious=many"),
            "spurious=many: the budget is a number of faults in an execution, as in spurious=1"
        );
    }
}
