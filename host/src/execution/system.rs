//! An execution as a system that searches drive step by step.

use super::Execution;
use super::prove_livelock::is_exact;
use crate::machine::Snapshot;
use crate::outcome::{BugKind, Outcome};
use crate::runtime::monitors::Heat;
use coyote_strategies::system::Expected;
use coyote_strategies::{Access, Event, Pick, Status, System, View, WorkerId};

impl System for Execution {
    type Snapshot = Snapshot;

    fn status(&self) -> Status {
        match self.error {
            Some(_) => Status::Abandoned,
            None => self.machine.scheduler().status(),
        }
    }

    fn view(&self) -> View<'_> {
        self.machine.scheduler().runtime.view()
    }

    fn step(&mut self, pick: Pick) {
        self.error = self.error.take().or(self.machine.step(pick).err());
    }

    fn choose(&mut self, value: u64) {
        self.error = self.error.take().or(self.machine.choose(value).err());
    }

    fn may_livelock(&self) -> bool {
        self.runtime().may_livelock() && is_exact(self)
    }

    fn may_repeat(&self) -> bool {
        self.may_livelock() && !self.runtime().awaits_time()
    }

    fn expected(&self) -> Vec<Expected> {
        let monitors = self.runtime().monitors.known();
        let expected = monitors.map(|((name, number), monitor)| Expected {
            id: xxhash_rust::xxh3::xxh3_64_with_seed(name.as_bytes(), (*number).into()),
            waits: monitor.heat == Heat::Hot,
            since: monitor.not_cold_since,
        });
        expected.collect()
    }

    fn ends_program(&self) -> bool {
        let scheduler = self.machine.scheduler();
        match scheduler.masked.as_ref().or(scheduler.outcome.as_ref()) {
            // The other workers could have gone on.
            Some(Outcome::Bound(_)) => scheduler.masked.is_some(),
            Some(Outcome::Bug(bug)) if bug.kind == BugKind::MaxSteps && scheduler.masked.is_some() => true,
            Some(Outcome::Bug(bug)) if !matches!(bug.kind, BugKind::Leak | BugKind::Liveness) => {
                !matches!(bug.kind, BugKind::Deadlock | BugKind::Livelock | BugKind::MaxSteps)
            }
            Some(Outcome::Passed | Outcome::Abandoned | Outcome::Bug(_)) => {
                scheduler.exited || scheduler.runtime.killed()
            }
            _ => false,
        }
    }

    fn restart(&mut self) {
        self.leave();
        self.machine.scheduler_mut().fair = false;
        self.error = self.begin().err();
    }

    fn footprint(&self) -> &[Access] {
        self.runtime().footprint.accesses()
    }

    fn announced(&self, pick: Pick, into: &mut Vec<Access>) {
        self.runtime().announced(pick, into);
    }

    fn take_events(&mut self, into: &mut Vec<Event>) {
        into.append(&mut self.machine.scheduler_mut().runtime.events);
    }

    fn can_snapshot(&self) -> bool {
        self.machine.can_snapshot()
    }

    fn snapshot(&mut self) -> Snapshot {
        self.machine.snapshot()
    }

    fn restore(&mut self, snapshot: &Snapshot) {
        self.leave();
        self.error = self.error.take().or(self.machine.restore(snapshot).err());
    }

    fn fingerprint(&mut self) -> u128 {
        self.machine.fingerprint()
    }

    fn fingerprint_of_program(&mut self) -> u128 {
        self.machine.fingerprint_of_program()
    }

    fn worker_fingerprint(&self, worker: WorkerId) -> u64 {
        self.machine.worker_fingerprint(worker)
    }
}
