//! A rendezvous, and `select!` over two channels. Broken: it takes one message where there are two.

use crossbeam_channel::{bounded, select};
use std::thread;

fn main() {
    let (a_sender, a) = bounded(0);
    let (b_sender, b) = bounded(1);
    let senders = [thread::spawn(move || a_sender.send(1).unwrap()), thread::spawn(move || b_sender.send(2).unwrap())];
    let next = || select! { recv(a) -> n => n.unwrap(), recv(b) -> n => n.unwrap() };
    let first = next();
    // One of the channels is closed by now, and the other one may be as well.
    let second = match published::broken() {
        false => if first == 1 { b.recv().unwrap() } else { a.recv().unwrap() },
        true => next(),
    };
    assert_eq!(first + second, 3);
    for sender in senders {
        sender.join().unwrap();
    }
}
