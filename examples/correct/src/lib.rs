//! What the tests share.

use std::cell::UnsafeCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Runs a future on this thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}

/// A message with memory of its own, so that whoever reads it without an edge has a data race.
pub fn message(number: u32) -> Box<u32> {
    Box::new(number)
}

/// A number without any protection of its own: two accesses that nothing orders are a data race.
#[derive(Default)]
pub struct Place(UnsafeCell<u32>);

// SAFETY: the tests order all accesses, which is what they test.
unsafe impl Sync for Place {}

impl Place {
    pub fn read(&self) -> u32 {
        // SAFETY: as above.
        unsafe { self.0.get().read_volatile() }
    }

    pub fn write(&self, value: u32) {
        // SAFETY: as above.
        unsafe { self.0.get().write_volatile(value) }
    }

    pub fn add(&self, more: u32) {
        self.write(self.read() + more);
    }
}
