//! Channels that keep the last value only. Same shape as `tokio::sync::watch`.
//!
//! A receiver learns that the value changed since it last read it, and not how often. **Cancellation:** a
//! [`Receiver::changed`] that is dropped has marked nothing as seen. **Close:** when the last sender is dropped, receivers
//! see the last value and then get an error ([`Receiver::has_changed`] at once); sending fails while there is no receiver.
//!
//! A [`Ref`] holds a lock of [`crate::sync`], so that a sender blocks while one exists: do not keep one over an `await`.
#![allow(unsafe_code)] // A loop that returns what it borrowed, which the borrow checker does not see.

pub use super::send_error::SendError;

use super::queue::{Place, Queue, wake_all};
use crate::sync::{RwLock, RwLockReadGuard};
use crate::task::park;
use crate::task::section::Shared;
use std::fmt;
use std::ops::Deref;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A channel with its first value, which counts as seen.
#[track_caller]
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let state =
        State { version: 0, senders: 1, receivers: 1, waiting: Queue::new(), close_waits: Queue::new() };
    let channel =
        Arc::new(Channel { value: RwLock::new(value), shared: Shared::new(state), made: Location::caller() });
    (Sender { channel: channel.clone() }, Receiver { channel, seen: 0 })
}

struct Channel<T> {
    /// The version of the state changes while this is locked for writing.
    value: RwLock<T>,
    shared: Shared<State>,
    made: &'static Location<'static>,
}

struct State {
    /// How often the value changed.
    version: u64,
    senders: usize,
    receivers: usize,
    /// Receivers that wait for a change.
    waiting: Queue<()>,
    /// Senders that wait until there is no receiver.
    close_waits: Queue<()>,
}

fn wake(queue: &mut Queue<()>) -> Vec<Waker> {
    let mut woken = Vec::new();
    while !queue.is_empty() {
        woken.extend(queue.pop());
    }
    woken
}

/// Changes the value of a [`channel`].
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Sender<T> {
    /// Replaces the value, if there is a receiver.
    ///
    /// # Errors
    /// There is none; the value stays.
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.channel.shared.look(|state| state.receivers == 0) {
            return Err(SendError(value));
        }
        self.send_replace(value);
        Ok(())
    }

    /// Replaces the value and returns the old one.
    pub fn send_replace(&self, value: T) -> T {
        let mut value = value;
        self.send_modify(|now| std::mem::swap(now, &mut value));
        value
    }

    /// Changes the value, and notifies receivers in any case.
    pub fn send_modify(&self, change: impl FnOnce(&mut T)) {
        self.send_if_modified(|value| {
            change(value);
            true
        });
    }

    /// Passes the value to `change`, and notifies receivers if `change` returns true, which is also the result.
    pub fn send_if_modified(&self, change: impl FnOnce(&mut T) -> bool) -> bool {
        let mut value = self.channel.value.write();
        if !change(&mut value) {
            return false;
        }
        let woken = self.channel.shared.step(|state| {
            state.version += 1;
            wake(&mut state.waiting)
        });
        drop(value);
        wake_all(woken);
        true
    }

    /// The value.
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref { value: self.channel.value.read(), changed: false }
    }

    /// A receiver that has seen the present value.
    pub fn subscribe(&self) -> Receiver<T> {
        let seen = self.channel.shared.step(|state| {
            state.receivers += 1;
            state.version
        });
        Receiver { channel: self.channel.clone(), seen }
    }

    /// Waits until there is no receiver.
    pub async fn closed(&self) {
        Wait { channel: &self.channel, place: None, seen: None }.await;
    }

    /// Whether there is no receiver.
    pub fn is_closed(&self) -> bool {
        self.receiver_count() == 0
    }

    /// How many receivers there are.
    pub fn receiver_count(&self) -> usize {
        self.channel.shared.look(|state| state.receivers)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.channel.shared.step(|state| state.senders += 1);
        Sender { channel: self.channel.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let woken = self.channel.shared.step(|state| {
            state.senders -= 1;
            if state.senders == 0 { wake(&mut state.waiting) } else { Vec::new() }
        });
        wake_all(woken);
    }
}

/// Reads the value of a [`channel`].
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    /// The version that it has seen.
    seen: u64,
}

