//! Crashes of nodes: the workers of a node end at once, wherever they are, and something starts the node again.
//!
//! A node is a group of workers: one that said so, and all that it and they create. It stands for a machine, whose workers
//! share with those of other nodes a network and nothing else. A crash is a step of the node's worker that reached an
//! opportunity. It ends the node's workers without destructors, and posts the node's semaphore, at which the guest waits to
//! start the node again. Memory is not reset, since nodes share it; what the workers had is out of reach.
//!
//! Locks that ended workers hold stay taken, as after any worker that ends with a lock. Of unsynced operations on files,
//! only those of the node's workers may be lost ([`super::files::disk`]), and descriptors that they opened are closed.
//!
//! Everything that the node's workers did happens before what follows the semaphore's post.

use super::internal::Internal;
use super::polled::{Driver, Polled};
use super::stream::{HbObject, SyncKind};
use super::worker::NodeId;
use super::{FaultClass, Mutant, ObjectId, Performed, Runtime};
use coyote_strategies::{Class, Effect, WorkerId, WorkerState};
use std::collections::BTreeSet;

impl Runtime {
    /// The worker is the first one of a node from now on.
    pub fn enter_node(&mut self, id: WorkerId, semaphore: u32, name: String) {
        self.workers[id.index()].node = Some(NodeId { semaphore, name: name.into() });
    }

    /// The workers of the worker's node belong to none any more: they cannot crash.
    pub fn leave_node(&mut self, id: WorkerId) {
        if let Some(node) = self.workers[id.index()].node.take() {
            let others = self.workers.iter_mut().filter(|worker| worker.node.as_ref() == Some(&node));
            others.for_each(|worker| worker.node = None);
        }
    }

    /// The workers of a node, also those that have ended.
    fn of_node(&self, node: &NodeId) -> BTreeSet<WorkerId> {
        self.ids().filter(|id| self.worker(*id).node.as_ref() == Some(node)).collect()
    }

    /// Handles an opportunity for a crash of its node that the worker has reached.
    pub(super) fn node_may_crash(&mut self, id: WorkerId, values: &[u64]) -> Performed {
        self.footprint.touch_internal(Effect::Write, Internal::Disk);
        let node = self.worker(id).node.clone().expect("only workers of nodes have these opportunities");
        let ways = self.files.node_crash_ways(&self.of_node(&node));
        match self.fault(FaultClass::CrashNode, ways.into(), values) {
            Err(bound) => Performed::NeedsValue(bound),
            Ok(0) => {
                self.touch_plainly(id);
                Performed::Continue(0)
            }
            Ok(way) => Performed::NodeCrashed(way as u32 - 1),
        }
    }

    /// Crashes the node of the worker `by`, by a step of it.
    pub fn crash_node(&mut self, by: WorkerId, way: u32) {
        let Some(node) = self.worker(by).node.clone() else { return };
        let members = self.of_node(&node);
        let way = if self.mutant(Mutant::NodeLosesNothing) { 0 } else { way };
        let mut crash = self.files.crash_node(&members, way, self.steps);
        let semaphore = ObjectId { class: Class::Semaphore, address: node.semaphore };
        for id in members {
            let spared = id != by && self.mutant(Mutant::NodeOutlivesItsCrash);
            if self.pending(id).state == WorkerState::Ended || spared {
                continue;
            }
            crash.ended.push(id);
            self.stop(id, semaphore);
        }
        self.follow_sockets();
        crash.node = Some(node.name);
        self.crashes.push(crash);
        self.stream.begin_step(Some(by));
        // A guest that gave no semaphore would wait for ever, which is then reported.
        let _posted = self.release(by, semaphore);
    }

    /// Ends a worker from outside: whatever it waits for, it does not any more.
    fn stop(&mut self, id: WorkerId, semaphore: ObjectId) {
        self.stream.begin_step(Some(id));
        self.synchronise(HbObject::Object(semaphore), SyncKind::Release);
        if self.clock.cancel(id) {
            self.footprint.touch(Class::Clock, Effect::Write, 0);
        }
        let worker = &mut self.workers[id.index()];
        let waits = worker.waiting && worker.wake.is_none();
        let queue = worker.request.queue().filter(|queue| waits && queue.class != Class::Barrier);
        (worker.waiting, worker.wake, worker.failure, worker.socket_fault) = (false, None, 0, None);
        worker.polled = Polled::default();
        worker.driver = Driver::default();
        if let Some(queue) = queue {
            self.touch_place(queue, Effect::Write);
            self.leave_queue(id, queue);
        }
        self.end(id);
    }
}
