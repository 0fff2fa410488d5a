//! A signal between tasks. Same shape as `tokio::sync::Notify`.

use super::queue::{Place, Queue, wake_all};
use crate::task::park;
use crate::task::section::Shared;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// Notifies tasks, and keeps at most one notification for which no task waits yet.
///
/// **Fair:** [`Notify::notify_one`] wakes the task that has waited longest. **Cancellation:** a [`Notified`] that is
/// dropped loses its place; a notification of `notify_one` that it was given goes to the next task, or is kept.
pub struct Notify {
    shared: Shared<State>,
    made: &'static Location<'static>,
}

struct State {
    /// Whether a notification is kept, for which no task waited.
    kept: bool,
    /// The number of calls of `notify_waiters`.
    rounds: u64,
    queue: Queue<Option<For>>,
}

/// The kind of a notification that a waiter was given.
#[derive(Clone, Copy, PartialEq)]
enum For {
    One,
    All,
}

impl State {
    fn notify_one(&mut self) -> Option<Waker> {
        match self.queue.front() {
            Some(told) => {
                *told = Some(For::One);
                self.queue.pop()
            }
            None => {
                self.kept = true;
                None
            }
        }
    }

    /// Whether a waiter was told, which leaves then.
    fn leave(&mut self, place: Place) -> bool {
        let told = self.queue.what(place).is_some();
        if told {
            self.queue.remove(place);
        }
        told
    }

    /// Whether somebody that comes may go on at once.
    fn pass(&mut self, rounds: u64) -> bool {
        self.rounds != rounds || std::mem::take(&mut self.kept)
    }
}

impl Notify {
    /// An object without a notification.
    #[track_caller]
    pub const fn new() -> Notify {
        let state = State { kept: false, rounds: 0, queue: Queue::new() };
        Notify { shared: Shared::new(state), made: Location::caller() }
    }

    /// Waits for a notification: the kept one, a later `notify_one` that reaches this task, or the next
    /// `notify_waiters` after this call, even if the future is polled later.
    pub fn notified(&self) -> Notified<'_> {
        Notified { notify: self, rounds: self.shared.look(|state| state.rounds), place: None, done: false }
    }

    /// Wakes one task. If none waits, the notification is kept for the next one; at most one is kept.
    pub fn notify_one(&self) {
        wake_all(self.shared.step(State::notify_one));
    }

    /// Wakes all tasks that wait now. This notification is not kept.
    pub fn notify_waiters(&self) {
        let woken: Vec<Waker> = self.shared.step(|state| {
            state.rounds += 1;
            let mut woken = Vec::new();
            while let Some(told) = state.queue.front() {
                *told = Some(For::All);
                woken.extend(state.queue.pop());
            }
            woken
        });
        wake_all(woken);
    }
}

impl Default for Notify {
    #[track_caller]
    fn default() -> Notify {
        Notify::new()
    }
}

impl fmt::Debug for Notify {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Notify").finish_non_exhaustive()
    }
}

/// See [`Notify::notified`].
#[must_use = "a future does nothing unless it is awaited"]
pub struct Notified<'a> {
    notify: &'a Notify,
    rounds: u64,
    place: Option<Place>,
    done: bool,
}

impl Notified<'_> {
    /// Begins to wait before the future is polled, so that it misses no `notify_one` after this call. Returns
    /// whether there was a notification already.
    pub fn enable(mut self: Pin<&mut Self>) -> bool {
        self.advance(None)
    }

    /// Whether it was notified.
    fn advance(&mut self, waker: Option<&Waker>) -> bool {
        if self.done {
            return true;
        }
        let rounds = self.rounds;
        let place = &mut self.place;
        self.done = self.notify.shared.step(|state| match *place {
            Some(waits) if state.leave(waits) => {
                *place = None;
                true
            }
            Some(waits) => {
                waker.into_iter().for_each(|waker| state.queue.renew(waits, waker));
                false
            }
            None if state.pass(rounds) => true,
            None => {
                *place = Some(state.queue.push(None, waker));
                false
            }
        });
        self.done
    }
}

impl Future for Notified<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        if self.advance(Some(context.waker())) {
            return Poll::Ready(());
        }
        park::tell("notification of the Notify", self.notify.made, self.notify.shared.address());
        Poll::Pending
    }
}

impl Drop for Notified<'_> {
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let woken = self.notify.shared.step(|state| match state.queue.remove(place) {
            Some(For::One) => state.notify_one(),
            Some(For::All) | None => None,
        });
        wake_all(woken);
    }
}

impl fmt::Debug for Notified<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Notified").field("done", &self.done).finish_non_exhaustive()
    }
}
