//! Injected faults: legal but rare behaviour that the user enabled, with a budget for each execution.
//!
//! A fault is a data value, chosen where it may happen (an *opportunity*): 0 is none, so that minimising drops faults.
//! What is left of a budget is part of the fingerprint, and an object of its own in the relation: a fault of one worker
//! leaves less for other workers. A class without a budget has no opportunities at all.
//!
//! - `registry`: the classes; `counts`: how often; `mutant`: planted defects. Where they may happen:
//!   [`super::Runtime::may_fail`] and its neighbours.

mod counts;
mod mutant;
mod registry;

use crate::plural::counted;
pub use counts::{FaultCount, FaultCounts, hash};
use coyote_instrumenter::Options;
use coyote_strategies::Strategy;
pub use mutant::Mutant;
use registry::CLASSES;
pub use registry::{FAULTS, FaultClass, FaultRow, of_site, other_order};
use std::hash::{Hash, Hasher};

/// The budgets: how often each fault may still happen in an execution.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    classes: [Allowance; CLASSES],
    /// Fault points with a budget of their own, which also holds for points whose names continue with a dot. Names
    /// begin with the class.
    points: Vec<(String, Allowance)>,
    /// A planted defect, so that tests can show that they would notice it.
    pub(super) mutant: Option<Mutant>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Allowance {
    given: u32,
    left: u32,
}

/// Hashes what is left of the budgets that were given: the others never change.
impl Hash for Faults {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        let Faults { classes, points, mutant: _ } = self;
        let allowances = classes.iter().chain(points.iter().map(|(_, allowance)| allowance));
        for (which, Allowance { left, .. }) in allowances.enumerate().filter(|(_, known)| known.given > 0) {
            (which, left).hash(hasher);
        }
    }
}

/// The budget that a fault takes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BudgetId {
    Class(FaultClass),
    /// One of the budgets of fault points.
    Point(u16),
}

/// Reasons why a budget cannot be read.
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

/// The beginning of the names of the guest's own fault points.
pub const POINT: &str = "point.";

impl Faults {
    /// Returns the faults with this budget of a class.
    #[must_use]
    pub fn with(mut self, class: FaultClass, budget: u32) -> Faults {
        self.set(class, budget);
        self
    }

    /// Returns the faults with a planted defect.
    #[doc(hidden)]
    #[must_use]
    pub fn with_mutant(mut self, mutant: impl Into<Option<Mutant>>) -> Faults {
        self.mutant = mutant.into();
        self
    }

    /// Sets the budget of a class.
    pub fn set(&mut self, class: FaultClass, budget: u32) {
        self.classes[class as usize] = Allowance { given: budget, left: budget };
    }

    /// What is left of a class' budget.
    pub fn budget(&self, class: FaultClass) -> u32 {
        self.classes[class as usize].left
    }

    /// Whether the class was given a budget, of which nothing may be left.
    pub fn has(&self, class: FaultClass) -> bool {
        self.classes[class as usize].given > 0
    }

    /// Reads `sc`, `weak` or `weak:N`: the number of choices of an execution that may be stale.
    pub fn read_memory(&mut self, text: &str) -> Option<()> {
        let budget = match text.split_once(':') {
            None if text == "sc" => 0,
            None if text == "weak" => FaultClass::Stale.row().usual,
            Some(("weak", budget)) => budget.parse().ok().filter(|budget| *budget > 0)?,
            _ => return None,
        };
        self.set(FaultClass::Stale, budget);
        Some(())
    }

    /// The inverse of [`Faults::read_memory`], unless that is `sc`.
    pub fn write_memory(&self) -> Option<String> {
        let given = self.classes[FaultClass::Stale as usize].given;
        (given > 0).then(|| format!("weak:{given}"))
    }

    /// The memory model in words, for verdicts.
    pub fn memory_model(&self) -> String {
        match self.classes[FaultClass::Stale as usize].given {
            0 => "sequential consistency".into(),
            given => format!(
                "RC11 without load buffering, {} an execution at most",
                counted(given.into(), "stale choice")
            ),
        }
    }

