//! Figure 1 of "Industrial-Strength Controlled Concurrency Testing for C# Programs with Coyote"
//! (TACAS 2023): two tasks add messages to one list, and the assertion fails only if all messages of
//! the second come before the first message of the first.
//!
//! A random walk finds that about once in 2^N runs for N messages; strategies that keep one worker
//! running for long (PCT) find it in a few. There is a scheduling point in front of every message
//! because the list is locked.
//!
//! Expected: every test fails its assertion, found by PCT within a few iterations; a random walk finds
//! the small ones only. `two_ordered`, where the second task starts after the first has ended, passes.

use coyote::sync::Mutex;
use coyote::thread::{JoinHandle, spawn};
use std::sync::Arc;

/// Task and number of a message.
type Message = (char, u32);

fn send_messages(list: &Arc<Mutex<Vec<Message>>>, task: char, count: u32) -> JoinHandle<()> {
    let list = Arc::clone(list);
    spawn(move || {
        for i in 0..count {
            list.lock().push((task, i));
        }
    })
}

/// The last message of `b` must not come before the first one of `a`.
fn check(list: &[Message], count: u32) {
    let position = |message: Message| list.iter().position(|m| *m == message);
    let (first, last) = (position(('a', 0)), position(('b', count - 1)));
    assert!(first < last, "all {count} messages of b came before the first of a");
}

fn run(count: u32) {
    let list = Arc::new(Mutex::new(Vec::with_capacity(2 * count as usize)));
    let a = send_messages(&list, 'a', count);
    let b = send_messages(&list, 'b', count);
    a.join();
    b.join();
    check(&list.lock(), count);
}

/// Two messages each.
#[coyote::test]
fn two() {
    run(2);
}

/// Five messages each.
#[coyote::test]
fn five() {
    run(5);
}

/// Ten messages each.
#[coyote::test]
fn ten() {
    run(10);
}

/// Fifty messages each, as in the paper.
#[coyote::test]
fn fifty() {
    run(50);
}

/// No bug: `b` starts when `a` has ended.
#[coyote::test]
fn two_ordered() {
    let list = Arc::new(Mutex::new(Vec::new()));
    send_messages(&list, 'a', 2).join();
    send_messages(&list, 'b', 2).join();
    check(&list.lock(), 2);
}
