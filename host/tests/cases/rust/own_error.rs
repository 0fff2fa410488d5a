//! A program's own error that has a field with the name and value of one that std prints.
//!
//! run: -i 100
//! exit: 2
//! line: bug in test main: panic
#[derive(Debug)]
#[allow(dead_code)]
struct Failure {
    number: u32,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Unsupported,
}

fn main() {
    let thread = std::thread::spawn(|| Err::<(), _>(Failure { number: 1, kind: Kind::Unsupported }));
    thread.join().unwrap().unwrap();
}
