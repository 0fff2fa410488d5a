//! Arguments and environment: pairs of functions that hand out a list of texts.

use super::{Guest, MODULE, aligned, on_memory};
use crate::machine::host::{Host, World};
use wasmtime::{Linker, Result};

pub fn define(linker: &mut Linker<Host>) -> Result<()> {
    list(linker, "args_sizes_get", "args_get", |world, restarted| match &world.restart_arguments[..] {
        [_, ..] if restarted => &world.restart_arguments,
        _ => &world.arguments,
    })?;
    list(linker, "environ_sizes_get", "environ_get", |world, _| &world.environment)
}

fn list(
    linker: &mut Linker<Host>,
    sizes: &'static str,
    get: &'static str,
    list: fn(&World, bool) -> &Vec<String>,
) -> Result<()> {
    linker.func_wrap(MODULE, sizes, move |mut guest: Guest, count: i32, bytes: i32| {
        on_memory(&mut guest, sizes, |memory, scheduler, world| {
            let list = list(world, scheduler.runtime.has_restarted());
            let size: usize = list.iter().map(|s| s.len() + 1).sum();
            memory.write(aligned(count as u32, 4)?, &(list.len() as u32).to_le_bytes())?;
            memory.write(aligned(bytes as u32, 4)?, &(size as u32).to_le_bytes())?;
            Ok(0)
        })
    })?;
    linker.func_wrap(MODULE, get, move |mut guest: Guest, pointers: i32, bytes: i32| {
        on_memory(&mut guest, get, |memory, scheduler, world| {
            let mut at = bytes as u32;
            for (i, text) in list(world, scheduler.runtime.has_restarted()).iter().enumerate() {
                let slot = aligned(pointers as u32, 4)?.wrapping_add(4 * i as u32);
                memory.write(slot, &at.to_le_bytes())?;
                memory.write(at, text.as_bytes())?;
                memory.write(at.wrapping_add(text.len() as u32), &[0])?;
                at = at.wrapping_add(text.len() as u32 + 1);
            }
            Ok(0)
        })
    })?;
    Ok(())
}
