//! A pool of threads that take jobs from a queue.

use coyote::sync::Mutex;
use coyote::thread::{self, JoinHandle};
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    closed: bool,
}

struct Pool {
    queue: Arc<Mutex<Queue>>,
    threads: Vec<JoinHandle<()>>,
}

/// Takes the next job; `None` if the pool is closed. The evaluation that finds a job takes it.
fn next(queue: &Mutex<Queue>) -> Option<Job> {
    let mut job = None;
    coyote::wait_until(|| {
        let mut queue = queue.lock();
        job = queue.jobs.pop_front();
        job.is_some() || queue.closed
    });
    job
}

/// Mistake: another thread may take the job after the wait.
fn next_in_two_steps(queue: &Mutex<Queue>) -> Option<Job> {
    coyote::wait_until(|| {
        let queue = queue.lock();
        !queue.jobs.is_empty() || queue.closed
    });
    let mut queue = queue.lock();
    let job = queue.jobs.pop_front();
    assert!(job.is_some() || queue.closed, "a thread was woken without a job");
    job
}

impl Pool {
    fn new(threads: usize, next: fn(&Mutex<Queue>) -> Option<Job>) -> Pool {
        let queue = Arc::new(Mutex::new(Queue::default()));
        let thread = |_| {
            let queue = Arc::clone(&queue);
            thread::spawn(move || {
                while let Some(job) = next(&queue) {
                    job();
                }
            })
        };
        Pool { threads: (0..threads).map(thread).collect(), queue }
    }

    fn submit(&self, job: impl FnOnce() + Send + 'static) {
        self.queue.lock().jobs.push_back(Box::new(job));
    }

    /// Ends the threads once all jobs are taken.
    fn close(self) {
        self.queue.lock().closed = true;
        self.threads.into_iter().for_each(JoinHandle::join);
    }
}

fn two_jobs(next: fn(&Mutex<Queue>) -> Option<Job>) {
    let done = Arc::new(AtomicU32::new(0));
    let pool = Pool::new(2, next);
    for _ in 0..2 {
        let done = Arc::clone(&done);
        pool.submit(move || {
            done.fetch_add(1, Ordering::Relaxed);
        });
    }
    pool.close();
    assert_eq!(done.load(Ordering::Relaxed), 2, "a job was lost");
}

#[coyote::test]
fn thread_pool() {
    two_jobs(next_in_two_steps);
}

#[coyote::test]
fn thread_pool_fixed() {
    two_jobs(next);
}
