//! Monitors: statements of the guest about what must eventually happen, by name and number. A monitor is *hot* while it
//! waits for that, *cold* once it has happened, and *warm* in between, where its temperature does not change.
//!
//! After Coyote's monitors: the temperature is the number of steps spent hot since the monitor was last cold. It is
//! counted only from the step on at which the execution is fair and all budgets of faults are used up: see
//! [`crate::detect::liveness`]. The heat of a monitor belongs to the state, its temperature does not: else no state
//! would ever repeat.

use super::Runtime;
use super::internal::Internal;
use super::term::{Part, term};
use coyote_strategies::{Effect, WorkerId};
use std::collections::BTreeMap;
use std::hash::Hash;

/// The heat of a monitor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Heat {
    /// The expected event has happened. A monitor that was never set is cold.
    #[default]
    Cold,
    /// The temperature does not change.
    Warm,
    /// The monitor waits for the event.
    Hot,
}

impl Heat {
    /// The heat for the number that guests pass.
    pub fn of(number: u32) -> Option<Heat> {
        [Heat::Cold, Heat::Warm, Heat::Hot].get(number as usize).copied()
    }
}

/// The name of a monitor, and its number among those of this name.
pub type MonitorId = (String, u32);

/// A monitor that is not cold.
#[derive(Clone, Copy, Debug)]
pub struct Monitor {
    /// Warm or hot.
    pub heat: Heat,
    /// The step after which it got this heat.
    pub since: u64,
    /// The worker that set it.
    pub by: WorkerId,
    /// The step within which it was cold last; of the beginning if it never was.
    pub not_cold_since: u64,
    /// Steps spent hot before `since`.
    warmth: u64,
}

/// All monitors, and from which step on their temperatures count.
#[derive(Clone, Debug, Default)]
pub struct Monitors {
    known: BTreeMap<MonitorId, Monitor>,
    /// The step from which on the execution is fair; `None` if it is not.
    fair_from: Option<u64>,
    /// The step from which on no fault can happen.
    quiet_from: Option<u64>,
    /// Steps that a monitor may spend hot; 0 for no bound.
    hot_steps_max: u64,
    /// The step at which the first one has been hot for too long, if nothing changes.
    deadline: Option<u64>,
}

impl Monitors {
    /// Sets from which step on executions are fair, and for how long monitors may be hot then.
    pub fn judge(&mut self, fair_from: Option<u64>, hot_steps_max: u64) {
        (self.fair_from, self.hot_steps_max) = (fair_from, hot_steps_max);
        self.update();
    }

    /// Takes over the monitors that a program's initialisation left, as if they were set at the beginning.
    pub fn take_over(&mut self, initialised: &Monitors) {
        let known = initialised.known.iter();
        self.known = known
            .map(|(id, m)| (id.clone(), Monitor { since: 0, not_cold_since: 0, warmth: 0, ..*m }))
            .collect();
        self.update();
    }

    /// Resets the monitors to those of the beginning when the program starts again, as if they were set at
    /// `step`.
    pub fn restart(&mut self, begun: &Monitors, step: u64) {
        self.take_over(begun);
        self.known.values_mut().for_each(|monitor| (monitor.since, monitor.not_cold_since) = (step, step));
        self.update();
    }

    /// Monitors that are not cold, by name.
    pub fn known(&self) -> impl Iterator<Item = (&MonitorId, &Monitor)> {
        self.known.iter()
    }

    /// The first hot monitor, by name.
    pub fn hot(&self) -> Option<(&MonitorId, &Monitor)> {
        self.known.iter().find(|(_, monitor)| monitor.heat == Heat::Hot)
    }

    /// The step at which the first monitor has been hot for too long, unless something changes before.
    pub fn deadline(&self) -> Option<u64> {
        self.deadline
    }

    /// The hottest monitor whose temperature is beyond the bound at this step, and the temperature.
    pub fn overheated(&self, step: u64) -> Option<(&MonitorId, &Monitor, u64)> {
        let start = self.counts_from().filter(|_| self.hot_steps_max > 0)?;
        let temperatures =
            self.known.iter().map(|(id, monitor)| (id, monitor, monitor.temperature(start, step)));
        temperatures.filter(|(.., temperature)| *temperature > self.hot_steps_max).max_by_key(|(.., t)| *t)
    }

    fn counts_from(&self) -> Option<u64> {
        Some(self.fair_from?.max(self.quiet_from?))
    }

    fn set(&mut self, id: MonitorId, heat: Heat, by: WorkerId, step: u64) {
        let start = self.counts_from();
        match (heat, self.known.get_mut(&id)) {
            (Heat::Cold, _) => _ = self.known.remove(&id),
            (_, None) => {
                _ = self.known.insert(id, Monitor { heat, since: step, not_cold_since: step, by, warmth: 0 })
            }
            (_, Some(monitor)) if monitor.heat != heat => {
                let warmth = start.map_or(0, |start| monitor.temperature(start, step));
                *monitor = Monitor { heat, since: step, by, warmth, ..*monitor };
            }
            _ => {}
        }
        self.update();
    }

    fn update(&mut self) {
        let start = self.counts_from().filter(|_| self.hot_steps_max > 0);
        let hot = self.known.values().filter(|monitor| monitor.heat == Heat::Hot);
        self.deadline = start.and_then(|start| {
            let left = |monitor: &Monitor| (self.hot_steps_max + 1).saturating_sub(monitor.warmth);
            hot.map(|monitor| monitor.since.max(start).saturating_add(left(monitor))).min()
        });
    }

