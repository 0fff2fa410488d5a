//! Two senders of one channel: their order is not fixed.
//! run: -i 1000
//! exit: 2
//! line: bug in test main: panic: 
use std::sync::mpsc::channel;
use std::thread;

fn main() {
    let (sender, receiver) = channel();
    for number in 0..2 {
        let sender = sender.clone();
        thread::spawn(move || sender.send(number).unwrap());
    }
    assert_eq!((receiver.recv(), receiver.recv()), (Ok(0), Ok(1)));
}
