//! Clocks: all of them show virtual time. The real-time one is ahead of the others by a constant.

use super::{Guest, MODULE, aligned, on_memory};
use crate::machine::host::Host;
use crate::runtime::Jumps;
use crate::runtime::files::Errno;
use coyote_abi::rt;
use wasmtime::{Linker, Result};

/// The resolution that the clocks report.
const RESOLUTION_NS: u64 = 1_000;

pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    const RES: &str = "clock_res_get";
    linker.func_wrap(MODULE, RES, |mut guest: Guest, clock: i32, out: i32| {
        if Jumps::default().base_ns(clock as u32).is_none() {
            return Ok(i32::from(Errno::INVAL));
        }
        on_memory(&mut guest, RES, |memory, _, _| {
            memory.write(aligned(out as u32, 8)?, &RESOLUTION_NS.to_le_bytes())?;
            Ok(0)
        })
    })?;
    const TIME: &str = "clock_time_get";
    let time = |mut guest: Guest, clock: i32, _precision: i64, out: i32| {
        if Jumps::default().base_ns(clock as u32).is_none() {
            return Ok(i32::from(Errno::INVAL));
        }
        on_memory(&mut guest, TIME, |memory, scheduler, _| {
            let runtime = &mut scheduler.runtime;
            if let Some(worker) = scheduler.running {
                let way = runtime.take_failure(worker);
                if way > 0 {
                    runtime.call_failed(Jumps::told(clock as u32, way));
                }
                runtime.clock_jumps().jump(clock as u32, way);
            }
            let now = scheduler.running.map_or(0, |w| runtime.read_clock_ns(w));
            let base = runtime.clock_jumps().base_ns(clock as u32).expect("just asked");
            memory.write(aligned(out as u32, 8)?, &base.saturating_add(now).to_le_bytes())?;
            Ok(0)
        })
    };
    linker.func_wrap(MODULE, TIME, time)?;
    // The name under which modules call it where a look at the clock is a scheduling point.
    linker.func_wrap(rt::MODULE, TIME, time)?;
    Ok(())
}
