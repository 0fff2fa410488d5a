//! Datagrams of two links.

use crate::say;
use coyote::net::{Delivery, Network, Socket};
use coyote::{task, thread};
use std::time::Duration;

/// Longer than faults make things late, and shorter than they cut links.
const LATER: Duration = Duration::from_secs(20);

struct Three {
    one: Socket<u32>,
    other: Socket<u32>,
    receiver: Socket<u32>,
}

fn three(delivery: Delivery) -> Three {
    let network = Network::new(delivery, ["one", "other", "receiver"]);
    let socket = |name| network.node(name).bind(1).expect("the port is free");
    Three { one: socket("one"), other: socket("other"), receiver: socket("receiver") }
}

/// One worker does all: 1 and 2 come from one node, 3 from the other.
fn alone(delivery: Delivery) {
    let Three { one, other, receiver } = three(delivery);
    one.send_to(1, receiver.address());
    one.send_to(2, receiver.address());
    other.send_to(3, receiver.address());
    for _ in 0..2 {
        while let Some((message, _)) = receiver.try_recv() {
            say(message);
        }
        say('|');
        thread::sleep(LATER);
    }
}

#[coyote::test]
fn alone_ordered() {
    alone(Delivery::Ordered);
}

#[coyote::test]
fn alone_unordered() {
    alone(Delivery::Unordered);
}

#[coyote::test]
fn alone_duplicating() {
    alone(Delivery::UnorderedDuplicating);
}

/// Each node has a worker, and all datagrams arrive.
fn threads(delivery: Delivery) {
    let Three { one, other, receiver } = three(delivery);
    let to = receiver.address();
    thread::scope(|scope| {
        scope.spawn(|| {
            one.send_to(1, to);
            one.send_to(2, to);
        });
        scope.spawn(|| other.send_to(3, to));
        for _ in 0..3 {
            say(receiver.recv().0);
        }
    });
}

#[coyote::test]
fn threads_ordered() {
    threads(Delivery::Ordered);
}

#[coyote::test]
fn threads_unordered() {
    threads(Delivery::Unordered);
}

/// The same with tasks.
fn tasks(delivery: Delivery) {
    let Three { one, other, receiver } = three(delivery);
    let to = receiver.address();
    task::block_on(async {
        let one = task::spawn(async move {
            one.send_to(1, to);
            one.send_to(2, to);
        });
        let other = task::spawn(async move { other.send_to(3, to) });
        for _ in 0..3 {
            say(receiver.recv_async().await.0);
        }
        one.await.expect("nobody aborts it");
        other.await.expect("nobody aborts it");
    });
}

#[coyote::test]
fn tasks_ordered() {
    tasks(Delivery::Ordered);
}

#[coyote::test]
fn tasks_unordered() {
    tasks(Delivery::Unordered);
}
