//! The queue of waiters of an object, in order.

use crate::task::park;
use std::collections::VecDeque;
use std::task::Waker;

/// Waiters with what each of them waits for, or was given. One that leaves the queue keeps its place until it has
/// taken what it was given, or is dropped.
pub(crate) struct Queue<W> {
    places: Vec<Option<Waiter<W>>>,
    free: Vec<usize>,
    order: VecDeque<usize>,
}

struct Waiter<W> {
    what: W,
    waker: Option<Waker>,
}

/// A place in a queue.
pub(crate) type Place = usize;

impl<W> Default for Queue<W> {
    fn default() -> Queue<W> {
        Queue::new()
    }
}

impl<W> Queue<W> {
    pub(crate) const fn new() -> Queue<W> {
        Queue { places: Vec::new(), free: Vec::new(), order: VecDeque::new() }
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Adds a waiter at the end.
    pub(crate) fn push(&mut self, what: W, waker: Option<&Waker>) -> Place {
        let waiter = Waiter { what, waker: waker.map(park::keep) };
        let place = self.free.pop().unwrap_or(self.places.len());
        match self.places.get_mut(place) {
            Some(free) => *free = Some(waiter),
            None => self.places.push(Some(waiter)),
        }
        self.order.push_back(place);
        place
    }

    fn waiter(&mut self, place: Place) -> &mut Waiter<W> {
        self.places[place].as_mut().expect("a place belongs to its waiter until that leaves")
    }

    pub(crate) fn what(&mut self, place: Place) -> &mut W {
        &mut self.waiter(place).what
    }

    /// Updates the waker of a waiter that was polled again.
    pub(crate) fn renew(&mut self, place: Place, waker: &Waker) {
        let waiter = self.waiter(place);
        if !waiter.waker.as_ref().is_some_and(|kept| kept.will_wake(waker)) {
            waiter.waker = Some(park::keep(waker));
        }
    }

    /// What the first waiter waits for.
    pub(crate) fn front(&mut self) -> Option<&mut W> {
        let place = *self.order.front()?;
        Some(self.what(place))
    }

    /// Removes the first waiter from the queue, and returns its waker, which is to be called afterwards.
    pub(crate) fn pop(&mut self) -> Option<Waker> {
        let place = self.order.pop_front()?;
        self.waiter(place).waker.take()
    }

    /// Removes all waiters from the queue, and returns their wakers, which are to be called afterwards.
    pub(crate) fn pop_all(&mut self) -> Vec<Waker> {
        let mut woken = Vec::new();
        while !self.is_empty() {
            woken.extend(self.pop());
        }
        woken
    }

    /// Removes a waiter, woken or not.
    pub(crate) fn remove(&mut self, place: Place) -> W {
        let waiter = self.places[place].take().expect("a place belongs to its waiter until that leaves");
        self.order.retain(|other| *other != place);
        self.free.push(place);
        waiter.what
    }
}

/// Calls wakers, each call of which is a step of its own.
pub(crate) fn wake_all(wakers: impl IntoIterator<Item = Waker>) {
    wakers.into_iter().for_each(Waker::wake);
}
