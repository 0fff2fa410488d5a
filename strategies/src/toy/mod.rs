//! A small machine: the subject of this crate's tests.
//!
//! A program is a few workers, each a line of instructions over shared variables, locks of all kinds,
//! condvars, timers and choices. Small enough to enumerate every schedule by brute force, and a [`System`] in every
//! respect, so that a strategy or search can be checked without wasm.

mod generate;
mod lock;
mod program;
mod system;

pub use generate::{generate, generate_sections, generate_timed, generate_timed_sections};
pub use program::{Instruction, Program};

use lock::{Lock, Locks, Manner};

use crate::system::{Access, Class, Effect};
use crate::{Event, OpKind, Operation, Pending, Status, Strategy, System, WorkerId, WorkerState};
use std::sync::Arc;

/// The progress of a worker's present instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    /// It has not begun.
    Ready,
    /// Blocked at a condvar until woken, then taking the lock again.
    Waiting { condvar: u8, lock: u8 },
    /// Blocked until it gets the lock or its timeout fires.
    Locking(Lock),
    /// Blocked until its timeout fires.
    Sleeping,
    /// An assumption failed.
    Stuck,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Worker {
    /// Index of its instructions in the program.
    code: u8,
    counter: usize,
    register: i8,
    phase: Phase,
    /// Whether its wait or sleep has ended, and whether by its timeout.
    woken: Option<bool>,
    /// When its timeout fires.
    deadline: Option<u32>,
    /// Whether it was spawned and has not run yet.
    newborn: bool,
    /// Instructions before this one belong to an atomic section.
    section_end: usize,
}

/// The state of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toy {
    program: Arc<Program>,
    workers: Vec<Worker>,
    variables: [i8; 8],
    locks: Locks,
    now: u32,
    /// When the last timeout fired, and when the last one before that did which ended at another time.
    fired: [Option<u32>; 2],
    /// A step that waits for a value below a bound.
    choosing: Option<(WorkerId, u64)>,
    bug: bool,
    /// Monitors that are not cold: whether they are hot, and the step since which they are not cold.
    monitors: [Option<(bool, u64)>; 2],
    pending: Vec<Pending>,
    enabled: Vec<WorkerId>,
    /// Workers whose timeouts are the earliest.
    timeouts: Vec<WorkerId>,
    current: Option<WorkerId>,
    steps: u64,
    /// How often the state of a worker has changed.
    changes: u64,
    footprint: Vec<Access>,
    events: Vec<Event>,
}

impl Toy {
    /// The start of a program. Unless it has an instruction `Spawn`, all of its workers exist from the beginning.
    pub fn new(program: impl Into<Arc<Program>>) -> Toy {
        let program = program.into();
        let spawns = program.iter().flatten().any(|i| matches!(i, Instruction::Spawn(_)));
        let started = if spawns { 1 } else { program.len() };
        let mut toy = Toy {
            program,
            workers: (0..started as u8).map(|code| Worker::new(code, false)).collect(),
            variables: [0; 8],
            locks: Locks::default(),
            now: 0,
            fired: [None; 2],
            choosing: None,
            bug: false,
            monitors: [None; 2],
            pending: Vec::new(),
            enabled: Vec::new(),
            timeouts: Vec::new(),
            current: None,
            steps: 0,
            changes: 0,
            footprint: Vec::new(),
            events: Vec::new(),
        };
        toy.refresh();
        toy
    }

    /// The values of the variables.
    pub fn variables(&self) -> &[i8] {
        &self.variables
    }

    /// Index of the instructions of this worker in the program.
    pub fn code(&self, worker: WorkerId) -> usize {
        self.workers[worker.index()].code.into()
    }

    /// Runs to the end under a strategy that has begun its iteration.
    pub fn run(&mut self, strategy: &mut dyn Strategy) -> Status {
        loop {
            for event in std::mem::take(&mut self.events) {
                strategy.observe(event);
            }
            match self.status() {
                Status::Ready => match strategy.pick(&self.view()) {
                    Some(pick) => self.step(pick),
                    None => return Status::Abandoned,
                },
                Status::Choosing { bound } => match strategy.value(bound, &self.view()) {
                    Some(value) => self.choose(value),
                    None => return Status::Abandoned,
                },
                status => return status,
            }
        }
    }

    fn instruction(&self, worker: usize) -> Option<Instruction> {
        let worker = &self.workers[worker];
        self.program[worker.code as usize].get(worker.counter).copied()
    }

    fn ended(&self, code: u8) -> bool {
        let worker = self.workers.iter().position(|w| w.code == code);
        worker.is_some_and(|w| self.instruction(w).is_none())
    }

