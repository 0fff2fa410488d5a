//! The effects of steps on later steps of other workers: the arrows of a history.
//!
//! An arrow that orders is an edge of happens-before according to [the stream](crate::runtime::stream): a release and
//! the acquisition that follows it. For atomics it is C++20's "synchronises with": an acquire that reads the value of a
//! release store, or of read-modify-writes behind it. Arrows that follow from others are left out, which vector clocks
//! determine.
//!
//! An edge may be missing: where orderings are not known, through fences, and for an exchange that leaves the value as
//! it was. No edge is drawn if memory holds another value than the one that was written, since an unobserved write must
//! then have happened.

use super::super::recorder::{RawAccess, RawStep};
use crate::observe::{HbObject, SyncEvent, SyncKind};
use crate::results::LinkKind;
use crate::runtime::ObjectId;
use coyote_strategies::{Class, WorkerId};
use std::collections::BTreeMap;

/// An arrow; steps by their indices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawLink {
    pub from: usize,
    pub to: usize,
    pub kind: LinkKind,
    pub through: Through,
}

/// The object or memory by which an arrow passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Through {
    Nothing,
    Object(ObjectId),
    /// This number of bytes at an address.
    Memory(u64, u32),
}

/// The knowledge of a worker about each worker: the number of its steps that happened before.
type Clock = BTreeMap<WorkerId, usize>;

/// A release that other workers may acquire.
#[derive(Clone, Debug)]
struct Release {
    worker: WorkerId,
    step: usize,
    clock: Clock,
    /// Whether a reader released the lock: other readers do not acquire from it.
    shared: bool,
}

/// An atomic piece of memory.
struct Word {
    bytes: u32,
    value: u64,
    /// The release stores that a reader of the value synchronises with.
    heads: Vec<Release>,
}

#[derive(Default)]
struct Links {
    known: BTreeMap<WorkerId, Clock>,
    objects: BTreeMap<HbObject, Vec<Release>>,
    words: BTreeMap<u64, Word>,
    all: Vec<RawLink>,
}

/// The arrows between steps, in the order of their ends.
pub fn links(steps: &[RawStep]) -> Vec<RawLink> {
    let mut links = Links::default();
    for (index, step) in steps.iter().enumerate() {
        links.step(index, step);
    }
    links.all.extend(wakes(steps));
    links.all.sort_by_key(|link| (link.to, link.from));
    links.all
}

impl Links {
    fn step(&mut self, index: usize, step: &RawStep) {
        if step.timeout {
            return;
        }
        for at in 0..=step.accesses.len() {
            for (_, sync) in step.syncs.iter().filter(|(before, _)| *before == at) {
                self.synchronise(index, sync);
            }
            for block in step.blocks.iter().filter(|block| block.accesses == at) {
                block.renewed.iter().for_each(|(address, bytes)| self.forget(*address, *bytes));
            }
            if let Some(access) = step.accesses.get(at) {
                self.access(index, step.worker, access);
            }
        }
    }

    fn release(&self, worker: WorkerId, step: usize, shared: bool) -> Release {
        let clock = self.known.get(&worker).cloned().unwrap_or_default();
        Release { worker, step, clock, shared }
    }

    fn synchronise(&mut self, step: usize, sync: &SyncEvent) {
        let SyncEvent { worker, object, kind, .. } = *sync;
        if is_unordered(object) {
            return;
        }
        if kind.acquires() {
            let releases = self.objects.get(&object).into_iter().flatten();
            let counts = |release: &&Release| !(release.shared && kind == SyncKind::AcquireShared);
            let releases: Vec<Release> = releases.filter(counts).cloned().collect();
            let (kind, through) = match object {
                HbObject::Object(id) | HbObject::Wake { queue: Some(id), .. } => {
                    (LinkKind::Releases, Through::Object(id))
                }
                HbObject::Start(_) => (LinkKind::Starts, Through::Nothing),
                HbObject::End(_) => (LinkKind::Joins, Through::Nothing),
                HbObject::Wake { queue: None, .. } | HbObject::Socket(_) => {
                    (LinkKind::Releases, Through::Nothing)
                }
                HbObject::Annotated(address) => (LinkKind::Annotated, Through::Memory(address.into(), 1)),
            };
            self.acquire(step, worker, releases, kind, through);
        }
        if kind.releases() {
            let release = self.release(worker, step, kind == SyncKind::ReleaseShared);
            let releases = self.objects.entry(object).or_default();
            // The new release includes the worker's own earlier ones.
            releases.retain(|other| other.worker != worker || other.shared != release.shared);
            releases.push(release);
        }
    }

