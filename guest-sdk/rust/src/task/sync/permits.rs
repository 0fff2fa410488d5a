//! Permits that are handed out in order: the basis of semaphores and locks.
//!
//! After `batch_semaphore.rs` of tokio (1.54). Permits that become free are given to the first waiter, also if it needs more,
//! so none are free while somebody waits. A waiter has its permits once it is polled after it was given the last one. If the
//! semaphore is closed before that poll, the waiter fails, and gives back what it was given.

use super::queue::{Place, Queue, wake_all};
use crate::task::park;
use crate::task::section::Shared;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// See the module's documentation.
pub(super) struct Permits {
    shared: Shared<State>,
    /// The name of the object in reports.
    what: &'static str,
    made: &'static Location<'static>,
}

struct State {
    free: usize,
    closed: bool,
    queue: Queue<Wanted>,
}

/// The permits of a waiter.
struct Wanted {
    /// What it was given.
    given: usize,
    /// What it still needs.
    missing: usize,
}

/// No permits will be handed out any more.
pub(super) struct Closed;

/// Why there are none at once.
pub(super) enum Refused {
    Closed,
    None,
}

impl State {
    /// Adds permits, which are handed out in the order of the queue, and returns the wakers to be called; `None` if there
    /// would be too many.
    fn add(&mut self, permits: usize) -> Option<Vec<Waker>> {
        self.free = self.free.checked_add(permits)?;
        let mut woken = Vec::new();
        while let Some(wanted) = self.queue.front() {
            let given = wanted.missing.min(self.free);
            wanted.given += given;
            wanted.missing -= given;
            self.free -= given;
            if wanted.missing > 0 {
                break;
            }
            woken.extend(self.queue.pop());
        }
        Some(woken)
    }

    /// Takes permits. There are none if others wait for some.
    fn take(&mut self, permits: usize) -> Result<(), Refused> {
        if self.closed {
            return Err(Refused::Closed);
        }
        self.free = self.free.checked_sub(permits).ok_or(Refused::None)?;
        Ok(())
    }

    /// Begins to wait for permits, with those that are free.
    fn wait(&mut self, permits: usize, waker: &Waker) -> Place {
        let given = std::mem::take(&mut self.free);
        self.queue.push(Wanted { given, missing: permits - given }, Some(waker))
    }

    /// Ends a wait without permits, and returns the wakers to be called.
    fn leave(&mut self, place: Place) -> Vec<Waker> {
        let given = self.queue.remove(place).given;
        self.add(given).expect("these permits were there before")
    }
}

impl Permits {
    #[track_caller]
    pub(super) const fn new(permits: usize, what: &'static str) -> Permits {
        let state = State { free: permits, closed: false, queue: Queue::new() };
        Permits { shared: Shared::new(state), what, made: Location::caller() }
    }

    pub(super) fn acquire(&self, permits: usize) -> Acquire<'_> {
        Acquire { permits: self, wanted: permits, place: None }
    }

    pub(super) fn try_acquire(&self, permits: usize) -> Result<(), Refused> {
        self.shared.step(|state| state.take(permits))
    }

    #[track_caller]
    pub(super) fn release(&self, permits: usize) {
        let woken = self.shared.step(|state| state.add(permits));
        wake_all(woken.expect("a semaphore has as many permits as fit into a usize"));
    }

    /// Removes at most this number of free permits, and returns how many.
    pub(super) fn forget(&self, permits: usize) -> usize {
        self.shared.step(|state| {
            let forgotten = permits.min(state.free);
            state.free -= forgotten;
            forgotten
        })
    }

    /// The number of permits that can be taken at once.
    pub(super) fn free(&self) -> usize {
        self.shared.look(|state| state.free)
    }

    pub(super) fn is_closed(&self) -> bool {
        self.shared.look(|state| state.closed)
    }

    pub(super) fn close(&self) {
        let woken = self.shared.step(|state| {
            state.closed = true;
            state.queue.pop_all()
        });
        wake_all(woken);
    }
}

/// Is ready once it has its permits.
pub(super) struct Acquire<'a> {
    permits: &'a Permits,
    wanted: usize,
    place: Option<Place>,
}

impl Future for Acquire<'_> {
    type Output = Result<(), Closed>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Result<(), Closed>> {
        let (permits, wanted) = (self.permits, self.wanted);
        let place = &mut self.place;
        let polled = permits.shared.step(|state| match *place {
            None => match state.take(wanted) {
                Ok(()) => Poll::Ready(Ok(())),
                Err(Refused::Closed) => Poll::Ready(Err(Closed)),
                Err(Refused::None) => {
                    *place = Some(state.wait(wanted, context.waker()));
                    Poll::Pending
                }
            },
            Some(waits) if state.closed => {
                *place = None;
                // Nobody else waits any more.
                let _none = state.leave(waits);
                Poll::Ready(Err(Closed))
            }
            Some(waits) if state.queue.what(waits).missing == 0 => {
                *place = None;
                state.queue.remove(waits);
                Poll::Ready(Ok(()))
            }
            Some(waits) => {
                state.queue.renew(waits, context.waker());
                Poll::Pending
            }
        });
        if polled.is_pending() {
            park::tell(permits.what, permits.made, permits.shared.address());
        }
        polled
    }
}

impl Drop for Acquire<'_> {
    /// Passes permits that it was given in the meantime to the next waiters.
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        wake_all(self.permits.shared.step(|state| state.leave(place)));
    }
}
