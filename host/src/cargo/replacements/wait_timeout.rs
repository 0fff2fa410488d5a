//! Replacement of wait-timeout for targets without processes: proptest and rusty-fork build, and waiting for
//! a child process is an error.

use std::io;
use std::process::{Child, ExitStatus};
use std::time::Duration;

pub trait ChildExt {
    fn wait_timeout_ms(&mut self, ms: u32) -> io::Result<Option<ExitStatus>> {
        self.wait_timeout(Duration::from_millis(ms.into()))
    }

    fn wait_timeout(&mut self, dur: Duration) -> io::Result<Option<ExitStatus>>;
}

impl ChildExt for Child {
    fn wait_timeout(&mut self, _: Duration) -> io::Result<Option<ExitStatus>> {
        Err(io::ErrorKind::Unsupported.into())
    }
}
