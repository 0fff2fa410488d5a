//! States that differ in sockets, and in waits for them.

use super::*;
use coyote_wasm::runtime::polled::Direction;

/// Calls a function on a socket.
fn socket_call(runtime: &mut Runtime, name: &str, numbers: &[u64], input: &[u8]) {
    let function = &CALLS[usize::from(number(name))];
    let call = Call { function, numbers: numbers.to_vec(), inputs: vec![input.into()], room: 8 };
    let served = runtime.file_call(Some(FIRST), &call);
    assert!(matches!(&served, Served::Here(answer) if answer.error.is_none()), "{name}: {served:?}");
}

/// SECOND waits until it can receive from a socket.
fn polls(runtime: &mut Runtime, descriptor: u32, span_ns: Option<u64>) {
    runtime.set_polled(SECOND, vec![(descriptor, Direction::Receive)]);
    execute(runtime, SECOND, Request::Poll { span_ns }, &[]);
}

/// The number of a file function.
fn number(name: &str) -> u8 {
    CALLS.iter().position(|call| call.name == name).expect("it is in the table") as u8
}

pub fn states() -> Vec<(&'static str, Runtime)> {
    let listening = |change: &dyn Fn(&mut Runtime)| {
        changed(|r| {
            r.files.listen(&[4]);
            change(r);
        })
    };
    let connect = Request::Connect { listener: 4 };
    let accept = |r: &mut Runtime| socket_call(r, "sock_accept", &[4, 0], &[]);
    let connected = |change: &dyn Fn(&mut Runtime)| {
        listening(&|r| {
            execute(r, FIRST, connect, &[]);
            accept(r);
            change(r);
        })
    };
    let waits = |r: &mut Runtime, name: &str, descriptor| {
        execute(r, SECOND, Request::Socket { descriptor, function: number(name), bytes: 8, ways: 0 }, &[]);
    };
    vec![
        ("a listening socket", listening(&|_| ())),
        ("a closed one", listening(&|r| socket_call(r, "fd_close", &[4], &[]))),
        ("one that does not wait", listening(&|r| socket_call(r, "fd_fdstat_set_flags", &[4, 4], &[]))),
        ("a connection", listening(&|r| _ = execute(r, FIRST, connect, &[]))),
        ("an accepted one", connected(&|_| ())),
        ("bytes to the server", connected(&|r| socket_call(r, "fd_write", &[5], b"x"))),
        ("other bytes", connected(&|r| socket_call(r, "fd_write", &[5], b"y"))),
        ("bytes to the peer", connected(&|r| socket_call(r, "fd_write", &[6], b"x"))),
        ("no more to receive", connected(&|r| socket_call(r, "sock_shutdown", &[5, 1], &[]))),
        ("no more to send", connected(&|r| socket_call(r, "sock_shutdown", &[5, 2], &[]))),
        ("a closed end", connected(&|r| socket_call(r, "fd_close", &[5], &[]))),
        (
            "a reset",
            connected(&|r| {
                socket_call(r, "fd_write", &[6], b"x");
                socket_call(r, "fd_close", &[5], &[]);
            }),
        ),
        ("a wait for a connection", listening(&|r| waits(r, "sock_accept", 4))),
        ("a wait for bytes", connected(&|r| waits(r, "fd_read", 6))),
        ("a wait of the peer", connected(&|r| waits(r, "fd_read", 5))),
        (
            "bytes for a waiting worker",
            connected(&|r| {
                waits(r, "fd_read", 6);
                socket_call(r, "fd_write", &[5], b"x");
            }),
        ),
        ("a poll", connected(&|r| polls(r, 6, None))),
        ("a poll of another socket", connected(&|r| polls(r, 5, None))),
        ("a poll with a time", connected(&|r| polls(r, 6, Some(5)))),
    ]
}
