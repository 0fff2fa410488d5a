//! Statistics of the iterations of a run, printed at its end.
//!
//! [`Statistics::line`] is always printed; `--stats` prints everything in the layout of Coyote's test report, so that
//! Coyote's users find what they know. All numbers follow from the records alone: two runs with the same seed print the
//! same text, whatever the number of jobs. Times are printed on a line of their own, [`Statistics::elapsed`], or behind
//! the number of schedules, [`in_time`], and are not part of that text.

use crate::machine::scheduler::Limits;
use crate::plural::counted;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// One iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationRecord {
    /// Whether its strategy was fair.
    pub fair: bool,
    /// Operations executed.
    pub steps: u64,
    /// Choices among more than one possibility.
    pub decisions: u64,
    /// Most workers that were enabled at once.
    pub concurrency: u32,
    /// Workers that existed.
    pub workers: u32,
    /// Whether it was ended by the bound on steps.
    pub hit_max_steps: bool,
    /// Whether that was after the first worker had ended.
    pub hit_after_main: bool,
    /// Whether it ended with a bug.
    pub buggy: bool,
    /// Whether it ended with a livelock, wherever that was noticed: its length is then meaningless.
    pub livelock: bool,
    /// Whether it was given up without a verdict for another reason than max-steps, such as a failed assumption.
    pub abandoned: bool,
}

/// Bounds on the steps of one iteration, as the user gave them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepsMax {
    /// The bound under a strategy that is not fair.
    pub unfair: u64,
    /// The bound under a fair strategy.
    pub fair: u64,
}

impl From<Limits> for StepsMax {
    fn from(limits: Limits) -> StepsMax {
        StepsMax { unfair: limits.unfair_steps_max, fair: limits.fair_steps_max }
    }
}

/// Minimum, mean and maximum of some numbers. Exact: the mean is not stored, but computed at the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spread {
    /// The smallest number.
    pub min: u64,
    /// The largest number.
    pub max: u64,
    /// The sum of the numbers.
    pub total: u64,
    /// How many numbers there are, at least 1.
    pub count: u64,
}

/// The iterations of one kind of strategy. A terminating one ended by itself: it passed or has a bug.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Schedules {
    /// How many there were.
    pub explored: u64,
    /// How many the bound on steps ended.
    pub hit_max_steps: u64,
    /// How many of these after the first worker had ended.
    #[serde(default)]
    pub hit_after_main: u64,
    /// How many were given up for another reason, without a verdict.
    pub abandoned: u64,
    /// Steps of terminating schedules; `None` if there were none.
    pub steps: Option<Spread>,
    /// Decisions of terminating schedules.
    pub decisions: Option<Spread>,
}

/// The sum of [`IterationRecord`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Statistics {
    /// The bounds that applied.
    pub steps_max: StepsMax,
    /// Iterations with a bug.
    pub buggy: u64,
    /// The number of different bugs, if the results that compare them have set it. `None`: every bug counts as
    /// different.
    pub distinct_bugs: Option<u64>,
    /// Iterations under fair strategies.
    pub fair: Schedules,
    /// Iterations under strategies that are not fair.
    pub unfair: Schedules,
    /// Workers per iteration.
    pub workers: Option<Spread>,
    /// The largest number of enabled workers per iteration.
    pub concurrency: Option<Spread>,
}

impl Statistics {
    /// The statistics of no iterations.
    pub fn new(steps_max: StepsMax) -> Statistics {
        Statistics {
            steps_max,
            buggy: 0,
            distinct_bugs: None,
            fair: Schedules::default(),
            unfair: Schedules::default(),
            workers: None,
            concurrency: None,
        }
    }

    /// Counts an iteration.
    pub fn add(&mut self, record: &IterationRecord) {
        let schedules = if record.fair { &mut self.fair } else { &mut self.unfair };
        schedules.explored += 1;
        schedules.hit_max_steps += u64::from(record.hit_max_steps);
        schedules.hit_after_main += u64::from(record.hit_after_main);
        schedules.abandoned += u64::from(record.abandoned);
        if !record.hit_max_steps && !record.abandoned && !record.livelock {
            Spread::add(&mut schedules.steps, record.steps);
            Spread::add(&mut schedules.decisions, record.decisions);
        }
        self.buggy += u64::from(record.buggy);
        Spread::add(&mut self.workers, record.workers.into());
        Spread::add(&mut self.concurrency, record.concurrency.into());
    }

