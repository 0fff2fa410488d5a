//! Channels whose messages all receivers get. Same shape as `tokio::sync::broadcast`.
//!
//! Sending never waits: the oldest message makes room for the newest, and a receiver that has not had it yet is told
//! how many it missed. **Cancellation:** a [`Receiver::recv`] that is dropped has taken nothing. **Close:** when the last
//! sender is dropped, receivers get what was sent and then an error; sending fails while there is no receiver.
//!
//! The channel keeps exactly as many messages as it was made for; tokio may keep more.

pub use super::send_error::SendError;

use super::queue::{Place, Queue, wake_all};
use crate::task::park;
use crate::task::section::Shared;
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A channel that keeps this number of messages.
///
/// # Panics
/// If `messages` is 0.
#[track_caller]
pub fn channel<T: Clone>(messages: usize) -> (Sender<T>, Receiver<T>) {
    assert!(messages > 0, "broadcast channel capacity cannot be zero");
    let state = State { kept: VecDeque::new(), end: 0, senders: 1, receivers: 1, waiting: Queue::new() };
    let channel =
        Arc::new(Channel { shared: Shared::new(state), messages_max: messages, made: Location::caller() });
    (Sender { channel: channel.clone() }, Receiver { channel, next: 0 })
}

struct Channel<T> {
    shared: Shared<State<T>>,
    messages_max: usize,
    made: &'static Location<'static>,
}

struct State<T> {
    /// With the number of receivers that have still to get it.
    kept: VecDeque<(Arc<T>, usize)>,
    /// How many were sent ever: the number of the next one.
    end: u64,
    senders: usize,
    receivers: usize,
    waiting: Queue<()>,
}

impl<T> State<T> {
    /// The number of the oldest message that is kept.
    fn begin(&self) -> u64 {
        self.end - self.kept.len() as u64
    }

    fn wake(&mut self) -> Vec<Waker> {
        let mut woken = Vec::new();
        while !self.waiting.is_empty() {
            woken.extend(self.waiting.pop());
        }
        woken
    }

    /// The next message, still shared, of a receiver that has received all messages before `next`.
    fn receive(&mut self, next: &mut u64) -> Result<Arc<T>, TryRecvError> {
        let begin = self.begin();
        if *next < begin {
            let missed = begin - *next;
            *next = begin;
            return Err(TryRecvError::Lagged(missed));
        }
        let Some((message, awaited)) = self.kept.get_mut((*next - begin) as usize) else {
            return Err(if self.senders == 0 { TryRecvError::Closed } else { TryRecvError::Empty });
        };
        *next += 1;
        *awaited -= 1;
        Ok(Arc::clone(message))
    }

    /// Takes out messages that all receivers have had, from the oldest on.
    fn forget(&mut self) -> Vec<Arc<T>> {
        let had = self.kept.iter().take_while(|(_, awaited)| *awaited == 0).count();
        self.kept.drain(..had).map(|(message, _)| message).collect()
    }
}

/// Sends to a [`channel`].
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Sender<T> {
    /// Sends a message to all receivers that there are now, and returns how many that are.
    ///
    /// # Errors
    /// There are none.
    pub fn send(&self, message: T) -> Result<usize, SendError<T>> {
        let channel = &self.channel;
        let sent = channel.shared.step(|state| {
            if state.receivers == 0 {
                return Err(message);
            }
            let room = state.kept.len() < channel.messages_max;
            let oldest = if room { None } else { state.kept.pop_front() };
            state.kept.push_back((Arc::new(message), state.receivers));
            state.end += 1;
            Ok((state.receivers, state.wake(), oldest))
        });
        let (receivers, woken, oldest) = sent.map_err(SendError)?;
        wake_all(woken);
        drop(oldest);
        Ok(receivers)
    }

    /// A receiver of all messages that are sent from now on.
    pub fn subscribe(&self) -> Receiver<T> {
        let next = self.channel.shared.step(|state| {
            state.receivers += 1;
            state.end
        });
        Receiver { channel: self.channel.clone(), next }
    }

    /// How many receivers there are.
    pub fn receiver_count(&self) -> usize {
        self.channel.shared.look(|state| state.receivers)
    }

    /// How many messages are kept that some receiver has not had.
    pub fn len(&self) -> usize {
        self.channel.shared.look(|state| state.kept.len())
    }

    /// Whether all receivers have had all messages.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
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
            if state.senders == 0 { state.wake() } else { Vec::new() }
        });
        wake_all(woken);
    }
}

