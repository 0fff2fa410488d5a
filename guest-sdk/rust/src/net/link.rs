//! Links, one for each direction between two nodes, and their faults.

use super::{Config, Delivery};
use crate::task::section::{Section, Shared};
use crate::task::sync::queue::Queue;
use crate::{fault, sys};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering::Relaxed};
use std::task::Waker;
use std::time::Duration;

/// A point in time that does not come.
pub(super) const NEVER: i64 = i64::MAX;

/// All links of a network. They are used only in sections, each a part of a worker's step.
pub(super) struct Wires {
    pub(super) names: Vec<&'static str>,
    pub(super) delivery: Delivery,
    lateness_ns: i64,
    outage_ns: i64,
    patience_ns: i64,
    /// That from node `f` to node `t` is the one at `f * names.len() + t`.
    links: Vec<Link>,
    /// The wakers to be called when links are cut or mended.
    pub(super) watchers: Shared<Queue<()>>,
    /// Whether nodes can crash: one was started.
    started: AtomicBool,
}

/// The state of a link: points in virtual time, 0 for none. Atomics, since what nodes send and receive is ordered by
/// messages and by nothing else.
#[derive(Default)]
struct Link {
    /// Until then datagrams are lost, and streams keep what they have.
    cut_until_ns: AtomicI64,
    /// Since when, if it is cut.
    cut_since_ns: AtomicI64,
    /// Until then nothing arrives, and all of it afterwards.
    held_until_ns: AtomicI64,
    /// The latency of everything that is sent.
    latency_ns: AtomicI64,
    /// When it last was cut for so long that connections broke, not counting the present cut.
    broken_ns: AtomicI64,
}

/// Whether a link lets through what is on its way.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Arrival {
    Now,
    /// Not before this time.
    At(i64),
}

impl Arrival {
    fn after(ns: i64) -> Arrival {
        if ns == 0 || ns != NEVER && ns <= sys::now() { Arrival::Now } else { Arrival::At(ns) }
    }
}

impl Wires {
    pub(super) fn new(names: Vec<&'static str>, config: Config) -> Wires {
        let links = (0..names.len() * names.len()).map(|_| Link::default()).collect();
        Wires {
            names,
            delivery: config.delivery,
            lateness_ns: sys::span_ns(config.lateness),
            outage_ns: sys::span_ns(config.outage),
            patience_ns: sys::span_ns(config.patience),
            links,
            watchers: Shared::new(Queue::new()),
            started: AtomicBool::new(false),
        }
    }

    /// Lets nodes of the network crash from now on.
    pub(super) fn nodes_start(&self) {
        self.started.store(true, Relaxed);
    }

    /// Whether nodes of the network can crash.
    pub(super) fn nodes_crash(&self) -> bool {
        self.started.load(Relaxed)
    }

    /// An opportunity for a crash of the worker's node, from which a worker that is struck does not return. It is part
    /// of a step, before that has changed anything.
    pub(super) fn may_crash(&self) {
        if self.nodes_crash() {
            fault::choose("!crash.node", 1);
        }
    }

    /// A section in which a step goes on until all that it wakes are woken: a node that crashed in between would leave
    /// workers of other nodes asleep.
    pub(super) fn whole(&self) -> Option<Section> {
        self.nodes_crash().then(Section::enter)
    }

    /// The span for which a node that crashed may be down.
    pub(super) fn outage(&self) -> Duration {
        Duration::from_nanos(self.outage_ns as u64)
    }

    fn link(&self, from: u32, to: u32) -> &Link {
        &self.links[from as usize * self.names.len() + to as usize]
    }

    /// Chooses the faults of the link when something is sent, and adds the wakers to be called. Returns the
    /// earliest time of arrival, 0 for at once; `None` if the link is cut.
    pub(super) fn enter(&self, from: u32, to: u32, woken: &mut Vec<Waker>) -> Option<i64> {
        if from == to {
            return Some(0);
        }
        let way = fault::choose("!net.partition", 6);
        if way > 0 {
            self.partition(from, to, way - 1);
            woken.extend(self.watchers.at_once(Queue::pop_all));
        }
        if self.cut(from, to) != Arrival::Now {
            return None;
        }
        let link = self.link(from, to);
        if fault::choose("!net.jam", 1) > 0 {
            link.held_until_ns.fetch_max(in_the_future(self.lateness_ns), Relaxed);
        }
        if fault::choose("!net.slow", 1) > 0 {
            link.latency_ns.store(self.lateness_ns, Relaxed);
        }
        let late = fault::choose("!net.delay", 1) > 0;
        Some(self.due_ns(from, to, if late { in_the_future(self.lateness_ns) } else { 0 }))
    }

    /// When something arrives that is sent at a time, 0 for now; 0 for at once.
    pub(super) fn due_ns(&self, from: u32, to: u32, sent_ns: i64) -> i64 {
        match self.link(from, to).latency_ns.load(Relaxed) {
            0 => sent_ns,
            latency if sent_ns == 0 => in_the_future(latency),
            latency => sent_ns.saturating_add(latency),
        }
    }

