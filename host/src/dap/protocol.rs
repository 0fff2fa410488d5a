//! Messages of the protocol: JSON behind a header with its length.

use serde::Deserialize;
use serde_json::{Value, json};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};

/// The maximum size of a message.
const MESSAGE_BYTES_MAX: usize = 16 << 20;
const HEADER_BYTES_MAX: u64 = 4096;

/// A client's request.
#[derive(Clone, Debug, Deserialize)]
pub struct Request {
    /// The request's number.
    pub seq: u64,
    /// The command.
    pub command: String,
    /// The command's arguments.
    #[serde(default)]
    pub arguments: Value,
}

/// A message from a client.
#[derive(Clone, Debug)]
pub enum Message {
    /// A request.
    Request(Request),
    /// Any other message, which the server ignores.
    Other,
}

/// Reads messages.
pub struct Reader<R> {
    from: BufReader<R>,
}

impl<R: Read> Reader<R> {
    /// A reader of this stream.
    pub fn new(from: R) -> Reader<R> {
        Reader { from: BufReader::new(from) }
    }

    /// The next message; `None` at the end of the stream.
    ///
    /// # Errors
    /// The input is no message.
    #[allow(clippy::should_implement_trait, reason = "it can fail")]
    pub fn next(&mut self) -> io::Result<Option<Message>> {
        let wrong = |what: &str| io::Error::new(ErrorKind::InvalidData, what.to_string());
        let mut length = None;
        loop {
            let mut line = String::new();
            let read = (&mut self.from).take(HEADER_BYTES_MAX).read_line(&mut line)?;
            if read == 0 && length.is_none() {
                return Ok(None);
            }
            if !line.ends_with('\n') {
                return Err(wrong("a header that does not end"));
            }
            let line = line.trim_end();
            if line.is_empty() {
                break;
            }
            let (name, value) = line.split_once(':').ok_or_else(|| wrong("a header without a colon"))?;
            if name.eq_ignore_ascii_case("content-length") {
                length = value.trim().parse::<usize>().ok();
            }
        }
        let length = length.ok_or_else(|| wrong("a message without Content-Length"))?;
        if length > MESSAGE_BYTES_MAX {
            return Err(wrong("a message of more than 16 MiB"));
        }
        let mut body = vec![0; length];
        self.from.read_exact(&mut body)?;
        let message: Value = serde_json::from_slice(&body).map_err(|error| wrong(&error.to_string()))?;
        if message["type"] != "request" {
            return Ok(Some(Message::Other));
        }
        let request = serde_json::from_value(message).map_err(|error| wrong(&error.to_string()))?;
        Ok(Some(Message::Request(request)))
    }
}

/// Writes messages.
pub struct Writer<W> {
    to: W,
    seq: u64,
}

impl<W: Write> Writer<W> {
    /// A writer to this stream.
    pub fn new(to: W) -> Writer<W> {
        Writer { to, seq: 0 }
    }

    /// Sends an event.
    ///
    /// # Errors
    /// The stream's.
    pub fn event(&mut self, event: &str, body: Value) -> io::Result<()> {
        self.write(json!({ "type": "event", "event": event, "body": body }))
    }

    /// Answers a request: with the result, or with the reason of its failure.
    ///
    /// # Errors
    /// The stream's.
    pub fn answer(&mut self, request: &Request, result: Result<Value, String>) -> io::Result<()> {
        let mut message = json!({
            "type": "response",
            "request_seq": request.seq,
            "command": request.command,
            "success": result.is_ok(),
        });
        match result {
            Ok(body) => message["body"] = body,
            Err(why) => {
                message["body"] = json!({ "error": { "id": 1, "format": why, "showUser": true } });
                message["message"] = why.into();
            }
        }
        self.write(message)
    }

    fn write(&mut self, mut message: Value) -> io::Result<()> {
        self.seq += 1;
        message["seq"] = self.seq.into();
        let text = message.to_string();
        write!(self.to, "Content-Length: {}\r\n\r\n{text}", text.len())?;
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_and_what_is_none_is_an_error() {
        let of = |text: &str| Reader::new(text.as_bytes()).next();
        let body = r#"{"seq":1,"type":"request","command":"threads"}"#;
        let read = of(&format!("Content-Length: {}\r\nOther: x\r\n\r\n{body}", body.len())).unwrap();
        assert!(matches!(read, Some(Message::Request(r)) if r.command == "threads" && r.arguments.is_null()));
        assert!(of("").unwrap().is_none());
        for (text, wrong) in [
            ("Content-Length: 5\r\n\r\n{", "failed to fill whole buffer"),
            ("Content-Length: 99999999\r\n\r\n", "a message of more than 16 MiB"),
            ("Content-Length: x\r\n\r\n", "a message without Content-Length"),
            ("nothing\r\n\r\n", "a header without a colon"),
            ("Content-Length: 2", "a header that does not end"),
            ("Content-Length: 2\r\n\r\n[]", ""),
        ] {
            let said = match of(text) {
                Err(error) => error.to_string(),
                Ok(message) => {
                    assert!(matches!(message, Some(Message::Other)), "{text}");
                    String::new()
                }
            };
            assert_eq!(said, wrong, "{text}");
        }
    }
}
