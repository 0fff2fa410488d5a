//! Virtual time for tasks.

use super::park::{self, Part, TimerId};
use crate::sys;
use std::fmt;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};
use std::time::Duration;

/// A future that is ready after a span of virtual time, which takes no real time; other workers may run
/// before and after. The span begins with this call, as tokio's does.
///
/// Cancellation safe: dropping it forgets the timer. Once polled by a task, it is ready when the task's timer has fired, which
/// may be later than the clock says.
#[must_use = "a future does nothing unless it is awaited"]
pub fn sleep(span: Duration) -> Sleep {
    Sleep { deadline_ns: sys::now().saturating_add(sys::span_ns(span)), timer: None }
}

/// See [`sleep`].
#[derive(Debug)]
#[must_use = "a future does nothing unless it is awaited"]
pub struct Sleep {
    deadline_ns: i64,
    timer: Option<TimerId>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<()> {
        // A timer that is set is waited for. To look at the clock would move it, so that no two polls were the same.
        let is_set = self.timer.as_ref().is_some_and(|timer| park::renew_timer(timer, context.waker()));
        if !is_set {
            self.timer = None;
            if sys::now() >= self.deadline_ns {
                return Poll::Ready(());
            }
            self.timer = Some(park::set_timer(self.deadline_ns, context.waker()));
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.timer.take().into_iter().for_each(park::drop_timer);
    }
}

/// Runs a future for a span of virtual time at most, and drops it then. A future that is ready when the time
/// expires is in time.
///
/// # Errors
/// The time expired.
pub async fn timeout<F: Future>(span: Duration, future: F) -> Result<F::Output, Elapsed> {
    let (mut future, mut sleep) = (pin!(future), pin!(sleep(span)));
    std::future::poll_fn(|context| {
        let part = Part::begin();
        let mut polled = future.as_mut().poll(context).map(Ok);
        if polled.is_pending() {
            polled = sleep.as_mut().poll(context).map(|()| Err(Elapsed(())));
        }
        if polled.is_ready() {
            part.give_up();
        }
        polled
    })
    .await
}

/// The error of a [`timeout`] that expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Elapsed(());

impl fmt::Display for Elapsed {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("deadline has elapsed")
    }
}

impl std::error::Error for Elapsed {}

/// Lets other tasks run, and other futures of the same task. Time may pass, up to the task's next timer.
pub async fn yield_now() {
    let mut yielded = false;
    std::future::poll_fn(|context| {
        if std::mem::replace(&mut yielded, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
