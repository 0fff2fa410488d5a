//! Mutexes, locks for readers and writers, and condvars.

use super::action::Action::{self, *};
use super::model::{Mistake, Model, Stage::*, State};
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

    /// A lock for readers and writers. std leaves open whether a reader comes in while others wait. In
    /// sys/sync/rwlock/futex.rs it does not while somebody is said to wait to write. Whoever gives the lock back
    /// takes that back to wake one, and until the woken one says it again, anything can happen. A writer
    /// comes in whenever nobody has the lock.
    pub fn lock(&self, mut state: State, w: usize, l: u8, action: Action) -> Vec<State> {
        let stage = state.workers[w].stage;
        let before = state.clone();
        let lock: &mut Lock = state.objects.locks.entry(l).or_default();
        let others_wait = lock.waiting.iter().any(|other| *other != w);
        let beside = self.is(Mistake::ReaderBesideWriter);
        let stays_outside = lock.writer.is_some() && !beside || others_wait;
        let comes_in = lock.writer.is_none() && !lock.writers_first || beside;
        let free = lock.writer.is_none() && lock.readers.is_empty();
        match (action, stage) {
            (ReadUnlock(_) | WriteUnlock(_) | Downgrade(_), Inside(_)) => {
                lock.waiting.remove(&w);
                lock.writers_first &= !free;
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
            (Read(_) | TryRead(_), Ready) => {
                let mut next = match (stays_outside, action) {
                    (false, _) => Vec::new(),
                    (true, TryRead(_)) => before.done(w, 0),
                    (true, _) => {
                        let mut waits = before;
                        waits.objects.locks.entry(l).or_default().waiting.insert(w);
                        waits.at(w, Waiting)
                    }
                };
                if comes_in {
                    lock.readers.insert(w);
                    next.extend(state.done(w, matches!(action, TryRead(_)).into()));
                }
                next
            }
            (Read(_), _) if comes_in => {
                lock.waiting.remove(&w);
                lock.readers.insert(w);
                state.done(w, 0)
            }
            (Write(_), _) if free => {
                // It does not know whether others wait.
                lock.writers_first |= lock.waiting.remove(&w);
                lock.writer = Some(w);
                state.done(w, 0)
            }
            (Write(_), Ready) => {
                lock.waiting.insert(w);
                lock.writers_first = true;
                state.at(w, Waiting)
            }
            (Write(_), _) if !lock.writers_first => {
                lock.writers_first = true;
                vec![state]
            }
            (Read(_) | Write(_), _) => Vec::new(),
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
        if lock.waiting.is_empty() && !lock.writers_first {
            return state.done(w, 0);
        }
        lock.waiting.insert(w);
        state.at(w, Inside(0))
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