    /// Adds the statistics of other iterations. `distinct_bugs` is not changed: only a comparison of the bugs of both
    /// can determine it.
    pub fn merge(&mut self, other: &Statistics) {
        self.buggy += other.buggy;
        self.fair.merge(&other.fair);
        self.unfair.merge(&other.unfair);
        Spread::merge(&mut self.workers, other.workers);
        Spread::merge(&mut self.concurrency, other.concurrency);
    }

    /// The number of iterations that were added.
    pub fn iterations(&self) -> u64 {
        self.fair.explored + self.unfair.explored
    }

    /// The line with times, to print below the statistics.
    pub fn elapsed(schedules: u64, elapsed: Duration) -> String {
        let seconds = elapsed.as_secs_f64();
        match schedules as f64 / seconds {
            rate if rate.is_finite() => format!("... Elapsed {seconds:.3} s: {rate:.0} schedules/s."),
            _ => format!("... Elapsed {seconds:.3} s."),
        }
    }

    /// The most important numbers, in one line without a line feed.
    pub fn line(&self, elapsed: Duration) -> String {
        let explored = self.iterations();
        let mut ends = vec![format!("{} buggy", self.buggy)];
        ends.extend(some(self.fair.hit_max_steps + self.unfair.hit_max_steps, "unfinished"));
        ends.extend(some(self.fair.abandoned + self.unfair.abandoned, "given up"));
        let mut of_each = Vec::new();
        if let Some(workers) = self.workers {
            of_each.push(match workers.min == workers.max {
                true => counted(workers.max, "worker"),
                false => format!("{} to {} workers", workers.min, workers.max),
            });
        }
        let both = |fair: Option<Spread>, unfair| {
            let mut sum = fair;
            Spread::merge(&mut sum, unfair);
            sum
        };
        let steps = both(self.fair.steps, self.unfair.steps);
        let decisions = both(self.fair.decisions, self.unfair.decisions);
        if let (Some(steps), Some(decisions)) = (steps, decisions) {
            let decisions = counted(decisions.avg(), "decision");
            of_each.push(format!("{} and {decisions} on average", counted(steps.avg(), "step")));
        }
        let of_each = if of_each.is_empty() { String::new() } else { format!("; {}", of_each.join(", ")) };
        let time = in_time(explored, elapsed);
        format!("... Explored {}{time}: {}{of_each}.", counted(explored, "schedule"), ends.join(", "))
    }

    /// The option that raises the bound that some schedules of this fairness hit.
    pub fn raised_for(&self, fair: bool) -> String {
        let schedules = if fair { &self.fair } else { &self.unfair };
        self.raised(fair, schedules.hit_max_steps, schedules.explored - schedules.hit_max_steps)
    }

    /// The option that raises a bound: to twice as many steps, or to ten times as many where most executions did not
    /// end and doubling would take many runs.
    pub fn raised(&self, fair: bool, unfinished: u64, ended: u64) -> String {
        let factor = if unfinished > ended { 10 } else { 2 };
        let bounds = match fair {
            true => (self.steps_max.unfair, self.steps_max.fair.saturating_mul(factor)),
            false => {
                let unfair = self.steps_max.unfair.saturating_mul(factor);
                (unfair, self.steps_max.fair.max(unfair))
            }
        };
        format!("--max-steps {} {}", bounds.0, bounds.1)
    }

    fn write_schedules(&self, f: &mut fmt::Formatter, fair: bool) -> fmt::Result {
        let (fairness, schedules, bound) = match fair {
            true => ("fair", &self.fair, self.steps_max.fair),
            false => ("unfair", &self.unfair, self.steps_max.unfair),
        };
        if let Some(steps) = schedules.steps {
            writeln!(f, "..... Steps in {fairness} terminating schedules: {steps}.")?;
        }
        if let Some(decisions) = schedules.decisions {
            writeln!(f, "..... Scheduling decisions in {fairness} terminating schedules: {decisions}.")?;
        }
        if schedules.hit_max_steps > 0 {
            let percent = percent(schedules.hit_max_steps, schedules.explored);
            let next = self.raised_for(fair);
            writeln!(
                f,
                "..... Hit the max-steps bound of {bound} in {percent} of the {fairness} schedules: \
                 if they should end, try {next}."
            )?;
        }
        if schedules.abandoned > 0 {
            let percent = percent(schedules.abandoned, schedules.explored);
            writeln!(f, "..... Gave up {percent} of the {fairness} schedules without a verdict.")?;
        }
        Ok(())
    }
}

