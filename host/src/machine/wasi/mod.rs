//! WASI preview 1, deterministic.
//!
//! - `strings`: arguments and environment.
//! - `clocks`, `random`: virtual.
//! - `process`: yielding and ending.
//! - `poll`: sleeping, and waiting for what is always ready.
//! - `files`: descriptors and paths, standard streams and sockets among them, from and to guest memory; served by
//!   [`crate::runtime::files`] or, with `--dir`, by [`directories`](super::directories).
//! - `failures`: how calls on files fail, by faults.
//!
//! Functions answer as in wasmtime, unless docs/wasi.md says otherwise. An address that is misaligned or
//! outside of guest memory ends the run in wasmtime; here it is a bug of the guest.

mod clocks;
#[cfg(test)]
mod differential;
pub mod failures;
mod files;
pub mod poll;
mod process;
mod random;
mod strings;

use super::calls::with_memory;
use super::guest_memory::{GuestMemory, OutOfBounds};
use super::host::{Host, World};
use super::scheduler::Scheduler;
use crate::evidence::{Evidence, Trap};
use crate::outcome::BugKind;
use crate::preview1::MODULE;
use wasmtime::{Caller, Linker, Result};

pub type Guest<'a> = Caller<'a, Host>;

/// An address that a guest must not pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadAddress {
    OutOfBounds,
    Misaligned,
}

impl From<OutOfBounds> for BadAddress {
    fn from(OutOfBounds: OutOfBounds) -> BadAddress {
        BadAddress::OutOfBounds
    }
}

/// Defines the WASI functions that a module imports. Functions that block or yield are defined under the
/// runtime's name.
pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    strings::define(linker)?;
    clocks::define(linker)?;
    random::define(linker)?;
    process::define(linker)?;
    poll::define(linker)?;
    files::define(linker)
}

/// Runs a host function on guest memory; a fault is the guest's bug.
pub fn on_memory<R>(
    guest: &mut Guest,
    name: &str,
    function: impl FnOnce(&mut GuestMemory, &mut Scheduler, &World) -> Result<R, BadAddress>,
) -> Result<R> {
    with_memory(guest, function).map_err(|fault| {
        let trap = match fault {
            BadAddress::OutOfBounds => Trap::WasiOutside(name.into()),
            BadAddress::Misaligned => Trap::WasiMisaligned(name.into()),
        };
        guest.data_mut().stop(BugKind::Trap, Evidence::Trap(trap)).into()
    })
}

/// The address, if it is aligned.
pub fn aligned(address: u32, align: u32) -> Result<u32, BadAddress> {
    if address.is_multiple_of(align) { Ok(address) } else { Err(BadAddress::Misaligned) }
}
