//! A server of std alone, with threads, against peers. By itself it loses a count, or takes one read for a request.
//! run: --listen 4 -i 300
//! exit: 0
//! run: --listen 4 -i 300 --faults split=3 --timers ordered
//! exit: 0
//! run: --listen 4 -i 2000 --env MISTAKE=one-read --no-shrink
//! exit: 2
//! line: bug in test main: panic: 
//! run: --listen 4 -i 300 --env MISTAKE=one-read --faults split=0
//! exit: 0
//! run: --listen 4 -i 2000 --env MISTAKE=count --no-shrink
//! exit: 2
//! line: bug in test main: panic: 
//! run: --listen 4 -i 100 --env MISTAKE=unsupported
//! exit: 7
//! line: this target has no processes, sockets and the like
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::FromRawFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;

/// Answers one request: a line that says how many bytes follow, and these.
fn handle(mut stream: TcpStream, served: &AtomicUsize, mistake: &str) -> io::Result<()> {
    let request = if mistake == "one-read" {
        let mut request = [0; 64];
        let length = stream.read(&mut request)?;
        request[..length].to_vec()
    } else {
        let mut reader = BufReader::new(&mut stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let mut body = vec![0; line.trim().parse().unwrap()];
        reader.read_exact(&mut body)?;
        [line.as_bytes(), &body].concat()
    };
    if mistake == "count" {
        let before = served.load(SeqCst);
        stream.write_all(&request)?;
        served.store(before + 1, SeqCst);
    } else {
        stream.write_all(&request)?;
        served.fetch_add(1, SeqCst);
    }
    Ok(())
}

fn serve(listener: &TcpListener, requests: usize, mistake: &str) -> usize {
    let served = Arc::new(AtomicUsize::new(0));
    thread::scope(|scope| {
        for stream in listener.incoming().take(requests) {
            let (stream, served) = (stream.unwrap(), served.clone());
            scope.spawn(move || handle(stream, &served, mistake).unwrap());
        }
    });
    served.load(SeqCst)
}

#[link(wasm_import_module = "coyote")]
unsafe extern "C" {
    safe fn net_connect(listener: i32) -> i32;
}

fn ask(text: &str) -> String {
    let mut stream = unsafe { TcpStream::from_raw_fd(net_connect(4)) };
    stream.write_all(text.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn main() {
    let mistake = std::env::var("MISTAKE").unwrap_or_default();
    if mistake == "unsupported" {
        assert_eq!(TcpListener::bind("127.0.0.1:80").unwrap_err().kind(), ErrorKind::Unsupported);
        TcpStream::connect("127.0.0.1:80").unwrap();
    }
    let listener = unsafe { TcpListener::from_raw_fd(4) };
    let server = thread::spawn(move || serve(&listener, 2, &mistake));
    let clients = ["3\nabc", "1\nx"].map(|text| thread::spawn(move || assert_eq!(ask(text), text)));
    clients.into_iter().for_each(|client| client.join().unwrap());
    assert_eq!(server.join().unwrap(), 2);
}
