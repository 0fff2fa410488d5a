//! Replacement of rusty-fork for targets without processes: proptest builds with its feature `fork`, which
//! is on by default, and a test that starts a process fails with an error.

use std::fs::File;
use std::hash::Hash;
use std::io;
use std::process::{Child, Command, Output};
use std::time::Duration;

/// The error of [`fork`]: processes are not supported.
#[derive(Debug)]
pub struct Error {
    #[allow(dead_code, reason = "it is printed")]
    kind: io::ErrorKind,
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("operation not supported on this platform")
    }
}

impl std::error::Error for Error {}

pub type Result<T> = std::result::Result<T, Error>;

pub fn fork<ID, MODIFIER, PARENT, CHILD, R>(_: &str, _: ID, _: MODIFIER, _: PARENT, _: CHILD) -> Result<R>
where
    ID: Hash,
    MODIFIER: FnOnce(&mut Command),
    PARENT: FnOnce(&mut ChildWrapper, &mut File) -> R,
    CHILD: FnOnce(),
{
    Err(Error { kind: io::ErrorKind::Unsupported })
}

/// A child process. No value exists.
#[derive(Debug)]
pub enum ChildWrapper {}

/// The exit status of a child process. No value exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitStatusWrapper {}

impl ChildWrapper {
    pub fn inner(&self) -> &Child {
        match *self {}
    }

    pub fn inner_mut(&mut self) -> &mut Child {
        match *self {}
    }

    pub fn kill(&mut self) -> io::Result<()> {
        match *self {}
    }

    pub fn id(&self) -> u32 {
        match *self {}
    }

    pub fn wait(&mut self) -> io::Result<ExitStatusWrapper> {
        match *self {}
    }

    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatusWrapper>> {
        match *self {}
    }

    pub fn wait_with_output(self) -> io::Result<Output> {
        match self {}
    }

    pub fn wait_timeout(&mut self, _: Duration) -> io::Result<Option<ExitStatusWrapper>> {
        match *self {}
    }
}

impl ExitStatusWrapper {
    pub fn success(&self) -> bool {
        match *self {}
    }

    pub fn code(&self) -> Option<i32> {
        match *self {}
    }

    pub fn unix_signal(&self) -> Option<i32> {
        match *self {}
    }
}

impl std::fmt::Display for ExitStatusWrapper {
    fn fmt(&self, _: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match *self {}
    }
}

#[derive(Clone, Hash, PartialEq, Debug)]
pub struct RustyForkId(std::any::TypeId);

impl RustyForkId {
    pub fn of(id: std::any::TypeId) -> RustyForkId {
        RustyForkId(id)
    }
}

#[macro_export]
macro_rules! rusty_fork_id {
    () => {{
        struct _RustyForkId;
        $crate::RustyForkId::of(::std::any::TypeId::of::<_RustyForkId>())
    }};
}

#[macro_export]
macro_rules! rusty_fork_test_name {
    ($name:ident) => {
        $crate::fork_test::fix_module_path(concat!(module_path!(), "::", stringify!($name)))
    };
}

#[macro_export]
macro_rules! rusty_fork_test {
    (#![rusty_fork(timeout_ms = $timeout:expr)] $($tests:tt)*) => { $crate::rusty_fork_test! { $($tests)* } };
    ($($(#[$meta:meta])* fn $name:ident() $body:block)*) => { $(
        $(#[$meta])*
        fn $name() {
            fn body() $body
            let test = $crate::rusty_fork_test_name!($name);
            $crate::fork(test, $crate::rusty_fork_id!(), |_| (), |_, _| (), body).expect("forking test failed")
        }
    )* };
}

pub mod fork_test {
    pub fn fix_module_path(path: &str) -> &str {
        path.find("::").map_or(path, |at| &path[at + 2..])
    }
}
