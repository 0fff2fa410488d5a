//! A number is passed through plain memory. It is in a data race unless a flag orders it: by a release store that an
//! acquire load reads, or by fences around relaxed accesses. In no execution an assertion would fail.
//! flags: -g -O
//! run: --detect races -s dpor --timeout 2 -- Release Acquire
//! exit: 0
//! run: --detect races -s dpor --timeout 2 -- SeqCst SeqCst
//! exit: 0
//! run: --detect races -s dpor --timeout 2 -- SeqCst Acquire
//! exit: 0
//! run: --detect races -s dpor --timeout 2 -- Release SeqCst
//! exit: 0
//! run: --detect races -s dpor --timeout 2 -- Fence Fence
//! exit: 0
//! run: --detect races -s dpor --timeout 2 -- Fence Acquire
//! exit: 0
//! run: --detect races -s dpor --timeout 2 -- Release Fence
//! exit: 0
//! run: --detect races -s dpor -- Relaxed Acquire
//! exit: 2
//! line: bug in test main: data-race: read of `
//! line: write of the value 42 by worker 0
//! line: worker 0.0 was created by worker 0 in step
//! line: nothing orders the accesses; Release at message_passing::send (
//! run: --detect races -s dpor -- Release Relaxed
//! exit: 2
//! line: bug in test main: data-race: read of `
//! line: nothing orders the accesses; Acquire at message_passing::receive (
//! run: --detect races -s dpor -- Relaxed Relaxed
//! exit: 2
//! line: bug in test main: data-race: read of `
//! line: ) and Acquire at message_passing::receive (
//! run: --detect races -s dpor -- Relaxed Fence
//! exit: 2
//! line: the first access was made by worker 0
//! run: --detect races -s dpor -- Fence Relaxed
//! exit: 2
//! line: bug in test main: data-race: read of `
//! run: -s dpor -- Relaxed Relaxed
//! exit: 0
use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicU32, Ordering::*, fence};

struct Shared(UnsafeCell<u32>);
unsafe impl Sync for Shared {}

static NUMBER: Shared = Shared(UnsafeCell::new(0));
static FLAG: AtomicU32 = AtomicU32::new(0);

fn send(how: &str) {
    unsafe { NUMBER.0.get().write_volatile(42) };
    match how {
        "Relaxed" => FLAG.store(1, Relaxed),
        "Release" => FLAG.store(1, Release),
        "SeqCst" => FLAG.store(1, SeqCst),
        _ => {
            fence(Release);
            FLAG.store(1, Relaxed);
        }
    }
}

fn receive(how: &str) {
    let ready = match how {
        "Relaxed" => FLAG.load(Relaxed),
        "Acquire" => FLAG.load(Acquire),
        "SeqCst" => FLAG.load(SeqCst),
        _ => {
            let ready = FLAG.load(Relaxed);
            fence(Acquire);
            ready
        }
    };
    if ready == 1 {
        assert_eq!(unsafe { NUMBER.0.get().read_volatile() }, 42);
    }
}

fn main() {
    let mut how = std::env::args().skip(1);
    let (store, load) = (how.next().unwrap(), how.next().unwrap());
    let receiver = std::thread::spawn(move || receive(&load));
    send(&store);
    receiver.join().unwrap();
}
