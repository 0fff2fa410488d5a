//! Yielding, and ending the program.

use super::{Guest, MODULE};
use crate::machine::calls::announce;
use crate::machine::host::Host;
use crate::runtime::Request;
use crate::runtime::files::Errno;
use coyote_abi::rt;
use wasmtime::{Linker, Result};

pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(rt::MODULE, rt::WASI_SCHED_YIELD, |mut guest: Guest, site: i32| {
        announce(&mut guest, site, 0, Request::Step)
    })?;
    linker.func_wrap(rt::MODULE, rt::WASI_PROC_EXIT, |mut guest: Guest, exit_code: i32, site: i32| {
        announce(&mut guest, site, 0, Request::ProcessExit { code: exit_code as u32 }).1
    })?;
    linker.func_wrap(MODULE, "proc_raise", |_: Guest, _: i32| i32::from(Errno::NOTSUP))?;
    Ok(())
}
