//! Novelty of iterations: some iterations are executed with an observer that determines what is new in them, which
//! makes them take about 2.5 times as long.

use crate::execution::Execution;
use crate::observe::Observer;
use crate::observe::class_probe::{ClassProbe, Found, FoundNew};
use crate::outcome::Outcome;
use crate::results::IterationProgress;

/// The observer of a job.
#[derive(Default)]
pub struct Comparison {
    /// The observer, while no iteration is compared.
    probe: Option<Box<dyn Observer>>,
    found: Option<Found>,
}

impl Comparison {
    /// Must be called before an iteration; `compared`: whether the iteration is compared.
    pub fn begin(&mut self, execution: &mut Execution, compared: bool) {
        execution.records_footprints = compared;
        if compared {
            let found = &mut self.found;
            let probe = self.probe.take().unwrap_or_else(|| {
                let (probe, fresh) = ClassProbe::new();
                *found = Some(fresh);
                Box::new(probe)
            });
            execution.observe(probe);
        }
    }

    /// Must be called after the iteration. Returns what was new in it.
    pub fn end(&mut self, execution: &mut Execution, compared: bool) -> Option<IterationProgress> {
        execution.records_footprints = false;
        if !compared {
            return None;
        }
        self.probe = execution.take_observers().pop();
        let FoundNew { class, pairs, points } = self.found.as_ref()?.take();
        let ended = match &execution.machine().scheduler().outcome {
            Some(Outcome::Passed) => true,
            Some(Outcome::Bug(_)) => !execution.record(true).hit_max_steps,
            Some(Outcome::Bound(_) | Outcome::Abandoned) | None => false,
        };
        Some(IterationProgress { class: class.filter(|_| ended), pairs, points })
    }
}
