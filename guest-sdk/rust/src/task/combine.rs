//! Several futures in one task.

use super::park::Part;
use crate::nondet;
use std::pin::{Pin, pin};
use std::task::Poll;

/// The value of the first of two futures that was ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Either<A, B> {
    /// The value of the first future.
    Left(A),
    /// The value of the second future.
    Right(B),
}

/// Runs two futures until one is ready, and drops the other one where it waits. Which of them is polled first is a choice
/// of the tool each time: if both are ready, the result can be either.
pub async fn select<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    either(a, b, nondet::bool).await
}

/// As [`select`], but the first future is polled first.
pub async fn select_biased<A: Future, B: Future>(a: A, b: B) -> Either<A::Output, B::Output> {
    either(a, b, || false).await
}

async fn either<A: Future, B: Future>(
    a: A,
    b: B,
    second_first: impl Fn() -> bool,
) -> Either<A::Output, B::Output> {
    let (mut a, mut b) = (pin!(a), pin!(b));
    std::future::poll_fn(|context| {
        let (second_first, part) = (second_first(), Part::begin());
        let mut polled = Poll::Pending;
        if second_first {
            polled = b.as_mut().poll(context).map(Either::Right);
        }
        if polled.is_pending() {
            polled = a.as_mut().poll(context).map(Either::Left);
        }
        if polled.is_pending() && !second_first {
            polled = b.as_mut().poll(context).map(Either::Right);
        }
        if polled.is_ready() {
            part.give_up();
        }
        polled
    })
    .await
}

/// Runs futures until all are ready, and returns their values in the same order. They are polled in that order, all of
/// them whenever the task is woken.
pub async fn join_all<F: Future>(futures: impl IntoIterator<Item = F>) -> Vec<F::Output> {
    enum Slot<F: Future> {
        Waits(Pin<Box<F>>),
        Ready(F::Output),
    }
    let mut slots: Vec<Slot<F>> = futures.into_iter().map(|future| Slot::Waits(Box::pin(future))).collect();
    std::future::poll_fn(|context| {
        let mut all = true;
        for slot in &mut slots {
            if let Slot::Waits(future) = slot {
                match future.as_mut().poll(context) {
                    Poll::Ready(value) => *slot = Slot::Ready(value),
                    Poll::Pending => all = false,
                }
            }
        }
        if all { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    let value = |slot| match slot {
        Slot::Ready(value) => value,
        Slot::Waits(_) => unreachable!("all are ready"),
    };
    slots.into_iter().map(value).collect()
}

/// Runs two or three futures until one is ready, drops the others where they wait, and continues with its
/// value. As with [`task::select`](crate::task::select), the result can be that of any future that is ready.
///
/// ```no_run
/// # use coyote::task::{self, sync::mpsc};
/// # async fn receive(mut receiver: mpsc::Receiver<u32>) -> Option<u32> {
/// coyote::select! {
///     message = receiver.recv() => message,
///     _ = task::sleep(std::time::Duration::from_secs(1)) => None,
/// }
/// # }
/// ```
#[macro_export]
macro_rules! select {
    ($a:pat = $first:expr => $then_a:expr, $b:pat = $second:expr => $then_b:expr $(,)?) => {
        match $crate::task::select($first, $second).await {
            $crate::task::Either::Left($a) => $then_a,
            $crate::task::Either::Right($b) => $then_b,
        }
    };
    (
        $a:pat = $first:expr => $then_a:expr,
        $b:pat = $second:expr => $then_b:expr,
        $c:pat = $third:expr => $then_c:expr $(,)?
    ) => {
        match $crate::task::select($first, $crate::task::select($second, $third)).await {
            $crate::task::Either::Left($a) => $then_a,
            $crate::task::Either::Right($crate::task::Either::Left($b)) => $then_b,
            $crate::task::Either::Right($crate::task::Either::Right($c)) => $then_c,
        }
    };
}