/// Writes lines that each end in a line feed, without times.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let explored = self.iterations();
        writeln!(f, "... Testing statistics:")?;
        writeln!(f, "..... Found {}.", counted(self.distinct_bugs.unwrap_or(self.buggy), "bug"))?;
        writeln!(f, "... Exploration statistics:")?;
        writeln!(
            f,
            "..... Explored {}: {} fair ({} unfinished) and {} unfair ({} unfinished).",
            counted(explored, "schedule"),
            self.fair.explored,
            self.fair.hit_max_steps,
            self.unfair.explored,
            self.unfair.hit_max_steps,
        )?;
        if self.buggy > 0 {
            writeln!(f, "..... Found {} buggy schedules.", percent(self.buggy, explored))?;
        }
        if let Some(workers) = self.workers {
            writeln!(f, "..... Controlled {}: {workers}.", counted(workers.total, "worker"))?;
        }
        if let Some(concurrency) = self.concurrency {
            writeln!(f, "..... Degree of concurrency: {concurrency}.")?;
        }
        self.write_schedules(f, true)?;
        self.write_schedules(f, false)
    }
}

impl Schedules {
    fn merge(&mut self, other: &Schedules) {
        self.explored += other.explored;
        self.hit_max_steps += other.hit_max_steps;
        self.hit_after_main += other.hit_after_main;
        self.abandoned += other.abandoned;
        Spread::merge(&mut self.steps, other.steps);
        Spread::merge(&mut self.decisions, other.decisions);
    }
}

impl Spread {
    fn add(spread: &mut Option<Spread>, value: u64) {
        Spread::merge(spread, Some(Spread { min: value, max: value, total: value, count: 1 }));
    }

    fn merge(spread: &mut Option<Spread>, other: Option<Spread>) {
        *spread = match (*spread, other) {
            (Some(a), Some(b)) => Some(Spread {
                min: a.min.min(b.min),
                max: a.max.max(b.max),
                total: a.total + b.total,
                count: a.count + b.count,
            }),
            (a, b) => a.or(b),
        };
    }

    /// The mean, rounded to the nearest integer.
    pub fn avg(&self) -> u64 {
        (self.total + self.count / 2) / self.count
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{} (min), {} (avg), {} (max)", self.min, self.avg(), self.max)
    }
}

/// `3 unfinished`; `None` for 0.
pub fn some(number: u64, what: &str) -> Option<String> {
    (number > 0).then(|| format!("{number} {what}"))
}

/// ` in 0.120 s (83/s)`, a text to append to the number of schedules.
pub fn in_time(schedules: u64, elapsed: Duration) -> String {
    let seconds = elapsed.as_secs_f64();
    match schedules as f64 / seconds {
        rate if rate.is_finite() => format!(" in {seconds:.3} s ({rate:.0}/s)"),
        _ => format!(" in {seconds:.3} s"),
    }
}