    fn in_section(&self, worker: WorkerId) -> bool {
        let worker = &self.workers[worker.index()];
        worker.counter < worker.section_end
    }

    /// The index, among the enabled workers, of the one whose atomic section prevents all others from being
    /// picked.
    fn alone(&self) -> Option<usize> {
        let current = self.current.filter(|current| self.in_section(*current))?;
        let yields = self.pending[current.index()].operation.kind == OpKind::Yield;
        self.enabled.iter().position(|worker| *worker == current && !yields)
    }

    /// Records the access of a worker that arrives at the next instruction of its section: whether this
    /// instruction blocks the worker decides whether others make steps before the section continues.
    fn touch_arrival(&mut self, id: WorkerId) {
        match self.instruction(id.index()) {
            Some(Instruction::Join(c)) => self.touch(Class::End, Effect::Read, c),
            Some(instruction) => {
                if let Some((lock, Manner::Wait)) = instruction.takes() {
                    self.touch_lock(lock, Effect::Read);
                }
            }
            None => {}
        }
    }

    /// Recomputes the pending operations and the enabled workers.
    fn refresh(&mut self) {
        self.enabled.clear();
        for w in 0..self.workers.len() {
            let (operation, state) = self.announcement(w);
            let pending = Pending { operation, state };
            match self.pending.get_mut(w) {
                Some(before) => {
                    self.changes += u64::from(before.state != state);
                    *before = pending;
                }
                None => {
                    self.changes += 1;
                    self.pending.push(pending);
                }
            }
            if state == WorkerState::Enabled {
                self.enabled.push(WorkerId(w as u32));
            }
        }
        self.timeouts.clear();
        if let Some(earliest) = self.workers.iter().filter_map(|w| w.deadline).min() {
            let ends = |w: &usize| self.workers[*w].deadline == Some(earliest);
            self.timeouts.extend((0..self.workers.len()).filter(ends).map(|w| WorkerId(w as u32)));
        }
    }

    /// The pending operation of a worker.
    fn announcement(&self, w: usize) -> (Operation, WorkerState) {
        let worker = &self.workers[w];
        let site = (u32::from(worker.code) << 16) | worker.counter as u32;
        let op = |kind, object: u8, size| Operation { kind, site, object: u64::from(object) + 1, size };
        let Some(instruction) = self.instruction(w) else { return (Operation::START, WorkerState::Ended) };
        let (operation, enabled) = match (worker.phase, instruction) {
            (Phase::Waiting { lock, .. }, _) => {
                let free = self.locks.free(Lock::Mutex(lock));
                (op(OpKind::Relock, lock, 0), worker.woken.is_some() && free)
            }
            (Phase::Locking(lock), _) => {
                let (_, number) = lock.place();
                (op(lock.kind(Manner::Wait), number, 0), worker.woken.is_some() || self.locks.free(lock))
            }
            (Phase::Sleeping, _) => (op(OpKind::Sleep, 0, 0), worker.woken.is_some()),
            (Phase::Stuck, _) => (op(OpKind::Assume, 0, 0), false),
            (Phase::Ready, Instruction::Load(v)) => (op(OpKind::Load, v, 1), true),
            (_, Instruction::Store(v, _) | Instruction::Set(v, _)) => (op(OpKind::Store, v, 1), true),
            (_, Instruction::Rmw(v, _) | Instruction::Swap(v, _) | Instruction::Cas(v, ..)) => {
                (op(OpKind::Rmw, v, 1), true)
            }
            (_, Instruction::Until(v)) => (op(OpKind::Load, v, 1), true),
            (_, Instruction::Unlock(l)) => (op(OpKind::Unlock, l, 0), true),
            (_, Instruction::RwUnlock(l)) => (op(OpKind::RwUnlock, l, 0), true),
            (_, Instruction::SemaphorePost(s)) => (op(OpKind::SemaphorePost, s, 0), true),
            (_, Instruction::Wait(c, _) | Instruction::WaitTimeout(c, ..)) => (op(OpKind::Wait, c, 0), true),
            (_, Instruction::Signal(c)) => (op(OpKind::Signal, c, 0), true),
            (_, Instruction::Broadcast(c)) => (op(OpKind::Broadcast, c, 0), true),
            (_, Instruction::Sleep(_)) => (op(OpKind::Sleep, 0, 0), true),
            (_, Instruction::Spawn(c)) => (op(OpKind::Spawn, c, 0), true),
            (_, Instruction::Join(c)) => (op(OpKind::Join, c, 0), self.ended(c)),
            (_, Instruction::Choose(_) | Instruction::SetOneOf(..)) => (op(OpKind::ChooseInt, 0, 0), true),
            (_, Instruction::Assume(_) | Instruction::AssumeNot(_)) => (op(OpKind::Assume, 0, 0), true),
            (_, Instruction::Monitor(..) | Instruction::Renew(_)) => {
                (Operation { object: 0, ..op(OpKind::Interleave, 0, 0) }, true)
            }
            (
                _,
                Instruction::SkipUnless(..)
                | Instruction::BackUnless(..)
                | Instruction::Assert(_)
                | Instruction::Yield
                | Instruction::Section(_)
                | Instruction::Hint(_),
            ) => (Operation { object: 0, ..op(OpKind::Yield, 0, 0) }, true),
            (_, instruction) => {
                let (lock, manner) = instruction.takes().expect("what is left takes something");
                let (_, number) = lock.place();
                (op(lock.kind(manner), number, 0), manner != Manner::Wait || self.locks.free(lock))
            }
        };
        (operation, if enabled { WorkerState::Enabled } else { WorkerState::Blocked })
    }

