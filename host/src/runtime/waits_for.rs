//! The waits-for relation: finds the workers that cause a deadlock.
//!
//! **Circles.** Workers that wait for each other can never go on, whatever others do, if each waits for something that
//! only the next one can do. Circles are searched for while others run. The following waits are certain:
//!
//! | wait | for | why |
//! |---|---|---|
//! | to lock a mutex, also after a notification | its holder | no other worker can unlock it: that is an error, or a bug that ends the execution |
//! | to lock an rwlock, to read or to write | each holder | the same |
//! | to join | the worker | nothing ends a worker but itself |
//!
//! Nothing is concluded from waits with a timeout; from waits for semaphores, condvars, barriers and futexes, which any
//! worker may post, notify, arrive at or wake; from waits for normal mutexes where foreign unlocks are allowed; and
//! from waits for locks that a library makes of atomics, such as those of Rust's std, whose holder is not known. A
//! circle stays one until the program ends, so it can be searched for at any later time.

use super::sync::Kind;
use super::{ObjectId, Request, Runtime};
use coyote_strategies::{Class, WorkerId, WorkerState};

impl Runtime {
    /// Workers that wait for each other and can never go on, whatever others do; not those that only wait for them.
    /// Ascending.
    pub fn circle(&self) -> Vec<WorkerId> {
        let all = self.ids().map(|id| (id, self.waits_surely_for(id)));
        let mut never: Vec<(WorkerId, Vec<WorkerId>)> =
            all.filter(|(_, others)| !others.is_empty()).collect();
        // A worker that waits for one that can go on may go on as well.
        loop {
            let ids: Vec<WorkerId> = never.iter().map(|(id, _)| *id).collect();
            never.iter_mut().for_each(|(_, others)| others.retain(|other| ids.contains(other)));
            never.retain(|(_, others)| !others.is_empty());
            if never.len() == ids.len() {
                break;
            }
        }
        let next = |id: WorkerId| {
            let at = never.binary_search_by_key(&id, |(id, _)| *id).expect("only these are left");
            never[at].1.iter().copied()
        };
        let reached = |from: WorkerId| {
            let (mut reached, mut open) = (Vec::new(), vec![from]);
            while let Some(id) = open.pop() {
                for other in next(id) {
                    if !reached.contains(&other) {
                        reached.push(other);
                        open.push(other);
                    }
                }
            }
            reached
        };
        let all: Vec<(WorkerId, Vec<WorkerId>)> = never.iter().map(|(id, _)| (*id, reached(*id))).collect();
        let reaches =
            |from: WorkerId, to: WorkerId| all.iter().any(|(id, to_all)| *id == from && to_all.contains(&to));
        let members = all.iter().filter(|(id, reached)| reached.iter().all(|other| reaches(*other, *id)));
        members.map(|(id, _)| *id).collect()
    }

    /// Whether a worker came to wait for a blocked one since this was last taken, so that there may be a circle.
    #[inline]
    pub fn may_circle(&self) -> bool {
        self.may_circle
    }

    /// See [`Runtime::may_circle`].
    #[inline]
    pub fn take_may_circle(&mut self) -> bool {
        std::mem::take(&mut self.may_circle)
    }

    /// The workers each of which must do something before a blocked worker can go on, if it is certain that no other
    /// worker can help it; else none.
    fn waits_surely_for(&self, id: WorkerId) -> Vec<WorkerId> {
        if !self.is(id, WorkerState::Blocked) {
            return Vec::new();
        }
        let worker = self.worker(id);
        let surely = match worker.request {
            Request::Join { .. } => true,
            Request::Lock { lock, span_ns: None } => self.only_holders_release(lock.place()),
            Request::Relock { mutex, .. } => {
                let place = ObjectId { class: Class::Mutex, address: mutex };
                worker.wake.is_some() && self.only_holders_release(place)
            }
            _ => false,
        };
        if surely { self.waits_for(id) } else { Vec::new() }
    }