/// A percentage with two digits. Never rounds to 0 or 100 % unless that is exact: one bug in a million schedules is not
/// 0.00%, and it is the one that matters.
fn percent(part: u64, whole: u64) -> String {
    let percent = part as f64 * 100.0 / whole as f64;
    match percent {
        p if part > 0 && p < 0.01 => "less than 0.01%".to_owned(),
        p if part < whole && p > 99.99 => "more than 99.99%".to_owned(),
        p => format!("{p:.2}%"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEFAULT: StepsMax = StepsMax { unfair: 10_000, fair: 100_000 };

    const FAIR: IterationRecord = IterationRecord {
        fair: true,
        steps: 100,
        decisions: 40,
        concurrency: 3,
        workers: 4,
        hit_max_steps: false,
        hit_after_main: false,
        buggy: false,
        livelock: false,
        abandoned: false,
    };

    #[track_caller]
    fn check(steps_max: StepsMax, records: &[IterationRecord], expected: &str) {
        let mut statistics = Statistics::new(steps_max);
        records.iter().for_each(|r| statistics.add(r));
        assert_eq!(statistics.to_string(), expected);
    }

    #[test]
    fn no_iterations() {
        check(
            DEFAULT,
            &[],
            "... Testing statistics:\n\
             ..... Found 0 bugs.\n\
             ... Exploration statistics:\n\
             ..... Explored 0 schedules: 0 fair (0 unfinished) and 0 unfair (0 unfinished).\n",
        );
    }

    #[test]
    fn one_fair_iteration_with_a_bug() {
        check(
            DEFAULT,
            &[IterationRecord { buggy: true, workers: 1, concurrency: 1, ..FAIR }],
            "... Testing statistics:\n\
             ..... Found 1 bug.\n\
             ... Exploration statistics:\n\
             ..... Explored 1 schedule: 1 fair (0 unfinished) and 0 unfair (0 unfinished).\n\
             ..... Found 100.00% buggy schedules.\n\
             ..... Controlled 1 worker: 1 (min), 1 (avg), 1 (max).\n\
             ..... Degree of concurrency: 1 (min), 1 (avg), 1 (max).\n\
             ..... Steps in fair terminating schedules: 100 (min), 100 (avg), 100 (max).\n\
             ..... Scheduling decisions in fair terminating schedules: 40 (min), 40 (avg), 40 (max).\n",
        );
    }

    #[test]
    fn fair_and_unfair_with_bounds_hit() {
        let unfair = IterationRecord { fair: false, steps: 9_000, decisions: 17, concurrency: 2, ..FAIR };
        check(
            DEFAULT,
            &[
                FAIR,
                // The average is rounded up: 503 steps in 2 schedules.
                IterationRecord { steps: 403, decisions: 62, concurrency: 4, workers: 6, ..FAIR },
                // Neither of these two ended by itself, so their steps do not count.
                IterationRecord { steps: 100_000, hit_max_steps: true, ..FAIR },
                IterationRecord { steps: 3, abandoned: true, concurrency: 1, workers: 1, ..FAIR },
                unfair,
                IterationRecord { buggy: true, ..unfair },
                IterationRecord { steps: 10_000, hit_max_steps: true, ..unfair },
            ],
            "... Testing statistics:\n\
             ..... Found 1 bug.\n\
             ... Exploration statistics:\n\
             ..... Explored 7 schedules: 4 fair (1 unfinished) and 3 unfair (1 unfinished).\n\
             ..... Found 14.29% buggy schedules.\n\
             ..... Controlled 27 workers: 1 (min), 4 (avg), 6 (max).\n\
             ..... Degree of concurrency: 1 (min), 2 (avg), 4 (max).\n\
             ..... Steps in fair terminating schedules: 100 (min), 252 (avg), 403 (max).\n\
             ..... Scheduling decisions in fair terminating schedules: 40 (min), 51 (avg), 62 (max).\n\
             ..... Hit the max-steps bound of 100000 in 25.00% of the fair schedules: \
             if they should end, try --max-steps 10000 200000.\n\
             ..... Gave up 25.00% of the fair schedules without a verdict.\n\
             ..... Steps in unfair terminating schedules: 9000 (min), 9000 (avg), 9000 (max).\n\
             ..... Scheduling decisions in unfair terminating schedules: 17 (min), 17 (avg), 17 (max).\n\
             ..... Hit the max-steps bound of 10000 in 33.33% of the unfair schedules: \
             if they should end, try --max-steps 20000 100000.\n",
        );
    }

    #[test]
    fn one_line_has_what_matters() {
        let line = |records: &[IterationRecord], elapsed| {
            let mut statistics = Statistics::new(DEFAULT);
            records.iter().for_each(|record| statistics.add(record));
            statistics.line(elapsed)
        };
        let unfair = IterationRecord { fair: false, steps: 50, decisions: 1, workers: 2, ..FAIR };
        assert_eq!(line(&[], Duration::ZERO), "... Explored 0 schedules in 0.000 s: 0 buggy.");
        assert_eq!(
            line(&[FAIR], Duration::from_millis(500)),
            "... Explored 1 schedule in 0.500 s (2/s): 0 buggy; 4 workers, 100 steps and 40 decisions on average."
        );
        // Steps of schedules that did not end do not count.
        assert_eq!(
            line(
                &[
                    IterationRecord { buggy: true, ..FAIR },
                    unfair,
                    IterationRecord { hit_max_steps: true, steps: 100_000, ..FAIR },
                    IterationRecord { hit_max_steps: true, steps: 10_000, ..unfair },
                    IterationRecord { abandoned: true, ..unfair },
                ],
                Duration::from_millis(1250)
            ),
            "... Explored 5 schedules in 1.250 s (4/s): 1 buggy, 2 unfinished, 1 given up; 2 to 4 workers, 75 steps \
             and 21 decisions on average."
        );
    }

    #[test]
    fn where_nothing_ends_the_next_bound_is_far() {
        check(
            StepsMax { unfair: 50, fair: 200 },
            &[IterationRecord { hit_max_steps: true, steps: 200, ..FAIR }],
            "... Testing statistics:\n\
             ..... Found 0 bugs.\n\
             ... Exploration statistics:\n\
             ..... Explored 1 schedule: 1 fair (1 unfinished) and 0 unfair (0 unfinished).\n\
             ..... Controlled 4 workers: 4 (min), 4 (avg), 4 (max).\n\
             ..... Degree of concurrency: 3 (min), 3 (avg), 3 (max).\n\
             ..... Hit the max-steps bound of 200 in 100.00% of the fair schedules: \
             if they should end, try --max-steps 50 2000.\n",
        );
    }

    #[test]
    fn the_raised_bound_is_the_one_that_was_hit() {
        let statistics = Statistics::new(DEFAULT);
        assert_eq!(statistics.raised(true, 1, 9), "--max-steps 10000 200000");
        assert_eq!(statistics.raised(true, 9, 1), "--max-steps 10000 1000000");
        assert_eq!(statistics.raised(false, 1, 9), "--max-steps 20000 100000");
        // The bound of fair strategies is never the smaller one.
        let equal = Statistics::new(StepsMax { unfair: 500, fair: 500 });
        assert_eq!(equal.raised(false, 9, 1), "--max-steps 5000 5000");
    }

    #[test]
    fn equal_bugs_can_count_once() {
        let mut statistics = Statistics::new(DEFAULT);
        (0..3).for_each(|_| statistics.add(&IterationRecord { buggy: true, ..FAIR }));
        assert!(statistics.to_string().contains("Found 3 bugs.\n"));
        statistics.distinct_bugs = Some(1);
        assert!(statistics.to_string().contains("Found 1 bug.\n"));
        assert!(statistics.to_string().contains("Found 100.00% buggy schedules.\n"));
    }

    #[test]
    fn rare_is_not_never_and_frequent_is_not_always() {
        assert_eq!(percent(0, 7), "0.00%");
        assert_eq!(percent(1, 1_000_000), "less than 0.01%");
        assert_eq!(percent(1, 10_000), "0.01%");
        assert_eq!(percent(2, 3), "66.67%");
        assert_eq!(percent(999_999, 1_000_000), "more than 99.99%");
        assert_eq!(percent(7, 7), "100.00%");
    }

    #[test]
    fn times_stand_on_their_own_line() {
        let mut statistics = Statistics::new(DEFAULT);
        statistics.add(&FAIR);
        statistics.add(&FAIR);
        assert_eq!(
            Statistics::elapsed(2, Duration::from_millis(1_250)),
            "... Elapsed 1.250 s: 2 schedules/s."
        );
        assert_eq!(Statistics::elapsed(2, Duration::ZERO), "... Elapsed 0.000 s.");
    }

    #[test]
    fn as_json() {
        let mut statistics = Statistics::new(DEFAULT);
        statistics.add(&FAIR);
        assert_eq!(
            serde_json::to_string(&statistics).unwrap(),
            concat!(
                r#"{"steps_max":{"unfair":10000,"fair":100000},"buggy":0,"distinct_bugs":null,"#,
                r#""fair":{"explored":1,"hit_max_steps":0,"hit_after_main":0,"abandoned":0,"#,
                r#""steps":{"min":100,"max":100,"total":100,"count":1},"#,
                r#""decisions":{"min":40,"max":40,"total":40,"count":1}},"#,
                r#""unfair":{"explored":0,"hit_max_steps":0,"hit_after_main":0,"abandoned":0,"#,
                r#""steps":null,"decisions":null},"#,
                r#""workers":{"min":4,"max":4,"total":4,"count":1},"#,
                r#""concurrency":{"min":3,"max":3,"total":3,"count":1}}"#
            )
        );
    }
}
