//! Waits for sockets.
//!
//! A call that may have to wait is announced with its descriptor ([`Request::Socket`]), a poll with all of its descriptors
//! ([`Request::Poll`]). The first half is a step that looks. If the worker must wait, it is blocked until another worker
//! changes a socket so that the call would go on, and looks again then: another worker may have been faster. The call
//! itself, which the guest makes next, belongs to the step in which the worker goes on.
//!
//! In the relation, a look reads what it looks at, and a step that wakes a worker enables its next one. Steps that change
//! what one waiting worker waits for do not commute with each other, nor with its timeout: the first one is the one that
//! wakes.
//!
//! A poll of a driver is also ended by a wake: see `drivers.rs`.
//!
//! Faults are chosen in the step in which the worker goes on: `split`, and the fault points `net.reset` and `net.abort`.

use super::faults::hash;
use super::files::Errno;
use super::files::sockets::Look;
use super::internal::Internal;
use super::polled::{Direction, Polled, SocketFault};
use super::stream::{HbObject, SyncKind};
use super::{BudgetId, FaultClass, Performed, Request, Runtime, Wake, of_site};
use coyote_abi::file;
use coyote_strategies::{Class, Effect, WorkerId, WorkerState};

/// The names of the fault points of sockets.
const RESET: &str = "net.reset";
const ABORT: &str = "net.abort";

/// The result of a poll whose time has come without a socket that is ready.
pub const TIMED_OUT: i64 = 1;

/// The direction of a call of the function with this number in [`file::CALLS`].
fn direction(function: u8) -> Direction {
    match file::CALLS[usize::from(function)].name {
        "fd_write" | "sock_send" => Direction::Send,
        _ => Direction::Receive,
    }
}

/// A fault that is an opportunity: the budget, the fault point's hash or 0, and the number of ways.
type Opportunity = (BudgetId, u32, u64);

impl Runtime {
    /// Sets what the worker is about to poll.
    pub fn set_polled(&mut self, id: WorkerId, sockets: Vec<(u32, Direction)>) {
        self.workers[id.index()].polled = Polled { sockets, objects: Vec::new() };
    }

    /// Makes a connection, as the peer of a listening socket. Returns its descriptor or a negative error number.
    pub(super) fn connect(&mut self, id: WorkerId, listener: u32) -> Performed {
        let connected = self.session(Some(id)).connect(listener);
        self.follow_sockets();
        Performed::Continue(connected.map_or_else(|error: Errno| -i64::from(error.0), i64::from))
    }

    /// Lets a call on a socket begin, or the worker wait for it.
    pub(super) fn await_socket(
        &mut self,
        id: WorkerId,
        (descriptor, function, bytes, ways): (u32, u8, u32, u8),
        values: &[u64],
    ) -> Performed {
        let direction = direction(function);
        let look = self.files.look(descriptor, direction);
        let mut failure = 0;
        if look.is_none() && ways > 0 && self.may_fail(FaultClass::Io) {
            failure = match self.fault(FaultClass::Io, ways.into(), values) {
                Ok(way) => way as u32,
                Err(bound) => return Performed::NeedsValue(bound),
            };
        }
        let accepts = file::CALLS[usize::from(function)].name == "sock_accept";
        // A call of the wrong function fails at once.
        let fits = |look: &Look| look.listens == accepts;
        let goes_on = look.as_ref().is_none_or(|look| look.ready || look.nonblocking || !fits(look));
        let opportunities = match &look {
            Some(look) if look.ready && fits(look) => self.opportunities(accepts, bytes, look),
            _ => Vec::new(),
        };
        let fault = match self.socket_fault(&opportunities, values) {
            Ok(fault) => fault,
            Err(bound) => return Performed::NeedsValue(bound),
        };
        if self.worker(id).waiting {
            self.end_wait(id);
        }
        self.touch_look(descriptor, look.as_ref());
        if !goes_on {
            self.workers[id.index()].polled.sockets = vec![(descriptor, direction)];
            return self.wait_for_sockets(id, None);
        }
        if let Some(fault) = fault {
            let told = self.told(descriptor, function, fault);
            // The fault's step counts when it is complete.
            self.failed_calls.push((self.steps + 1, told));
        }
        self.workers[id.index()].failure = failure;
        self.workers[id.index()].socket_fault = fault;
        self.workers[id.index()].polled = Polled::default();
        Performed::Continue(0)
    }

    /// Lets a poll return, or the worker wait.
    pub(super) fn poll(&mut self, id: WorkerId, span_ns: Option<u64>) -> Performed {
        let again = self.worker(id).waiting;
        let timed_out = match again {
            true => self.end_wait(id) == Some(Wake::TimedOut),
            false => span_ns == Some(0),
        };
        let mut ready = self.driver_is_woken(id);
        for (descriptor, direction) in self.worker(id).polled.sockets.clone() {
            let look = self.files.look(descriptor, direction);
            self.touch_look(descriptor, look.as_ref());
            // What is no socket is ready, or an error.
            ready |= look.is_none_or(|look| look.ready);
        }
        if !ready && !timed_out {
            return self.wait_for_sockets(id, span_ns.filter(|_| !again));
        }
        if self.clock.cancel(id) {
            self.footprint.touch(Class::Clock, Effect::Write, 0);
        }
        self.workers[id.index()].polled = Polled::default();
        self.end_turn(id);
        Performed::Continue(if timed_out { TIMED_OUT } else { 0 })
    }

    fn wait_for_sockets(&mut self, id: WorkerId, span_ns: Option<u64>) -> Performed {
        let looks = self.worker(id).polled.sockets.iter();
        let looks = looks.filter_map(|(descriptor, direction)| self.files.look(*descriptor, *direction));
        let objects = looks.flat_map(|look| look.objects).collect();
        self.workers[id.index()].polled.objects = objects;
        self.touch_wait(id);
        self.block(id, span_ns)
    }

