//! The guest's world: WASI preview 1, deterministic.
//!
//! Clock and randomness are virtual, output is captured, and there are no files: every descriptor
//! but the three standard streams is bad, which is what a program sees that was given no directory.

use super::guest_memory::{GuestMemory, OutOfBounds};
use super::host::{Host, World, announce, with_memory};
use crate::runtime::{Request, Stream};
use coyote_abi::rt;
use wasmtime::{Caller, FuncType, Linker, Module, Result, Val, ValType};

/// The module name of the imports.
pub const MODULE: &str = "wasi_snapshot_preview1";

type Guest<'a> = Caller<'a, Host>;

/// Error numbers of WASI preview 1.
mod errno {
    pub const SUCCESS: i32 = 0;
    pub const BADF: i32 = 8;
    pub const FAULT: i32 = 21;
    pub const INVAL: i32 = 28;
    pub const SPIPE: i32 = 70;
}

/// Functions on descriptors and paths. Without a directory no descriptor but the standard streams is
/// good, so all of these answer `EBADF`.
const ON_DESCRIPTORS: &[&str] = &[
    "fd_advise",
    "fd_allocate",
    "fd_datasync",
    "fd_fdstat_set_flags",
    "fd_fdstat_set_rights",
    "fd_filestat_get",
    "fd_filestat_set_size",
    "fd_filestat_set_times",
    "fd_pread",
    "fd_prestat_dir_name",
    "fd_prestat_get",
    "fd_pwrite",
    "fd_readdir",
    "fd_renumber",
    "fd_sync",
    "path_create_directory",
    "path_filestat_get",
    "path_filestat_set_times",
    "path_link",
    "path_open",
    "path_readlink",
    "path_remove_directory",
    "path_rename",
    "path_symlink",
    "path_unlink_file",
    "sock_accept",
    "sock_recv",
    "sock_send",
    "sock_shutdown",
];

/// Defines what a module imports. Functions that block or yield are defined under the runtime's name.
pub fn define(linker: &mut Linker<Host>, module: &Module) -> Result<()> {
    plain(linker)?;
    suspending(linker)?;
    for import in module.imports().filter(|i| i.module() == MODULE) {
        if !ON_DESCRIPTORS.contains(&import.name()) {
            continue;
        }
        if let Some(ty) = import.ty().func() {
            bad_descriptor(linker, import.name(), ty.clone())?;
        }
    }
    Ok(())
}

/// Whether preview 1 has a function of this name.
pub fn knows(name: &str) -> bool {
    const OTHERS: &[&str] = &[
        "args_get",
        "args_sizes_get",
        "environ_get",
        "environ_sizes_get",
        "clock_res_get",
        "clock_time_get",
        "random_get",
        "fd_write",
        "fd_read",
        "fd_close",
        "fd_seek",
        "fd_tell",
        "fd_fdstat_get",
        "proc_raise",
        "poll_oneoff",
        "proc_exit",
        "sched_yield",
    ];
    ON_DESCRIPTORS.contains(&name) || OTHERS.contains(&name)
}

fn bad_descriptor(linker: &mut Linker<Host>, name: &str, ty: FuncType) -> Result<()> {
    if ty.results().any(|r| !matches!(r, ValType::I32)) {
        return Ok(());
    }
    linker.func_new(MODULE, name, ty, |_, _, results| {
        results.iter_mut().for_each(|r| *r = Val::I32(errno::BADF));
        Ok(())
    })?;
    Ok(())
}

fn code(result: Result<(), OutOfBounds>) -> i32 {
    result.map_or(errno::FAULT, |()| errno::SUCCESS)
}

