//! Virtual time. It moves when a timeout fires and when a worker keeps reading the clock.

use coyote_strategies::{Access, Class, Effect, WorkerId};

/// When a pending timeout that is among the next ones may fire.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "kebab-case")]
pub enum Timers {
    /// Whenever it is among the next ones: any worker may take as long as it likes for any step.
    #[default]
    Any,
    /// When no worker can do anything else.
    Ordered,
}

#[derive(Clone, Debug, Default)]
pub struct Clock {
    now_ns: u64,
    /// Deadlines of the pending timeouts, each with the guest's handle of its worker, ascending.
    deadlines: Vec<(u64, u32)>,
    /// The workers of `deadlines`, in the same order.
    sleepers: Vec<WorkerId>,
    /// When the last timeout fired, and when the last one before that did which ended at another time.
    fired: [Option<u64>; 2],
    /// Reads by `reader` since its last step that changed something, and since its last one that did more than store: see
    /// [`Clock::progress`].
    reads: u32,
    patient_reads: u32,
    reader: Option<WorkerId>,
    pub jumps: Jumps,
}

/// How far clocks have jumped, by faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Jumps {
    /// Jumps of the real-time clock, which may also go back.
    realtime_ns: i64,
    monotonic_ns: u64,
}

/// The span by which a clock jumps.
const JUMP_NS: u64 = 3_600_000_000_000;

/// The time of the real-time clock when the monotonic one shows 0: the beginning of the year 2000.
pub const REALTIME_NS: u64 = 946_684_800_000_000_000;

/// The time that a first read adds; each further read while its worker does nothing else doubles it. So a loop that
/// waits for a deadline by polling ends after some tens of rounds, whatever the deadline.
///
/// If the worker stores something in between, as loops in code without optimisation do, time so moves only where timers
/// are ordered, after [`PATIENCE`] reads, and up to the next timeout: a timeout then fires because the loop has run for
/// long, and should not come before a deadline that the loop waits for. A program that takes the time of its work sees
/// little of it.
const READ_NS: u64 = 1_000;
const PATIENCE: u32 = 64;
const DOUBLINGS: u32 = 30;

/// The deadline of a timeout whose time had passed before it began.
const PASSED_NS: u64 = 0;

/// A deadline that never comes: 146 years. Libraries limit timeouts that they cannot represent to some 290 years. Less
/// of that is left if the deadline is a time of the real-time clock.
const FOREVER_NS: u64 = 1 << 62;

impl Jumps {
    /// The time of a clock of WASI when the virtual time is 0: real time, monotonic time, and the processor times of
    /// the process and of the thread, which pass with the virtual time whichever worker runs.
    pub fn base_ns(&self, clock: u32) -> Option<u64> {
        match clock {
            0 => Some(REALTIME_NS.saturating_add_signed(self.realtime_ns)),
            1 => Some(self.monotonic_ns),
            2 | 3 => Some(0),
            _ => None,
        }
    }

    /// Number of ways in which a clock may jump.
    pub fn ways(clock: u32) -> u32 {
        match clock {
            0 => 2,
            1 => 1,
            _ => 0,
        }
    }

    /// What one of [`Jumps::ways`] does, as a clause.
    pub fn told(clock: u32, way: u32) -> String {
        let clock = if clock == 0 { "CLOCK_REALTIME" } else { "CLOCK_MONOTONIC" };
        format!("{clock} jumps an hour {}", if way == 2 { "back" } else { "forwards" })
    }

    /// Lets a clock jump in one of [`Jumps::ways`], numbered from 1 on.
    pub fn jump(&mut self, clock: u32, way: u32) {
        match (clock, way) {
            (0, 1) => self.realtime_ns += JUMP_NS as i64,
            (0, 2) => self.realtime_ns -= JUMP_NS as i64,
            (1, 1) => self.monotonic_ns += JUMP_NS,
            _ => {}
        }
    }
}

impl Clock {
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Reads the clock for a worker, and advances it.
    pub fn read_ns(&mut self, worker: WorkerId, timers: Timers) -> u64 {
        if self.reader != Some(worker) {
            self.reader = Some(worker);
            (self.reads, self.patient_reads) = (0, 0);
        }
        let now = self.now_ns;
        let span = |reads: u32| READ_NS << reads.min(DOUBLINGS);
        let mut advance = span(self.reads);
        if let (Timers::Ordered, Some((next, _))) = (timers, self.deadlines.first()) {
            let patient = span(self.patient_reads.saturating_sub(PATIENCE));
            advance = advance.max(patient.min(next.saturating_sub(now)));
            self.patient_reads = self.patient_reads.saturating_add(1);
        }
        self.now_ns = now.saturating_add(advance);
        self.reads = self.reads.saturating_add(1);
        now
    }

    /// The real-time clock for a file's times. This read does not advance it.
    pub fn stamp_ns(&self) -> u64 {
        self.now_ns.saturating_add(self.jumps.base_ns(0).unwrap_or(0))
    }

