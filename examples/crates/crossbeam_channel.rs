//! Two threads send on an unbounded channel of crossbeam-channel while its receiver goes away.
//!
//! A send either stores its message or says that the channel is disconnected; nothing else may happen.
//! An ordinary program: std's threads and the crate as it is published.
//!
//! Expected with 0.5.7: a null pointer is dereferenced in `discard_all_messages`. The first sender has
//! allocated the channel's first block and not yet told the receiver; the second one sends into it; the
//! receiver goes to drop that message (crossbeam-rs/crossbeam#971). 0.5.8 waits there for the block.

use crossbeam_channel::unbounded;
use std::thread;

fn main() {
    let (sender, receiver) = unbounded();
    let senders = [sender.clone(), sender].map(|sender| {
        thread::spawn(move || {
            let _ = sender.send("message");
        })
    });
    drop(receiver);
    for sender in senders {
        sender.join().unwrap();
    }
}
