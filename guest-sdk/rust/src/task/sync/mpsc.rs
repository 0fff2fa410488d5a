//! Channels with several senders and one receiver. Same shape as `tokio::sync::mpsc`.
//!
//! **Fair:** senders that wait for room get it in the order of the first polls; nobody overtakes. **Cancellation:** a
//! [`Sender::send`] that is dropped has not sent, and its message is dropped with it; to keep the message, wait for
//! room with [`Sender::reserve`] first. A [`Receiver::recv`] that is dropped has taken nothing. **Close:** when the
//! last sender is dropped, the receiver gets what was sent and then `None`. When the receiver is dropped or closes
//! the channel, sending fails, also for a sender that was given room and has not been polled since. What was sent can still
//! be received, and so can what is sent with a [`Permit`] from before.

pub use super::send_error::SendError;

use super::queue::{Place, Queue, wake_all};
use crate::task::park;
use crate::task::section::Shared;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

/// A channel with room for this number of messages.
///
/// # Panics
/// If `messages` is 0.
#[track_caller]
pub fn channel<T>(messages: usize) -> (Sender<T>, Receiver<T>) {
    assert!(messages > 0, "mpsc bounded channel requires buffer > 0");
    let channel = Channel::new(messages, "channel");
    (Sender { channel: channel.clone() }, Receiver { channel })
}

/// A channel with room for any number of messages.
#[track_caller]
pub fn unbounded_channel<T>() -> (UnboundedSender<T>, UnboundedReceiver<T>) {
    let channel = Channel::new(usize::MAX, "unbounded channel");
    (UnboundedSender { channel: channel.clone() }, UnboundedReceiver { receiver: Receiver { channel } })
}

struct Channel<T> {
    shared: Shared<State<T>>,
    messages_max: usize,
    what: &'static str,
    made: &'static Location<'static>,
}

struct State<T> {
    messages: VecDeque<T>,
    /// Room that somebody was given and has not used.
    reserved: usize,
    senders: usize,
    /// Nothing can be sent any more.
    closed: bool,
    /// Of each sender that waits, whether it was given room.
    waiting: Queue<bool>,
    /// Senders that wait for the channel to be closed.
    close_waits: Queue<()>,
    receiver: Option<Waker>,
}

/// Why nothing can be sent at once.
enum Full {
    Closed,
    NoRoom,
}

impl<T> State<T> {
    fn has_room(&self, messages_max: usize) -> bool {
        self.messages.len() + self.reserved < messages_max
    }

    /// Takes room. Nobody overtakes those that wait.
    fn reserve(&mut self, messages_max: usize) -> Result<(), Full> {
        match () {
            () if self.closed => Err(Full::Closed),
            () if !self.waiting.is_empty() || !self.has_room(messages_max) => Err(Full::NoRoom),
            () => {
                self.reserved += 1;
                Ok(())
            }
        }
    }

    /// Gives room to those that wait, and returns who is to be woken.
    fn grant(&mut self, messages_max: usize) -> Vec<Waker> {
        let mut woken = Vec::new();
        while !self.closed
            && self.has_room(messages_max)
            && let Some(granted) = self.waiting.front()
        {
            *granted = true;
            self.reserved += 1;
            woken.extend(self.waiting.pop());
        }
        woken
    }

    /// Room that somebody had is used or given back; the receiver may have waited for that.
    fn use_room(&mut self, message: Option<T>) -> Option<Waker> {
        self.reserved -= 1;
        let tells = message.is_some() || self.is_over();
        self.messages.extend(message);
        if tells { self.receiver.take() } else { None }
    }

    /// Whether no message will come any more.
    fn is_over(&self) -> bool {
        self.senders == 0 || self.closed && self.reserved == 0
    }

    /// Lets no more be sent, and returns who is to be woken.
    fn close(&mut self) -> Vec<Waker> {
        self.closed = true;
        let mut woken = self.waiting.pop_all();
        woken.extend(self.close_waits.pop_all());
        woken
    }
}

