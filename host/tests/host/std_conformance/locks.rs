//! Mutexes, rwlocks, and condvars.

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
            // sys/sync/mutex/futex.rs: a worker that locks a mutex which it holds waits for itself. The
            // documentation says that the call does not return.
            Lock(_) if !free => Vec::new(),
            TryLock(_) if !free => state.done(w, 0),
            _ => {
                state.objects.mutexes.insert(m, w);
                state.done(w, matches!(action, TryLock(_)).into())
            }
        }
    }

    /// An rwlock. std does not define whether a reader gets the lock while others wait. In
    /// sys/sync/rwlock/futex.rs a worker that waits sets a flag, and then no reader gets the lock. The worker
    /// that releases the lock clears the flag and wakes one writer, or else all readers. A writer gets the
    /// lock whenever it is free.
    pub fn lock(&self, mut state: State, w: usize, l: u8, action: Action) -> Vec<State> {
        let stage = state.workers[w].stage;
        let lock: &mut Lock = state.objects.locks.entry(l).or_default();
        let nobody_waits = !lock.writers_wait && !lock.readers_wait;
        let comes_in =
            lock.writer.is_none() && nobody_waits || self.is(Mistake::ReaderBesideWriter) && stage == Ready;
        match (action, stage) {
            (ReadUnlock(_) | WriteUnlock(_), Inside(step)) => self.wake_waiting(state, w, l, step),
            (ReadUnlock(_), _) if lock.readers.remove(&w) => match lock.is_free() && lock.writers_wait {
                true => state.at(w, Inside(0)),
                false => state.done(w, 0),
            },
            (WriteUnlock(_), _) if lock.writer == Some(w) => {
                lock.writer = None;
                if nobody_waits { state.done(w, 0) } else { state.at(w, Inside(0)) }
            }
            (Downgrade(_), Inside(_)) => {
                lock.readers_wait = false;
                state.done(w, 0)
            }
            (Downgrade(_), _) if lock.writer == Some(w) => {
                lock.writer = None;
                lock.readers.insert(w);
                if lock.readers_wait { state.at(w, Inside(0)) } else { state.done(w, 0) }
            }
            (Read(_) | TryRead(_), Ready) if comes_in => {
                lock.readers.insert(w);
                state.done(w, matches!(action, TryRead(_)).into())
            }
            // Readers that were woken while others read may enter even if a writer waits.
            (Read(_), Waiting) if comes_in || !lock.readers_wait && !lock.readers.is_empty() => {
                lock.readers.insert(w);
                state.done(w, 0)
            }
            (Read(_), Waiting) if lock.readers_wait => Vec::new(),
            (Read(_), _) => {
                lock.readers_wait = true;
                state.at(w, Waiting)
            }
            (Write(_) | TryWrite(_), _) if lock.is_free() => {
                // A worker that has waited does not know whether others wait.
                lock.writers_wait |= stage == Waiting;
                lock.writer = Some(w);
                state.done(w, matches!(action, TryWrite(_)).into())
            }
            (Write(_), Waiting) if lock.writers_wait => Vec::new(),
            (Write(_), _) => {
                lock.writers_wait = true;
                state.at(w, Waiting)
            }
            _ => state.done(w, 0),
        }
    }

    /// The second half of a release. If another worker holds the lock already, waking is left to that worker.
    fn wake_waiting(&self, mut state: State, w: usize, l: u8, step: u8) -> Vec<State> {
        let writes = |w: usize| state.workers[w].stage == Waiting && self.action(&state, w) == Some(Write(l));
        let writer_waits = (0..state.workers.len()).any(writes);
        let lock = state.objects.locks.entry(l).or_default();
        match (lock.writers_wait, lock.readers_wait) {
            _ if !lock.is_free() => state.done(w, 0),
            (true, true) if step == 0 => {
                lock.writers_wait = false;
                // A writer that has set its flag may not sleep yet; then no worker is woken.
                let mut next = state.clone().at(w, Inside(1));
                if writer_waits {
                    next.extend(state.done(w, 0));
                }
                next
            }
            (true, false) if step == 0 => {
                lock.writers_wait = false;
                state.done(w, 0)
            }
            (writers_wait, _) => {
                lock.readers_wait &= writers_wait;
                state.done(w, 0)
            }
        }
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

    /// sys/sync/condvar/futex.rs: no worker wakes up without a notification, but one notification may wake
    /// several: those that have released the mutex and not begun to wait for the futex, whose value it
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
