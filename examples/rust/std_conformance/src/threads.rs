//! Runs workers. The first one starts and joins the others.

use crate::action::Action;
use crate::results::record;
use crate::worker::{Task, Worker};
use std::collections::BTreeMap;
use std::mem::ManuallyDrop;
use std::thread::{self, JoinHandle, Scope, ScopedJoinHandle, Thread};

enum Handle<'scope> {
    Free(JoinHandle<()>),
    Scoped(ScopedJoinHandle<'scope, ()>),
}

impl Handle<'_> {
    fn join(self) {
        match self {
            Handle::Free(handle) => handle.join().unwrap(),
            Handle::Scoped(handle) => handle.join().unwrap(),
        }
    }

    fn is_finished(&self) -> bool {
        match self {
            Handle::Free(handle) => handle.is_finished(),
            Handle::Scoped(handle) => handle.is_finished(),
        }
    }

    fn thread(&self) -> &Thread {
        match self {
            Handle::Free(handle) => handle.thread(),
            Handle::Scoped(handle) => handle.thread(),
        }
    }
}

/// The first worker, with those that it has not started yet.
struct First {
    worker: Worker,
    others: BTreeMap<u8, Task>,
    call: usize,
}

pub fn run(tasks: Vec<Task>) {
    let mut tasks = tasks.into_iter();
    let Some(task) = tasks.next() else { return };
    let others = tasks.map(|task| (task.number as u8, task)).collect();
    First { worker: Worker::new(task), others, call: 0 }.run(None);
}

/// What a worker holds at its end, it keeps.
fn work(task: Task) {
    let mut worker = ManuallyDrop::new(Worker::new(task));
    for call in 0..worker.task.actions.len() {
        let action = worker.task.actions[call];
        let result = worker.act(action);
        record(worker.task.number, call, result);
    }
}

impl First {
    /// Goes on to the end, or to that of a scope.
    fn run<'scope>(&mut self, scope: Option<&'scope Scope<'scope, '_>>) {
        let mut handles: BTreeMap<u8, Handle<'scope>> = BTreeMap::new();
        while let Some(action) = self.worker.task.actions.get(self.call).copied() {
            let call = self.call;
            self.call += 1;
            let mut result = 0;
            match action {
                Action::Spawn(w) => {
                    let task = self.others.remove(&w).expect("a worker is started once");
                    let handle = match scope {
                        None => Handle::Free(thread::spawn(|| work(task))),
                        Some(scope) => Handle::Scoped(scope.spawn(|| work(task))),
                    };
                    handles.insert(w, handle);
                }
                Action::Join(w) => handles.remove(&w).expect("a worker is joined once").join(),
                Action::IsFinished(w) => result = handles[&w].is_finished().into(),
                Action::Unpark(w) if w > 0 => handles[&w].thread().unpark(),
                Action::Scope => thread::scope(|scope| self.run(Some(scope))),
                Action::EndScope => return record(0, call, 0),
                action => result = self.worker.act(action),
            }
            record(0, call, result);
        }
    }
}
