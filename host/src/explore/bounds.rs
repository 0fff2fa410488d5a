//! Bounds on steps that are adapted to the test: a test whose executions are longer than the default bounds is not cut
//! off.
//!
//! The default bounds end executions that may never end. A loop of 10,000 rounds exceeds them as well, and then no
//! schedule ever comes to its end. Therefore the profiling run, which is fair, may be so long that [`EXECUTIONS`] of
//! its length fit into the time limit. If it ends by itself, the bounds are raised to what such executions need. They
//! follow from the seed and from the time limit, not from the time that passed: the same command has the same bounds on
//! any machine.

use super::{Budget, TIMEOUT};
use crate::machine::scheduler::Limits;

/// The number of executions that should fit into the time limit of a test.
const EXECUTIONS: u64 = 20;

/// The approximate number of steps per second: that of a test of Rust's std on a core of 2020.
const STEPS_PER_SECOND: u64 = 4_000_000;

/// Bounds of other executions, as multiples of the profiling run's length: for schedules that are not fair, whose
/// strategies rely on the length, and for fair ones, of which even the slowest should end.
const UNFAIR_FACTOR: u64 = 2;
const FAIR_FACTOR: u64 = 10;

/// The bound of the profiling run. `None`: the same bound as for other iterations, since the user gave bounds or wants
/// a bug to be reported when a bound is reached.
pub fn profiling_steps_max(budget: &Budget, limits: &Limits) -> Option<u64> {
    let seconds = budget.timeout.unwrap_or(TIMEOUT).as_secs().max(TIMEOUT.as_secs());
    let steps = seconds.saturating_mul(STEPS_PER_SECOND / EXECUTIONS);
    (budget.bounds_follow && !limits.fail_on_steps_max).then(|| steps.max(limits.fair_steps_max))
}

/// The bounds of a test whose profiling run, of at most `profiling_steps_max` steps, ended after `steps`.
///
/// `suite`: whether it is a test of a cargo test binary. Many of these tests let threads wait in loops, so that one
/// fair schedule is a hundred times as long as another; none is cut off before half of the profiling run's bound.
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
        // No bound is much larger than that of the profiling run.
        assert_eq!(bounds(1_900_000), (3_800_000, 4_000_000));
    }
}
