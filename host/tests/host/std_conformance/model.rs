//! The model: workers that take atomic steps on objects, as std's documentation describes them, in every order.
//! Written for being obviously right. Where std does less than it promises, or promises less than programs can
//! see, a comment names the file of its sources (`library/std/src`) that decides.

use super::action::Action::{self, *};
use super::objects::{Channel, Lock, Objects, Once};
use super::program::Program;
use std::collections::BTreeSet;

/// What each worker's calls returned, for as far as it came.
pub type End = Vec<Vec<u8>>;

/// How much of what std leaves open is taken up. It makes a difference for [`Lock`] alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Latitude {
    /// What every implementation can come to.
    Least,
    /// What some implementation could come to.
    Most,
}

/// What the model does wrong, so that tests can show that they would notice it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mistake {
    /// A wait for a condvar may be over without a notification.
    SpuriousWakeups,
    /// `notify_one` wakes one and never more.
    OneIsWoken,
    /// To unpark who does not park has no effect.
    NoToken,
    /// Who holds a lock may take it again.
    Reentrant,
    /// A reader comes in beside a writer.
    ReaderBesideWriter,
    /// What was sent is lost with the last sender.
    SentIsLost,
    /// A rendezvous needs nobody who receives.
    SendsAlone,
    /// A thread that is finished has ended, its variables included.
    FinishedIsEnded,
    /// Nobody waits for who initialises.
    NobodyWaits,
    /// A barrier has no leader.
    NoLeader,
    /// A timeout fires only if nobody else can go on.
    PatientTimeouts,
    /// An addition is a load and a store.
    TornAdditions,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    /// Not started.
    Absent,
    /// Before its next call.
    Ready,
    /// Within a call that others end.
    Waiting,
    /// Within a call that others ended, or a timeout: it returns this.
    Woken(u8),
    /// Within a call that takes several steps: so far it is.
    Inside(u8),
    /// Its function has returned.
    Finished,
    /// Its variables are gone as well.
    Ended,
}

use Stage::*;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Worker {
    stage: Stage,
    at: usize,
    results: Vec<u8>,
    /// The cell of the thread's variable.
    local: Option<u8>,
    /// Whether it was unparked.
    token: bool,
    scoped: bool,
}

/// What `try_recv` and `recv_timeout` return if there is nothing.
const NOTHING: u8 = 100;

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct State {
    workers: Vec<Worker>,
    objects: Objects,
    /// Deadline and worker. Only the earliest can fire, but at any time.
    timers: BTreeSet<(u64, usize)>,
    now_ms: u64,
    in_scope: bool,
}

/// The rules, and the program that follows them.
pub struct Model<'a> {
    pub program: &'a Program,
    pub latitude: Latitude,
    pub mistake: Option<Mistake>,
}

impl State {
    fn new(program: &Program) -> State {
        let worker =
            Worker { stage: Absent, at: 0, results: Vec::new(), local: None, token: false, scoped: false };
        let mut workers = vec![worker; program.workers.len()];
        workers[0].stage = Ready;
        let timers = BTreeSet::new();
        State { workers, objects: Objects::new(program), timers, now_ms: 0, in_scope: false }
    }

    /// The call returns.
    fn done(mut self, w: usize, result: u8) -> Vec<State> {
        let worker = &mut self.workers[w];
        worker.stage = Ready;
        worker.at += 1;
        worker.results.push(result);
        self.timers.retain(|timer| timer.1 != w);
        vec![self]
    }

    fn at(mut self, w: usize, stage: Stage) -> Vec<State> {
        self.workers[w].stage = stage;
        vec![self]
    }

    fn wait_for(mut self, w: usize, ms: u8) -> Vec<State> {
        self.timers.insert((self.now_ms + u64::from(ms), w));
        self.at(w, Waiting)
    }

    fn wake(&mut self, w: usize, result: u8) {
        self.workers[w].stage = Woken(result);
        self.timers.retain(|timer| timer.1 != w);
    }
}