    fn touch(&mut self, class: Class, effect: Effect, object: impl Into<u64>) {
        self.footprint.push(Access::new(class, effect, object.into()));
    }

    fn touch_lock(&mut self, lock: Lock, effect: Effect) {
        let (class, number) = lock.place();
        self.touch(class, effect, number);
    }

    /// Lets the worker acquire the lock, which is free; `tried`: it would not have waited.
    fn acquire(&mut self, id: WorkerId, lock: Lock, tried: bool) {
        self.touch_lock(lock, lock.effect(tried));
        self.locks.take(id, lock);
    }

    /// Releases a lock. Releasing one that the worker does not hold is a bug.
    fn release(&mut self, id: WorkerId, place: (Class, u8)) {
        self.touch(place.0, self.locks.release_effect(place), place.1);
        self.bug |= !self.locks.release(id, place);
        let waits = |pending: &Pending| {
            pending.state == WorkerState::Blocked
                && pending.operation.kind == OpKind::SemaphoreWait
                && pending.operation.object == u64::from(place.1) + 1
        };
        if place.0 == Class::Semaphore {
            let woken = self.pending.iter().enumerate().filter(|(_, pending)| waits(pending));
            self.events.extend(woken.map(|(w, _)| Event::Woken { by: id, worker: WorkerId(w as u32) }));
        }
    }

    /// Acquires a lock, continues without it, or begins to wait for it.
    fn lock(&mut self, id: WorkerId, lock: Lock, manner: Manner) {
        let worker = id.index();
        if self.locks.free(lock) {
            self.acquire(id, lock, manner != Manner::Wait);
            if manner != Manner::Wait {
                self.workers[worker].register = 1;
            }
            return self.done(id);
        }
        self.touch_lock(lock, Effect::Read);
        match manner {
            Manner::Wait => unreachable!("it is blocked"),
            Manner::Try => self.go_without(id),
            Manner::Timed(span) => {
                self.workers[worker].phase = Phase::Locking(lock);
                self.arm(id, Some(span));
            }
        }
    }

    /// Continues after an attempt to acquire a lock that failed.
    fn go_without(&mut self, id: WorkerId) {
        self.workers[id.index()].register = 0;
        self.skip(id, 2);
    }

    /// Starts the worker's timeout, or cancels it if `span` is `None`.
    fn arm(&mut self, id: WorkerId, span: Option<u8>) {
        let deadline = span.map(|span| self.now + u32::from(span));
        if deadline.is_some() || self.workers[id.index()].deadline.is_some() {
            self.touch(Class::Clock, Effect::Write, 0u64);
        }
        self.workers[id.index()].deadline = deadline;
    }

    /// The accesses of the clock by any of the timeouts that may fire. They commute with each other, and neither with those
    /// that end at another time nor with other accesses of the clock.
    fn accesses_of_timeouts(&self) -> impl Iterator<Item = Access> + use<> {
        let time = |deadline: u32| 1 + u64::from(deadline);
        let next = self.workers.iter().filter_map(|w| w.deadline).min().expect("a timeout is pending");
        let before = if self.fired[0] == Some(next) { self.fired[1] } else { self.fired[0] };
        let all =
            [(Effect::Await, Some(0)), (Effect::Read, Some(time(next))), (Effect::Await, before.map(time))];
        all.into_iter().filter_map(|(effect, object)| Some(Access::new(Class::Clock, effect, object?)))
    }

