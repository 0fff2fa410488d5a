//! Runtimes that wait in tokio's driver of sockets, which is woken here as it is on other targets.

mod correct {
    use std::time::Duration;
    use tokio::sync::{mpsc, oneshot};
    use tokio::time::{Instant, sleep, timeout};

    const SECOND: Duration = Duration::from_secs(1);

    /// A thread answers while the runtime waits for it or for a time.
    #[tokio::test]
    async fn a_blocking_task_answers_before_the_timeout() {
        let answer = tokio::task::spawn_blocking(|| 7);
        assert_eq!(timeout(SECOND, answer).await.expect("the timeout fired").unwrap(), 7);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_task_answers_before_the_timeout() {
        let answer = tokio::spawn(async {
            sleep(SECOND / 100).await;
            5
        });
        assert_eq!(timeout(SECOND, answer).await.expect("the timeout fired").unwrap(), 5);
    }

    /// A thread that the runtime does not know wakes it.
    #[tokio::test]
    async fn another_thread_answers() {
        let (sender, receiver) = oneshot::channel();
        let thread = std::thread::spawn(move || sender.send(3).unwrap());
        assert_eq!(receiver.await.unwrap(), 3);
        thread.join().unwrap();
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn messages_between_two_threads() {
        let (sender, mut receiver) = mpsc::channel(1);
        let sends = tokio::spawn(async move {
            for number in 0..2 {
                sender.send(number).await.unwrap();
            }
        });
        let mut sum = 0;
        while let Some(number) = receiver.recv().await {
            sum += number;
        }
        sends.await.unwrap();
        assert_eq!(sum, 1);
    }

    /// Nobody wakes the runtime: it sleeps until its time.
    #[tokio::test]
    async fn sleeps_until_its_time() {
        let begin = Instant::now();
        sleep(SECOND).await;
        assert!((SECOND..2 * SECOND).contains(&begin.elapsed()));
    }
}

mod broken {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use tokio::sync::Notify;

    /// Nobody is left to notify.
    #[tokio::test]
    async fn nobody_notifies() {
        Notify::new().notified().await;
    }

    /// `notify_waiters` stores nothing for one that begins to wait a moment later.
    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_notification_is_lost() {
        let (notify, sent) = (Arc::new(Notify::new()), Arc::new(AtomicBool::new(false)));
        let notifies = tokio::spawn({
            let (notify, sent) = (notify.clone(), sent.clone());
            async move {
                sent.store(true, Ordering::SeqCst);
                notify.notify_waiters();
            }
        });
        if !sent.load(Ordering::SeqCst) {
            notify.notified().await;
        }
        notifies.await.unwrap();
    }
}

/// Without a second thread and without an end.
mod alone {
    use std::sync::atomic::{AtomicBool, Ordering};

    static NEVER: AtomicBool = AtomicBool::new(false);

    #[test]
    fn spins() {
        while !NEVER.load(Ordering::Relaxed) {}
    }
}
