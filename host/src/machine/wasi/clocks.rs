//! Clocks: all of them show virtual time. The real-time one is ahead of the others by a constant.

use super::{Guest, MODULE, aligned, on_memory};
use crate::machine::host::Host;
use crate::runtime::REALTIME_NS;
use crate::runtime::files::Errno;
use wasmtime::{Linker, Result};

/// What the clocks say of their resolution.
const RESOLUTION_NS: u64 = 1_000;

/// What a clock shows when the virtual time is 0: real time, monotonic, and the processor time of the
/// process and of the thread, which pass with the virtual time, whichever worker runs.
pub fn base_ns(clock: u32) -> Option<u64> {
    match clock {
        0 => Some(REALTIME_NS),
        1..=3 => Some(0),
        _ => None,
    }
}

pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    const RES: &str = "clock_res_get";
    linker.func_wrap(MODULE, RES, |mut guest: Guest, clock: i32, out: i32| {
        if base_ns(clock as u32).is_none() {
            return Ok(i32::from(Errno::INVAL));
        }
        on_memory(&mut guest, RES, |memory, _, _| {
            memory.write(aligned(out as u32, 8)?, &RESOLUTION_NS.to_le_bytes())?;
            Ok(0)
        })
    })?;
    const TIME: &str = "clock_time_get";
    linker.func_wrap(MODULE, TIME, |mut guest: Guest, clock: i32, _precision: i64, out: i32| {
        let Some(base) = base_ns(clock as u32) else { return Ok(Errno::INVAL.into()) };
        on_memory(&mut guest, TIME, |memory, scheduler, _| {
            let now = scheduler.running.map_or(0, |w| scheduler.runtime.read_clock_ns(w));
            memory.write(aligned(out as u32, 8)?, &base.saturating_add(now).to_le_bytes())?;
            Ok(0)
        })
    })?;
    Ok(())
}
