//! A worker: what it is to do, and what it holds.

use crate::action::Action::{self, *};
use crate::objects::*;
use std::cell::Cell;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender, TryRecvError, TrySendError};
use std::sync::{MutexGuard, RwLockReadGuard, RwLockWriteGuard};
use std::thread::{self, Thread};
use std::time::Duration;

#[derive(Clone)]
enum AnySender {
    Unbounded(Sender<u8>),
    Bounded(SyncSender<u8>),
}

/// What a worker is started with.
pub struct Task {
    pub number: usize,
    pub actions: Vec<Action>,
    main: Thread,
    senders: [Option<AnySender>; 2],
    receivers: [Option<Receiver<u8>>; 2],
}

pub struct Worker {
    pub task: Task,
    mutexes: [Option<MutexGuard<'static, ()>>; 2],
    reading: [Option<RwLockReadGuard<'static, ()>>; 2],
    writing: [Option<RwLockWriteGuard<'static, ()>>; 2],
}

/// Counts in a cell that its thread has ended.
struct Local(u8);

impl Drop for Local {
    fn drop(&mut self) {
        CELLS[at(self.0)].fetch_add(1, SeqCst);
    }
}

thread_local! {
    static LOCAL: Cell<Option<Local>> = const { Cell::new(None) };
}

pub fn parse(text: &str) -> Vec<Action> {
    let action = |word: &str| Action::parse(word).unwrap_or_else(|| panic!("what is {word}?"));
    text.split(';').filter(|word| !word.is_empty()).map(action).collect()
}

/// Gives every worker the ends of channels that it uses.
pub fn equip(programs: Vec<Vec<Action>>, channels: &str) -> Vec<Task> {
    let main = thread::current();
    let equipped = programs.into_iter().enumerate().map(|(number, actions)| Task {
        number,
        actions,
        main: main.clone(),
        senders: [const { None }; 2],
        receivers: [const { None }; 2],
    });
    let mut tasks: Vec<Task> = equipped.collect();
    for (channel, bound) in channels.split(',').filter(|bound| !bound.is_empty()).enumerate() {
        let (sender, receiver) = match bound.parse() {
            Ok(bound) => {
                let (sender, receiver) = mpsc::sync_channel(bound);
                (AnySender::Bounded(sender), receiver)
            }
            Err(_) => {
                let (sender, receiver) = mpsc::channel();
                (AnySender::Unbounded(sender), receiver)
            }
        };
        let mut receiver = Some(receiver);
        for task in &mut tasks {
            if task.actions.iter().any(|a| sends(*a) == Some(channel)) {
                task.senders[channel] = Some(sender.clone());
            }
            if task.actions.iter().any(|a| receives(*a) == Some(channel)) {
                task.receivers[channel] = Some(receiver.take().expect("one worker receives"));
            }
        }
    }
    tasks
}

/// The channel of which an action needs a sender.
fn sends(action: Action) -> Option<usize> {
    match action {
        Send(c, _) | TrySend(c, _) | DropSender(c) => Some(c.into()),
        _ => None,
    }
}

/// The channel of which an action needs the receiver.
fn receives(action: Action) -> Option<usize> {
    match action {
        Recv(c) | TryRecv(c) | RecvFor(c, _) | DropReceiver(c) => Some(c.into()),
        _ => None,
    }
}

fn ms(ms: u8) -> Duration {
    Duration::from_millis(ms.into())
}

fn at(number: u8) -> usize {
    number.into()
}

impl Worker {
    pub fn new(task: Task) -> Worker {
        Worker {
            task,
            mutexes: [const { None }; 2],
            reading: [const { None }; 2],
            writing: [const { None }; 2],
        }
    }

    fn sender(&self, channel: u8) -> &AnySender {
        self.task.senders[at(channel)].as_ref().expect("it was not dropped")
    }

    fn receiver(&self, channel: u8) -> &Receiver<u8> {
        self.task.receivers[at(channel)].as_ref().expect("it was not dropped")
    }

    /// What the call returns, in a byte.
    pub fn act(&mut self, action: Action) -> u8 {
        match action {
            Lock(m) => {
                let guard = MUTEXES[at(m)].lock().unwrap();
                self.mutexes[at(m)] = Some(guard);
                0
            }
            TryLock(m) => {
                let guard = MUTEXES[at(m)].try_lock();
                guard.map(|guard| self.mutexes[at(m)] = Some(guard)).is_ok().into()
            }
            Unlock(m) => done(self.mutexes[at(m)].take()),
            Read(l) => {
                let guard = LOCKS[at(l)].read().unwrap();
                self.reading[at(l)] = Some(guard);
                0
            }
            TryRead(l) => {
                let guard = LOCKS[at(l)].try_read();
                guard.map(|guard| self.reading[at(l)] = Some(guard)).is_ok().into()
            }
            Write(l) => {
                let guard = LOCKS[at(l)].write().unwrap();
                self.writing[at(l)] = Some(guard);
                0
            }
            TryWrite(l) => {
                let guard = LOCKS[at(l)].try_write();
                guard.map(|guard| self.writing[at(l)] = Some(guard)).is_ok().into()
            }
            ReadUnlock(l) => done(self.reading[at(l)].take()),
            WriteUnlock(l) => done(self.writing[at(l)].take()),
            Downgrade(l) => {
                let Some(guard) = self.writing[at(l)].take() else { return 0 };
                done(self.reading[at(l)] = Some(RwLockWriteGuard::downgrade(guard)))
            }
            Wait(c, m) => self.wait(m, |guard| (CONDVARS[at(c)].wait(guard).unwrap(), false)),
            WaitFor(c, m, span) => self.wait(m, |guard| {
                let (guard, timeout) = CONDVARS[at(c)].wait_timeout(guard, ms(span)).unwrap();
                (guard, timeout.timed_out())
            }),
            WaitWhile(c, m, cell) => self.wait(m, |guard| {
                let zero = |_: &mut ()| CELLS[at(cell)].load(SeqCst) == 0;
                (CONDVARS[at(c)].wait_while(guard, zero).unwrap(), false)
            }),
            NotifyOne(c) => done(CONDVARS[at(c)].notify_one()),
            NotifyAll(c) => done(CONDVARS[at(c)].notify_all()),
            Arrive(b) => BARRIERS[at(b)].wait().is_leader().into(),
            CallOnce(o, cell) => {
                let mut called = false;
                ONCES[at(o)].call_once(|| {
                    called = true;
                    CELLS[at(cell)].fetch_add(1, SeqCst);
                    CELLS[at(cell)].fetch_add(1, SeqCst);
                });
                called.into()
            }
            IsCompleted(o) => ONCES[at(o)].is_completed().into(),
            WaitOnce(o) => done(ONCES[at(o)].wait()),
            Get(o) => ONCE_LOCKS[at(o)].get().copied().unwrap_or(0),
            Set(o, value) => ONCE_LOCKS[at(o)].set(value).is_ok().into(),
            GetOrInit(o, value) => *ONCE_LOCKS[at(o)].get_or_init(|| value),
            Force(o) => *LAZY_LOCKS[at(o)],
            Send(c, value) => match self.sender(c) {
                AnySender::Unbounded(sender) => sender.send(value).is_ok().into(),
                AnySender::Bounded(sender) => sender.send(value).is_ok().into(),
            },
            TrySend(c, value) => match self.sender(c) {
                AnySender::Unbounded(_) => panic!("an unbounded channel has no try_send"),
                AnySender::Bounded(sender) => match sender.try_send(value) {
                    Ok(()) => 1,
                    Err(TrySendError::Full(_)) => 2,
                    Err(TrySendError::Disconnected(_)) => 0,
                },
            },
            Recv(c) => self.receiver(c).recv().unwrap_or(0),
            TryRecv(c) => match self.receiver(c).try_recv() {
                Ok(value) => value,
                Err(TryRecvError::Empty) => 100,
                Err(TryRecvError::Disconnected) => 0,
            },
            RecvFor(c, span) => match self.receiver(c).recv_timeout(ms(span)) {
                Ok(value) => value,
                Err(RecvTimeoutError::Timeout) => 100,
                Err(RecvTimeoutError::Disconnected) => 0,
            },
            DropSender(c) => done(self.task.senders[at(c)].take()),
            DropReceiver(c) => done(self.task.receivers[at(c)].take()),
            Park => done(thread::park()),
            ParkFor(span) => done(thread::park_timeout(ms(span))),
            Unpark(0) => done(self.task.main.unpark()),
            SetLocal(cell) => done(LOCAL.set(Some(Local(cell)))),
            Store(cell, value) => done(CELLS[at(cell)].store(value, SeqCst)),
            Load(cell) => CELLS[at(cell)].load(SeqCst),
            Add(cell, value) => CELLS[at(cell)].fetch_add(value, SeqCst),
            Swap(cell, value) => CELLS[at(cell)].swap(value, SeqCst),
            Exchange(cell, old, new) => {
                CELLS[at(cell)].compare_exchange(old, new, SeqCst, SeqCst).is_ok().into()
            }
            Yield => done(thread::yield_now()),
            Stay => loop {
                thread::park();
            },
            Unpark(_) | Spawn(_) | Join(_) | IsFinished(_) | Scope | EndScope => {
                panic!("{action:?} is for the first worker")
            }
        }
    }

    /// Gives a guard away and gets it back.
    fn wait(
        &mut self,
        m: u8,
        wait: impl FnOnce(MutexGuard<'static, ()>) -> (MutexGuard<'static, ()>, bool),
    ) -> u8 {
        let Some(guard) = self.mutexes[at(m)].take() else { return 0 };
        let (guard, result) = wait(guard);
        self.mutexes[at(m)] = Some(guard);
        result.into()
    }
}

fn done<T>(_: T) -> u8 {
    0
}
