//! Tests that fail are called `broken`, those that pass under every schedule `correct`.

use tokio_examples::{begun, first_is_chosen, permit_after_abort, total, two_messages};

mod broken {
    use super::*;

    #[tokio::test]
    async fn select_loses_what_it_cancels() {
        assert_eq!(two_messages(false).await, (Some(1), Some(2)));
    }

    #[tokio::test]
    async fn guard_held_over_await() {
        assert_eq!(total(true).await, 5);
    }

    #[tokio::test]
    async fn notification_is_lost() {
        begun(false).await;
    }

    #[tokio::test]
    async fn permit_leaks_on_abort() {
        permit_after_abort(false).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn select_loses_what_it_cancels_on_threads() {
        let (one, other) = two_messages(false).await;
        assert_eq!(one.unwrap() + other.unwrap(), 3);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn notification_is_lost_on_threads() {
        begun(false).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn permit_leaks_on_abort_on_threads() {
        permit_after_abort(false).await;
    }

    #[tokio::test]
    async fn select_is_fair() {
        assert!(first_is_chosen().await);
    }

    #[test]
    fn a_map_has_an_order() {
        let map = (0..4).map(|key| (key, key)).collect::<std::collections::HashMap<_, _>>();
        let keys: Vec<i32> = map.into_keys().collect();
        let threads = keys.iter().map(|key| std::thread::spawn({ let key = *key; move || key }));
        let threads: Vec<_> = threads.collect();
        let first = threads.into_iter().map(|thread| thread.join().unwrap()).next();
        assert_ne!(first, keys.iter().copied().max(), "the greatest key comes first");
    }
}

mod correct {
    use super::*;

    #[tokio::test]
    async fn select_keeps_what_it_took() {
        let (one, other) = two_messages(true).await;
        assert_eq!(one.unwrap() + other.unwrap(), 3);
    }

    #[tokio::test]
    async fn guard_taken_after_await() {
        assert_eq!(total(false).await, 5);
    }

    #[tokio::test]
    async fn notification_is_kept() {
        begun(true).await;
    }

    #[tokio::test]
    async fn permit_has_a_guard() {
        permit_after_abort(true).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn select_keeps_what_it_took_on_threads() {
        let (one, other) = two_messages(true).await;
        assert_eq!(one.unwrap() + other.unwrap(), 3);
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn notification_is_kept_on_threads() {
        begun(true).await;
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn permit_has_a_guard_on_threads() {
        permit_after_abort(true).await;
    }
}