fn plain(linker: &mut Linker<Host>) -> Result<()> {
    strings(linker, "args_sizes_get", "args_get", |w| &w.arguments)?;
    strings(linker, "environ_sizes_get", "environ_get", |w| &w.environment)?;
    linker.func_wrap(MODULE, "clock_res_get", |mut guest: Guest, _clock: i32, out: i32| {
        code(with_memory(&mut guest, |memory, _, _| memory.write(out as u32, &1000u64.to_le_bytes())))
    })?;
    linker.func_wrap(
        MODULE,
        "clock_time_get",
        |mut guest: Guest, _clock: i32, _precision: i64, out: i32| {
            code(with_memory(&mut guest, |memory, conductor, _| {
                let now = conductor.running.map_or(0, |w| conductor.runtime.read_clock_ns(w));
                memory.write(out as u32, &now.to_le_bytes())
            }))
        },
    )?;
    linker.func_wrap(MODULE, "random_get", |mut guest: Guest, out: i32, length: i32| {
        code(with_memory(&mut guest, |memory, conductor, _| {
            // The whole range is checked before anything is written.
            memory.read(out as u32, length as u32)?;
            let worker = conductor.running.unwrap_or(coyote_strategies::WorkerId(0));
            let mut left = length as u32 as usize;
            let mut at = out as u32;
            while left > 0 {
                let word = conductor.runtime.random(worker).to_le_bytes();
                let part = &word[..left.min(8)];
                memory.write(at, part)?;
                at += part.len() as u32;
                left -= part.len();
            }
            Ok(())
        }))
    })?;
    linker.func_wrap(
        MODULE,
        "fd_write",
        |mut guest: Guest, fd: i32, vectors: i32, count: i32, out: i32| {
            let stream = match fd {
                1 => Stream::Stdout,
                2 => Stream::Stderr,
                _ => return errno::BADF,
            };
            code(with_memory(&mut guest, |memory, conductor, _| {
                let mut text = Vec::new();
                for i in 0..count as u32 {
                    let vector = (vectors as u32).wrapping_add(i.wrapping_mul(8));
                    let start = memory.read_u32(vector)?;
                    let length = memory.read_u32(vector.wrapping_add(4))?;
                    text.extend_from_slice(memory.read(start, length)?);
                }
                memory.write(out as u32, &(text.len() as u32).to_le_bytes())?;
                if let Some(worker) = conductor.running {
                    conductor.runtime.print(worker, stream, text);
                }
                Ok(())
            }))
        },
    )?;
    linker.func_wrap(
        MODULE,
        "fd_read",
        |mut guest: Guest, fd: i32, _vectors: i32, _count: i32, out: i32| {
            if fd != 0 {
                return errno::BADF;
            }
            // Standard input is at its end.
            code(with_memory(&mut guest, |memory, _, _| memory.write(out as u32, &0u32.to_le_bytes())))
        },
    )?;
    linker.func_wrap(MODULE, "fd_close", |_: Guest, fd: i32| standard_or_bad(fd, errno::SUCCESS))?;
    linker.func_wrap(MODULE, "fd_seek", |_: Guest, fd: i32, _: i64, _: i32, _: i32| {
        standard_or_bad(fd, errno::SPIPE)
    })?;
    linker.func_wrap(MODULE, "fd_tell", |_: Guest, fd: i32, _: i32| standard_or_bad(fd, errno::SPIPE))?;
    linker.func_wrap(MODULE, "fd_fdstat_get", |mut guest: Guest, fd: i32, out: i32| {
        if !(0..=2).contains(&fd) {
            return errno::BADF;
        }
        // A character device without flags that may do everything.
        let mut stat = [0; 24];
        stat[0] = 2;
        stat[8..].fill(0xff);
        code(with_memory(&mut guest, |memory, _, _| memory.write(out as u32, &stat)))
    })?;
    linker.func_wrap(MODULE, "proc_raise", |_: Guest, _: i32| errno::INVAL)?;
    Ok(())
}

fn standard_or_bad(fd: i32, answer: i32) -> i32 {
    if (0..=2).contains(&fd) { answer } else { errno::BADF }
}

