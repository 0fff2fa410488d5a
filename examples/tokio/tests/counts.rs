//! Tokio's own counts, which a poll that is postponed would change.
#![cfg(tokio_unstable)]

use tokio::runtime::Builder;
use tokio::sync::oneshot;

#[test]
fn each_task_is_scheduled_once() {
    let runtime = Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let (sender, receiver) = oneshot::channel();
        tokio::spawn(async move {
            tokio::spawn(async move { sender.send(()).unwrap() });
        });
        receiver.await.unwrap();
    });
    let metrics = runtime.metrics();
    drop(runtime);
    assert_eq!(metrics.worker_local_schedule_count(0), 2);
}
