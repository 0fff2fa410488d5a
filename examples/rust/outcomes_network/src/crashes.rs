//! Nodes that crash and start again. What they send to `main`, which is no node that crashes, is logged when all is over.

use crate::say;
use coyote::net::{Delivery, Network, Node, Socket};
use coyote::{task, thread};
use std::io::{Read, Write};
use std::time::Duration;

const SPAN: Duration = Duration::from_secs(1);

fn network() -> (Network<&'static str>, Socket<&'static str>) {
    let network = Network::new(Delivery::Ordered, ["main", "node", "other"]);
    let socket = network.node("main").bind(1).expect("the port is free");
    (network, socket)
}

fn bind(node: &Node<&'static str>) -> Socket<&'static str> {
    node.bind(1).expect("a crash frees all ports")
}

/// Logs what has arrived.
fn say_all(socket: &Socket<&'static str>) {
    while let Some((message, _)) = socket.try_recv() {
        say(message);
    }
}

/// One worker: after a crash, all is sent again.
#[coyote::test]
fn crash_alone() {
    let (network, socket) = network();
    let to = socket.address();
    let running = network.node("node").start(move |node| {
        let socket = bind(node);
        socket.send_to("A", to);
        socket.send_to("B", to);
    });
    running.join();
    say_all(&socket);
}

/// Both workers of the node end with it, whichever is struck.
#[coyote::test]
fn crash_two_workers() {
    let (network, socket) = network();
    let to = socket.address();
    let running = network.node("node").start(move |node| {
        let socket = bind(node);
        thread::scope(|scope| {
            scope.spawn(|| socket.send_to("B", to));
            socket.send_to("A", to);
        });
    });
    running.join();
    say_all(&socket);
}

/// A task of the node ends with it.
#[coyote::test]
fn crash_task() {
    let (network, socket) = network();
    let to = socket.address();
    let running = network.node("node").start(move |node| {
        let socket = bind(node);
        task::block_on(async move {
            let sent = task::spawn(async move { socket.send_to("B", to) });
            sent.await.expect("nobody aborts it");
        });
    });
    running.join();
    say_all(&socket);
}

/// What the node has written arrives; then its connection is reset.
#[coyote::test]
fn crash_stream() {
    let (network, _socket) = network();
    let listener = network.node("main").listen(1).expect("the port is free");
    let to = listener.address();
    let running = network.node("node").start(move |node| {
        let Ok(mut stream) = node.connect(to) else { return };
        for bytes in [b"ab", b"cd"] {
            if stream.write_all(bytes).is_err() {
                return;
            }
        }
    });
    running.join();
    let accepted = || task::block_on(task::timeout(SPAN, listener.accept_async())).ok();
    while let Some(mut stream) = accepted() {
        let mut text = String::new();
        let end = if stream.read_to_string(&mut text).is_ok() { "." } else { "!" };
        say(text + end);
    }
}

/// A reader is told that the node is gone, unless the connection is half-open.
#[coyote::test]
fn crash_told() {
    let (network, _socket) = network();
    let listener = network.node("main").listen(1).expect("the port is free");
    let to = listener.address();
    let _running = network.node("node").start(move |node| {
        if let Ok(stream) = node.connect(to) {
            stream.shutdown();
        }
    });
    let end = listener.accept().read(&mut [0]);
    say(if end.is_ok() { "." } else { "!" });
}

/// What was sent to the node is lost: it is asked again whenever it comes up.
#[coyote::test]
fn crash_requests() {
    let (network, socket) = network();
    let to = socket.address();
    let _running = network.node("node").start(move |node| {
        let socket = bind(node);
        socket.send_to("up", to);
        let (_request, _) = socket.recv();
        socket.send_to("done", to);
    });
    loop {
        let (message, from) = socket.recv();
        say(message);
        match message {
            "up" => socket.send_to("do", from),
            _ => break,
        }
    }
}

/// A datagram that is on its way when the node crashes arrives when it is up again.
#[coyote::test]
fn crash_late() {
    let (network, socket) = network();
    let to = socket.address();
    let other = network.node("other").bind(1).expect("the port is free");
    let _running = network.node("node").start(move |node| {
        let socket = bind(node);
        socket.send_to("up", to);
        loop {
            let (message, _) = socket.recv();
            socket.send_to(message, to);
        }
    });
    let (up, node) = socket.recv();
    say(up);
    network.hold("main", "node");
    socket.send_to("late", node);
    other.send_to("now", node);
    loop {
        let (message, _) = socket.recv();
        say(message);
        match message {
            "late" => break,
            "now" => network.heal("main", "node"),
            _ => {}
        }
    }
}
