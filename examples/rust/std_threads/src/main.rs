//! An ordinary Rust program that knows nothing of coyote: std's threads, locks and atomics, built for
//! wasm32-wasip1-threads.
//!
//! Workers take jobs from a queue until it is closed and count what they finished. The count is a
//! load and a store where it should be one `fetch_add`, so two workers that finish together count one
//! job. Each access is atomic: there is no data race, and no compiler warns.
//!
//! Expected: the assertion in `main` fails, which on this target is a trap (panics abort).

use std::collections::VecDeque;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;

const WORKERS: usize = 2;
const JOBS: usize = 4;

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    jobs: VecDeque<usize>,
    closed: bool,
}

impl Queue {
    fn push(&self, job: usize) {
        self.state.lock().unwrap().jobs.push_back(job);
        self.changed.notify_one();
    }

    fn close(&self) {
        self.state.lock().unwrap().closed = true;
        self.changed.notify_all();
    }

    fn pop(&self) -> Option<usize> {
        let state = self.state.lock().unwrap();
        let mut state = self.changed.wait_while(state, |s| s.jobs.is_empty() && !s.closed).unwrap();
        state.jobs.pop_front()
    }
}

fn main() {
    let queue = Arc::new(Queue::default());
    let finished = Arc::new(AtomicUsize::new(0));
    let workers: Vec<_> = (0..WORKERS)
        .map(|_| {
            let (queue, finished) = (Arc::clone(&queue), Arc::clone(&finished));
            thread::spawn(move || {
                while queue.pop().is_some() {
                    let count = finished.load(Ordering::SeqCst);
                    finished.store(count + 1, Ordering::SeqCst);
                }
            })
        })
        .collect();
    for job in 0..JOBS {
        queue.push(job);
    }
    queue.close();
    for worker in workers {
        worker.join().unwrap();
    }
    assert_eq!(finished.load(Ordering::SeqCst), JOBS, "a finished job was not counted");
}
