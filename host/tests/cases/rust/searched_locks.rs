//! Threads of std and its locks can be explored to the end.
//! run: -s dpor
//! exit: 0
//! line: . Proved: no bug
//! run: -s dpor -- mutex
//! exit: 0
//! line: . Proved: no bug
//! run: -s dpor -- dropped
//! exit: 2
//! line: bug in test main: panic: assertion
use std::sync::Mutex;
use std::thread;

static COUNT: Mutex<i32> = Mutex::new(0);

fn main() {
    let how = std::env::args().nth(1).unwrap_or_default();
    let dropped = how == "dropped";
    let adds = how != "";
    let thread = thread::spawn(move || {
        if adds {
            *COUNT.lock().unwrap() += 1;
        }
    });
    if dropped {
        // The lock is released between the two.
        let seen = *COUNT.lock().unwrap();
        *COUNT.lock().unwrap() = seen + 1;
    } else if adds {
        *COUNT.lock().unwrap() += 1;
    }
    thread.join().unwrap();
    assert!(!adds || *COUNT.lock().unwrap() == 2);
}