    /// The budgets, apart from those of classes with an option of their own, as restrictions of what was explored.
    pub fn bounds(&self) -> Vec<String> {
        let given = self.budgets().filter(|(_, given)| *given > 0);
        given.map(|(name, given)| format!("{name} faults: {given} an execution at most")).collect()
    }

    /// The budget of a fault point, if it was given one: that of its name, or of the longest beginning of it that ends
    /// before a dot, or that of all points of its class, with which the name begins.
    pub fn of_point(&self, name: &str) -> Option<BudgetId> {
        let class = class_of(name)?;
        let is = |given: &str| {
            name.strip_prefix(given).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let named = self.points.iter().enumerate().filter(|(_, (given, _))| is(given));
        let (id, allowance) = match named.max_by_key(|(_, (given, _))| given.len()) {
            Some((index, (_, allowance))) => (BudgetId::Point(index as u16), allowance),
            None => (BudgetId::Class(class), &self.classes[class as usize]),
        };
        (allowance.given > 0).then_some(id)
    }

    /// The class of the faults that take from this budget.
    pub fn class(&self, id: BudgetId) -> FaultClass {
        match id {
            BudgetId::Class(class) => class,
            BudgetId::Point(index) => class_of(&self.points[usize::from(index)].0)
                .expect("a name was read that begins with a class"),
        }
    }

    /// Reads `NAME=BUDGET`, or `NAME` for the usual budget of the class.
    ///
    /// # Errors
    /// There is no such class, or its budget is no number.
    pub fn read(&mut self, text: &str) -> Result<(), FaultError> {
        let (name, budget) = text.split_once('=').map_or((text, None), |(name, budget)| (name, Some(budget)));
        let point = class_of(name);
        let class = point.or_else(|| FaultClass::by_name(name));
        let class = class.ok_or_else(|| FaultError::Unknown(name.into()))?;
        let wrong = |_| FaultError::Budget(text.into(), name.into());
        let budget = budget.map_or(Ok(class.row().usual), |budget| budget.parse().map_err(wrong))?;
        match point {
            None => self.set(class, budget),
            Some(_) => {
                self.points.retain(|(given, _)| given != name);
                self.points.push((name.into(), Allowance { given: budget, left: budget }));
                // The order of options has no meaning.
                self.points.sort_by(|(one, _), (other, _)| one.cmp(other));
            }
        }
        Ok(())
    }

    /// The budgets that were given, as [`Faults::read`] reads them, of classes that have no option of their own.
    pub fn write(&self) -> Vec<String> {
        self.budgets().map(|(name, given)| format!("{name}={given}")).collect()
    }

    /// These budgets, by name. One of 0 excludes points from a shared budget.
    fn budgets(&self) -> impl Iterator<Item = (&str, u32)> {
        let rows = FAULTS.iter().filter(|row| row.option.is_none());
        let classes = rows.map(|row| (row.name, self.classes[row.class as usize].given));
        let points = self.points.iter().map(|(name, allowance)| (name.as_str(), allowance.given));
        classes.filter(|(_, given)| *given > 0).chain(points)
    }

    /// The names of all classes and points that were given a budget, as reports call them.
    pub fn given(&self) -> Vec<String> {
        let classes = FAULTS.iter().filter(|row| self.has(row.class)).map(|row| row.name.to_string());
        let points = self.points.iter().filter(|(_, allowance)| allowance.given > 0);
        classes.chain(points.map(|(name, _)| name.clone())).collect()
    }

    /// Sets the options so that a module is instrumented for the classes that were given a budget.
    pub fn prepare(&self, options: &mut Options) {
        let hooks = FAULTS.iter().filter(|row| self.has(row.class)).filter_map(|row| row.hook);
        options.faults = hooks.map(String::from).collect();
        options.faults.sort();
        options.faults.dedup();
    }

    /// Wraps a sampler so that it also draws faults, if any may happen: see
    /// [`coyote_strategies::sample::faults`].
    pub fn sampled(&self, schedules: Box<dyn Strategy>) -> Box<dyn Strategy> {
        let points = self.points.iter().map(|(_, allowance)| allowance);
        match self.classes.iter().chain(points).map(|allowance| allowance.given).max() {
            None | Some(0) => schedules,
            Some(budget) => Box::new(coyote_strategies::Faults::new(schedules, budget)),
        }
    }

    /// Whether nothing is left of any budget for failures.
    pub fn are_used_up(&self) -> bool {
        let open = FaultClass::OPEN.map(BudgetId::Class);
        self.ids().all(|id| open.contains(&id) || !self.state(id).1)
    }

    /// Whether any fault may happen.
    pub fn any(&self) -> bool {
        !self.given().is_empty()
    }

    /// Whether a budget was given, and whether something is left of it.
    pub fn state(&self, id: BudgetId) -> (bool, bool) {
        let allowance = match id {
            BudgetId::Class(class) => self.classes[class as usize],
            BudgetId::Point(index) => self.points[usize::from(index)].1,
        };
        (allowance.given > 0, allowance.left > 0)
    }

    /// Takes `faults` from what is left of a budget, down to 0.
    pub fn take(&mut self, id: BudgetId, faults: u32) {
        let allowance = match id {
            BudgetId::Class(class) => &mut self.classes[class as usize],
            BudgetId::Point(index) => &mut self.points[usize::from(index)].1,
        };
        allowance.left = allowance.left.saturating_sub(faults);
    }

    /// All budgets.
    pub fn ids(&self) -> impl Iterator<Item = BudgetId> + use<> {
        let points = self.points.len() as u16;
        FAULTS.iter().map(|row| BudgetId::Class(row.class)).chain((0..points).map(BudgetId::Point))
    }
}

/// The class of a fault point, with which its name begins: `point.disk`.
fn class_of(point: &str) -> Option<FaultClass> {
    let (class, rest) = point.split_once('.')?;
    let class = FaultClass::by_name(class).filter(|class| FaultClass::NAMED.contains(class))?;
    (!rest.is_empty()).then_some(class)
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
        for text in ["point.disk.write=2", "net.loss=4", "point.disk=0", "net.partition", "point.net"] {
            faults.read(text).unwrap();
        }
        let mut again = Faults::default();
        faults.write().iter().rev().for_each(|text| again.read(text).unwrap());
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
        assert!(error("point.=1").starts_with("there is no class of faults point."));
        assert!(error("io.write=1").starts_with("there is no class of faults io.write;"));
        assert_eq!(
            error("spurious=many"),
            "spurious=many: the budget is a number of faults in an execution, as in spurious=1"
        );
    }

