//! Small programs of tasks with all the outcomes that they can have, by hand: what a search finds must be these.
//! `outcomes: a; b` says what is logged; a bug is its kind. DPOR must come to all of
//! them, and where that is said a search of all states as well. (`host/tests/host/outcomes.rs`.)
//!
//! - [`tasks`]: starting, ending, aborting, waiting in vain. [`timers`]: what becomes of timers.
//! - [`locks`], [`channels`]: what tasks share.
//! - [`alone`]: what one task sees of queues, which has no other outcome.

mod alone;
mod channels;
mod locks;
mod tasks;
mod timers;

use std::future::poll_fn;
use std::pin::Pin;
use std::task::Poll;

/// Polls a future once.
async fn once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
    poll_fn(|context| {
        Poll::Ready(match future.as_mut().poll(context) {
            Poll::Ready(value) => Some(value),
            Poll::Pending => None,
        })
    })
    .await
}

/// Logs a word.
fn say(word: impl std::fmt::Display) {
    coyote::log!("{word}");
}
