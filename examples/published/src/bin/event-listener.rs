//! A flag and an event that it was set. Broken: the flag is looked at before listening begins, not after.

use event_listener::Event;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

fn main() {
    let (flag, event) = (AtomicBool::new(false), Event::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            flag.store(true, Ordering::SeqCst);
            event.notify(1);
        });
        if !flag.load(Ordering::SeqCst) {
            let listener = event.listen();
            if published::broken() || !flag.load(Ordering::SeqCst) {
                published::block_on(listener);
            }
        }
    });
}