    /// Cuts links of the node that sends: this direction, this link, or all of the node's; for a time, or for good.
    fn partition(&self, from: u32, to: u32, way: u32) {
        let until = if way.is_multiple_of(2) { in_the_future(self.outage_ns) } else { NEVER };
        match way / 2 {
            0 => self.cut_until(from, to, until),
            1 => self.cut_both(from, to, until),
            _ => self.isolate(from, until),
        }
    }

    pub(super) fn cut_until(&self, from: u32, to: u32, until_ns: i64) {
        if self.cut(from, to) == Arrival::Now {
            self.note_what_broke(from, to);
            self.link(from, to).cut_since_ns.store(sys::now(), Relaxed);
        }
        self.link(from, to).cut_until_ns.fetch_max(until_ns, Relaxed);
    }

    fn cut_both(&self, one: u32, other: u32, until_ns: i64) {
        self.cut_until(one, other, until_ns);
        self.cut_until(other, one, until_ns);
    }

    pub(super) fn isolate(&self, node: u32, until_ns: i64) {
        for other in (0..self.names.len() as u32).filter(|other| *other != node) {
            self.cut_both(node, other, until_ns);
        }
    }

    pub(super) fn hold(&self, from: u32, to: u32) {
        self.link(from, to).held_until_ns.store(NEVER, Relaxed);
    }

    pub(super) fn slow(&self, from: u32, to: u32, latency_ns: i64) {
        self.link(from, to).latency_ns.store(latency_ns, Relaxed);
    }

    pub(super) fn mend(&self, from: u32, to: u32) {
        self.note_what_broke(from, to);
        let Link { cut_until_ns, cut_since_ns, held_until_ns, latency_ns, broken_ns: _ } =
            self.link(from, to);
        [cut_until_ns, cut_since_ns, held_until_ns, latency_ns].iter().for_each(|ns| ns.store(0, Relaxed));
    }

    /// Whether nothing can be sent.
    pub(super) fn cut(&self, from: u32, to: u32) -> Arrival {
        Arrival::after(self.link(from, to).cut_until_ns.load(Relaxed))
    }

    /// When a datagram arrives that is due at this time.
    pub(super) fn datagram(&self, from: u32, to: u32, due_ns: i64) -> Arrival {
        Arrival::after(due_ns.max(self.link(from, to).held_until_ns.load(Relaxed)))
    }

    /// When bytes of a stream arrive that are due at this time: what is lost meanwhile is sent again.
    pub(super) fn bytes(&self, from: u32, to: u32, due_ns: i64) -> Arrival {
        self.datagram(from, to, due_ns).max(self.cut(from, to))
    }
}

impl Wires {
    /// When a connection is made whose request is due at the first time, and whose answer at the second one.
    pub(super) fn handshake(&self, (from, to): (u32, u32), [there_ns, back_ns]: [i64; 2]) -> Arrival {
        self.bytes(from, to, there_ns).max(self.bytes(to, from, back_ns))
    }

    /// When the last cut of a link broke connections, whether or not it has ended.
    fn breaking_ns(&self, from: u32, to: u32) -> Option<i64> {
        let link = self.link(from, to);
        let until = link.cut_until_ns.load(Relaxed);
        if until == 0 {
            return None;
        }
        // Not at 0, which is no time.
        let breaks = link.cut_since_ns.load(Relaxed).saturating_add(self.patience_ns).max(1);
        (breaks <= until.min(sys::now())).then_some(breaks)
    }

    fn note_what_broke(&self, from: u32, to: u32) {
        if let Some(at) = self.breaking_ns(from, to) {
            self.link(from, to).broken_ns.fetch_max(at, Relaxed);
        }
    }

    /// When connections of two nodes broke last because their link was cut for too long; 0 for never. So it is known also if
    /// nobody used them meanwhile.
    pub(super) fn broken_ns(&self, one: u32, other: u32) -> i64 {
        let last = |from, to| {
            let before = self.link(from, to).broken_ns.load(Relaxed);
            self.breaking_ns(from, to).map_or(before, |at| at.max(before))
        };
        last(one, other).max(last(other, one))
    }

    /// When a connection of two nodes breaks, if its link stays cut in one direction or the other.
    pub(super) fn breaks(&self, one: u32, other: u32) -> Option<Arrival> {
        let links = [(one, other), (other, one)].into_iter();
        let cut = links.filter(|(from, to)| self.cut(*from, *to) != Arrival::Now);
        let since = cut.map(|(from, to)| self.link(from, to).cut_since_ns.load(Relaxed)).min()?;
        // Not at 0, which is no time.
        Some(Arrival::after(since.saturating_add(self.patience_ns).max(1)))
    }
}

/// The point in virtual time after this span.
fn in_the_future(span_ns: i64) -> i64 {
    sys::now().saturating_add(span_ns)
}