impl<T> Receiver<T> {
    /// The value. Does not mark it as seen.
    pub fn borrow(&self) -> Ref<'_, T> {
        let value = self.channel.value.read();
        let changed = self.channel.shared.look(|state| state.version) != self.seen;
        Ref { value, changed }
    }

    /// The value, which is marked as seen.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let value = self.channel.value.read();
        let version = self.channel.shared.look(|state| state.version);
        let changed = std::mem::replace(&mut self.seen, version) != version;
        Ref { value, changed }
    }

    /// Whether there is a value that was not seen.
    ///
    /// # Errors
    /// All senders are gone, even if the last value was not seen.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        let (version, senders) = self.channel.shared.look(|state| (state.version, state.senders));
        if senders == 0 { Err(RecvError(())) } else { Ok(version != self.seen) }
    }

    /// Waits for a value that was not seen, and marks it as seen.
    ///
    /// # Errors
    /// All senders are gone, and the last value was seen.
    pub async fn changed(&mut self) -> Result<(), RecvError> {
        let version = Wait { channel: &self.channel, place: None, seen: Some(self.seen) }.await;
        self.seen = version.ok_or(RecvError(()))?;
        Ok(())
    }

    /// Waits until `is` is true of the value, which the present one may satisfy, and marks it as seen.
    ///
    /// # Errors
    /// All senders are gone, and `is` was false of the last value.
    pub async fn wait_for(&mut self, mut is: impl FnMut(&T) -> bool) -> Result<Ref<'_, T>, RecvError> {
        // SAFETY: `self` stays borrowed for as long as the result lives, and keeps its channel.
        let channel = unsafe { &*Arc::as_ptr(&self.channel) };
        let mut closed = false;
        loop {
            let value = channel.value.read();
            let version = channel.shared.look(|state| state.version);
            let changed = std::mem::replace(&mut self.seen, version) != version;
            // Once the channel is closed, a value that was seen is not asked about again.
            if (changed || !closed) && is(&value) {
                return Ok(Ref { value, changed });
            }
            drop(value);
            if closed {
                return Err(RecvError(()));
            }
            closed = self.changed().await.is_err();
        }
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Receiver<T> {
        self.channel.shared.step(|state| state.receivers += 1);
        Receiver { channel: self.channel.clone(), seen: self.seen }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let woken = self.channel.shared.step(|state| {
            state.receivers -= 1;
            if state.receivers == 0 { wake(&mut state.close_waits) } else { Vec::new() }
        });
        wake_all(woken);
    }
}

/// Waits for a version other than the one that was seen, and returns it unless all senders are gone. Without
/// a seen version, waits until all receivers are gone.
struct Wait<'a, T> {
    channel: &'a Channel<T>,
    place: Option<Place>,
    seen: Option<u64>,
}

impl State {
    fn queue(&mut self, of_receivers: bool) -> &mut Queue<()> {
        if of_receivers { &mut self.waiting } else { &mut self.close_waits }
    }
}

impl<T> Future for Wait<'_, T> {
    type Output = Option<u64>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Option<u64>> {
        let (channel, seen) = (self.channel, self.seen);
        let place = &mut self.place;
        let polled = channel.shared.step(|state| {
            match seen {
                Some(seen) if state.version != seen => return Poll::Ready(Some(state.version)),
                Some(_) if state.senders == 0 => return Poll::Ready(None),
                None if state.receivers == 0 => return Poll::Ready(None),
                _ => {}
            }
            let queue = state.queue(seen.is_some());
            if let Some(place) = place.take() {
                queue.remove(place);
            }
            *place = Some(queue.push((), Some(context.waker())));
            Poll::Pending
        });
        if polled.is_pending() {
            park::tell("watch channel", channel.made, channel.shared.address());
        }
        polled
    }
}

impl<T> Drop for Wait<'_, T> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            let of_receivers = self.seen.is_some();
            self.channel.shared.step(|state| state.queue(of_receivers).remove(place));
        }
    }
}

/// A borrowed value, which does not change while this exists.
pub struct Ref<'a, T> {
    value: RwLockReadGuard<'a, T>,
    changed: bool,
}

impl<T> Ref<'_, T> {
    /// Whether the receiver had not seen the value before.
    pub fn has_changed(&self) -> bool {
        self.changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

/// The error of a receiver: all senders are gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError(());

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl std::error::Error for RecvError {}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        (**self).fmt(f)
    }
}

opaque!(Sender Receiver);
