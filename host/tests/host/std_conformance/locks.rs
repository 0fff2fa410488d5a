//! Mutexes, locks for readers and writers, and condvars.

use super::action::Action::{self, *};
use super::model::{Latitude, Mistake, Model, Stage::*, State};
use super::objects::Lock;

impl Model<'_> {
    pub fn mutex(&self, mut state: State, w: usize, action: Action) -> Vec<State> {
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
    pub fn lock(&self, mut state: State, w: usize, l: u8, action: Action) -> Vec<State> {
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

    pub fn wait(&self, mut state: State, w: usize, c: u8, m: u8, action: Action) -> Vec<State> {
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
    pub fn notify(&self, state: State, w: usize, c: u8, all: bool) -> Vec<State> {
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
}
