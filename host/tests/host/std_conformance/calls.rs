//! The effect of each call, step by step.

use super::action::Action::*;
use super::model::{Mistake, Model, Stage::*, State, Worker};
use super::objects::{Channel, Once};

impl Model<'_> {
    /// All possible next steps of a worker.
    pub fn steps(&self, mut state: State, w: usize) -> Vec<State> {
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
            // A worker that finds another one at `set` or `get_or_init` waits for it: the closure does
            // nothing that others can observe, so these are steps.
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
            // sys/sync/thread_parking/futex.rs: only an `unpark` ends a `park`, though the documentation
            // allows other reasons.
            Park | ParkFor(_) => match (std::mem::take(&mut state.workers[w].token), stage, action) {
                // A token that came after the timeout is used up too.
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
            // A worker that left the scope's closure waits for functions, not for the threads: see
            // `thread::scope`.
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
}
