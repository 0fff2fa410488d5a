//! Futures of the crate `futures` as tasks: channels and `FuturesUnordered`, as they are published.
//!
//! Expected: `two_requests` fails its assertion, since answers come in any order; `two_requests_fixed` passes;
//! `lost_sender` deadlocks, since a sender that nobody uses is kept.

use coyote::task::{block_on, spawn};
use futures::channel::{mpsc, oneshot};
use futures::stream::{FuturesUnordered, StreamExt};

/// Answers each request in a task of its own.
fn answer(number: u32) -> oneshot::Receiver<u32> {
    let (sender, receiver) = oneshot::channel();
    drop(spawn(async move { sender.send(number).expect("it is awaited") }));
    receiver
}

async fn answers() -> Vec<u32> {
    let mut waiting: FuturesUnordered<_> = [1, 2].into_iter().map(answer).collect();
    let mut answers = Vec::new();
    while let Some(answer) = waiting.next().await {
        answers.push(answer.expect("each task answers"));
    }
    answers
}

/// Takes the first answer for that of the first request.
#[coyote::test]
fn two_requests() {
    assert_eq!(block_on(answers()), [1, 2], "an answer is taken for that of another request");
}

/// Sorts them.
#[coyote::test]
fn two_requests_fixed() {
    let mut answers = block_on(answers());
    answers.sort_unstable();
    assert_eq!(answers, [1, 2]);
}

/// Waits for the end of messages, and keeps a sender.
#[coyote::test]
fn lost_sender() {
    let (sender, mut receiver) = mpsc::unbounded::<u32>();
    let other = sender.clone();
    drop(spawn(async move { other.unbounded_send(1).expect("the receiver is there") }));
    block_on(async { while receiver.next().await.is_some() {} });
    drop(sender);
}
