//! Tasks on a current-thread runtime and a thread beside it share channels, a mutex and a clock. Broken: an
//! answer is expected within a time that nobody promised.

use std::sync::Arc;
use std::thread;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc, oneshot};
use tokio::time::timeout;

fn main() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    let (requests, mut received) = mpsc::channel::<oneshot::Sender<u32>>(1);
    let total = Arc::new(Mutex::new(0));
    let server = thread::spawn(move || {
        while let Some(answer) = received.blocking_recv() {
            let _ = answer.send(21);
        }
    });
    runtime.block_on(async {
        let tasks: Vec<_> = (0..2)
            .map(|_| {
                let (requests, total) = (requests.clone(), total.clone());
                tokio::spawn(async move {
                    let (sender, answer) = oneshot::channel();
                    requests.send(sender).await.unwrap();
                    let answer = match published::broken() {
                        false => answer.await.unwrap(),
                        true => timeout(Duration::from_millis(1), answer).await.expect("an answer in time").unwrap(),
                    };
                    *total.lock().await += answer;
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(*total.lock().await, 42);
    });
    drop((requests, runtime));
    server.join().unwrap();
}