    fn waiters(&self, condvar: u8) -> Vec<WorkerId> {
        let waits = |w: &Worker| {
            w.woken.is_none() && matches!(w.phase, Phase::Waiting { condvar: c, .. } if c == condvar)
        };
        let all = self.workers.iter().enumerate().filter(|(_, w)| waits(w));
        all.map(|(i, _)| WorkerId(i as u32)).collect()
    }

    fn wake(&mut self, by: Option<WorkerId>, id: WorkerId) {
        self.arm(id, None);
        self.touch(Class::Wake, Effect::Enable, id.0);
        self.workers[id.index()].woken = Some(by.is_none());
        if let Some(by) = by {
            self.events.push(Event::Woken { by, worker: id });
        }
    }

    /// Ends the worker's present instruction.
    fn done(&mut self, id: WorkerId) {
        self.skip(id, 1);
    }

    fn skip(&mut self, id: WorkerId, by: usize) {
        let worker = &mut self.workers[id.index()];
        worker.counter += by;
        worker.phase = Phase::Ready;
        worker.woken = None;
        let code = worker.code;
        if self.instruction(id.index()).is_none() {
            self.touch(Class::End, Effect::Enable, code);
            self.events.push(Event::Ended(id));
        }
        if self.in_section(id) {
            self.touch_arrival(id);
        }
    }

    /// Executes the enabled worker's instruction, with the value chosen for it, if any.
    fn perform(&mut self, id: WorkerId, instruction: Instruction, value: Option<u64>) {
        let w = id.index();
        match instruction {
            Instruction::Load(v) => {
                self.touch(Class::Memory, Effect::Read, v);
                self.workers[w].register = self.variables[v as usize];
            }
            Instruction::Store(v, add) => {
                self.touch(Class::Memory, Effect::Write, v);
                self.variables[v as usize] = self.workers[w].register.wrapping_add(add);
            }
            Instruction::Set(v, value) => {
                self.touch(Class::Memory, Effect::Write, v);
                self.variables[v as usize] = value;
            }
            Instruction::Rmw(v, add) => {
                self.touch(Class::Memory, Effect::Write, v);
                self.workers[w].register = self.variables[v as usize];
                self.variables[v as usize] = self.variables[v as usize].wrapping_add(add);
            }
            Instruction::Swap(v, value) => {
                self.touch(Class::Memory, Effect::Write, v);
                self.workers[w].register = std::mem::replace(&mut self.variables[v as usize], value);
            }
            Instruction::Cas(v, from, to) => {
                let succeeds = self.variables[v as usize] == from;
                self.touch(Class::Memory, if succeeds { Effect::Write } else { Effect::Read }, v);
                self.workers[w].register = i8::from(succeeds);
                if succeeds {
                    self.variables[v as usize] = to;
                }
            }
            Instruction::Until(v) => {
                self.touch(Class::Memory, Effect::Read, v);
                if self.variables[v as usize] != self.workers[w].register {
                    return;
                }
            }
            Instruction::Wait(condvar, lock) => return self.wait(id, condvar, lock, None),
            Instruction::WaitTimeout(condvar, lock, span) => {
                return self.wait(id, condvar, lock, Some(span));
            }
            Instruction::Signal(c) => {
                let waiters = self.waiters(c);
                if value.is_none() {
                    self.touch(Class::Condvar, Effect::Write, c);
                    if waiters.len() > 1 {
                        self.choosing = Some((id, waiters.len() as u64));
                        return;
                    }
                }
                if let Some(waiter) = waiters.get(value.unwrap_or(0) as usize) {
                    self.wake(Some(id), *waiter);
                }
            }
            Instruction::Broadcast(c) => {
                self.touch(Class::Condvar, Effect::Write, c);
                self.waiters(c).into_iter().for_each(|waiter| self.wake(Some(id), waiter));
            }
            Instruction::Sleep(span) => {
                self.workers[w].phase = Phase::Sleeping;
                return self.arm(id, Some(span));
            }
            Instruction::Spawn(c) => {
                self.touch(Class::Counter, Effect::Write, 0u64);
                self.touch(Class::Birth, Effect::Enable, c);
                let child = WorkerId(self.workers.len() as u32);
                self.workers.push(Worker::new(c, true));
                self.events.push(Event::Spawned { parent: id, child });
                if self.program[c as usize].is_empty() {
                    self.touch(Class::End, Effect::Enable, c);
                }
            }
            Instruction::Join(c) => self.touch(Class::End, Effect::Await, c),
            Instruction::Choose(bound) => match value {
                Some(value) => self.workers[w].register = value as i8,
                None => {
                    self.choosing = Some((id, u64::from(bound)));
                    return;
                }
            },
            Instruction::SetOneOf(variables, set) => match value {
                Some(variable) => {
                    self.touch(Class::Memory, Effect::Write, variable);
                    self.variables[variable as usize] = set;
                }
                None => {
                    self.choosing = Some((id, u64::from(variables)));
                    return;
                }
            },
            Instruction::SkipUnless(value, count) => {
                let skipped = if self.workers[w].register == value { 0 } else { usize::from(count) };
                return self.skip(id, 1 + skipped);
            }
            Instruction::BackUnless(value, count) => {
                if self.workers[w].register != value {
                    self.workers[w].counter -= usize::from(count);
                    return;
                }
            }
            Instruction::Section(length) => {
                let worker = &mut self.workers[w];
                worker.section_end = worker.section_end.max(worker.counter + 1 + usize::from(length));
            }
            Instruction::Assert(value) => self.bug |= self.workers[w].register != value,
            Instruction::Assume(value) if self.workers[w].register != value => return self.stick(id),
            Instruction::AssumeNot(value) if self.workers[w].register == value => return self.stick(id),
            Instruction::Hint(value) => {
                self.events.push(Event::Hint { worker: id, value: i64::from(value) as u64 })
            }
            Instruction::Monitor(m, heat) => {
                self.touch(Class::Other, Effect::Write, m);
                let since = self.monitors[m as usize].map_or(self.steps, |(_, since)| since);
                self.monitors[m as usize] = (heat > 0).then_some((heat == 2, since));
            }
            Instruction::Renew(m) => {
                self.touch(Class::Other, Effect::Write, m);
                self.monitors[m as usize] = Some((true, self.steps));
            }
            Instruction::Assume(_) | Instruction::AssumeNot(_) | Instruction::Yield => {}
            other => match (other.takes(), other.gives_back()) {
                (Some((lock, manner)), _) => return self.lock(id, lock, manner),
                (None, Some(place)) => self.release(id, place),
                (None, None) => unreachable!("{other:?} is executed above"),
            },
        }
        self.done(id);
    }

