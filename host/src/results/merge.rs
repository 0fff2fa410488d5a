//! Merging the results of several explorations of one test.

use super::{Subject, TestResult};
use coyote_strategies::search::Counts;

/// Why two results cannot be merged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// They differ in something that determines the content of an iteration with a given number.
    #[error("the results are of another {}: {} and {}", .0.what, .0.one, .0.other)]
    Subject(Difference),
    /// An iteration would be counted twice; with its number.
    #[error("both results count iteration {0}")]
    Overlap(u64),
    /// Their sweeps of faults had different plans, or only one result is of a sweep.
    #[error("the results are of different sweeps of faults")]
    Sweep,
    /// At least one is of a search, whose executions have no numbers.
    #[error("the results of searches cannot be put together: go on with a search by its frontier")]
    Search,
}

impl TestResult {
    /// Checks that both results were explored in the same way, so that equal numbers mean equal iterations.
    ///
    /// # Errors
    /// [`MergeError::Subject`].
    pub fn check(&self, other: &TestResult) -> Result<(), MergeError> {
        if let Some(difference) = self.subject.difference(&other.subject) {
            return Err(MergeError::Subject(difference));
        }
        let bounds = |result: &TestResult| {
            let bounds = result.statistics.steps_max;
            format!("{} {}", bounds.unfair, bounds.fair)
        };
        let watch = |result: &TestResult| format!("{:?}", result.watch);
        for (what, of) in [("bound on steps", &bounds as &dyn Fn(&_) -> _), ("set of detectors", &watch)] {
            let (one, other) = (of(self), of(other));
            if one != other {
                return Err(MergeError::Subject(Difference { what, one, other }));
            }
        }
        Ok(())
    }

    /// Merges the result of another exploration of the same test into this one. Traces that are not kept stay on disk.
    ///
    /// # Errors
    /// The two results are of different subjects or sweeps, count the same iteration, or one is of a search. This
    /// result is then unchanged.
    pub fn merge(&mut self, other: TestResult) -> Result<(), MergeError> {
        self.check(&other)?;
        if self.search.is_some() || other.search.is_some() {
            return Err(MergeError::Search);
        }
        match (&self.sweep, &other.sweep) {
            (None, None) => {}
            (Some(one), Some(other)) if one.has_plan_of(other) => {}
            _ => return Err(MergeError::Sweep),
        }
        if let Some(both) = self.indices.first_common(&other.indices) {
            return Err(MergeError::Overlap(both));
        }
        self.unite(other);
        Ok(())
    }

    /// Adds the result of the next unit of a campaign's search. Executions are numbered as if they came after those of the
    /// units before. What follows from all units together is left to the caller: assumptions, the estimate, and whether
    /// the search is exhausted.
    ///
    /// # Errors
    /// The two results are of different subjects, or one is of no unit of a search. This result is then unchanged.
    pub fn append(&mut self, mut other: TestResult) -> Result<(), MergeError> {
        self.check(&other)?;
        let (Some(searched), Some(more)) = (&mut self.search, &other.search) else {
            return Err(MergeError::Search);
        };
        if searched.resumed.is_some() || more.resumed.is_some() {
            return Err(MergeError::Search);
        }
        let Counts { executions, abandoned, unfinished, .. } = searched.counts;
        let last = self.bugs.iter().map(|bug| bug.iteration).max().unwrap_or(0);
        let before = (executions + abandoned + unfinished).max(last);
        searched.counts = searched.counts + more.counts;
        searched.cut.merge(more.cut.clone());
        for bug in &mut other.bugs {
            bug.iteration += before;
            bug.trace.header.iteration += before;
            bug.first = bug.first.map(|first| first + before);
        }
        if let Some(output) = &mut other.first_output {
            output.index = output.index.map(|index| index + before);
        }
        self.unite(other);
        self.bugs.sort_by(|a, b| a.order().cmp(&b.order()));
        Ok(())
    }

    /// Adds everything that does not depend on how the iterations were explored.
    fn unite(&mut self, other: TestResult) {
        self.indices.unite(&other.indices);
        self.statistics.merge(&other.statistics);
        other.bugs.into_iter().for_each(|bug| drop(self.add_bug(bug)));
        self.stop = self.stop.max(other.stop);
        self.elapsed += other.elapsed;
        self.any_choice |= other.any_choice;
        self.workers_max = self.workers_max.max(other.workers_max);
        self.incidents.merge(other.incidents);
        self.offer_first_output(other.first_output);
        other.races.into_iter().for_each(|seen| self.add_race(seen));
        other.inversions.into_iter().for_each(|seen| self.add_inversion(seen));
        self.shared.0.extend(other.shared.0);
        self.repeats += other.repeats;
        self.states_compared += other.states_compared;
        if let (Some(sweep), Some(other)) = (&mut self.sweep, &other.sweep) {
            sweep.merge(other);
        }
        if let Some(correlation) = other.correlation {
            self.correlation.get_or_insert_default().merge(correlation);
        }
        other.executed.iter().for_each(|executed| self.count_executed(executed));
        self.progress.merge(other.progress);
        self.exhaust_sweep();
    }
}

/// What two explorations do not have in common.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// A noun, such as `strategy`.
    pub what: &'static str,
    /// Its value in the one.
    pub one: String,
    /// Its value in the other.
    pub other: String,
}

impl Subject {
    /// The first part that differs. Of the options, those alone that are not equal.
    pub fn difference(&self, other: &Subject) -> Option<Difference> {
        let all = |subject: &Subject| subject.options.iter().map(option).collect::<Vec<_>>();
        let (ours, theirs) = (all(self), all(other));
        let not_in = |these: &[String], those: &[String]| {
            let differing: Vec<_> = these.iter().filter(|option| !those.contains(option)).cloned().collect();
            if differing.is_empty() { "nothing more".to_string() } else { differing.join(" ") }
        };
        // What may be repeated can also differ in its order.
        let are_alike = ours.len() == theirs.len() && ours.iter().all(|option| theirs.contains(option));
        let (our_options, their_options) = match are_alike {
            true => (ours.join(" "), theirs.join(" ")),
            false => (not_in(&ours, &theirs), not_in(&theirs, &ours)),
        };
        let parts = [
            ("module", self.module.clone(), other.module.clone()),
            ("test", self.test.clone(), other.test.clone()),
            ("strategy", self.strategy.clone(), other.strategy.clone()),
            ("seed", self.seed.to_string(), other.seed.to_string()),
            ("set of options", our_options, their_options),
        ];
        let mut parts = parts.into_iter().map(|(what, one, other)| Difference { what, one, other });
        parts.find(|part| part.one != part.other)
    }
}

fn option((name, value): &(String, String)) -> String {
    format!("{name}={value}")
}
