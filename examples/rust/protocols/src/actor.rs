//! A small actor layer: processes with numbers, and a mailbox for each.
//!
//! Mailboxes are plain memory. Nothing but a futex protects them, which is enough under `--points sync`:
//! a step is a send, or a receive, and all that the process does up to its next one.
//!
//! A mailbox has a fixed size and holds its messages from the front on, and what is not used is empty.
//! Equal states are then equal in memory, so that a search recognises them.

use coyote::sync::futex;
use coyote::thread::Builder;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// Messages that fit into a mailbox.
const CAPACITY: usize = 12;

/// What processes send. Without padding, for the sake of equal states.
pub trait Message: Copy {
    /// Fills what is not used.
    const EMPTY: Self;
}

struct Mailbox<M> {
    /// How many messages there are. Its owner waits here as long as this is 0.
    length: AtomicU32,
    messages: Mutex<[M; CAPACITY]>,
}

impl<M: Message> Mailbox<M> {
    const fn new() -> Mailbox<M> {
        Mailbox { length: AtomicU32::new(0), messages: Mutex::new([M::EMPTY; CAPACITY]) }
    }
}

/// Processes 0 to `N - 1`. Messages arrive in the order in which they are sent.
pub struct Network<M, const N: usize> {
    mailboxes: [Mailbox<M>; N],
}

impl<M: Message, const N: usize> Network<M, N> {
    /// Empty mailboxes.
    pub const fn new() -> Network<M, N> {
        Network { mailboxes: [const { Mailbox::new() }; N] }
    }

    /// Puts a message into a process's mailbox. One scheduling point, in front of all that it does: the
    /// owner is woken first, and takes its next step when the message is there.
    pub fn send(&self, to: usize, message: M) {
        let mailbox = &self.mailboxes[to];
        futex::notify(&mailbox.length, 1);
        let mut messages = plain(&mailbox.messages);
        let length = mailbox.length.load(Relaxed);
        messages[length as usize] = message;
        mailbox.length.store(length + 1, Relaxed);
    }

    /// Waits for the next message to process `at`, who is the caller. One scheduling point, and another
    /// one if there is no message yet.
    pub fn receive(&self, at: usize) -> M {
        let mailbox = &self.mailboxes[at];
        futex::wait(&mailbox.length, 0);
        let mut messages = plain(&mailbox.messages);
        let first = messages[0];
        messages.copy_within(1.., 0);
        messages[CAPACITY - 1] = M::EMPTY;
        mailbox.length.fetch_sub(1, Relaxed);
        first
    }
}

/// Memory that one step at a time uses.
pub fn plain<T>(memory: &Mutex<T>) -> MutexGuard<'_, T> {
    memory.try_lock().expect("run this with --points sync")
}

/// Starts a process that nobody waits for: it may wait for messages for ever.
pub fn start(name: &str, process: impl FnOnce() + Send + 'static) {
    drop(Builder::new().name(name).spawn(process));
}
