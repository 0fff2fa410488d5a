//! Two threads send, a task receives until both are gone. Broken: it believes that an empty channel is a
//! finished one.

use std::thread;

fn main() {
    let (sender, receiver) = async_channel::bounded(1);
    for n in [1, 2] {
        let sender = sender.clone();
        thread::spawn(move || published::block_on(sender.send(n)));
    }
    drop(sender);
    let mut sum = 0;
    while !(published::broken() && sum > 0 && receiver.is_empty()) {
        let Ok(n) = published::block_on(receiver.recv()) else { break };
        sum += n;
    }
    assert_eq!(sum, 3, "a message is lost");
}