/// Receives from a [`channel`].
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
    next: u64,
}

impl<T: Clone> Receiver<T> {
    /// Receives the next message.
    ///
    /// # Errors
    /// Messages were missed: the next call returns the oldest that is kept. Or the channel is closed.
    pub async fn recv(&mut self) -> Result<T, RecvError> {
        let message = Recv { receiver: self, place: None }.await?;
        Ok(T::clone(&message))
    }

    /// Receives the next message, if there is one.
    ///
    /// # Errors
    /// As for [`Receiver::recv`], or there is no message now.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let next = &mut self.next;
        let (received, had) = self.channel.shared.step(|state| (state.receive(next), state.forget()));
        drop(had);
        received.map(|message| T::clone(&message))
    }
}

impl<T> Receiver<T> {
    /// A receiver of all messages that are sent from now on.
    pub fn resubscribe(&self) -> Receiver<T> {
        let channel = self.channel.clone();
        let next = channel.shared.step(|state| {
            state.receivers += 1;
            state.end
        });
        Receiver { channel, next }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let next = &mut self.next;
        let had = self.channel.shared.step(|state| {
            state.receivers -= 1;
            let begin = state.begin();
            let from = next.saturating_sub(begin) as usize;
            state.kept.iter_mut().skip(from).for_each(|(_, awaited)| *awaited -= 1);
            state.forget()
        });
        drop(had);
    }
}

struct Recv<'a, T> {
    receiver: &'a mut Receiver<T>,
    place: Option<Place>,
}

impl<T> Future for Recv<'_, T> {
    type Output = Result<Arc<T>, RecvError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Result<Arc<T>, RecvError>> {
        let Recv { receiver, place } = &mut *self;
        let Receiver { channel, next } = &mut **receiver;
        let (polled, had) = channel.shared.step(|state| {
            let received = state.receive(next);
            if let Err(TryRecvError::Empty) = received {
                // Who sends wakes all, and they come again.
                if let Some(place) = place.take() {
                    state.waiting.remove(place);
                }
                *place = Some(state.waiting.push((), Some(context.waker())));
            }
            (received, state.forget())
        });
        drop(had);
        match polled {
            Ok(message) => Poll::Ready(Ok(message)),
            Err(TryRecvError::Lagged(missed)) => Poll::Ready(Err(RecvError::Lagged(missed))),
            Err(TryRecvError::Closed) => Poll::Ready(Err(RecvError::Closed)),
            Err(TryRecvError::Empty) => {
                park::tell("broadcast channel", channel.made, channel.shared.address());
                Poll::Pending
            }
        }
    }
}

impl<T> Drop for Recv<'_, T> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.receiver.channel.shared.step(|state| state.waiting.remove(place));
        }
    }
}

/// The error of [`Receiver::recv`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecvError {
    /// There will be none any more.
    Closed,
    /// So many were missed.
    Lagged(u64),
}

/// Why no message was received at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// There is none.
    Empty,
    /// There will be none any more.
    Closed,
    /// So many were missed.
    Lagged(u64),
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            RecvError::Closed => f.write_str("channel closed"),
            RecvError::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            TryRecvError::Empty => f.write_str("channel empty"),
            TryRecvError::Closed => f.write_str("channel closed"),
            TryRecvError::Lagged(missed) => write!(f, "channel lagged by {missed}"),
        }
    }
}

impl std::error::Error for RecvError {}
impl std::error::Error for TryRecvError {}

opaque!(Sender Receiver);