impl<T> Channel<T> {
    #[track_caller]
    fn new(messages_max: usize, what: &'static str) -> Arc<Channel<T>> {
        let state = State {
            messages: VecDeque::new(),
            reserved: 0,
            senders: 1,
            closed: false,
            waiting: Queue::new(),
            close_waits: Queue::new(),
            receiver: None,
        };
        Arc::new(Channel { shared: Shared::new(state), messages_max, what, made: Location::caller() })
    }

    fn tell(&self) {
        park::tell(self.what, self.made, self.shared.address());
    }

    fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        let mut message = Some(message);
        let sent = self.shared.step(|state| {
            state.reserve(self.messages_max)?;
            Ok(state.use_room(message.take()))
        });
        match (sent, message) {
            (Ok(woken), _) => {
                wake_all(woken);
                Ok(())
            }
            (Err(Full::Closed), Some(message)) => Err(TrySendError::Closed(message)),
            (Err(Full::NoRoom), Some(message)) => Err(TrySendError::Full(message)),
            (Err(_), None) => unreachable!("a message that was not sent is still here"),
        }
    }

    fn add_sender(&self) {
        self.shared.step(|state| state.senders += 1);
    }

    fn drop_sender(&self) {
        let woken = self.shared.step(|state| {
            state.senders -= 1;
            if state.senders == 0 { state.receiver.take() } else { None }
        });
        wake_all(woken);
    }

    /// Room that was reserved is used or given back.
    fn use_room(&self, message: Option<T>) {
        let woken = self.shared.step(|state| {
            let mut woken: Vec<Waker> = state.use_room(message).into_iter().collect();
            woken.extend(state.grant(self.messages_max));
            woken
        });
        wake_all(woken);
    }

    async fn closed(&self) {
        let mut waits = Waits { channel: self, place: None, queue: |state| &mut state.close_waits };
        poll_fn(|context| {
            let place = &mut waits.place;
            let closed = self.shared.step(|state| match *place {
                _ if state.closed => true,
                Some(place) => {
                    state.close_waits.renew(place, context.waker());
                    false
                }
                None => {
                    *place = Some(state.close_waits.push((), Some(context.waker())));
                    false
                }
            });
            if closed {
                return Poll::Ready(());
            }
            self.tell();
            Poll::Pending
        })
        .await;
    }
}

/// A place in a queue of a channel, which is left when this is dropped.
struct Waits<'a, T, W> {
    channel: &'a Channel<T>,
    place: Option<Place>,
    queue: fn(&mut State<T>) -> &mut Queue<W>,
}

impl<T, W> Drop for Waits<'_, T, W> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.channel.shared.step(|state| (self.queue)(state).remove(place));
        }
    }
}

/// Waits for room.
struct Reserve<'a, T> {
    channel: &'a Channel<T>,
    place: Option<Place>,
}

impl<T> Future for Reserve<'_, T> {
    type Output = Result<(), SendError<()>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<Result<(), SendError<()>>> {
        let channel = self.channel;
        let place = &mut self.place;
        let mut receiver = None;
        let polled = channel.shared.step(|state| match *place {
            Some(waits) if state.closed => {
                *place = None;
                // Room that it was given in the meantime is given back; the receiver may have waited for that.
                let granted = state.waiting.remove(waits);
                receiver = if granted { state.use_room(None) } else { None };
                Poll::Ready(Err(SendError(())))
            }
            Some(waits) if *state.waiting.what(waits) => {
                *place = None;
                state.waiting.remove(waits);
                Poll::Ready(Ok(()))
            }
            Some(waits) => {
                state.waiting.renew(waits, context.waker());
                Poll::Pending
            }
            None => match state.reserve(channel.messages_max) {
                Ok(()) => Poll::Ready(Ok(())),
                Err(Full::Closed) => Poll::Ready(Err(SendError(()))),
                Err(Full::NoRoom) => {
                    *place = Some(state.waiting.push(false, Some(context.waker())));
                    Poll::Pending
                }
            },
        });
        wake_all(receiver);
        if polled.is_pending() {
            channel.tell();
        }
        polled
    }
}

