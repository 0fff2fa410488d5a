//! Bounds on steps that follow the test: one whose executions are longer than the usual bounds is not cut off at them.
//!
//! The usual bounds end what may never end. A loop of 10,000 rounds passes them as well, and then no schedule ever comes to
//! its end. So the profiling run, which is fair, may take as long as the time allows for [`EXECUTIONS`] of its kind; if it
//! ends by itself, the bounds are raised to what such executions need. They follow from the seed and from the time
//! that was given, not from the time that passed: the same command has the same bounds on any machine.

use super::{Budget, TIMEOUT};
use crate::machine::scheduler::Limits;

/// Executions that should fit into the time of a test.
const EXECUTIONS: u64 = 20;

/// Steps of a second, about: what a test of Rust's std does on a core of 2020.
const STEPS_PER_SECOND: u64 = 4_000_000;

/// Of the length of the profiling run, what other executions may have before they are cut off: schedules that are not
/// fair, whose strategies rest on the length, and fair ones, of which the slowest is to end.
const UNFAIR_FACTOR: u64 = 2;
const FAIR_FACTOR: u64 = 10;

/// The bound of the profiling run. `None`: that of all others, since the user gave bounds or wants to be told at them.
pub fn profiling_steps_max(budget: &Budget, limits: &Limits) -> Option<u64> {
    let seconds = budget.timeout.unwrap_or(TIMEOUT).as_secs().max(TIMEOUT.as_secs());
    let steps = seconds.saturating_mul(STEPS_PER_SECOND / EXECUTIONS);
    (budget.bounds_follow && !limits.fail_on_steps_max).then(|| steps.max(limits.fair_steps_max))
}

/// The bounds of a test whose profiling run, of at most `profiling_steps_max` steps, ended after `steps`.
///
/// `suite`: whether it is a test of cargo's. Many of these let threads wait in loops, so that one fair schedule is a
/// hundred times as long as another; none is cut off before half of what the profiling run may take.
pub fn raised(limits: Limits, steps: u64, profiling_steps_max: u64, suite: bool) -> Limits {
    let least = if suite { profiling_steps_max / 2 } else { 0 };
    let fair =
        steps.saturating_mul(FAIR_FACTOR).min(profiling_steps_max.saturating_mul(UNFAIR_FACTOR)).max(least);
    Limits {
        unfair_steps_max: limits.unfair_steps_max.max(steps.saturating_mul(UNFAIR_FACTOR)),
        fair_steps_max: limits.fair_steps_max.max(fair),
        fail_on_steps_max: limits.fail_on_steps_max,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const USUAL: Limits =
        Limits { unfair_steps_max: 10_000, fair_steps_max: 100_000, fail_on_steps_max: false };

    fn budget(seconds: Option<u64>) -> Budget {
        Budget { timeout: seconds.map(Duration::from_secs), ..Budget::default() }
    }

    #[test]
    fn the_profiling_run_may_take_a_twentieth_of_the_time() {
        assert_eq!(profiling_steps_max(&budget(None), &USUAL), Some(2_000_000));
        assert_eq!(profiling_steps_max(&budget(Some(1)), &USUAL), Some(2_000_000));
        assert_eq!(profiling_steps_max(&budget(Some(60)), &USUAL), Some(12_000_000));
        let given = Budget { bounds_follow: false, ..budget(None) };
        assert_eq!(profiling_steps_max(&given, &USUAL), None);
        let told = Limits { fail_on_steps_max: true, ..USUAL };
        assert_eq!(profiling_steps_max(&budget(None), &told), None);
    }

    #[test]
    fn bounds_of_short_tests_stay_and_others_follow() {
        let of_test = |steps, suite| {
            let Limits { unfair_steps_max, fair_steps_max, .. } = raised(USUAL, steps, 2_000_000, suite);
            (unfair_steps_max, fair_steps_max)
        };
        let bounds = |steps| of_test(steps, false);
        assert_eq!(of_test(5_000, true), (10_000, 1_000_000));
        assert_eq!(of_test(190_000, true), (380_000, 1_900_000));
        assert_eq!(bounds(5_000), (10_000, 100_000));
        assert_eq!(bounds(8_000), (16_000, 100_000));
        assert_eq!(bounds(50_000), (100_000, 500_000));
        // Nothing takes much longer than the profiling run may.
        assert_eq!(bounds(1_900_000), (3_800_000, 4_000_000));
    }
}
