//! A thread that cannot be created is an error that can be handled; no memory is none, unless the user asks for it.
//! run: -i 100
//! exit: 0
//! run: -i 1000 --faults thread
//! exit: 2
//! line: bug in test main: panic: 
//! run: -i 1000 --faults thread=2 --env HANDLED=1
//! exit: 0
//! line: ... Faults: thread
//! run: -i 100 --faults alloc
//! exit: 0
//! line: No worker came to a place for these faults: alloc.
//! run: -i 1000 --faults alloc-rust
//! exit: 2
//! run: -i 1000 --faults io --env FILE=1
//! exit: 2
//! line: bug in test main: panic: 
//! run: -i 1000 --faults io=3 --env FILE=1 --env HANDLED=1
//! exit: 0
//! line: ... Faults: io
use std::thread;

fn main() {
    let handled = std::env::var("HANDLED").is_ok();
    if std::env::var("FILE").is_ok() {
        let written = std::fs::write("/log", "record");
        assert!(handled || written.is_ok(), "{written:?}");
    }
    match thread::Builder::new().spawn(|| 1) {
        Ok(thread) => assert_eq!(thread.join().unwrap(), 1),
        Err(error) => assert!(handled && error.kind() == std::io::ErrorKind::WouldBlock, "{error}"),
    }
}
