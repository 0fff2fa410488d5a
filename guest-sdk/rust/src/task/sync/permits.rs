//! Permits that are handed out in order: the basis of semaphores and locks.

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

/// The permits that a waiter asks for, or was given.
struct Wanted {
    permits: usize,
    granted: bool,
}

/// No permits will be handed out any more.
pub(super) struct Closed;

/// Why there are none at once.
pub(super) enum Refused {
    Closed,
    None,
}

impl State {
    /// Hands out permits in the order of the queue, and returns the wakers to be called.
    fn grant(&mut self) -> Vec<Waker> {
        let mut woken = Vec::new();
        while let Some(wanted) = self.queue.front()
            && wanted.permits <= self.free
        {
            wanted.granted = true;
            self.free -= wanted.permits;
            woken.extend(self.queue.pop());
        }
        woken
    }

    /// Takes permits, unless others wait for some.
    fn take(&mut self, permits: usize) -> Result<(), Refused> {
        if self.closed {
            return Err(Refused::Closed);
        }
        if permits > self.free || !self.queue.is_empty() {
            return Err(Refused::None);
        }
        self.free -= permits;
        Ok(())
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
        let woken = self.shared.step(|state| {
            state.free = state.free.checked_add(permits)?;
            Some(state.grant())
        });
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
        self.shared.look(|state| if state.queue.is_empty() { state.free } else { 0 })
    }

    pub(super) fn is_closed(&self) -> bool {
        self.shared.look(|state| state.closed)
    }

    pub(super) fn close(&self) {
        let woken: Vec<Waker> = self.shared.step(|state| {
            state.closed = true;
            std::iter::from_fn(|| (!state.queue.is_empty()).then(|| state.queue.pop())).flatten().collect()
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
                    let wanted = Wanted { permits: wanted, granted: false };
                    *place = Some(state.queue.push(wanted, Some(context.waker())));
                    Poll::Pending
                }
            },
            Some(waits) if state.queue.what(waits).granted || state.closed => {
                *place = None;
                Poll::Ready(if state.queue.remove(waits).granted { Ok(()) } else { Err(Closed) })
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
        let woken = self.permits.shared.step(|state| {
            let wanted = state.queue.remove(place);
            if wanted.granted {
                state.free += wanted.permits;
            }
            if state.closed { Vec::new() } else { state.grant() }
        });
        wake_all(woken);
    }
}