    /// The worker acquires what was released. What it knew already needs no arrow.
    fn acquire(
        &mut self,
        step: usize,
        worker: WorkerId,
        mut releases: Vec<Release>,
        kind: LinkKind,
        through: Through,
    ) {
        releases.sort_by_key(|release| std::cmp::Reverse(release.step));
        for release in releases {
            let known = self.known.entry(worker).or_default();
            // Steps are counted from 1, so that initially nothing is known about a worker.
            let news = known.get(&release.worker).is_none_or(|until| *until < release.step + 1);
            if release.worker == worker || !news {
                continue;
            }
            for (other, until) in release.clock.iter().chain([(&release.worker, &(release.step + 1))]) {
                let own = known.entry(*other).or_default();
                *own = (*own).max(*until);
            }
            self.all.push(RawLink { from: release.step, to: step, kind, through });
        }
    }

    fn access(&mut self, step: usize, worker: WorkerId, access: &RawAccess) {
        let RawAccess { address, bytes, reads, order, before, after, .. } = *access;
        // An exchange that changed nothing may have failed; `None` if it is not known whether it did.
        let exchanged = if access.may_fail { after.map(|after| before != Some(after)) } else { Some(true) };
        let heads = match self.words.get(&address) {
            Some(word) if word.bytes == bytes && before == Some(word.value) => word.heads.clone(),
            _ => Vec::new(),
        };
        let ordering = order.map(|order| if exchanged == Some(true) { order.success } else { order.failure });
        if reads && ordering.is_some_and(|ordering| ordering.acquires()) {
            let through = Through::Memory(address, bytes);
            self.acquire(step, worker, heads.clone(), LinkKind::Publishes, through);
        }
        let may_write = access.writes || access.may_fail;
        if !may_write || exchanged == Some(false) {
            return;
        }
        self.forget(address, bytes.into());
        let ordering = ordering.filter(|_| exchanged == Some(true));
        let (Some(ordering), Some(value)) = (ordering, after) else { return };
        // A read-modify-write continues the release sequence of the store before it; every other store begins a new
        // one.
        let mut heads = if reads { heads } else { Vec::new() };
        if ordering.releases() {
            heads.retain(|head| head.worker != worker);
            heads.push(self.release(worker, step, false));
        }
        if !heads.is_empty() {
            self.words.insert(address, Word { bytes, value, heads });
        }
    }

    /// Forgets atomics in these bytes, which were overwritten or have become other memory.
    fn forget(&mut self, address: u64, bytes: u64) {
        const WORD_BYTES_MAX: u64 = 16;
        let end = address.saturating_add(bytes);
        let near = self.words.range(address.saturating_sub(WORD_BYTES_MAX)..end);
        let hit = near.filter(|(at, word)| **at + u64::from(word.bytes) > address);
        let hit: Vec<u64> = hit.map(|(at, _)| *at).collect();
        hit.iter().for_each(|at| _ = self.words.remove(at));
    }
}

/// Whether the object is a wake-up by a condvar or futex, whose notifications order nothing: see [`LinkKind::Wakes`].
fn is_unordered(object: HbObject) -> bool {
    let HbObject::Wake { queue: Some(queue), .. } = object else { return false };
    matches!(queue.class, Class::Condvar | Class::Futex)
}

/// Arrows from a step that woke a worker to the worker's next step.
fn wakes(steps: &[RawStep]) -> Vec<RawLink> {
    let mut woken: BTreeMap<WorkerId, (usize, Through)> = BTreeMap::new();
    let mut links = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if let Some((from, through)) = woken.remove(&step.worker).filter(|_| !step.timeout) {
            links.push(RawLink { from, to: index, kind: LinkKind::Wakes, through });
        }
        for (_, sync) in &step.syncs {
            if let HbObject::Wake { worker, queue: Some(queue) } = sync.object
                && sync.kind.releases()
                && is_unordered(sync.object)
            {
                woken.insert(worker, (index, Through::Object(queue)));
            }
        }
    }
    links
}
