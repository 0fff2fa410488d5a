//! A test and a recovery beside `main` find what libc's `_start` does before `main`: threads and their locals work there.
//! run: --test beside -i 100
//! exit: 0
//! run: --test main -i 100
//! exit: 0
//! run: --test main --faults crash=2 -i 500
//! exit: 0
//! line: ... Faults: crash
//! run: --test main --fault-sweep crash
//! exit: 0
//! line: executions made
//! run: --test broken -i 100
//! exit: 2
//! line: bug in test broken: panic: assertion `left == right` failed, left: 15, right: 16
use std::cell::Cell;
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;

thread_local!(static OWN: Cell<u32> = const { Cell::new(7) });

/// Threads with locals and locks of std.
fn threads() -> u32 {
    let sum = AtomicU32::new(0);
    thread::scope(|scope| {
        for number in 0..2 {
            let sum = &sum;
            scope.spawn(move || {
                OWN.set(OWN.get() + number);
                sum.fetch_add(OWN.get(), Ordering::Relaxed);
            });
        }
    });
    assert_eq!(OWN.get(), 7, "locals of another thread");
    sum.into_inner()
}

#[unsafe(export_name = "coyote.test.beside")]
extern "C" fn beside() {
    assert_eq!(threads(), 15);
}

#[unsafe(export_name = "coyote.test.broken")]
extern "C" fn broken() {
    assert_eq!(threads(), 16);
}

#[unsafe(export_name = "coyote.recover")]
extern "C" fn recover() {
    assert_eq!(threads(), 15);
}

fn main() {
    let mut file = std::fs::File::create("/log").unwrap();
    file.write_all(b"record").unwrap();
    file.sync_all().unwrap();
    assert_eq!(threads(), 15);
}
