//! One task awaits a value from each of two channels of flume; a thread sends both and ends.
//!
//! Both sends succeed, so both values must arrive. An ordinary program: std's threads, an executor of a
//! dozen lines, and the crate as it is published.
//!
//! Expected with 0.10.14: one channel is said to be disconnected, and its value is lost. The other value
//! wakes the task, so this channel is polled again while nothing is in it; then the thread sends and
//! drops its sender; only then does the poll ask whether there is a sender left (zesterer/flume#120).
//! 0.11.0 asks under the lock.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

/// Wakes the thread that runs a task.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// Polls a future unless its output is there; says whether it is.
fn advance<F: Future + Unpin>(future: &mut F, output: &mut Option<F::Output>, context: &mut Context) -> bool {
    if output.is_none()
        && let Poll::Ready(ready) = Pin::new(future).poll(context)
    {
        *output = Some(ready);
    }
    output.is_some()
}

fn main() {
    let (name_sender, names) = flume::unbounded();
    let (size_sender, sizes) = flume::unbounded();
    let sender = thread::spawn(move || {
        name_sender.send("name").unwrap();
        size_sender.send(7).unwrap();
    });
    let (mut name, mut size) = (names.recv_async(), sizes.recv_async());
    let (mut name_is, mut size_is) = (None, None);
    block_on(poll_fn(|context| {
        let both = advance(&mut size, &mut size_is, context) & advance(&mut name, &mut name_is, context);
        if both { Poll::Ready(()) } else { Poll::Pending }
    }));
    assert_eq!(name_is, Some(Ok("name")), "the first value is lost");
    assert_eq!(size_is, Some(Ok(7)), "the second value is lost");
    sender.join().unwrap();
}