    /// Whether one of the workers for which a worker begins to wait is blocked, whether or not the wait is certain.
    pub(super) fn awaits_blocked(&self, id: WorkerId) -> bool {
        // The state of the worker itself is not known yet.
        let blocked = |other: WorkerId| other == id || self.is(other, WorkerState::Blocked);
        let request = self.worker(id).request;
        match (request, request.wants()) {
            (Request::Join { handle }, _) => self.worker_of(handle).is_some_and(blocked),
            (_, Some(ObjectId { class: Class::Mutex, address })) => self
                .sync
                .mutexes
                .get(address)
                .and_then(|mutex| mutex.holder)
                .is_some_and(|(holder, _)| blocked(holder)),
            (_, Some(ObjectId { class: Class::Rwlock, address })) => {
                self.sync.rwlocks.get(address).is_some_and(|lock| {
                    lock.writer.is_some_and(blocked)
                        || lock.readers.iter().any(|(reader, _)| blocked(*reader))
                })
            }
            _ => false,
        }
    }

    /// Whether an object can be released only by its holders.
    fn only_holders_release(&self, place: ObjectId) -> bool {
        let kind = || self.sync.mutexes.get(place.address).map(|mutex| mutex.kind);
        match place.class {
            Class::Mutex => !self.foreign_unlocks || kind().is_some_and(|kind| kind != Kind::Normal),
            Class::Rwlock => true,
            _ => false,
        }
    }

    /// The blocked workers that cause a deadlock: they wait in a circle, or for something that no worker is about to
    /// do, such as a notification or the release of a lock whose holder has ended. A worker that only waits for one of
    /// these, by joining it or for an object that it holds, is a bystander. If some workers wait in a circle that no
    /// other worker can break, all others are bystanders.
    pub fn stuck(&self) -> Vec<WorkerId> {
        let circle = self.circle();
        if !circle.is_empty() {
            return circle;
        }
        let blocked: Vec<WorkerId> = self.blocked().collect();
        let reached: Vec<Vec<WorkerId>> = blocked.iter().map(|id| self.waits_for_all(*id)).collect();
        let reaches = |from: WorkerId, to: WorkerId| {
            let at = blocked.iter().position(|id| *id == from);
            at.is_some_and(|at| reached[at].contains(&to))
        };
        let for_nobody =
            |id: WorkerId| self.waits_for(id).iter().any(|other| self.is(*other, WorkerState::Ended));
        let in_circle = |at: usize, id: WorkerId| reached[at].iter().all(|other| reaches(*other, id));
        let matters = |(at, id): &(usize, &WorkerId)| for_nobody(**id) || in_circle(*at, **id);
        blocked.iter().enumerate().filter(matters).map(|(_, id)| *id).collect()
    }

    /// Of the bystanders, those that wait for what one of the workers that are stuck holds, or one of these: one of them may
    /// be who would wake it. In the order in which they are found; none if workers wait in a circle.
    pub fn held_up(&self, stuck: &[WorkerId]) -> Vec<WorkerId> {
        let mut found = Vec::new();
        if !self.circle().is_empty() {
            return found;
        }
        let joins = |id: &WorkerId| matches!(self.worker(*id).request, Request::Join { .. });
        loop {
            let known = |id: &WorkerId| stuck.contains(id) || found.contains(id);
            let held_up = |id: &WorkerId| !known(id) && !joins(id) && self.waits_for(*id).iter().any(known);
            let more: Vec<WorkerId> = self.blocked().filter(held_up).collect();
            if more.is_empty() {
                return found;
            }
            found.extend(more);
        }
    }

    fn is(&self, id: WorkerId, state: WorkerState) -> bool {
        self.pending(id).state == state
    }

    /// The workers of which one must do something before a blocked worker can go on, as far as they are
    /// known.
    fn waits_for(&self, id: WorkerId) -> Vec<WorkerId> {
        let worker = self.worker(id);
        match worker.request {
            // Not notified yet.
            Request::Relock { .. } if worker.wake.is_none() => Vec::new(),
            Request::Join { handle } => self.worker_of(handle).into_iter().collect(),
            request => request.wants().map_or(Vec::new(), |place| self.holders(place)),
        }
    }

    /// The workers for which it waits, directly or through others, without those that have ended.
    fn waits_for_all(&self, id: WorkerId) -> Vec<WorkerId> {
        let mut reached = Vec::new();
        let mut open = vec![id];
        while let Some(next) = open.pop() {
            for other in self.waits_for(next) {
                if !reached.contains(&other) && !self.is(other, WorkerState::Ended) {
                    reached.push(other);
                    open.push(other);
                }
            }
        }
        reached
    }
}
