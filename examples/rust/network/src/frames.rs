//! Messages with their lengths before them, over a stream.

use coyote::net::{Delivery, Network};
use std::io::{self, Read, Write};

const MESSAGES: [&[u8]; 2] = [b"hello", b"world!"];

/// The next message, or `None` at the end.
type ReadMessage = fn(&mut dyn Read) -> io::Result<Option<Vec<u8>>>;

/// Takes for granted that a header comes in one piece.
fn careless(stream: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; 2];
    if stream.read(&mut header)? == 0 {
        return Ok(None);
    }
    body(stream, header).map(Some)
}

/// Reads on until the header is complete.
fn careful(stream: &mut dyn Read) -> io::Result<Option<Vec<u8>>> {
    let mut header = [0; 2];
    if stream.read(&mut header[..1])? == 0 {
        return Ok(None);
    }
    stream.read_exact(&mut header[1..])?;
    body(stream, header).map(Some)
}

fn body(stream: &mut dyn Read, header: [u8; 2]) -> io::Result<Vec<u8>> {
    let mut message = vec![0; u16::from_be_bytes(header).into()];
    stream.read_exact(&mut message)?;
    Ok(message)
}

fn serve(read: ReadMessage) {
    let network = Network::<()>::new(Delivery::Ordered, ["client", "server"]);
    let listener = network.node("server").listen(80).expect("the port is free");
    let client = network.node("client");
    coyote::thread::scope(|scope| {
        let server = scope.spawn(|| {
            let mut stream = listener.accept();
            let mut messages = Vec::new();
            while let Ok(Some(message)) = read(&mut stream) {
                messages.push(message);
            }
            messages
        });
        let mut stream = client.connect(listener.address()).expect("the server listens");
        for message in MESSAGES {
            let header = (message.len() as u16).to_be_bytes();
            stream.write_all(&[&header, message].concat()).expect("nothing goes wrong");
        }
        drop(stream);
        assert_eq!(server.join(), MESSAGES, "the server reads other messages than were written");
    });
}

#[coyote::test]
fn split_header() {
    serve(careless);
}

#[coyote::test]
fn split_header_fixed() {
    serve(careful);
}
