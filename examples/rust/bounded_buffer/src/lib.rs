//! Tom Cargill's bounded buffer, with the deadlock that he challenged the Extreme Programming
//! community to find by testing (c2 wiki, "Extreme Programming Challenge Fourteen").
//!
//! Readers and writers wait on ONE condition variable, and `notify_one` wakes any of them. With one
//! slot and two readers: both readers wait; the writer puts an item, wakes a reader, and waits because
//! the slot is still full; the woken reader takes the item, and its notification wakes the OTHER reader
//! instead of the writer. That one finds nothing and waits again, the first reader comes back and waits
//! as well: everybody waits.
//!
//! Expected: `minimal` and `random_config` deadlock. With one reader and one writer the notification
//! can only go to the other side, and both fixes hold: notify everybody, or pass a notification on
//! before waiting.

use coyote::nondet;
use coyote::sync::{Condvar, Mutex};
use coyote::thread::{Builder, scope};

/// How workers tell each other that something changed.
#[derive(Clone, Copy, PartialEq)]
enum Wakeup {
    /// The bug.
    NotifyOne,
    /// Fix 1: wake everybody.
    NotifyAll,
    /// Fix 2: who finds nothing to do passes the notification on before waiting.
    SignalBeforeWait,
}

/// A queue of limited length.
struct BoundedBuffer {
    state: Mutex<State>,
    changed: Condvar,
    wakeup: Wakeup,
}

struct State {
    /// A ring: `occupied` items, the oldest one at `take_at`.
    items: Vec<u32>,
    put_at: usize,
    take_at: usize,
    occupied: usize,
}

impl BoundedBuffer {
    fn new(length: usize, wakeup: Wakeup) -> BoundedBuffer {
        let state = State { items: vec![0; length], put_at: 0, take_at: 0, occupied: 0 };
        BoundedBuffer { state: Mutex::new(state), changed: Condvar::new(), wakeup }
    }

    fn put(&self, item: u32) {
        let mut state = self.wait_while(|state| state.occupied == state.items.len());
        state.occupied += 1;
        let at = state.put_at % state.items.len();
        state.items[at] = item;
        state.put_at = at + 1;
        self.notify();
    }

    fn take(&self) -> u32 {
        let mut state = self.wait_while(|state| state.occupied == 0);
        state.occupied -= 1;
        let at = state.take_at % state.items.len();
        state.take_at = at + 1;
        self.notify();
        state.items[at]
    }

    fn wait_while(&self, useless: impl Fn(&State) -> bool) -> coyote::sync::MutexGuard<'_, State> {
        let mut state = self.state.lock();
        while useless(&state) {
            if self.wakeup == Wakeup::SignalBeforeWait {
                self.changed.notify_one();
            }
            state = self.changed.wait(state);
        }
        state
    }

    fn notify(&self) {
        match self.wakeup {
            Wakeup::NotifyAll => self.changed.notify_all(),
            Wakeup::NotifyOne | Wakeup::SignalBeforeWait => self.changed.notify_one(),
        }
    }
}

fn reader(buffer: &BoundedBuffer, items: u32) {
    for _ in 0..items {
        buffer.take();
    }
}

fn writer(buffer: &BoundedBuffer, items: u32) {
    for item in 0..items {
        buffer.put(item);
    }
}

/// Runs one worker for each number of items.
fn run(length: usize, wakeup: Wakeup, readers: &[u32], writers: &[u32]) {
    let buffer = BoundedBuffer::new(length, wakeup);
    let buffer = &buffer;
    scope(|scope| {
        for (i, items) in readers.iter().copied().enumerate() {
            let name = format!("reader {i}");
            Builder::new().name(name).spawn_scoped(scope, move || reader(buffer, items));
        }
        for (i, items) in writers.iter().copied().enumerate() {
            let name = format!("writer {i}");
            Builder::new().name(name).spawn_scoped(scope, move || writer(buffer, items));
        }
    });
}

/// The smallest configuration that deadlocks.
#[coyote::test]
fn minimal() {
    run(1, Wakeup::NotifyOne, &[5, 5], &[10]);
}

/// The test that one would write first. It finds nothing, because there is nothing to find.
#[coyote::test]
fn one_reader_one_writer() {
    run(1, Wakeup::NotifyOne, &[10], &[10]);
}

/// Fix 1 in the smallest configuration.
#[coyote::test]
fn minimal_notify_all() {
    run(1, Wakeup::NotifyAll, &[5, 5], &[10]);
}

/// Fix 2 in the smallest configuration.
#[coyote::test]
fn minimal_signal_before_wait() {
    run(1, Wakeup::SignalBeforeWait, &[5, 5], &[10]);
}

/// Lets the tool choose the configuration. Readers take what writers put: the writers share the items
/// out evenly, and the last one puts the remainder as well.
fn random(wakeup: Wakeup) {
    let length = nondet::int(1..=5);
    let readers: u32 = nondet::int(1..=5);
    let writers: u32 = nondet::int(1..=5);
    let iterations: u32 = nondet::int(1..=10);
    coyote::log!("buffer size {length}, readers {readers}, writers {writers}, iterations {iterations}");
    let items = iterations * readers;
    let mut shares = vec![items / writers; writers as usize];
    *shares.last_mut().expect("there is a writer") += items % writers;
    run(length, wakeup, &vec![iterations; readers as usize], &shares);
}

/// Searches for a configuration that deadlocks.
#[coyote::test]
fn random_config() {
    random(Wakeup::NotifyOne);
}

/// Fix 1 in every configuration.
#[coyote::test]
fn random_config_notify_all() {
    random(Wakeup::NotifyAll);
}

/// Fix 2 in every configuration.
#[coyote::test]
fn random_config_signal_before_wait() {
    random(Wakeup::SignalBeforeWait);
}
