//! The original module on plain wasmtime, in the world that the tool shows its guests: no files but an
//! empty root, no arguments beyond those given, a clock that moves by being read.

use coyote_wasm::artifact::engine;
use wasmtime::{Caller, Extern, ExternType, Linker, Module, Result, Store, Val};

/// What a program leaves behind.
#[derive(PartialEq, Eq)]
pub struct Ended {
    pub exit_code: u32,
    pub output: String,
    pub memory: Vec<u8>,
}

#[derive(Default)]
struct State {
    output: Vec<u8>,
    clock_reads: u32,
}

#[derive(Debug)]
struct Exit(u32);

impl std::fmt::Display for Exit {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "exit {}", self.0)
    }
}

impl std::error::Error for Exit {}

type Guest<'a> = Caller<'a, State>;

const WASI: &str = "wasi_snapshot_preview1";
const BAD_DESCRIPTOR: i32 = 8;
const NO_ENTRY: i32 = 44;
/// The descriptor of the root directory.
const ROOT: i32 = 3;

/// Runs a program of one thread that asks for no random numbers.
pub fn run(wasm: &[u8]) -> Ended {
    let engine = engine(None).expect("an engine");
    let module = Module::new(&engine, wasm).expect("the original compiles");
    let mut linker = Linker::new(&engine);
    define(&mut linker, &module).expect("the oracle's functions can be defined");
    let mut store = Store::new(&engine, State::default());
    let instance = linker.instantiate(&mut store, &module).expect("the original can be instantiated");
    let start = instance.get_typed_func::<(), ()>(&mut store, "_start").expect("a program");
    let exit_code = match start.call(&mut store, ()) {
        Ok(()) => 0,
        Err(error) => {
            error.downcast_ref::<Exit>().unwrap_or_else(|| panic!("the original fails: {error:?}")).0
        }
    };
    let memory = instance.get_memory(&mut store, "memory").expect("a program exports its memory");
    let memory = memory.data(&store).to_vec();
    let output = String::from_utf8(store.into_data().output).expect("text");
    Ended { exit_code, output, memory }
}

fn define(linker: &mut Linker<State>, module: &Module) -> Result<()> {
    linker.func_wrap(WASI, "proc_exit", |code: i32| -> Result<()> { Err(Exit(code as u32).into()) })?;
    for name in ["args_sizes_get", "environ_sizes_get"] {
        linker.func_wrap(WASI, name, |mut guest: Guest, count: i32, bytes: i32| {
            write(&mut guest, count, &[0; 4]);
            write(&mut guest, bytes, &[0; 4]);
            0i32
        })?;
    }
    for name in ["args_get", "environ_get"] {
        linker.func_wrap(WASI, name, |_: i32, _: i32| 0i32)?;
    }
    linker.func_wrap(WASI, "clock_time_get", |mut guest: Guest, clock: i32, _: i64, out: i32| {
        // The tool's virtual clock: a microsecond passes at the first read, twice as much at the next.
        // The wall clock begins with the year 2000.
        const WALL: u64 = 946_684_800_000_000_000;
        let now = 1_000u64 * ((1 << guest.data().clock_reads) - 1) + if clock == 0 { WALL } else { 0 };
        guest.data_mut().clock_reads += 1;
        write(&mut guest, out, &now.to_le_bytes());
        0i32
    })?;
    linker.func_wrap(WASI, "fd_fdstat_get", |mut guest: Guest, fd: i32, out: i32| {
        // Its kind, then the rights on it and on what it holds. A stream is no terminal.
        let (kind, rights, inherited): (u8, u64, u64) = match fd {
            0 => (0, 1 << 1, 1 << 1),
            1 | 2 => (0, 1 << 6, 1 << 6),
            ROOT => (3, 0x7b7_fe00, (1 << 30) - 1),
            _ => return BAD_DESCRIPTOR,
        };
        let mut stat = [0; 24];
        stat[0] = kind;
        stat[8..16].copy_from_slice(&rights.to_le_bytes());
        stat[16..].copy_from_slice(&inherited.to_le_bytes());
        write(&mut guest, out, &stat);
        0
    })?;
    linker.func_wrap(WASI, "fd_write", |mut guest: Guest, _: i32, vectors: i32, count: i32, out: i32| {
        let mut written = Vec::new();
        for vector in 0..count {
            let start = read_u32(&mut guest, vectors + 8 * vector) as usize;
            let length = read_u32(&mut guest, vectors + 8 * vector + 4) as usize;
            written.extend_from_slice(&memory(&mut guest).0[start..start + length]);
        }
        write(&mut guest, out, &(written.len() as u32).to_le_bytes());
        guest.data_mut().output.extend(written);
        0i32
    })?;
    // The one directory that is open is the root of the tool's files, which is empty.
    linker.func_wrap(WASI, "fd_prestat_get", |mut guest: Guest, fd: i32, out: i32| {
        if fd != ROOT {
            return BAD_DESCRIPTOR;
        }
        write(&mut guest, out, &[0, 0, 0, 0, 1, 0, 0, 0]);
        0
    })?;
    linker.func_wrap(WASI, "fd_prestat_dir_name", |mut guest: Guest, _: i32, out: i32, _: i32| {
        write(&mut guest, out, b"/");
        0i32
    })?;
    // Whatever else works on descriptors has none, and on paths finds nothing.
    for import in module.imports().filter(|i| i.module() == WASI) {
        let ExternType::Func(ty) = import.ty() else { continue };
        if ["fd_", "path_"].iter().any(|p| import.name().starts_with(p))
            && !["fd_write", "fd_fdstat_get", "fd_prestat_get", "fd_prestat_dir_name"]
                .contains(&import.name())
        {
            let error = if import.name().starts_with("path_") { NO_ENTRY } else { BAD_DESCRIPTOR };
            linker.func_new(WASI, import.name(), ty, move |_, _, results| {
                results.fill(Val::I32(error));
                Ok(())
            })?;
        }
    }
    linker.define_unknown_imports_as_traps(module)
}

fn memory<'a>(guest: &'a mut Guest) -> (&'a mut [u8], &'a mut State) {
    match guest.get_export("memory") {
        Some(Extern::Memory(memory)) => memory.data_and_store_mut(guest),
        _ => panic!("a program exports its memory"),
    }
}

fn write(guest: &mut Guest, address: i32, bytes: &[u8]) {
    let address = address as usize;
    memory(guest).0[address..address + bytes.len()].copy_from_slice(bytes);
}

fn read_u32(guest: &mut Guest, address: i32) -> u32 {
    let address = address as usize;
    let bytes = &memory(guest).0[address..address + 4];
    u32::from_le_bytes(bytes.try_into().expect("4 bytes"))
}
