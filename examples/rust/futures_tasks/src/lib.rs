//! Futures of the crate `futures` as tasks: channels, `FuturesUnordered` and a lock, as they are published.
//!
//! Expected: `two_requests` fails its assertion, since answers come in any order; `two_requests_fixed`, `shared_lock` and
//! `many_at_once` pass; `lost_sender` deadlocks, since a sender that nobody uses is kept.

use coyote::task::{block_on, spawn, yield_now};
use futures::channel::{mpsc, oneshot};
use futures::lock::Mutex;
use futures::stream::{FuturesUnordered, StreamExt};
use std::sync::Arc;

/// Answers each request in a task of its own.
fn answer(number: u32) -> oneshot::Receiver<u32> {
    let (sender, receiver) = oneshot::channel();
    drop(spawn(async move { drop(sender.send(number)) }));
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

/// Adds under a lock that is kept over an `await`.
#[coyote::test]
fn shared_lock() {
    let count = Arc::new(Mutex::new(0));
    let add = |count: Arc<Mutex<u32>>| async move {
        let mut count = count.lock().await;
        let before = *count;
        yield_now().await;
        *count = before + 1;
    };
    let task = spawn(add(count.clone()));
    block_on(add(count.clone()));
    task.join().expect("nobody aborts it");
    assert_eq!(count.try_lock().map(|count| *count), Some(2));
}

/// Futures of one task, each of which is woken by another one.
#[coyote::test]
fn many_at_once() {
    let (sender, receiver) = mpsc::channel::<u32>(0);
    for number in 0..2 {
        let mut sender = sender.clone();
        drop(spawn(async move {
            futures::SinkExt::send(&mut sender, number).await.expect("the receiver is there");
        }));
    }
    drop(sender);
    let sum = block_on(receiver.fold(0, |sum, number| async move { sum + number }));
    assert_eq!(sum, 1);
}

/// Waits for the end of messages, and keeps a sender.
#[coyote::test]
fn lost_sender() {
    let (sender, mut receiver) = mpsc::unbounded::<u32>();
    let other = sender.clone();
    drop(spawn(async move { drop(other.unbounded_send(1)) }));
    block_on(async { while receiver.next().await.is_some() {} });
    drop(sender);
}
