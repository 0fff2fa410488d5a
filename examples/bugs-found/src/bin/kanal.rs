//! kanal 0.1.1: a `ReceiveFuture` that is polled with one waker and then with another, while a sender takes its signal.

use std::future::Future;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};
use std::thread::{self, Thread};

/// Of a task that no longer polls the future.
struct Nobody;

impl Wake for Nobody {
    fn wake(self: Arc<Self>) {}
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn main() {
    let (sender, receiver) = kanal::bounded_async::<usize>(0);
    let sender = sender.to_sync();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    let mut receive = Box::pin(receiver.recv());
    // As a future is polled first within `select!` and later by itself, or is moved to another task.
    let first = Waker::from(Arc::new(Nobody));
    if receive.as_mut().poll(&mut Context::from_waker(&first)).is_pending() {
        drop(first);
        let second = Waker::from(Arc::new(Unpark(thread::current())));
        while receive.as_mut().poll(&mut Context::from_waker(&second)).is_pending() {
            thread::park();
        }
    }
    thread.join().unwrap();
}
