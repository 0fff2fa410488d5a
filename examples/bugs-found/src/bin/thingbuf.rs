//! thingbuf 0.1.6: a `send` future that was notified and is then dropped, as by `select!` or a timeout, while another
//! sender waits.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = Box::pin(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

fn poll_once<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

fn main() {
    let (sender, receiver) = thingbuf::mpsc::channel::<usize>(1);
    let other = sender.clone();
    sender.try_send(1).unwrap();
    let waits = thread::spawn(move || block_on(other.send(2)).unwrap());
    let gives_up = thread::spawn(move || {
        let mut send = Box::pin(sender.send(4));
        let _ = poll_once(send.as_mut());
    });
    let mut sum = 0;
    block_on(async {
        while let Some(value) = receiver.recv().await {
            sum += value;
        }
    });
    assert!(sum == 3 || sum == 7, "{sum}");
    gives_up.join().unwrap();
    waits.join().unwrap();
}
