//! Random bytes: a stream for each worker, the same in every schedule.

use super::{Guest, MODULE, on_memory};
use crate::machine::host::Host;
use coyote_abi::rt;
use wasmtime::{Linker, Result};

/// The word that a module's start function gets, before there is any worker.
const BEFORE: u64 = 0x9e37_79b9_7f4a_7c15;

pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    const NAME: &str = "random_get";
    let random = |mut guest: Guest, out: i32, length: i32| {
        on_memory(&mut guest, NAME, |memory, scheduler, _| {
            let extreme = scheduler.running.map_or(0, |w| scheduler.runtime.take_failure(w));
            if extreme > 0 {
                let bytes = if extreme == 1 { 0 } else { 255 };
                scheduler.runtime.call_failed(format!("all bytes of random_get are {bytes}"));
            }
            memory.check(out as u32, length as u32)?;
            let mut left = length as u32 as usize;
            let mut at = out as u32;
            while left > 0 {
                let word = match extreme {
                    0 => scheduler.running.map_or(BEFORE, |w| scheduler.runtime.random(w)),
                    1 => 0,
                    _ => u64::MAX,
                };
                let word = word.to_le_bytes();
                let part = &word[..left.min(8)];
                memory.write(at, part)?;
                at += part.len() as u32;
                left -= part.len();
            }
            Ok(0)
        })
    };
    linker.func_wrap(MODULE, NAME, random)?;
    // The name under which modules call it if the bytes may be extreme.
    linker.func_wrap(rt::MODULE, NAME, random)?;
    Ok(())
}