impl Model<'_> {
    fn is(&self, mistake: Mistake) -> bool {
        self.mistake == Some(mistake)
    }

    fn action(&self, state: &State, w: usize) -> Option<Action> {
        self.program.workers[w].get(state.workers[w].at).copied()
    }

    /// All ends.
    pub fn ends(&self) -> BTreeSet<End> {
        let mut ends = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut left = vec![State::new(self.program)];
        while let Some(state) = left.pop() {
            if !seen.insert(state.clone()) {
                continue;
            }
            let mut next: Vec<State> =
                (0..state.workers.len()).flat_map(|w| self.steps(state.clone(), w)).collect();
            if next.is_empty() || !self.is(Mistake::PatientTimeouts) {
                next.extend(self.fire(state.clone()));
            }
            if next.is_empty() {
                ends.insert(state.workers.into_iter().map(|worker| worker.results).collect());
            }
            left.extend(next);
        }
        ends
    }

    /// The earliest timeout.
    fn fire(&self, mut state: State) -> Option<State> {
        let (deadline, w) = state.timers.pop_first()?;
        state.now_ms = state.now_ms.max(deadline);
        state.objects.condvars.values_mut().for_each(|waiters| drop(waiters.remove(&w)));
        let result = match self.action(&state, w) {
            Some(WaitFor(..)) => 1,
            Some(RecvFor(..)) => NOTHING,
            _ => 0,
        };
        state.wake(w, result);
        Some(state)
    }

    /// All ways in which a worker can go on.
    fn steps(&self, mut state: State, w: usize) -> Vec<State> {
        let Some(action) = self.action(&state, w) else { return self.ending(state, w) };
        let stage = state.workers[w].stage;
        if stage == Absent {
            return Vec::new();
        }
        let objects = &mut state.objects;
        match action {
            Lock(_) | TryLock(_) | Unlock(_) => self.mutex(state, w, action),
            Read(l) | TryRead(l) | Write(l) | TryWrite(l) | ReadUnlock(l) | WriteUnlock(l) | Downgrade(l) => {
                self.lock(state, w, l, action)
            }
            Wait(c, m) | WaitFor(c, m, _) | WaitWhile(c, m, _) => self.wait(state, w, c, m, action),
            NotifyOne(c) => self.notify(state, w, c, false),
            NotifyAll(c) => self.notify(state, w, c, true),
            Arrive(b) => match stage {
                Woken(result) => state.done(w, result),
                Waiting => Vec::new(),
                _ => {
                    let arrived = objects.barriers.entry(b).or_default();
                    if arrived.len() < usize::from(b) + 1 {
                        arrived.insert(w);
                        return state.at(w, Waiting);
                    }
                    std::mem::take(arrived).into_iter().for_each(|other| state.wake(other, 0));
                    state.done(w, u8::from(!self.is(Mistake::NoLeader)))
                }
            },
            CallOnce(o, cell) => match (stage, objects.onces.get(&o)) {
                (Inside(2), _) => {
                    objects.onces.insert(o, Once::Done(0));
                    state.done(w, 1)
                }
                (Inside(additions), _) => {
                    objects.cells[usize::from(cell)] += 1;
                    state.at(w, Inside(additions + 1))
                }
                (_, None) => {
                    objects.onces.insert(o, Once::Running);
                    state.at(w, Inside(0))
                }
                (_, Some(Once::Running)) if !self.is(Mistake::NobodyWaits) => Vec::new(),
                _ => state.done(w, 0),
            },
            IsCompleted(o) => {
                let completed = matches!(objects.onces.get(&o), Some(Once::Done(_)));
                state.done(w, completed.into())
            }
            WaitOnce(o) => match objects.onces.get(&o) {
                Some(Once::Done(_)) => state.done(w, 0),
                _ => Vec::new(),
            },
            // Who finds another one at `set` or `get_or_init` waits for it: the closure does nothing that
            // anybody sees, so these are steps.
            Get(o) => {
                let value = objects.once_locks.get(&o).copied();
                state.done(w, value.unwrap_or(0))
            }
            Set(o, value) => {
                let set = objects.once_locks.insert(o, value);
                set.map(|old| objects.once_locks.insert(o, old));
                state.done(w, set.is_none().into())
            }
            GetOrInit(o, value) => {
                let value = *objects.once_locks.entry(o).or_insert(value);
                state.done(w, value)
            }
            Force(o) => match (stage, objects.lazy_locks.get(&o)) {
                (Inside(0), _) => {
                    objects.cells[0] += 1;
                    let value = objects.cells[0];
                    state.at(w, Inside(value))
                }
                (Inside(value), _) => {
                    objects.lazy_locks.insert(o, Once::Done(value));
                    state.done(w, value)
                }
                (_, None) => {
                    objects.lazy_locks.insert(o, Once::Running);
                    state.at(w, Inside(0))
                }
                (_, Some(Once::Done(value))) => {
                    let value = *value;
                    state.done(w, value)
                }
                (_, Some(Once::Running)) => Vec::new(),
            },
            Send(c, value) | TrySend(c, value) => self.send(state, w, c, value, action),
            Recv(c) | TryRecv(c) | RecvFor(c, _) => self.receive(state, w, c, action),
            DropSender(c) => {
                objects.channels[usize::from(c)].senders.remove(&w);
                if objects.channels[usize::from(c)].is_disconnected() {
                    if self.is(Mistake::SentIsLost) {
                        objects.channels[usize::from(c)].queue.clear();
                    }
                    if let Some(receiver) = self.rendezvous(&state, c, Channel::receives).next() {
                        state.wake(receiver, 0);
                    }
                }
                state.done(w, 0)
            }
            DropReceiver(c) => {
                objects.channels[usize::from(c)].receiver = false;
                let senders: Vec<usize> = self.rendezvous(&state, c, Channel::sends).collect();
                senders.into_iter().for_each(|sender| state.wake(sender, 0));
                state.done(w, 0)
            }
            // sys/sync/thread_parking/futex.rs: nothing but an `unpark` ends a `park`, though the
            // documentation allows it.
            Park | ParkFor(_) => match (std::mem::take(&mut state.workers[w].token), stage, action) {
                // What came after the time was up is used up too.
                (_, Woken(_), _) | (true, ..) => state.done(w, 0),
                (false, Ready, ParkFor(ms)) => state.wait_for(w, ms),
                _ => Vec::new(),
            },
            Unpark(other) => {
                let other = &mut state.workers[usize::from(other)];
                other.token = !self.is(Mistake::NoToken) || other.stage == Waiting;
                state.done(w, 0)
            }
            Spawn(other) => {
                let other = &mut state.workers[usize::from(other)];
                (other.stage, other.scoped) = (Ready, state.in_scope);
                state.done(w, 0)
            }
            Join(other) => match state.workers[usize::from(other)].stage {
                Ended => state.done(w, 0),
                _ => Vec::new(),
            },
            IsFinished(other) => {
                let finished = matches!(state.workers[usize::from(other)].stage, Finished | Ended);
                state.done(w, finished.into())
            }
            Scope => {
                state.in_scope = true;
                state.done(w, 0)
            }
            // Who left the scope's closure waits for functions, not for the threads: see `thread::scope`.
            EndScope => {
                let finished = |worker: &Worker| !worker.scoped || matches!(worker.stage, Finished | Ended);
                if !state.workers.iter().all(finished) {
                    return Vec::new();
                }
                state.in_scope = false;
                state.done(w, 0)
            }
            SetLocal(cell) => {
                if let Some(old) = state.workers[w].local.replace(cell) {
                    objects.cells[usize::from(old)] += 1;
                }
                state.done(w, 0)
            }
            Store(cell, value) => {
                objects.cells[usize::from(cell)] = value;
                state.done(w, 0)
            }
            Load(cell) => {
                let value = objects.cells[usize::from(cell)];
                state.done(w, value)
            }
            Add(cell, value) => {
                let now = objects.cells[usize::from(cell)];
                match stage {
                    Ready if self.is(Mistake::TornAdditions) => state.at(w, Inside(now)),
                    Inside(before) => {
                        objects.cells[usize::from(cell)] = before + value;
                        state.done(w, before)
                    }
                    _ => {
                        objects.cells[usize::from(cell)] = now + value;
                        state.done(w, now)
                    }
                }
            }
            Swap(cell, value) => {
                let old = std::mem::replace(&mut objects.cells[usize::from(cell)], value);
                state.done(w, old)
            }
            Exchange(cell, old, new) => {
                let cell = &mut objects.cells[usize::from(cell)];
                let same = *cell == old;
                if same {
                    *cell = new;
                }
                state.done(w, same.into())
            }
            Yield => state.done(w, 0),
            Stay => Vec::new(),
        }
    }

    /// A worker without a next call: its function returns, then its variables are destroyed, then it ends.
    fn ending(&self, mut state: State, w: usize) -> Vec<State> {
        match state.workers[w].stage {
            Ready if self.is(Mistake::FinishedIsEnded) && state.workers[w].local.is_none() => state.at(w, Ended),
            Ready if !self.is(Mistake::FinishedIsEnded) => state.at(w, Finished),
            Ready | Finished => match state.workers[w].local.take() {
                Some(cell) => {
                    state.objects.cells[usize::from(cell)] += 1;
                    vec![state]
                }
                None => state.at(w, Ended),
            },
            _ => Vec::new(),
        }
    }

    fn mutex(&self, mut state: State, w: usize, action: Action) -> Vec<State> {
        let (Lock(m) | TryLock(m) | Unlock(m)) = action else { unreachable!("it is about a mutex") };
        let holder = state.objects.mutexes.get(&m).copied();
        let free = holder.is_none() || holder == Some(w) && self.is(Mistake::Reentrant);
        match action {
            Unlock(_) => {
                if holder == Some(w) {
                    state.objects.mutexes.remove(&m);
                }
                state.done(w, 0)
            }
            // sys/sync/mutex/futex.rs: who locks what it holds waits for itself. Documented is that it
            // does not return.
            Lock(_) if !free => Vec::new(),
            TryLock(_) if !free => state.done(w, 0),
            _ => {
                state.objects.mutexes.insert(m, w);
                state.done(w, matches!(action, TryLock(_)).into())
            }
        }
    }

    /// A lock for readers and writers. Whether a reader comes in while others wait is left open. In
    /// sys/sync/rwlock/futex.rs readers stay outside while somebody waits or is being woken, but a writer
    /// comes in whenever nobody has the lock.
    fn lock(&self, mut state: State, w: usize, l: u8, action: Action) -> Vec<State> {
        let stage = state.workers[w].stage;
        let most = self.latitude == Latitude::Most;
        let writer_waits = self.writer_waits(&state, l);
        let before = state.clone();
        let lock: &mut Lock = state.objects.locks.entry(l).or_default();
        let others_wait = lock.waiting.iter().any(|other| *other != w);
        let no_writer = lock.writer.is_none() || self.is(Mistake::ReaderBesideWriter);
        let free = lock.writer.is_none() && lock.readers.is_empty();
        match (action, stage) {
            (ReadUnlock(_) | WriteUnlock(_) | Downgrade(_), Inside(_)) => {
                lock.waiting.remove(&w);
                state.done(w, 0)
            }
            (ReadUnlock(_), _) if lock.readers.remove(&w) => self.unlocked(state, w, l),
            (WriteUnlock(_), _) if lock.writer == Some(w) => {
                lock.writer = None;
                self.unlocked(state, w, l)
            }
            (Downgrade(_), _) if lock.writer == Some(w) => {
                lock.writer = None;
                lock.readers.insert(w);
                self.unlocked(state, w, l)
            }
            (Read(_), Ready) => {
                let mut next = Vec::new();
                if most && (!no_writer || others_wait) {
                    let mut waits = before;
                    waits.objects.locks.entry(l).or_default().waiting.insert(w);
                    next.extend(waits.at(w, Waiting));
                }
                if no_writer {
                    lock.readers.insert(w);
                    next.extend(state.done(w, 0));
                }
                next
            }
            // It lets writers go first.
            (Read(_), _) if no_writer && !writer_waits => {
                lock.waiting.remove(&w);
                lock.readers.insert(w);
                state.done(w, 0)
            }
            (Write(_), _) if free => {
                lock.waiting.remove(&w);
                lock.writer = Some(w);
                state.done(w, 0)
            }
            (Write(_), Ready) if most => {
                lock.waiting.insert(w);
                state.at(w, Waiting)
            }
            (Read(_) | Write(_), _) => Vec::new(),
            (TryRead(_), _) => {
                let mut next = Vec::new();
                if !no_writer || most && others_wait {
                    next.extend(before.done(w, 0));
                }
                if no_writer {
                    lock.readers.insert(w);
                    next.extend(state.done(w, 1));
                }
                next
            }
            (TryWrite(_), _) if free => {
                lock.writer = Some(w);
                state.done(w, 1)
            }
            _ => state.done(w, 0),
        }
    }

    /// A lock was given back. The call goes on if others have to be woken.
    fn unlocked(&self, mut state: State, w: usize, l: u8) -> Vec<State> {
        let lock = state.objects.locks.entry(l).or_default();
        if self.latitude == Latitude::Least || lock.waiting.is_empty() {
            return state.done(w, 0);
        }
        lock.waiting.insert(w);
        state.at(w, Inside(0))
    }

    fn writer_waits(&self, state: &State, l: u8) -> bool {
        (0..state.workers.len())
            .any(|w| state.workers[w].stage == Waiting && self.action(state, w) == Some(Write(l)))
    }

    fn wait(&self, mut state: State, w: usize, c: u8, m: u8, action: Action) -> Vec<State> {
        let stage = state.workers[w].stage;
        match (action, stage) {
            (_, Ready) if state.objects.mutexes.get(&m) != Some(&w) => state.done(w, 0),
            (_, Waiting) if self.is(Mistake::SpuriousWakeups) => {
                state.objects.condvars.entry(c).or_default().remove(&w);
                state.wake(w, 0);
                vec![state]
            }
            (_, Waiting) => Vec::new(),
            (_, Woken(result)) => {
                if state.objects.mutexes.contains_key(&m) {
                    return Vec::new();
                }
                state.objects.mutexes.insert(m, w);
                match action {
                    WaitWhile(..) => state.at(w, Inside(0)),
                    _ => state.done(w, result),
                }
            }
            (WaitWhile(_, _, cell), Ready | Inside(0)) => match state.objects.cells[usize::from(cell)] {
                0 => state.at(w, Inside(1)),
                _ => state.done(w, 0),
            },
            _ => {
                state.objects.mutexes.remove(&m);
                state.objects.condvars.entry(c).or_default().insert(w);
                match action {
                    WaitFor(_, _, ms) => state.wait_for(w, ms),
                    _ => state.at(w, Waiting),
                }
            }
        }
    }

    /// sys/sync/condvar/futex.rs: nobody wakes up without a notification, but one that is for one may wake
    /// several: those that have given the mutex back and not begun to wait for the futex, whose value it
    /// changes.
    fn notify(&self, state: State, w: usize, c: u8, all: bool) -> Vec<State> {
        let waiters: Vec<usize> = state.objects.condvars.get(&c).into_iter().flatten().copied().collect();
        let mut next = Vec::new();
        for subset in 0u32..1 << waiters.len() {
            let allowed = match subset.count_ones() as usize {
                count if all || waiters.is_empty() => count == waiters.len(),
                count => count == 1 || count > 1 && !self.is(Mistake::OneIsWoken),
            };
            if !allowed {
                continue;
            }
            let mut state = state.clone();
            for (_, waiter) in waiters.iter().enumerate().filter(|(i, _)| subset & 1 << i != 0) {
                state.objects.condvars.entry(c).or_default().remove(waiter);
                state.wake(*waiter, 0);
            }
            next.extend(state.done(w, 0));
        }
        next
    }

    /// Who waits at a channel without a buffer.
    fn rendezvous(
        &self,
        state: &State,
        c: u8,
        is: fn(Action) -> Option<u8>,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let waits = |w: &usize| {
            let action = self.action(state, *w);
            state.workers[*w].stage == Waiting && action.and_then(is) == Some(c)
        };
        let unbuffered = state.objects.channels[usize::from(c)].bound == Some(0);
        let found: Vec<usize> = (0..state.workers.len()).filter(|_| unbuffered).filter(waits).collect();
        found.into_iter()
    }

    fn send(&self, mut state: State, w: usize, c: u8, value: u8, action: Action) -> Vec<State> {
        if let Woken(result) = state.workers[w].stage {
            return state.done(w, result);
        }
        let receiver = self.rendezvous(&state, c, Channel::receives).next();
        let channel = &mut state.objects.channels[usize::from(c)];
        let room = channel.queue.len() < channel.bound.unwrap_or(usize::MAX);
        if !channel.receiver {
            return state.done(w, 0);
        }
        if let Some(receiver) = receiver {
            state.wake(receiver, value);
            return state.done(w, 1);
        }
        if room || self.is(Mistake::SendsAlone) && channel.queue.is_empty() {
            channel.queue.push_back(value);
            return state.done(w, 1);
        }
        match (action, channel.bound) {
            (TrySend(..), _) => state.done(w, 2),
            (_, Some(0)) if state.workers[w].stage == Ready => state.at(w, Waiting),
            _ => Vec::new(),
        }
    }

    fn receive(&self, mut state: State, w: usize, c: u8, action: Action) -> Vec<State> {
        let stage = state.workers[w].stage;
        let channel = &mut state.objects.channels[usize::from(c)];
        let unbuffered = channel.bound == Some(0);
        match stage {
            Woken(result) if unbuffered => return state.done(w, result),
            Waiting if unbuffered => return Vec::new(),
            _ => {}
        }
        if let Some(value) = channel.queue.pop_front() {
            return state.done(w, value);
        }
        let disconnected = channel.is_disconnected();
        // Any of several senders: which one began to wait first, nobody can see.
        let mut next = Vec::new();
        for sender in self.rendezvous(&state, c, Channel::sends) {
            let Some(Send(_, value)) = self.action(&state, sender) else { unreachable!("it sends") };
            let mut state = state.clone();
            state.wake(sender, 1);
            next.extend(state.done(w, value));
        }
        if !next.is_empty() {
            return next;
        }
        match (action, stage) {
            _ if disconnected => state.done(w, 0),
            (TryRecv(_), _) => state.done(w, NOTHING),
            (RecvFor(..), Woken(nothing)) => state.done(w, nothing),
            (RecvFor(_, ms), Ready) => state.wait_for(w, ms),
            (Recv(_), Ready) if unbuffered => state.at(w, Waiting),
            _ => Vec::new(),
        }
    }
}