    /// Records that the worker executed a step that changes something. Only the reader's own steps count:
    /// those of others would make every step depend on every read. `only_stores`: it stored to memory.
    #[inline]
    pub fn progress(&mut self, worker: WorkerId, only_stores: bool) {
        if self.reader == Some(worker) {
            self.reads = 0;
            if !only_stores {
                self.patient_reads = 0;
            }
        }
    }

    /// Starts a timeout after this span, unless it would never come. Without a span, its time has passed already.
    pub fn start(&mut self, worker: WorkerId, handle: u32, span_ns: u64) {
        let deadline = if span_ns == 0 { PASSED_NS } else { self.now_ns.saturating_add(span_ns) };
        if deadline < FOREVER_NS {
            let at = self.deadlines.partition_point(|other| *other < (deadline, handle));
            self.deadlines.insert(at, (deadline, handle));
            self.sleepers.insert(at, worker);
        }
    }

    /// Cancels the worker's timeout. Returns whether there was one.
    pub fn cancel(&mut self, worker: WorkerId) -> bool {
        let at = self.sleepers.iter().position(|sleeper| *sleeper == worker);
        if let Some(at) = at {
            self.deadlines.remove(at);
            self.sleepers.remove(at);
        }
        at.is_some()
    }

    /// Whether a timeout is pending.
    #[inline]
    pub fn has_pending(&self) -> bool {
        !self.deadlines.is_empty()
    }

    /// The workers whose timeouts may be the next to fire, by their deadlines and then by the guest's handles: those whose
    /// time has come, in any order, since time does not move then; else those that end first. If timers are ordered, those
    /// whose time has come by reads of the clock fire in the order of their ends: sleeps put workers in order.
    #[inline]
    pub fn next(&self, timers: Timers) -> &[WorkerId] {
        let Some((first, _)) = self.deadlines.first() else { return &[] };
        let until = |deadline: u64| self.deadlines.partition_point(|other| other.0 <= deadline);
        let count = match timers {
            _ if *first > self.now_ns => until(*first),
            Timers::Any => until(self.now_ns),
            Timers::Ordered => {
                let passed = until(PASSED_NS);
                let next = self.deadlines.get(passed).filter(|next| next.0 <= self.now_ns);
                next.map_or(passed, |next| until(next.0))
            }
        };
        &self.sleepers[..count]
    }

    /// Whether the time of the earliest pending timeouts has come by reads of the clock.
    pub fn is_due(&self) -> bool {
        self.deadlines.first().is_some_and(|deadline| deadline.0 <= self.now_ns)
    }

    /// Fires the worker's timeout, which must be among the next ones: time moves to its deadline.
    pub fn fire(&mut self, worker: WorkerId) {
        // More may be next than if timers are ordered.
        let is_next = self.next(Timers::Any).contains(&worker);
        assert!(is_next, "this is a bug in coyote-wasm: the timeout is not among the next ones");
        let deadline = self.deadline(worker).expect("it is pending");
        self.now_ns = self.now_ns.max(deadline);
        if self.fired[0] != Some(deadline) {
            self.fired = [Some(deadline), self.fired[0]];
        }
        self.cancel(worker);
    }

    fn deadline(&self, worker: WorkerId) -> Option<u64> {
        let at = self.sleepers.iter().position(|sleeper| *sleeper == worker)?;
        Some(self.deadlines[at].0)
    }

    /// The accesses of the clock by the worker's timeout, which is among the next ones, when it fires. Timeouts that end at
    /// the same time commute, since time moves to their common end; one does not commute with the last one before it that
    /// ends at another time, nor with other accesses of the clock.
    pub fn accesses_of_timeout(&self, worker: WorkerId) -> impl Iterator<Item = Access> + use<> {
        let time = |deadline: u64| 1 + deadline;
        let own = self.deadline(worker);
        let before = if self.fired[0] == own { self.fired[1] } else { self.fired[0] };
        let all =
            [(Effect::Await, Some(0)), (Effect::Read, own.map(time)), (Effect::Await, before.map(time))];
        all.into_iter().filter_map(|(effect, object)| Some(Access::new(Class::Clock, effect, object?)))
    }

    /// Whether both continue alike.
    pub fn is_same(&self, other: &Clock) -> bool {
        let Clock { now_ns, deadlines, sleepers, fired: _, reads, patient_reads, reader, jumps } = self;
        let times = (now_ns, deadlines, jumps) == (&other.now_ns, &other.deadlines, &other.jumps);
        times
            && (sleepers, reads, patient_reads, reader)
                == (&other.sleepers, &other.reads, &other.patient_reads, &other.reader)
    }

    /// The state that later reads depend on: time, numbers of reads and reader.
    pub fn read_state(&self) -> (u64, [u32; 2], Option<WorkerId>) {
        // Timeouts and jumps are hashed separately. When timeouts have fired means nothing any more.
        let Clock { now_ns, deadlines: _, sleepers: _, fired: _, reads, patient_reads, reader, jumps: _ } =
            self;
        (*now_ns, [*reads, *patient_reads], *reader)
    }

