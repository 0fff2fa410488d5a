//! Two receivers share what one sender sends. Broken: one of them takes two.

use std::thread;

fn main() {
    let (sender, receiver) = flume::bounded(1);
    let other = receiver.clone();
    let other = thread::spawn(move || other.recv().unwrap());
    let sender = thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    let mut sum = receiver.recv().unwrap();
    if published::broken()
        && let Ok(second) = receiver.try_recv()
    {
        sum += second;
    }
    sum += other.join().unwrap();
    sender.join().unwrap();
    assert_eq!(sum, 3);
}