    #[test]
    fn the_longest_name_has_the_budget() {
        let of = |texts: &[&str], name: &str| {
            let mut faults = Faults::default();
            texts.iter().for_each(|text| faults.read(text).unwrap());
            faults.of_point(name).map(|id| match id {
                BudgetId::Class(class) => class.row().name.to_string(),
                BudgetId::Point(index) => faults.points[usize::from(index)].0.clone(),
            })
        };
        let texts = ["point", "point.disk=3", "point.disk.write=0", "point.net"];
        assert_eq!(of(&texts, "point.disk.read"), Some("point.disk".into()));
        assert_eq!(of(&texts, "point.disk"), Some("point.disk".into()));
        assert_eq!(of(&texts, "point.diskette"), Some("point".into()));
        assert_eq!(of(&texts, "point.disk.write.late"), None);
        assert_eq!(of(&texts[1..], "point.other"), None);
        assert_eq!(of(&[], "point.disk"), None);
        // Points of one class take nothing from those of another.
        assert_eq!(of(&texts, "net.loss"), None);
        assert_eq!(of(&["net.loss", "net=0", "point"], "net.loss"), Some("net.loss".into()));
        assert_eq!(of(&["net.loss=0", "net", "point=0"], "net.loss"), None);
        assert_eq!(of(&["net.loss=0", "net", "point=0"], "net.delay"), Some("net".into()));
        assert_eq!(of(&["net", "point.net"], "point.net.loss"), Some("point.net".into()));
    }
}
