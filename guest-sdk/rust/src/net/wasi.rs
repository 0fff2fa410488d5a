//! Connections to a server that is written with `std::net`, as its simulated peer.
//!
//! WASI preview 1 has calls for sockets that exist, and none to make one: `TcpStream::connect` and `TcpListener::bind`
//! fail with `Unsupported`. The option `--listen 4` lets a program begin with a listening socket at descriptor 4, and
//! [`connect`] makes a connection to it:
//!
//! ```ignore
//! use std::io::{Read, Write};
//! use std::net::TcpListener;
//! use std::os::fd::FromRawFd;
//!
//! let listener = unsafe { TcpListener::from_raw_fd(4) };
//! let server = coyote::thread::spawn(move || {
//!     let (mut stream, _) = listener.accept().unwrap();
//!     let mut request = [0; 4];
//!     stream.read_exact(&mut request).unwrap();
//!     stream.write_all(&request).unwrap();
//! });
//! let mut client = coyote::net::wasi::connect(4).unwrap();
//! client.write_all(b"ping").unwrap();
//! server.join();
//! ```
//!
//! Both ends behave as TCP streams do. They are not part of a [`Network`](super::Network). docs/wasi.md says more.
#![allow(unsafe_code)] // One import, and a descriptor that it returns.

use std::io;
use std::net::TcpStream;
use std::os::fd::FromRawFd;

#[link(wasm_import_module = "coyote")]
// SAFETY: the type is that of coyote_abi::guest::IMPORTS.
unsafe extern "C" {
    safe fn net_connect(listener: i32) -> i32;
}

/// Connects to the listening socket that the option `--listen` made at this descriptor. The connection exists at once,
/// whether or not it is accepted.
///
/// # Errors
/// `ConnectionRefused` if the program has closed the listening socket, and an error without a name of its own if it has too
/// many descriptors. A run without this listening socket ends without a verdict.
pub fn connect(listener: u32) -> io::Result<TcpStream> {
    match net_connect(listener as i32) {
        // SAFETY: the host has just opened the descriptor, for the caller alone.
        descriptor @ 0.. => Ok(unsafe { TcpStream::from_raw_fd(descriptor) }),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}
