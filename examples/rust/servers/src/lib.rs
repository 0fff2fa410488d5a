//! A server written with `std::net`, and peers in the same test, with two mistakes.
//!
//! A test gives the server (`server.rs`) the listening socket that `--listen 4` makes, and
//! connects to it. Expected with `--listen 4`: `one_read` is found with `--faults split=1`, the budget that samplers have
//! by default, and not without. `two_locks` is found without faults. `server` passes.

mod server;

use coyote::net::wasi::connect;
use coyote::thread;
use server::{Mistake, Server};
use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::fd::FromRawFd;

/// The descriptor of `--listen`.
const LISTENER: u32 = 4;

/// Sends a request, and returns the answer.
fn ask(request: &str) -> io::Result<String> {
    let mut stream = connect(LISTENER)?;
    stream.write_all(request.as_bytes())?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer)?;
    Ok(answer)
}

/// Two peers add to the same sum, each over a connection of its own, with a handler each.
fn two_peers(mistake: Mistake) {
    // SAFETY: nothing else owns the descriptor.
    let listener = unsafe { TcpListener::from_raw_fd(LISTENER as i32) };
    let server = Server::new(mistake);
    let mut answers = thread::scope(|scope| {
        // What goes wrong with a connection is in the answer.
        let answer = |request| ask(request).unwrap_or_else(|error| error.to_string());
        let peers = ["add x 1\n", "add x 1\n"].map(|request| scope.spawn(move || answer(request)));
        for _ in &peers {
            let stream = server.accept(&listener).unwrap();
            let server = &server;
            scope.spawn(move || server.handle(stream).unwrap_or_default());
        }
        peers.map(|peer| peer.join())
    });
    answers.sort();
    assert_eq!(answers, ["1\n", "2\n"], "each peer is told another sum");
}

#[coyote::test]
fn one_read() {
    two_peers(Mistake::OneRead);
}

#[coyote::test]
fn two_locks() {
    two_peers(Mistake::TwoLocks);
}

#[coyote::test]
fn server() {
    two_peers(Mistake::Nothing);
}
