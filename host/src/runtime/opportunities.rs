//! Opportunities for faults: takes from budgets, and records what the step touches.

use super::faults::{BudgetId, FaultClass, Faults, POINT, hash, of_site};
use super::harness::Harness;
use super::internal::Internal;
use super::{Request, Runtime};
use coyote_strategies::{Effect, WorkerId};

/// The beginning of names of the SDK's own fault points; the rest is the name of the class, or of a point of a class
/// with several points.
const OF_SDK: &str = "!";

impl Runtime {
    /// The budgets of faults.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Whether this is an opportunity: the class was given a budget, of which nothing may be left, and the test has
    /// begun.
    pub fn may_fail(&self, class: FaultClass) -> bool {
        self.faults.has(class) && self.has_begun()
    }

    /// The budget of a class, in the step of the running worker.
    pub fn look_at_budget(&mut self, class: FaultClass) -> u32 {
        self.footprint.touch_internal(Effect::Read, Internal::Budget(BudgetId::Class(class)));
        self.faults.budget(class)
    }

    /// Whether the test has begun, if there is a test harness.
    pub(super) fn has_begun(&self) -> bool {
        self.harness == Harness::None || self.in_test()
    }

    /// The name of the fault that the value decides about which the present operation needs next.
    pub fn fault_asked(&self) -> Option<String> {
        let kind = self.fault_asked?;
        if let Some(class) = FaultClass::of_kind(kind) {
            return Some(class.row().name.into());
        }
        let mut points = self.fault_counts.iter().map(|(name, _)| name);
        points.find(|name| of_site(hash(name)) == kind).map(String::from)
    }

    /// Takes the way in which the running worker's present call fails, which was chosen just before; 0 if it
    /// does not fail.
    pub fn take_failure(&mut self, id: WorkerId) -> u32 {
        std::mem::take(&mut self.workers[id.index()].failure)
    }

    /// Records what becomes of the present call by a fault, as a clause for reports.
    pub fn call_failed(&mut self, how: String) {
        self.failed_calls.push((self.steps, how));
    }

    /// The request, with its object, that the worker `by` announces at a fault point, if the point was given a
    /// budget.
    pub fn fault_point(&mut self, by: WorkerId, name: &str, ways: u32) -> Option<(Request, u64)> {
        if let Some(class) = name.strip_prefix(OF_SDK).and_then(FaultClass::by_name) {
            let request = Request::Fault { budget: BudgetId::Class(class), ways, point: 0 };
            let happens = class != FaultClass::CrashNode || self.worker(by).node.is_some();
            return (happens && self.may_fail(class)).then_some((request, of_site(class as u32)));
        }
        let name = name.strip_prefix(OF_SDK).map_or_else(|| format!("{POINT}{name}"), String::from);
        let budget = self.faults.of_point(&name).filter(|_| ways > 0);
        self.fault_counts.see(&name);
        let point = hash(&name);
        budget.map(|budget| (Request::Fault { budget, ways, point }, of_site(point)))
    }

    /// Handles an opportunity for a fault: returns the way in which it happens, of `ways` ways, or 0 for none. The
    /// error is the bound of the value that decides this, if the value is missing: nothing has changed then.
    pub(super) fn fault(&mut self, class: FaultClass, ways: u64, values: &[u64]) -> Result<u64, u64> {
        match self.faults.has(class) {
            true => self.fault_of(BudgetId::Class(class), 0, ways, values),
            false => Ok(0),
        }
    }

    /// [`Runtime::fault`] for any budget. `point`: the hash of the name of a fault point, or 0.
    pub(super) fn fault_of(
        &mut self,
        id: BudgetId,
        point: u32,
        ways: u64,
        values: &[u64],
    ) -> Result<u64, u64> {
        let class = match id {
            BudgetId::Class(class) if point == 0 => Some(class),
            _ => None,
        };
        let (_, open) = self.faults.state(id);
        let chosen = match values.first() {
            _ if !open => 0,
            None => {
                self.fault_asked = Some(class.map_or_else(|| of_site(point), FaultClass::kind));
                return Err(ways + 1);
            }
            Some(value) => *value,
        };
        let counted = class.map_or(point, |class| hash(class.row().name));
        if let Some(class) = class {
            self.fault_counts.see(class.row().name);
        }
        self.fault_counts.add(counted, open, chosen > 0);
        self.faults.take(id, u32::from(chosen > 0));
        if chosen > 0 {
            self.look_for_quiet();
        }
        let effect = if chosen > 0 { Effect::Write } else { Effect::Read };
        self.footprint.touch_internal(effect, Internal::Budget(id));
        if chosen > 0 {
            self.faulted(self.faults.class(id));
        }
        Ok(chosen)
    }

    /// Stops all faults: nothing is left of any budget.
    pub(super) fn stop_faults(&mut self) {
        for id in self.faults.ids() {
            if self.faults.state(id).0 {
                self.faults.take(id, u32::MAX);
                self.footprint.touch_internal(Effect::Write, Internal::Budget(id));
            }
        }
        self.look_for_quiet();
    }
}
