//! Spans of time in which workers hold locks, or cannot continue.

use super::super::recorder::{RawStep, Wait};
use crate::observe::{HbObject, SyncKind};
use crate::results::SpanKind;
use crate::runtime::ObjectId;
use coyote_strategies::{Class, WorkerId};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

/// A span; steps by their indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RawSpan {
    pub worker: WorkerId,
    pub kind: SpanKind,
    pub from: usize,
    pub to: Option<usize>,
    pub what: What,
}

/// The lock that is held, or what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Lock { place: ObjectId, shared: bool },
    Wait(Wait),
}

/// All spans, ordered by their beginnings.
pub fn spans(steps: &[RawStep]) -> Vec<RawSpan> {
    let mut all: Vec<RawSpan> = Vec::new();
    let mut held: BTreeMap<(WorkerId, ObjectId), usize> = BTreeMap::new();
    let mut waiting: BTreeMap<WorkerId, usize> = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        for (_, sync) in &step.syncs {
            let HbObject::Object(place) = sync.object else { continue };
            if !matches!(place.class, Class::Mutex | Class::Rwlock) {
                continue;
            }
            let key = (sync.worker, place);
            if sync.kind.releases() {
                let open = held.remove(&key);
                open.into_iter().for_each(|at| all[at].to = Some(index));
            } else if let Entry::Vacant(open) = held.entry(key) {
                open.insert(all.len());
                let what = What::Lock { place, shared: sync.kind == SyncKind::AcquireShared };
                all.push(RawSpan { worker: sync.worker, kind: SpanKind::Holds, from: index, to: None, what });
            }
        }
        for worker in &step.unblocked {
            let open = waiting.remove(worker);
            open.into_iter().for_each(|at| all[at].to = Some(index));
        }
        for (worker, wait) in &step.blocked {
            waiting.insert(*worker, all.len());
            all.push(RawSpan {
                worker: *worker,
                kind: SpanKind::Waits,
                from: index,
                to: None,
                what: What::Wait(*wait),
            });
        }
    }
    all
}