    fn stick(&mut self, id: WorkerId) {
        self.workers[id.index()].phase = Phase::Stuck;
    }

    fn wait(&mut self, id: WorkerId, condvar: u8, lock: u8, span: Option<u8>) {
        self.release(id, (Class::Mutex, lock));
        self.touch(Class::Condvar, Effect::Write, condvar);
        self.workers[id.index()].phase = Phase::Waiting { condvar, lock };
        self.arm(id, span);
    }

    /// Executes the second half of a wait or sleep, or of an acquisition that was blocked.
    fn resume(&mut self, id: WorkerId) {
        let timed_out = self.workers[id.index()].woken == Some(true);
        if let Phase::Locking(lock) = self.workers[id.index()].phase
            && !timed_out
        {
            self.arm(id, None);
            self.acquire(id, lock, false);
            self.workers[id.index()].register = 1;
            return self.done(id);
        }
        self.touch(Class::Wake, Effect::Await, id.0);
        if let Phase::Locking(_) = self.workers[id.index()].phase {
            return self.go_without(id);
        }
        if let Phase::Waiting { lock, .. } = self.workers[id.index()].phase {
            self.acquire(id, Lock::Mutex(lock), false);
            if let Some(Instruction::WaitTimeout(..)) = self.instruction(id.index()) {
                self.workers[id.index()].register = i8::from(timed_out);
            }
        }
        self.done(id);
    }

    fn fire(&mut self, id: WorkerId) {
        assert!(self.timeouts.contains(&id), "{id:?}'s timeout is not the earliest");
        let accesses = self.accesses_of_timeouts();
        self.footprint.extend(accesses);
        self.now = self.workers[id.index()].deadline.take().expect("it is armed");
        if self.fired[0] != Some(self.now) {
            self.fired = [Some(self.now), self.fired[0]];
        }
        if self.in_section(id) {
            // It was blocked, so other workers can run within its section until it continues, whichever
            // worker made the last step.
            self.current = self.current.filter(|current| *current != id);
        }
        if let Phase::Waiting { condvar, .. } = self.workers[id.index()].phase {
            self.touch(Class::Condvar, Effect::Write, condvar);
        }
        if let Phase::Locking(lock) = self.workers[id.index()].phase {
            // Other workers kept it from acquiring the lock in time.
            self.touch_lock(lock, Effect::Read);
        }
        self.wake(None, id);
    }
}

impl Worker {
    fn new(code: u8, newborn: bool) -> Worker {
        Worker {
            code,
            counter: 0,
            register: 0,
            phase: Phase::Ready,
            woken: None,
            deadline: None,
            newborn,
            section_end: 0,
        }
    }
}
