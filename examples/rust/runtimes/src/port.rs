//! A port of a library for message passing: tasks wait in it to be processed as a set, all of them or none. After the
//! error of CCR that Musuvathi et al. describe ("Finding and Reproducing Heisenbugs in Concurrent Programs", OSDI 2008,
//! section 2), which had appeared once in months of stress tests.
//!
//! Processing has two phases: a worker registers with the port, and then receives its tasks. Another worker may cancel all
//! tasks in between.
//!
//! *Specification:* the tasks of a port are all processed or all cancelled.
//!
//! *Bug:* who cancels does not say that cancellation is in progress. If it is preempted after the first task, a worker that
//! had registered before receives both tasks, fails at the one that is cancelled, and never says that it is done, for which
//! the other one waits.
//!
//! *Correction:* cancellation is marked in the port before the first task is cancelled.

use coyote::sync::{Condvar, Mutex, MutexGuard};
use coyote::thread;

#[derive(Clone, Copy, PartialEq)]
enum Task {
    Waiting,
    Processed,
    Cancelled,
}

struct State {
    tasks: [Task; 2],
    cancelling: bool,
    /// A worker has begun to receive the tasks.
    receiving: bool,
    received: bool,
}

struct Port {
    state: Mutex<State>,
    changed: Condvar,
    /// The correction.
    marks_cancellation: bool,
}

impl Port {
    fn new(marks_cancellation: bool) -> Port {
        let state = State { tasks: [Task::Waiting; 2], cancelling: false, receiving: false, received: false };
        Port { state: Mutex::new(state), changed: Condvar::new(), marks_cancellation }
    }

    /// Processes all tasks, unless they are cancelled.
    fn process(&self) {
        // Phase one: it registers, if there is something to process.
        if self.state.lock().tasks.contains(&Task::Cancelled) {
            return;
        }
        // Phase two: it receives the tasks.
        let mut state = self.state.lock();
        if state.cancelling {
            return;
        }
        state.receiving = true;
        drop(state);
        for number in 0..2 {
            let mut state = self.state.lock();
            if state.tasks[number] == Task::Cancelled {
                coyote::log!("task {number} cannot be processed: it is cancelled");
                return;
            }
            state.tasks[number] = Task::Processed;
        }
        self.state.lock().received = true;
        self.changed.notify_all();
    }

    /// The port's state, when nobody is receiving tasks.
    fn quiet(&self) -> MutexGuard<'_, State> {
        self.changed.wait_while(self.state.lock(), |state| state.receiving && !state.received)
    }

    /// Cancels all tasks, unless they are processed.
    fn cancel(&self) {
        self.quiet().cancelling = self.marks_cancellation;
        for number in 0..2 {
            let mut state = self.quiet();
            if !state.received {
                state.tasks[number] = Task::Cancelled;
            }
        }
    }
}

fn process_and_cancel(marks_cancellation: bool) {
    let port = Port::new(marks_cancellation);
    thread::scope(|scope| {
        thread::Builder::new().name("processor").spawn_scoped(scope, || port.process());
        thread::Builder::new().name("canceller").spawn_scoped(scope, || port.cancel());
    });
    let state = port.state.lock();
    assert!(state.tasks[0] == state.tasks[1], "one task is processed, the other one cancelled");
}

/// Both workers are preempted in between, and one of them waits for ever.
#[coyote::test]
fn port_cancellation() {
    process_and_cancel(false);
}

/// Who has registered sees that the tasks are being cancelled.
#[coyote::test]
fn port_cancellation_fixed() {
    process_and_cancel(true);
}
