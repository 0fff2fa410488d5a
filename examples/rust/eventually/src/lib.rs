//! What must eventually come about, and what must not overlap: monitors and values that are not thread-safe.

use coyote::monitor::{self, Monitor};
use coyote::sync::{Condvar, Mutex};
use coyote::{ThreadUnsafe, thread};

/// A service that works on one request at a time, and its client. A request that comes while it is busy is dropped if the
/// service forgets it.
struct Service {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    requested: u32,
    answered: u32,
    busy: bool,
    closed: bool,
}

static IDLE: Monitor = Monitor::new("the service is idle");

impl Service {
    fn new() -> Service {
        Service { state: Mutex::new(State::default()), changed: Condvar::new() }
    }

    fn request(&self, forgets: bool) {
        let mut state = self.state.lock();
        if state.busy && forgets {
            return;
        }
        state.requested += 1;
        self.changed.notify_all();
    }

    fn close(&self) {
        self.state.lock().closed = true;
        self.changed.notify_all();
    }

    /// Answers until it is closed and nothing is left to do.
    fn serve(&self) {
        let mut state = self.state.lock();
        loop {
            while state.requested == state.answered && !state.closed {
                state = self.changed.wait(state);
            }
            if state.requested == state.answered {
                return;
            }
            state.busy = true;
            IDLE.hot();
            drop(state);
            thread::yield_now();
            state = self.state.lock();
            state.answered += 1;
            state.busy = false;
            IDLE.cold();
        }
    }
}

fn two_requests(forgets: bool) {
    let service = Service::new();
    let answered = monitor::eventually("both requests are answered");
    thread::scope(|scope| {
        scope.spawn(|| service.serve());
        service.request(forgets);
        thread::yield_now();
        service.request(forgets);
        service.close();
    });
    if service.state.lock().answered == 2 {
        answered.happened();
    }
}

/// The second request is lost if it comes while the service works on the first one.
#[coyote::test]
fn forgotten_request() {
    two_requests(true);
}

#[coyote::test]
fn remembered_request() {
    two_requests(false);
}

/// Two workers add to a list. Looking at it needs no lock, as its author believes.
fn list(locked: bool) {
    let list = ThreadUnsafe::new(Vec::new());
    let mutex = Mutex::new(());
    let add = |value: u32| {
        let looked = if locked { None } else { Some(list.read().len()) };
        let _guard = mutex.lock();
        let length = looked.unwrap_or_else(|| list.read().len());
        if length < 2 {
            list.write().push(value);
        }
    };
    thread::scope(|scope| {
        scope.spawn(|| add(1));
        scope.spawn(|| add(2));
    });
    assert_eq!(list.read().len(), 2);
}

#[coyote::test]
fn unlocked_look() {
    list(false);
}

#[coyote::test]
fn locked_look() {
    list(true);
}
