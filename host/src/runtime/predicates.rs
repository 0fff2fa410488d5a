//! Waits until a predicate of the guest holds.
//!
//! A waiting worker evaluates its predicate itself, as an atomic section, so evaluation and what follows from it in the
//! section are one step. The bytes of memory that an evaluation accesses are recorded, and the objects of its read
//! points. If the predicate does not hold, the worker is blocked until another worker has changed one of these bytes,
//! or has executed a write point of one of these objects. Then it evaluates again. The predicate is a function of what
//! was recorded, so a worker is never blocked while its predicate holds, and does not spin.
//!
//! Memory is compared when a step is complete, whoever wrote it and however: so changes count that are no scheduling
//! points. What a predicate accesses is known completely, since modules with this import are always instrumented with
//! [`coyote_instrumenter::Options::footprints`].
//!
//! In the relation, a step that changes what an evaluation accessed enables the next one, as a notification does. Such
//! steps do not commute with each other: the first one is the one that wakes.

use super::internal::Internal;
use super::predicate::Predicate;
use super::{Performed, Request, Runtime, Wake};
use coyote_abi::OpKind;
use coyote_strategies::{Access, Class, Effect, Event, WorkerId};

impl Runtime {
    /// Whether some worker evaluates a predicate, or waits until one holds: then [`Runtime::compare_predicates`] must
    /// be called after each step.
    #[inline]
    pub fn has_predicates(&self) -> bool {
        self.predicates > 0
    }

    /// Prepares a wait that the worker announces: blocks it if its last evaluation was false.
    pub(super) fn arrive_at_predicate(&mut self, id: WorkerId, request: Request) {
        let worker = &mut self.workers[id.index()];
        if request == Request::WaitUntil
            && let Some(predicate) = &mut worker.predicate
        {
            worker.waiting = true;
            // Another worker may have changed it during the evaluation, while the predicate was blocked.
            worker.wake = std::mem::take(&mut predicate.changed).then_some(Wake::Spurious);
            let key = worker.key;
            self.footprint.touch_internal(Effect::Write, Internal::Predicate(key));
        }
    }

    /// Begins an evaluation, now or again.
    pub(super) fn evaluate(&mut self, id: WorkerId) -> Performed {
        let watches = self.pending(id).operation.kind == OpKind::Watch;
        let worker = &mut self.workers[id.index()];
        worker.watches |= watches;
        worker.waiting = false;
        if worker.wake.take() == Some(Wake::Notified) {
            // No event: the predicate's own accesses say what happens before what.
            self.footprint.touch(Class::Wake, Effect::Await, worker.key);
        }
        let old = worker.predicate.replace(Box::new(Predicate { evaluating: true, ..Predicate::default() }));
        self.predicates += u32::from(old.is_none());
        self.atomic_enter(id);
        Performed::Continue(0)
    }

    /// Ends the worker's evaluation, if there is one.
    pub fn end_evaluation(&mut self, id: WorkerId, holds: bool) {
        let Some(predicate) = &mut self.workers[id.index()].predicate else { return };
        if !std::mem::take(&mut predicate.evaluating) {
            return;
        }
        if holds {
            self.forget_predicate(id);
        }
        self.atomic_exit(id);
    }

    /// Forgets a predicate that holds, or whose worker ends.
    pub(super) fn forget_predicate(&mut self, id: WorkerId) {
        self.predicates -= u32::from(self.workers[id.index()].predicate.take().is_some());
    }

    /// Records an access of memory, if it belongs to an evaluation.
    #[inline]
    pub fn record_for_predicate(&mut self, id: WorkerId, address: u64, size: u32) {
        if self.predicates > 0
            && let Some(predicate) = &mut self.workers[id.index()].predicate
            && predicate.evaluating
        {
            let end = (address + u64::from(size)).min(u64::from(u32::MAX));
            predicate.bytes.extend((address..end).map(|byte| (byte as u32, None)));
        }
    }

    /// Executes a read point or a write point of an object outside of memory.
    pub(super) fn outside(&mut self, id: WorkerId, object: u32, effect: Effect) -> Performed {
        self.footprint.touch(Class::Outside, effect, object.into());
        match (effect, &mut self.workers[id.index()].predicate) {
            (Effect::Read, Some(predicate)) if predicate.evaluating => {
                predicate.objects.insert(object);
            }
            (Effect::Write, _) if self.predicates > 0 => {
                for other in self.ids().filter(|other| *other != id) {
                    let of = &mut self.workers[other.index()].predicate;
                    if let Some(predicate) = of.as_mut().filter(|p| p.objects.contains(&object)) {
                        predicate.changed = true;
                        self.touch_predicate(other);
                    }
                }
            }
            _ => {}
        }
        Performed::Continue(0)
    }

    /// Compares memory with what predicates accessed, after a step, and wakes the workers for which it has changed.
    pub fn compare_predicates(&mut self, memory: &[u8]) {
        if self.predicates == 0 {
            return;
        }
        for id in self.ids() {
            let by_itself = self.current == Some(id);
            let Some(predicate) = &mut self.workers[id.index()].predicate else { continue };
            let differs = predicate.compare(memory) && !by_itself;
            predicate.changed |= differs;
            let writes = |access: &&Access| access.effect == Effect::Write;
            let mut written = self.footprint.accesses().iter().filter(writes);
            let touched = !by_itself && written.any(|access| predicate.overlaps(access));
            if differs || touched {
                self.touch_predicate(id);
            }
            self.wake_if_changed(id);
        }
    }

    fn touch_predicate(&mut self, id: WorkerId) {
        let worker = self.worker(id);
        if worker.waiting && worker.request == Request::WaitUntil {
            self.footprint.touch_internal(Effect::Write, Internal::Predicate(worker.key));
        }
    }

    fn wake_if_changed(&mut self, id: WorkerId) {
        let worker = &mut self.workers[id.index()];
        let waits = worker.waiting && worker.request == Request::WaitUntil && worker.wake.is_none();
        let Some(predicate) = worker.predicate.as_mut().filter(|predicate| waits && predicate.changed) else {
            return;
        };
        predicate.changed = false;
        worker.wake = Some(Wake::Notified);
        self.footprint.touch(Class::Wake, Effect::Enable, worker.key);
        if let Some(by) = self.current {
            self.happened(Event::Woken { by, worker: id });
        }
        self.refresh_state(id);
    }
}
