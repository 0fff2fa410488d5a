//! Channels for one message. Same shape as `tokio::sync::oneshot`.
//!
//! **Cancellation:** a receiver can be polled by reference, as in a `select`, and awaited again. **Close:** if the sender is
//! dropped, the receiver gets an error; if the receiver is dropped or closes the channel, sending fails. What was sent
//! before it closes can still be received.

use crate::task::park;
use crate::task::section::Shared;
use std::fmt;
use std::future::poll_fn;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A channel for one message.
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let state = State { message: None, sender: true, receives: true, sending: None, receiving: None };
    let channel = Arc::new(Channel { shared: Shared::new(state), made: Location::caller() });
    (Sender { channel: channel.clone() }, Receiver { channel })
}

struct Channel<T> {
    shared: Shared<State<T>>,
    made: &'static Location<'static>,
}

struct State<T> {
    message: Option<T>,
    /// The sender exists and has not sent.
    sender: bool,
    /// The receiver exists and has not closed the channel.
    receives: bool,
    sending: Option<Waker>,
    receiving: Option<Waker>,
}

impl<T> Channel<T> {
    fn tell(&self) {
        park::tell("oneshot channel", self.made, self.shared.address());
    }
}

/// Sends the message.
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Sender<T> {
    /// Sends the message.
    ///
    /// # Errors
    /// Nobody will receive it.
    pub fn send(self, message: T) -> Result<(), T> {
        let (refused, woken) = self.channel.shared.step(|state| {
            if !state.receives {
                return (Some(message), None);
            }
            (state.message, state.sender) = (Some(message), false);
            (None, state.receiving.take())
        });
        woken.into_iter().for_each(Waker::wake);
        refused.map_or(Ok(()), Err)
    }

    /// Waits until nobody will receive the message.
    pub async fn closed(&mut self) {
        poll_fn(|context| {
            let open = self.channel.shared.step(|state| {
                if state.receives {
                    state.sending = Some(park::keep(context.waker()));
                }
                state.receives
            });
            if !open {
                return Poll::Ready(());
            }
            self.channel.tell();
            Poll::Pending
        })
        .await;
    }

    /// Whether nobody will receive the message.
    pub fn is_closed(&self) -> bool {
        self.channel.shared.look(|state| !state.receives)
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        let woken = self.channel.shared.step(|state| {
            // After it has sent, the receiver has been told.
            std::mem::take(&mut state.sender).then(|| state.receiving.take()).flatten()
        });
        woken.into_iter().for_each(Waker::wake);
    }
}

/// Receives the message, by awaiting this.
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Receiver<T> {
    /// Closes the channel: sending fails from now on. What was sent can still be received.
    pub fn close(&mut self) {
        let woken = self.channel.shared.step(|state| {
            state.receives = false;
            state.sending.take()
        });
        woken.into_iter().for_each(Waker::wake);
    }

    /// Receives the message, if it was sent.
    ///
    /// # Errors
    /// It was not sent yet, or never will be.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.channel.shared.step(|state| match state.message.take() {
            Some(message) => Ok(message),
            None if state.sender && state.receives => Err(TryRecvError::Empty),
            None => Err(TryRecvError::Closed),
        })
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, RecvError>;

    fn poll(self: Pin<&mut Self>, context: &mut Context) -> Poll<Result<T, RecvError>> {
        let polled = self.channel.shared.step(|state| match state.message.take() {
            Some(message) => Poll::Ready(Ok(message)),
            None if state.sender && state.receives => {
                state.receiving = Some(park::keep(context.waker()));
                Poll::Pending
            }
            None => Poll::Ready(Err(RecvError(()))),
        });
        if polled.is_pending() {
            self.channel.tell();
        }
        polled
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.close();
        let message = self.channel.shared.at_once(|state| state.message.take());
        drop(message);
    }
}

/// The sender was dropped, or the channel closed, before a message was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecvError(());

/// Why no message was received at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// It was not sent yet.
    Empty,
    /// It never will be.
    Closed,
}

impl fmt::Display for RecvError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("channel closed")
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Empty => "channel empty",
            TryRecvError::Closed => "channel closed",
        })
    }
}

impl std::error::Error for RecvError {}
impl std::error::Error for TryRecvError {}

opaque!(Sender Receiver);