/// Arguments or environment: the pair of functions that hand out a list of strings.
fn strings(
    linker: &mut Linker<Host>,
    sizes: &str,
    get: &str,
    list: fn(&World) -> &Vec<String>,
) -> Result<()> {
    linker.func_wrap(MODULE, sizes, move |mut guest: Guest, count: i32, bytes: i32| {
        code(with_memory(&mut guest, |memory, _, world| {
            let list = list(world);
            let size: usize = list.iter().map(|s| s.len() + 1).sum();
            memory.write(count as u32, &(list.len() as u32).to_le_bytes())?;
            memory.write(bytes as u32, &(size as u32).to_le_bytes())
        }))
    })?;
    linker.func_wrap(MODULE, get, move |mut guest: Guest, pointers: i32, bytes: i32| {
        code(with_memory(&mut guest, |memory, _, world| {
            let mut at = bytes as u32;
            for (i, text) in list(world).iter().enumerate() {
                let slot = (pointers as u32).wrapping_add(4 * i as u32);
                memory.write(slot, &at.to_le_bytes())?;
                memory.write(at, text.as_bytes())?;
                memory.write(at.wrapping_add(text.len() as u32), &[0])?;
                at = at.wrapping_add(text.len() as u32 + 1);
            }
            Ok(())
        }))
    })?;
    Ok(())
}

fn suspending(linker: &mut Linker<Host>) -> Result<()> {
    linker.func_wrap(rt::MODULE, "wasi_sched_yield", |mut guest: Guest, site: i32| {
        announce(&mut guest, site, 0, Request::Step)
    })?;
    linker.func_wrap(rt::MODULE, "wasi_proc_exit", |mut guest: Guest, exit_code: i32, site: i32| {
        announce(&mut guest, site, 0, Request::ProcessExit { code: exit_code as u32 }).1
    })?;
    linker.func_wrap(
        rt::MODULE,
        "wasi_poll_oneoff",
        |mut guest: Guest, subscriptions: i32, events: i32, count: i32, stored: i32, site: i32| {
            let polled = with_memory(&mut guest, |memory, conductor, _| {
                let now = conductor.runtime.now_ns();
                poll(memory, now, subscriptions as u32, events as u32, count as u32, stored as u32)
            });
            match polled {
                Err(error) => (error, 0),
                Ok(None) => announce(&mut guest, site, 0, Request::Step),
                Ok(Some(span_ns)) => announce(&mut guest, site, 0, Request::Sleep { span_ns }),
            }
        },
    )?;
    Ok(())
}

/// Writes the events of a poll and returns how long it takes: `None` if something is ready at once.
///
/// The events are written before the sleep rather than after it: the buffer belongs to the caller,
/// which is blocked meanwhile.
fn poll(
    memory: &mut GuestMemory,
    now: u64,
    subscriptions: u32,
    events: u32,
    count: u32,
    stored: u32,
) -> Result<Option<u64>, i32> {
    const SUBSCRIPTION_BYTES: u32 = 48;
    const EVENT_BYTES: u32 = 32;
    const CLOCK: u8 = 0;
    const ABSOLUTE: u16 = 1;
    if count == 0 {
        return Err(errno::INVAL);
    }
    let fault = |_: OutOfBounds| errno::FAULT;
    // (userdata, tag, span): a descriptor is ready at once.
    let mut waits = Vec::new();
    for i in 0..count {
        let at = subscriptions.wrapping_add(i.wrapping_mul(SUBSCRIPTION_BYTES));
        let bytes = memory.read(at, SUBSCRIPTION_BYTES).map_err(fault)?;
        let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
        let tag = bytes[8];
        let timeout = number(24);
        let flags = u16::from_le_bytes([bytes[40], bytes[41]]);
        let span = match (tag, flags & ABSOLUTE) {
            (CLOCK, ABSOLUTE) => timeout.saturating_sub(now),
            (CLOCK, _) => timeout,
            _ => 0,
        };
        waits.push((number(0), tag, span));
    }
    let span = waits.iter().map(|w| w.2).min().expect("at least one subscription");
    let mut written = 0u32;
    for (userdata, tag, _) in waits.iter().filter(|w| w.2 == span) {
        let mut event = [0; EVENT_BYTES as usize];
        event[..8].copy_from_slice(&userdata.to_le_bytes());
        event[10] = *tag;
        let at = events.wrapping_add(written * EVENT_BYTES);
        memory.write(at, &event).map_err(fault)?;
        written += 1;
    }
    memory.write(stored, &written.to_le_bytes()).map_err(fault)?;
    Ok((span > 0).then_some(span))
}
