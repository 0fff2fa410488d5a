//! Channels of two or three tasks.

use crate::{once, say};
use coyote::task::sync::{broadcast, mpsc, oneshot, watch};
use coyote::task::{self, block_on, spawn};
use std::pin::pin;

/// outcomes: 1 2 end; 2 1 end
#[coyote::test]
fn mpsc_of_two_senders() {
    let (sender, mut receiver) = mpsc::channel(2);
    let other = sender.clone();
    drop(spawn(async move { other.send(1).await.unwrap() }));
    block_on(async {
        sender.send(2).await.unwrap();
        drop(sender);
        while let Some(number) = receiver.recv().await {
            say(number);
        }
    });
    say("end");
}

/// A full channel makes its sender wait, and nothing is lost.
/// outcomes: 1 2
#[coyote::test]
fn mpsc_keeps_the_order() {
    let (sender, mut receiver) = mpsc::channel(1);
    drop(spawn(async move {
        sender.send(1).await.unwrap();
        sender.send(2).await.unwrap();
    }));
    block_on(async {
        say(receiver.recv().await.unwrap());
        say(receiver.recv().await.unwrap());
    });
}

/// What was sent before the channel was closed is received, and nothing else.
/// outcomes by stateful: sent 1 end; refused end
#[coyote::test]
fn mpsc_is_closed_by_its_receiver() {
    let (sender, mut receiver) = mpsc::channel(1);
    let task = spawn(async move { sender.send(1).await.is_ok() });
    receiver.close();
    say(if task.join().unwrap() { "sent" } else { "refused" });
    block_on(async {
        while let Some(number) = receiver.recv().await {
            say(number);
        }
    });
    say("end");
}

/// Room that a waiting sender is given is lost to it if the channel is closed before the sender goes on.
/// outcomes: sent 0 1 end; refused 0 end
#[coyote::test]
fn mpsc_is_closed_after_room() {
    block_on(async {
        let (sender, mut receiver) = mpsc::channel(1);
        sender.send(0).await.unwrap();
        let mut second = pin!(sender.send(1));
        assert!(once(second.as_mut()).await.is_none());
        let task = spawn(async move {
            let mut received = vec![receiver.recv().await.unwrap()];
            receiver.close();
            while let Some(number) = receiver.recv().await {
                received.push(number);
            }
            received
        });
        say(if second.await.is_ok() { "sent" } else { "refused" });
        task.await.unwrap().into_iter().for_each(say);
    });
    say("end");
}

/// The receiver waits for a permit that was given out before it closed.
/// outcomes by stateful: 1 end; end
#[coyote::test]
fn mpsc_waits_for_permits() {
    let (sender, mut receiver) = mpsc::channel(1);
    let task = spawn(async move {
        if let Ok(permit) = sender.reserve().await {
            task::yield_now().await;
            permit.send(1);
        }
    });
    receiver.close();
    block_on(async {
        while let Some(number) = receiver.recv().await {
            say(number);
        }
    });
    say("end");
    task.join().unwrap();
}

/// outcomes by stateful: full; 1
#[coyote::test]
fn mpsc_try_send() {
    let (sender, mut receiver) = mpsc::channel(1);
    sender.try_send(0).unwrap();
    let task = spawn(async move { if sender.try_send(1).is_err() { 9 } else { 1 } });
    assert_eq!(receiver.try_recv(), Ok(0));
    let sent = task.join().unwrap();
    say(if sent == 9 { "full".to_string() } else { receiver.try_recv().unwrap().to_string() });
}

/// A sender that was aborted has sent or not, and takes no room along.
/// outcomes: 0 1 end; 0 end
#[coyote::test]
fn mpsc_send_is_aborted() {
    let (sender, mut receiver) = mpsc::channel(1);
    sender.try_send(0).unwrap();
    let task = spawn(async move { sender.send(1).await.unwrap() });
    task.abort();
    block_on(async {
        while let Some(number) = receiver.recv().await {
            say(number);
        }
    });
    say("end");
}

/// outcomes by stateful: 1 2
#[coyote::test]
fn mpsc_unbounded() {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    drop(spawn(async move {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    }));
    block_on(async {
        say(receiver.recv().await.unwrap());
        say(receiver.recv().await.unwrap());
    });
}

/// outcomes by stateful: closed
#[coyote::test]
fn mpsc_sender_sees_the_end() {
    let (sender, receiver) = mpsc::channel::<()>(1);
    drop(spawn(async move { drop(receiver) }));
    block_on(sender.closed());
    say("closed");
}

/// outcomes by stateful: 7; none
#[coyote::test]
fn oneshot_may_be_dropped() {
    let (sender, receiver) = oneshot::channel();
    drop(spawn(async move {
        if coyote::nondet::bool() {
            sender.send(7).unwrap();
        }
    }));
    match block_on(receiver) {
        Ok(number) => say(number),
        Err(_) => say("none"),
    }
}

/// outcomes by stateful: sent 7; refused none
#[coyote::test]
fn oneshot_is_closed() {
    let (sender, mut receiver) = oneshot::channel();
    let task = spawn(async move { sender.send(7).is_ok() });
    receiver.close();
    say(if task.join().unwrap() { "sent" } else { "refused" });
    match block_on(receiver) {
        Ok(number) => say(number),
        Err(_) => say("none"),
    }
}

/// outcomes: 1 2 end; lagged-1 2 end
#[coyote::test]
fn broadcast_lags() {
    let (sender, mut receiver) = broadcast::channel(1);
    drop(spawn(async move {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    }));
    block_on(async {
        loop {
            match receiver.recv().await {
                Ok(number) => say(number),
                Err(broadcast::RecvError::Lagged(missed)) => say(format!("lagged-{missed}")),
                Err(broadcast::RecvError::Closed) => break,
            }
        }
    });
    say("end");
}

/// outcomes: a1 b1; b1 a1
#[coyote::test]
fn broadcast_reaches_all() {
    let (sender, mut receiver) = broadcast::channel(2);
    let mut other = sender.subscribe();
    let task = spawn(async move { say(format!("b{}", other.recv().await.unwrap())) });
    assert_eq!(sender.send(1), Ok(2));
    say(format!("a{}", block_on(receiver.recv()).unwrap()));
    task.join().unwrap();
}

/// Not every value, but always the last one.
/// outcomes: 1 2 end; 2 end
#[coyote::test]
fn watch_shows_the_last_value() {
    let (sender, mut receiver) = watch::channel(0);
    drop(spawn(async move {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    }));
    block_on(async {
        while receiver.changed().await.is_ok() {
            say(*receiver.borrow_and_update());
        }
    });
    say("end");
}

/// outcomes: 2
#[coyote::test]
fn watch_waits_for_a_value() {
    let (sender, mut receiver) = watch::channel(0);
    drop(spawn(async move {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    }));
    say(*block_on(receiver.wait_for(|value| *value == 2)).unwrap());
}
