//! Bytes of a stream.

use crate::say;
use coyote::net::{Delivery, Network};
use std::io::{ErrorKind, Read, Write};

/// What is said of an error.
fn name(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::ConnectionReset => "reset",
        ErrorKind::TimedOut => "timeout",
        _ => "another",
    }
}

/// One worker has both ends.
#[coyote::test]
fn stream() {
    let network = Network::<()>::new(Delivery::Unordered, ["client", "server"]);
    let listener = network.node("server").listen(1).expect("the port is free");
    let mut client = match network.node("client").connect(listener.address()) {
        Ok(client) => client,
        Err(error) => return say(format_args!("connect:{}", name(error.kind()))),
    };
    let mut server = listener.accept();
    for bytes in [b"ab", b"cd"] {
        if let Err(error) = client.write_all(bytes) {
            say(format_args!("write:{}", name(error.kind())));
        }
    }
    drop(client);
    let mut buffer = [0; 3];
    loop {
        match server.read(&mut buffer) {
            Ok(0) => return say("end"),
            Ok(count) => say(buffer[..count].escape_ascii()),
            Err(error) => return say(format_args!("read:{}", name(error.kind()))),
        }
    }
}
