//! Futures that wait for arrivals over a link, or for a point in time until which a link holds them back.

use super::link::{Arrival, NEVER, Wires};
use crate::task::park::{self, TimerId};
use crate::task::section::Shared;
use crate::task::sync::queue::{Place, Queue};
use std::task::{Context, Poll};

/// Why nothing has arrived yet.
pub(super) enum Nothing {
    /// Nothing was sent.
    Sent,
    /// Nothing was sent, but links matter.
    Over,
    /// What was sent has not arrived.
    Arrived(Arrival),
}

/// A future's place in the queue of waiters; dropping this leaves the queue.
pub(super) struct Wait<'a, S, Q>
where
    Q: Fn(&mut S) -> Option<&mut Queue<()>>,
{
    shared: &'a Shared<S>,
    wires: &'a Wires,
    /// Where in the state they wait, if what they wait at is still there.
    queue: Q,
    place: Option<Place>,
    /// Among those who are told when links change.
    watches: Option<Place>,
    timer: Option<TimerId>,
}

impl<'a, S, Q> Wait<'a, S, Q>
where
    Q: Fn(&mut S) -> Option<&mut Queue<()>>,
{
    pub(super) fn new(shared: &'a Shared<S>, wires: &'a Wires, queue: Q) -> Self {
        Wait { shared, wires, queue, place: None, watches: None, timer: None }
    }

    /// Checks in one step for what is awaited.
    pub(super) fn poll<R>(
        &mut self,
        context: &Context,
        find: impl FnOnce(&mut S) -> Result<R, Nothing>,
    ) -> Poll<R> {
        let shared = self.shared;
        let found = shared.step(|state| {
            self.wires.may_crash();
            self.leave(state);
            let found = find(state);
            if found.is_err() {
                self.place = (self.queue)(state).map(|queue| queue.push((), Some(context.waker())));
            }
            if let Err(Nothing::Over | Nothing::Arrived(_)) = found {
                let watch = |queue: &mut Queue<()>| queue.push((), Some(context.waker()));
                self.watches = Some(self.wires.watchers.at_once(watch));
            }
            found
        });
        self.timer.take().into_iter().for_each(park::drop_timer);
        match found {
            Ok(result) => return Poll::Ready(result),
            Err(Nothing::Arrived(Arrival::At(due_ns))) if due_ns != NEVER => {
                self.timer = Some(park::set_timer(due_ns, context.waker()));
            }
            // To read the clock moves it: what had not arrived when it was looked for may have by now.
            Err(Nothing::Arrived(Arrival::Now)) => context.waker().wake_by_ref(),
            Err(_) => {}
        }
        Poll::Pending
    }

    fn leave(&mut self, state: &mut S) {
        if let (Some(place), Some(queue)) = (self.place.take(), (self.queue)(state)) {
            queue.remove(place);
        }
        if let Some(place) = self.watches.take() {
            self.wires.watchers.at_once(|queue| queue.remove(place));
        }
    }
}

impl<S, Q> Drop for Wait<'_, S, Q>
where
    Q: Fn(&mut S) -> Option<&mut Queue<()>>,
{
    fn drop(&mut self) {
        self.timer.take().into_iter().for_each(park::drop_timer);
        if self.place.is_some() {
            let shared = self.shared;
            shared.step(|state| self.leave(state));
        }
    }
}