    /// Whether all monitors have the same heat in both, whatever their temperatures.
    pub fn are_same(&self, other: &Monitors) -> bool {
        let heats = |monitors: &Monitors| {
            monitors.known.iter().map(|(id, m)| (id.clone(), m.heat)).collect::<Vec<_>>()
        };
        heats(self) == heats(other)
    }

    pub(super) fn digest(&self) -> u128 {
        let Monitors {
            known,
            // These belong to the execution and not to its state.
            fair_from: _,
            quiet_from: _,
            hot_steps_max: _,
            deadline: _,
        } = self;
        known.iter().fold(
            0u128,
            |sum, (id, Monitor { heat, since: _, not_cold_since: _, by: _, warmth: _ })| {
                sum.wrapping_add(term(Part::Monitor, &|h| (id, heat).hash(h)))
            },
        )
    }
}

impl Monitor {
    /// Steps spent hot up to this one, of those from `start` on.
    fn temperature(&self, start: u64, step: u64) -> u64 {
        let hot = if self.heat == Heat::Hot { step.saturating_sub(self.since.max(start)) } else { 0 };
        self.warmth + hot
    }
}

impl Runtime {
    /// Sets the heat of a monitor, for a worker.
    pub fn set_monitor(&mut self, worker: WorkerId, name: String, number: u32, heat: Heat) {
        let monitor = Internal::Monitor(super::faults::hash(&format!("{number} {name}")));
        self.footprint.touch_internal(Effect::Write, monitor);
        let steps = self.steps;
        self.monitors.set((name, number), heat, worker, steps);
    }

    /// Updates from which step on no fault can happen any more.
    pub(super) fn look_for_quiet(&mut self) {
        let quiet = self.faults.are_used_up();
        self.monitors.quiet_from = quiet.then(|| self.monitors.quiet_from.unwrap_or(self.steps));
        self.monitors.update();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUND: u64 = 20;

    /// The temperature by its definition: one step after the other.
    struct Naive {
        heat: Heat,
        temperature: u64,
    }

    /// Random histories of one monitor among others: the deadline is the step at which the naive one is too hot.
    #[test]
    fn deadlines_are_those_of_counting() {
        let mut random = 1u64;
        let mut next = |below: u64| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) % below
        };
        let mut overheated = 0;
        for _ in 0..2_000 {
            let (fair_from, quiet_from) = (next(30), next(30));
            let mut monitors = Monitors::default();
            monitors.judge(Some(fair_from), BOUND);
            let mut naive = Naive { heat: Heat::Cold, temperature: 0 };
            for step in 0..150 {
                // The state during the step before this point.
                let counts = step > fair_from.max(quiet_from);
                naive.temperature += u64::from(counts && naive.heat == Heat::Hot);
                if step == quiet_from {
                    monitors.quiet_from = Some(step);
                    monitors.update();
                }
                let too_hot = naive.temperature > BOUND;
                let reached = monitors.deadline().is_some_and(|deadline| step >= deadline);
                assert_eq!(reached, too_hot, "step {step}: {monitors:?}");
                assert_eq!(monitors.overheated(step).is_some(), too_hot);
                if too_hot {
                    overheated += 1;
                    break;
                }
                if next(12) == 0 {
                    let heat = Heat::of(next(3) as u32).unwrap();
                    naive.heat = heat;
                    if heat == Heat::Cold {
                        naive.temperature = 0;
                    }
                    monitors.set(("m".into(), 0), heat, WorkerId(0), step);
                }
            }
        }
        assert!((200..1_990).contains(&overheated), "{overheated}");
    }

    #[test]
    fn nothing_counts_in_unfair_executions_and_while_faults_may_happen() {
        for (fair, quiet) in [(None, Some(0)), (Some(0), None)] {
            let mut monitors = Monitors { quiet_from: quiet, ..Monitors::default() };
            monitors.judge(fair, BOUND);
            monitors.set(("m".into(), 0), Heat::Hot, WorkerId(0), 1);
            assert!(monitors.deadline().is_none() && monitors.overheated(1_000).is_none());
            assert!(monitors.hot().is_some());
        }
    }

    #[test]
    fn the_state_is_what_monitors_are_and_not_how_warm() {
        let with = |sets: &[(&str, u32, Heat, u64)]| {
            let mut monitors = Monitors::default();
            for (name, number, heat, step) in sets {
                monitors.set(((*name).into(), *number), *heat, WorkerId(0), *step);
            }
            monitors
        };
        let hot = with(&[("a", 0, Heat::Hot, 1)]);
        for (other, same) in [
            (with(&[("a", 0, Heat::Hot, 7)]), true),
            (with(&[("a", 0, Heat::Hot, 1), ("b", 0, Heat::Hot, 2), ("b", 0, Heat::Cold, 3)]), true),
            (with(&[("a", 0, Heat::Warm, 1)]), false),
            (with(&[("a", 1, Heat::Hot, 1)]), false),
            (with(&[("b", 0, Heat::Hot, 1)]), false),
            (with(&[]), false),
        ] {
            assert_eq!(hot.are_same(&other), same);
            assert_eq!(hot.digest() == other.digest(), same);
        }
    }
}