impl<T> Drop for Reserve<'_, T> {
    /// Room that it was given goes to the next one.
    fn drop(&mut self) {
        let Some(place) = self.place else { return };
        let granted = self.channel.shared.step(|state| state.waiting.remove(place));
        if granted {
            self.channel.use_room(None);
        }
    }
}

/// Sends to a [`channel`].
pub struct Sender<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Sender<T> {
    /// Sends a message as soon as there is room.
    ///
    /// # Errors
    /// Nobody can receive it any more.
    pub async fn send(&self, message: T) -> Result<(), SendError<T>> {
        match self.channel.try_send(message) {
            Ok(()) => Ok(()),
            Err(TrySendError::Closed(message)) => Err(SendError(message)),
            Err(TrySendError::Full(message)) => match self.reserve().await {
                Ok(permit) => {
                    permit.send(message);
                    Ok(())
                }
                Err(SendError(())) => Err(SendError(message)),
            },
        }
    }

    /// Waits for room, which is kept for the permit.
    ///
    /// # Errors
    /// Nobody can receive any more.
    pub async fn reserve(&self) -> Result<Permit<'_, T>, SendError<()>> {
        Reserve { channel: &self.channel, place: None }.await?;
        Ok(Permit { channel: Some(&self.channel) })
    }

    /// Sends a message if there is room and no other sender waits.
    ///
    /// # Errors
    /// There is no room, or the channel is closed.
    pub fn try_send(&self, message: T) -> Result<(), TrySendError<T>> {
        self.channel.try_send(message)
    }

    /// Waits until nothing can be sent any more.
    pub async fn closed(&self) {
        self.channel.closed().await;
    }

    /// Whether nothing can be sent any more.
    pub fn is_closed(&self) -> bool {
        self.channel.shared.look(|state| state.closed)
    }

    /// The number of messages for which there is room.
    pub fn capacity(&self) -> usize {
        let channel = &self.channel;
        channel.shared.look(|state| channel.messages_max - state.messages.len() - state.reserved)
    }

    /// The number of messages that the channel can hold.
    pub fn max_capacity(&self) -> usize {
        self.channel.messages_max
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Sender<T> {
        self.channel.add_sender();
        Sender { channel: self.channel.clone() }
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.channel.drop_sender();
    }
}

/// Room for one message; dropping it gives the room back.
#[must_use = "the room is given back at once if the permit is not kept"]
pub struct Permit<'a, T> {
    channel: Option<&'a Channel<T>>,
}

impl<T> Permit<'_, T> {
    /// Sends a message.
    pub fn send(mut self, message: T) {
        if let Some(channel) = self.channel.take() {
            channel.use_room(Some(message));
        }
    }
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        if let Some(channel) = self.channel {
            channel.use_room(None);
        }
    }
}

/// Receives from a [`channel`].
pub struct Receiver<T> {
    channel: Arc<Channel<T>>,
}

impl<T> Receiver<T> {
    /// Receives the next message; `None` once the channel is closed and empty.
    pub async fn recv(&mut self) -> Option<T> {
        poll_fn(|context| self.poll_recv(context)).await
    }

    /// As [`Receiver::recv`], for futures made by hand.
    pub fn poll_recv(&mut self, context: &mut Context) -> Poll<Option<T>> {
        let (polled, woken, old) = self.channel.shared.step(|state| match state.messages.pop_front() {
            Some(message) => (Poll::Ready(Some(message)), state.grant(self.channel.messages_max), None),
            None if state.is_over() => (Poll::Ready(None), Vec::new(), None),
            None => {
                let old = state.receiver.replace(park::keep(context.waker()));
                (Poll::Pending, Vec::new(), old)
            }
        });
        drop(old);
        wake_all(woken);
        if polled.is_pending() {
            self.channel.tell();
        }
        polled
    }

