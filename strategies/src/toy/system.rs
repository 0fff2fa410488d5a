//! The toy machine as a [`System`].

use super::lock::Manner;
use super::{Instruction, Phase, Toy};
use crate::system::{Access, Class, Effect, Expected};
use crate::{Event, Pick, Status, System, View, WorkerId, WorkerState};
use std::hash::{DefaultHasher, Hash, Hasher};

impl System for Toy {
    type Snapshot = Toy;

    fn status(&self) -> Status {
        let stuck = || self.workers.iter().any(|w| w.phase == Phase::Stuck);
        match self.choosing {
            _ if self.bug => Status::Bug,
            Some((_, bound)) => Status::Choosing { bound },
            None if !self.enabled.is_empty() || !self.timeouts.is_empty() => Status::Ready,
            None if self.pending.iter().all(|p| p.state == WorkerState::Ended) => Status::Passed,
            None if stuck() => Status::Abandoned,
            None => Status::Bug,
        }
    }

    fn ends_program(&self) -> bool {
        self.bug
    }

    fn view(&self) -> View<'_> {
        let alone = self.alone();
        View {
            enabled: alone.map_or(&self.enabled[..], |at| &self.enabled[at..=at]),
            timeouts: if alone.is_some() { &[] } else { &self.timeouts },
            workers: &self.pending,
            current: self.current,
            step: self.steps,
            changes: self.changes,
            in_section: alone.is_some(),
            fault: None,
        }
    }

    fn step(&mut self, pick: Pick) {
        self.footprint.clear();
        match pick {
            Pick::Timeout(worker) => self.fire(worker),
            Pick::Step(worker) => {
                let w = worker.index();
                assert!(self.view().enabled.contains(&worker), "{worker:?} cannot step");
                if std::mem::take(&mut self.workers[w].newborn) {
                    let code = self.workers[w].code;
                    self.touch(Class::Birth, Effect::Await, code);
                }
                let instruction = self.instruction(w).expect("an enabled worker has an instruction");
                match self.workers[w].phase {
                    Phase::Ready => self.perform(worker, instruction, None),
                    _ => self.resume(worker),
                }
                self.current = Some(worker);
                self.steps += 1;
            }
        }
        self.refresh();
    }

    fn choose(&mut self, value: u64) {
        let (worker, bound) = self.choosing.take().expect("nothing to choose");
        assert!(value < bound);
        let instruction = self.instruction(worker.index()).expect("it chooses");
        self.perform(worker, instruction, Some(value));
        self.refresh();
    }

    fn expected(&self) -> Vec<Expected> {
        let monitors = self.monitors.iter().enumerate();
        let expected = monitors
            .filter_map(|(m, monitor)| monitor.map(|(waits, since)| Expected { id: m as u64, waits, since }));
        expected.collect()
    }

    fn restart(&mut self) {
        *self = Toy::new(self.program.clone());
    }

    fn footprint(&self) -> &[Access] {
        &self.footprint
    }

    fn announced(&self, pick: Pick, into: &mut Vec<Access>) {
        let mut add = |class, effect, object: u64| into.push(Access::new(class, effect, object));
        let worker = match pick {
            Pick::Step(worker) => &self.workers[worker.index()],
            Pick::Timeout(worker) => {
                match self.workers[worker.index()].phase {
                    Phase::Waiting { condvar, .. } => add(Class::Condvar, Effect::Write, condvar.into()),
                    Phase::Locking(lock) => {
                        let (class, number) = lock.place();
                        add(class, Effect::Read, number.into());
                    }
                    _ => {}
                }
                add(Class::Wake, Effect::Enable, worker.0.into());
                return into.extend(self.accesses_of_timeouts());
            }
        };
        let id = pick.worker();
        if worker.newborn {
            add(Class::Birth, Effect::Await, worker.code.into());
        }
        match (worker.phase, self.instruction(id.index())) {
            (Phase::Waiting { lock, .. }, _) => {
                add(Class::Wake, Effect::Await, id.0.into());
                add(Class::Mutex, Effect::Acquire, lock.into());
            }
            (Phase::Locking(_), _) if worker.woken.is_some() => add(Class::Wake, Effect::Await, id.0.into()),
            (Phase::Locking(lock), _) => {
                let (class, number) = lock.place();
                add(class, lock.effect(false), number.into());
                add(Class::Clock, Effect::Write, 0);
            }
            (Phase::Sleeping, _) => add(Class::Wake, Effect::Await, id.0.into()),
            (Phase::Stuck, _) | (_, None) => {}
            (_, Some(instruction)) => match instruction {
                Instruction::Load(v) | Instruction::Until(v) => {
                    add(Class::Memory, Effect::Read, v.into());
                }
                Instruction::Cas(v, from, _) if self.variables[v as usize] != from => {
                    add(Class::Memory, Effect::Read, v.into());
                }
                Instruction::Store(v, _)
                | Instruction::Set(v, _)
                | Instruction::Rmw(v, _)
                | Instruction::Swap(v, _)
                | Instruction::Cas(v, ..) => {
                    add(Class::Memory, Effect::Write, v.into());
                }
                Instruction::Wait(c, l) | Instruction::WaitTimeout(c, l, _) => {
                    add(Class::Mutex, Effect::Release, l.into());
                    add(Class::Condvar, Effect::Write, c.into());
                }
                Instruction::Signal(c) | Instruction::Broadcast(c) => {
                    add(Class::Condvar, Effect::Write, c.into());
                }
                Instruction::Sleep(_) => add(Class::Clock, Effect::Write, 0),
                Instruction::Monitor(m, _) | Instruction::Renew(m) => {
                    add(Class::Other, Effect::Write, m.into());
                }
                Instruction::Spawn(c) => {
                    add(Class::Counter, Effect::Write, 0);
                    add(Class::Birth, Effect::Enable, c.into());
                }
                Instruction::Join(c) => add(Class::End, Effect::Await, c.into()),
                other => match (other.takes(), other.gives_back()) {
                    (Some((lock, manner)), _) => {
                        let (class, number) = lock.place();
                        if self.locks.free(lock) || manner == Manner::Wait {
                            add(class, lock.effect(manner != Manner::Wait), number.into());
                        } else {
                            add(class, Effect::Read, number.into());
                            if manner != Manner::Try {
                                add(Class::Clock, Effect::Write, 0);
                            }
                        }
                    }
                    (None, Some(place)) => add(place.0, self.locks.release_effect(place), place.1.into()),
                    (None, None) => {}
                },
            },
        }
    }

    fn take_events(&mut self, into: &mut Vec<Event>) {
        into.append(&mut self.events);
    }

    fn can_snapshot(&self) -> bool {
        true
    }

    fn snapshot(&mut self) -> Toy {
        self.clone()
    }

    fn restore(&mut self, snapshot: &Toy) {
        self.clone_from(snapshot);
        self.events.clear();
    }

    fn worker_fingerprint(&self, worker: WorkerId) -> u64 {
        let worker = &self.workers[worker.index()];
        let mut hasher = DefaultHasher::new();
        (worker.code, worker.counter, worker.register, worker.section_end).hash(&mut hasher);
        hasher.finish()
    }

    fn fingerprint(&mut self) -> u128 {
        let deadlines: Vec<_> = self.workers.iter().map(|w| w.deadline.map(|d| d - self.now)).collect();
        let workers: Vec<_> = self
            .workers
            .iter()
            .map(|w| (w.code, w.counter, w.register, w.phase, w.woken, w.newborn, w.section_end))
            .collect();
        // Only within a section do the possible picks depend on the worker of the last step.
        let alone = self.current.filter(|current| self.in_section(*current));
        let hot = self.monitors.map(|monitor| monitor.map(|(hot, _)| hot));
        let half = |salt: u64| {
            let mut hasher = DefaultHasher::new();
            (salt, &workers, &deadlines, &self.variables, &self.locks, hot).hash(&mut hasher);
            (&self.choosing, self.bug, alone).hash(&mut hasher);
            u128::from(hasher.finish())
        };
        half(1) << 64 | half(2)
    }
}
