//! Barriers for tasks. Same shape as `tokio::sync::Barrier`.

use super::queue::{Place, Queue, wake_all};
use crate::task::park;
use crate::task::section::Shared;
use std::fmt;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

/// A point that a number of tasks pass together. It can be used repeatedly.
///
/// **Not cancellation safe:** a task that has arrived counts, even if its future is dropped before the others arrive.
pub struct Barrier {
    tasks: usize,
    shared: Shared<State>,
    made: &'static Location<'static>,
}

struct State {
    arrived: usize,
    /// For each waiting task, whether the last one has arrived.
    queue: Queue<bool>,
}

/// The result of [`Barrier::wait`]: whether the task is the leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// True for the task that arrived last.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    /// A barrier for this number of tasks. With 0 or 1, each task passes alone.
    #[track_caller]
    pub const fn new(tasks: usize) -> Barrier {
        let state = State { arrived: 0, queue: Queue::new() };
        let tasks = if tasks == 0 { 1 } else { tasks };
        Barrier { tasks, shared: Shared::new(state), made: Location::caller() }
    }

    /// Waits until all tasks have arrived.
    pub async fn wait(&self) -> BarrierWaitResult {
        Wait { barrier: self, place: None }.await
    }
}

struct Wait<'a> {
    barrier: &'a Barrier,
    place: Option<Place>,
}

impl Future for Wait<'_> {
    type Output = BarrierWaitResult;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context) -> Poll<BarrierWaitResult> {
        let barrier = self.barrier;
        let place = &mut self.place;
        let (polled, woken): (_, Vec<Waker>) = barrier.shared.step(|state| match *place {
            Some(waits) if *state.queue.what(waits) => {
                *place = None;
                state.queue.remove(waits);
                (Poll::Ready(BarrierWaitResult(false)), Vec::new())
            }
            Some(waits) => {
                state.queue.renew(waits, context.waker());
                (Poll::Pending, Vec::new())
            }
            None if state.arrived + 1 == barrier.tasks => {
                state.arrived = 0;
                let mut woken = Vec::new();
                while let Some(all_came) = state.queue.front() {
                    *all_came = true;
                    woken.extend(state.queue.pop());
                }
                (Poll::Ready(BarrierWaitResult(true)), woken)
            }
            None => {
                state.arrived += 1;
                *place = Some(state.queue.push(false, Some(context.waker())));
                (Poll::Pending, Vec::new())
            }
        });
        wake_all(woken);
        if polled.is_pending() {
            park::tell("barrier", barrier.made, barrier.shared.address());
        }
        polled
    }
}

impl Drop for Wait<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.place {
            self.barrier.shared.step(|state| state.queue.remove(place));
        }
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Barrier").field("tasks", &self.tasks).finish_non_exhaustive()
    }
}