    fn touch_look(&mut self, descriptor: u32, look: Option<&Look>) {
        self.footprint.touch(Class::Descriptor, Effect::Read, descriptor.into());
        for object in look.iter().flat_map(|look| &look.objects) {
            self.footprint.touch(Class::File, Effect::Read, *object);
        }
    }

    /// Records that a step decides what wakes the worker, if it waits for sockets.
    pub(super) fn touch_wait(&mut self, id: WorkerId) {
        if matches!(self.worker(id).request, Request::Socket { .. } | Request::Poll { .. }) {
            self.footprint.touch_internal(Effect::Write, Internal::Wait(self.worker(id).key));
        }
    }

    /// Wakes the workers that waited for what calls on sockets have changed, and records what happens before what.
    pub(super) fn follow_sockets(&mut self) {
        let Some(events) = self.files.take_socket_events() else { return };
        for (object, acquires) in events.edges {
            let kind = if acquires { SyncKind::Acquire } else { SyncKind::Release };
            self.synchronise(HbObject::Socket(object), kind);
        }
        for id in self.ids() {
            let worker = self.worker(id);
            let concerned = worker.polled.objects.iter().any(|object| events.changed.contains(object));
            if !worker.waiting || !concerned || self.pending(id).state == WorkerState::Ended {
                continue;
            }
            self.touch_wait(id);
            if self.worker(id).wake.is_none() && self.is_some_ready(id) {
                self.wake(id, Wake::Notified);
            }
        }
    }

    fn is_some_ready(&self, id: WorkerId) -> bool {
        let mut polled = self.worker(id).polled.sockets.iter();
        polled.any(|(descriptor, direction)| {
            self.files.look(*descriptor, *direction).is_none_or(|look| look.ready)
        })
    }

    /// The faults that may happen in a call which does not wait, in the order in which they are asked for.
    fn opportunities(&self, accepts: bool, bytes: u32, look: &Look) -> Vec<Opportunity> {
        let point = if accepts { ABORT } else { RESET };
        let mut all = Vec::new();
        if let Some(budget) = self.faults().of_point(point).filter(|_| self.has_begun()) {
            all.push((budget, hash(point), 1));
        }
        let transferred = (bytes as usize).min(look.amount) as u64;
        if !accepts && transferred > 1 && self.may_fail(FaultClass::Split) {
            all.push((BudgetId::Class(FaultClass::Split), 0, transferred - 1));
        }
        all
    }

    /// Chooses among faults. Nothing changes before all values are known.
    fn socket_fault(
        &mut self,
        opportunities: &[Opportunity],
        values: &[u64],
    ) -> Result<Option<SocketFault>, u64> {
        let mut given = values.iter();
        let mut chosen = Vec::new();
        for (budget, point, ways) in opportunities {
            let value = match self.faults().state(*budget).1 {
                false => None,
                true => match given.next() {
                    Some(value) => Some(*value),
                    None => {
                        let kind = if *point == 0 { FaultClass::Split.kind() } else { of_site(*point) };
                        self.fault_asked = Some(kind);
                        return Err(ways + 1);
                    }
                },
            };
            chosen.push((*budget, *point, *ways, value));
            if value.is_some_and(|value| value > 0) {
                break;
            }
        }
        let mut fault = None;
        for (budget, point, ways, value) in chosen {
            if let Some(name) = [RESET, ABORT].into_iter().find(|name| hash(name) == point) {
                self.fault_counts.see(name);
            }
            let way = self.fault_of(budget, point, ways, value.as_slice())?;
            if way > 0 {
                let splits = budget == BudgetId::Class(FaultClass::Split);
                fault = Some(if splits { SocketFault::Split(way as u32) } else { SocketFault::Reset });
            }
        }
        Ok(fault)
    }

    /// What becomes of a call by a fault, as a clause.
    fn told(&self, descriptor: u32, function: u8, fault: SocketFault) -> String {
        let name = file::CALLS[usize::from(function)].name;
        let title = self.files.socket_title(descriptor).unwrap_or_default();
        match fault {
            SocketFault::Split(1) => format!("{name} transfers 1 byte of {title}"),
            SocketFault::Split(bytes) => format!("{name} transfers {bytes} bytes of {title}"),
            SocketFault::Reset if name == "sock_accept" => {
                format!("{name} fails with ECONNABORTED at {title}")
            }
            SocketFault::Reset => format!("{name} finds that {title} was reset"),
        }
    }

    /// The wait of a blocked worker for sockets, for reports.
    pub fn awaited_sockets(&self, id: WorkerId) -> Option<String> {
        let titles = |polled: &[(u32, Direction)]| -> Vec<String> {
            let title = |(descriptor, direction): &(u32, Direction)| {
                let title = self.files.socket_title(*descriptor)?;
                Some(match direction {
                    Direction::Send => format!("room at {title}"),
                    Direction::Receive if title.starts_with("listener") => format!("a connection at {title}"),
                    Direction::Receive => format!("data at {title}"),
                })
            };
            polled.iter().filter_map(title).collect()
        };
        let worker = self.worker(id);
        match worker.request {
            Request::Socket { .. } => Some(titles(&worker.polled.sockets).concat()),
            Request::Poll { .. } => {
                let wake = worker.driver.turns.then(|| "a wake-up of its driver".to_string());
                let titles = titles(&worker.polled.sockets).into_iter().chain(wake);
                Some(titles.collect::<Vec<_>>().join(" or "))
            }
            _ => None,
        }
    }
}