    /// The next message, if there is one.
    ///
    /// # Errors
    /// There is none, or none will come any more.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let (received, woken) = self.channel.shared.step(|state| match state.messages.pop_front() {
            Some(message) => (Ok(message), state.grant(self.channel.messages_max)),
            None if state.is_over() => (Err(TryRecvError::Disconnected), Vec::new()),
            None => (Err(TryRecvError::Empty), Vec::new()),
        });
        wake_all(woken);
        received
    }

    /// Closes the channel: sending fails from now on. What was sent can still be received.
    pub fn close(&mut self) {
        wake_all(self.channel.shared.step(State::close));
    }

    /// The number of messages that wait to be received.
    pub fn len(&self) -> usize {
        self.channel.shared.look(|state| state.messages.len())
    }

    /// Whether no message waits to be received.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let (woken, messages) =
            self.channel.shared.step(|state| (state.close(), std::mem::take(&mut state.messages)));
        wake_all(woken);
        drop(messages);
    }
}

/// Sends to an [`unbounded_channel`].
pub struct UnboundedSender<T> {
    channel: Arc<Channel<T>>,
}

impl<T> UnboundedSender<T> {
    /// Sends a message.
    ///
    /// # Errors
    /// Nobody can receive it any more.
    pub fn send(&self, message: T) -> Result<(), SendError<T>> {
        self.channel.try_send(message).map_err(|error| match error {
            TrySendError::Closed(message) | TrySendError::Full(message) => SendError(message),
        })
    }

    /// Waits until nothing can be sent any more.
    pub async fn closed(&self) {
        self.channel.closed().await;
    }

    /// Whether nothing can be sent any more.
    pub fn is_closed(&self) -> bool {
        self.channel.shared.look(|state| state.closed)
    }
}

impl<T> Clone for UnboundedSender<T> {
    fn clone(&self) -> UnboundedSender<T> {
        self.channel.add_sender();
        UnboundedSender { channel: self.channel.clone() }
    }
}

impl<T> Drop for UnboundedSender<T> {
    fn drop(&mut self) {
        self.channel.drop_sender();
    }
}

/// Receives from an [`unbounded_channel`].
pub struct UnboundedReceiver<T> {
    receiver: Receiver<T>,
}

impl<T> UnboundedReceiver<T> {
    /// As [`Receiver::recv`].
    pub async fn recv(&mut self) -> Option<T> {
        self.receiver.recv().await
    }

    /// As [`Receiver::poll_recv`].
    pub fn poll_recv(&mut self, context: &mut Context) -> Poll<Option<T>> {
        self.receiver.poll_recv(context)
    }

    /// As [`Receiver::try_recv`].
    ///
    /// # Errors
    /// There is none, or none will come any more.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        self.receiver.try_recv()
    }

    /// As [`Receiver::close`].
    pub fn close(&mut self) {
        self.receiver.close();
    }
}

/// Why a message was not sent at once.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum TrySendError<T> {
    /// There is no room, or others wait for some.
    Full(T),
    /// Nobody can receive it any more.
    Closed(T),
}

/// Why no message was received at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TryRecvError {
    /// There is none.
    Empty,
    /// There will be none any more.
    Disconnected,
}

impl<T> fmt::Debug for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Full(_) => "Full(..)",
            TrySendError::Closed(_) => "Closed(..)",
        })
    }
}

impl<T> fmt::Display for TrySendError<T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            TrySendError::Full(_) => "no available capacity",
            TrySendError::Closed(_) => "channel closed",
        })
    }
}

impl fmt::Display for TryRecvError {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match self {
            TryRecvError::Empty => "receiving on an empty channel",
            TryRecvError::Disconnected => "receiving on a closed channel",
        })
    }
}

impl<T> std::error::Error for TrySendError<T> {}
impl std::error::Error for TryRecvError {}

opaque!(Sender Receiver UnboundedSender UnboundedReceiver);

impl<T> fmt::Debug for Permit<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Permit").finish_non_exhaustive()
    }
}