    /// Pending timeouts as spans from now, for the fingerprint. Those of timeouts whose time has come wrap around: which of
    /// them comes first may depend on when they would have come. No span is as long as that of one whose time had passed.
    pub fn relative(&self) -> impl Iterator<Item = (u64, WorkerId)> {
        let span = |deadline: u64| match deadline {
            PASSED_NS => 1 << 63,
            _ => deadline.wrapping_sub(self.now_ns),
        };
        let spans = self.deadlines.iter().map(move |(deadline, _)| span(*deadline));
        spans.zip(self.sleepers.iter().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order in which timeouts began is no part of a fingerprint, so nothing may depend on it.
    #[test]
    fn equal_deadlines_are_ordered_by_handle() {
        for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
            let mut clock = Clock::default();
            for n in order {
                let span = if n == 2 { 9 } else { 5 };
                clock.start(WorkerId(n), 7 - n, span);
            }
            for timers in [Timers::Any, Timers::Ordered] {
                let mut clock = clock.clone();
                assert_eq!(clock.next(timers), [WorkerId(1), WorkerId(0)], "{order:?}");
                clock.fire(WorkerId(0));
                assert_eq!((clock.next(timers), clock.now_ns()), (&[WorkerId(1)][..], 5), "{order:?}");
                assert!(clock.cancel(WorkerId(1)) && !clock.cancel(WorkerId(1)));
                assert_eq!(clock.next(timers), [WorkerId(2)]);
            }
        }
    }

    /// Who is late fires in any order, and before time goes on.
    #[test]
    fn timeouts_whose_time_has_come() {
        let mut clock = Clock::default();
        // One that ends at 5,000, two at 3,000, one at 90,000,000.
        for (n, span) in [(1, 5_000), (2, 3_000), (3, 3_000), (4, 90_000_000)] {
            clock.start(WorkerId(n), n, span);
        }
        assert_eq!(clock.next(Timers::Any), [WorkerId(2), WorkerId(3)]);
        while clock.now_ns() < 5_000 {
            clock.read_ns(WorkerId(0), Timers::Any);
        }
        let now = clock.now_ns();
        assert_eq!(clock.next(Timers::Any), [2, 3, 1].map(WorkerId));
        assert_eq!(clock.next(Timers::Ordered), [2, 3].map(WorkerId));
        clock.start(WorkerId(5), 5, 0);
        assert_eq!(clock.next(Timers::Any), [5, 2, 3, 1].map(WorkerId));
        assert_eq!(clock.next(Timers::Ordered), [5, 2, 3].map(WorkerId));
        clock.fire(WorkerId(1));
        assert_eq!((clock.next(Timers::Any), clock.now_ns()), (&[5, 2, 3].map(WorkerId)[..], now));
        for late in [2, 3, 5] {
            clock.fire(WorkerId(late));
        }
        assert_eq!(
            (clock.next(Timers::Any), clock.next(Timers::Ordered)),
            (&[WorkerId(4)][..], &[WorkerId(4)][..])
        );
        clock.fire(WorkerId(4));
        assert_eq!((clock.next(Timers::Any), clock.now_ns()), (&[][..], 90_000_000));
    }

    /// A loop that waits for a deadline comes to it in few rounds, and not much later.
    #[test]
    fn who_polls_a_deadline_comes_to_it() {
        let polls = |stores: Option<bool>, timers, timeout_ms: u64| {
            let mut clock = Clock::default();
            clock.start(WorkerId(1), 1, timeout_ms * 1_000_000);
            let mut rounds = 0;
            while clock.read_ns(WorkerId(0), timers) < 50_000_000 && rounds < 10_000 {
                stores.into_iter().for_each(|only| clock.progress(WorkerId(0), only));
                rounds += 1;
            }
            (rounds, clock.now_ns() / 1_000_000)
        };
        for timers in [Timers::Any, Timers::Ordered] {
            assert_eq!(polls(None, timers, 10_000), (16, 131));
            assert_eq!(polls(Some(false), timers, 10_000), (10_000, 10));
        }
        assert_eq!(polls(Some(true), Timers::Ordered, 10_000), (80, 131));
        assert_eq!(polls(Some(true), Timers::Ordered, 20), (10_000, 29), "not beyond the timeout");
        assert_eq!(polls(Some(true), Timers::Any, 10_000), (10_000, 10));
    }

    #[test]
    fn a_timeout_in_ages_never_comes() {
        let mut clock = Clock::default();
        clock.start(WorkerId(0), 0, u64::MAX);
        clock.start(WorkerId(1), 1, FOREVER_NS);
        assert!(!clock.has_pending());
        clock.start(WorkerId(2), 2, FOREVER_NS - 1);
        clock.fire(WorkerId(2));
        assert_eq!(clock.now_ns(), FOREVER_NS - 1);
        clock.start(WorkerId(3), 3, 1);
        assert_eq!(clock.next(Timers::Any), []);
    }
}
