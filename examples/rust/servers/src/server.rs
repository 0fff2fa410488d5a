//! A server that keeps sums by name, and answers `add NAME NUMBER` with the sum. Its sockets are those of std. Its lock is
//! coyote's, since std has no threads on this target.

use coyote::sync::Mutex;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};

/// What a server does wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    Nothing,
    /// It takes what one read returns for a request.
    OneRead,
    /// It reads a sum under one lock and writes it under another.
    TwoLocks,
}

pub struct Server {
    sums: Mutex<BTreeMap<String, u64>>,
    mistake: Mistake,
}

impl Server {
    pub fn new(mistake: Mistake) -> Server {
        Server { sums: Mutex::new(BTreeMap::new()), mistake }
    }

    /// Accepts the next connection.
    pub fn accept(&self, listener: &TcpListener) -> io::Result<TcpStream> {
        listener.accept().map(|(stream, _)| stream)
    }

    /// Answers all requests of a connection.
    pub fn handle(&self, mut stream: TcpStream) -> io::Result<()> {
        if self.mistake == Mistake::OneRead {
            let mut bytes = [0; 64];
            loop {
                let count = stream.read(&mut bytes)?;
                if count == 0 {
                    return Ok(());
                }
                self.answer(&String::from_utf8_lossy(&bytes[..count]), &mut stream)?;
            }
        }
        let mut reader = BufReader::new(&mut stream);
        let mut line = String::new();
        while reader.read_line(&mut line)? > 0 {
            self.answer(&line, reader.get_mut())?;
            line.clear();
        }
        Ok(())
    }

    fn answer(&self, request: &str, to: &mut impl Write) -> io::Result<()> {
        let words: Vec<&str> = request.split_whitespace().collect();
        match words[..] {
            ["add", name, number] if number.parse::<u64>().is_ok() => {
                let sum = self.add(name, number.parse().unwrap_or_default());
                to.write_all(format!("{sum}\n").as_bytes())
            }
            _ => to.write_all(b"what?\n"),
        }
    }

    fn add(&self, name: &str, number: u64) -> u64 {
        if self.mistake == Mistake::TwoLocks {
            let before = self.sums.lock().get(name).copied().unwrap_or_default();
            self.sums.lock().insert(name.into(), before + number);
            return before + number;
        }
        let mut sums = self.sums.lock();
        let sum = sums.entry(name.into()).or_default();
        *sum += number;
        *sum
    }
}
