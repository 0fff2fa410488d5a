//! The import `env.abort` of programs that AssemblyScript compiled with default options: a failed assertion
//! calls it with its message and place.

use super::calls::with_memory;
use super::host::Host;
use crate::outcome::BugKind;
use coyote_instrumenter::ASSEMBLYSCRIPT_ABORT;
use wasmtime::{Caller, Linker, Module, Result};

type Guest<'a> = Caller<'a, Host>;

/// The longest text that is shown, in bytes.
const TEXT_BYTES_MAX: u32 = 64 << 10;

/// Defines `env.abort`, if the module imports it and the user did not declare it.
pub fn define(linker: &mut Linker<Host>, module: &Module, stubs: &[String]) -> Result<()> {
    let (namespace, name) = ASSEMBLYSCRIPT_ABORT;
    let imported = module.imports().any(|i| (i.module(), i.name()) == (namespace, name));
    if !imported || stubs.contains(&format!("{namespace}.{name}")) {
        return Ok(());
    }
    let abort = |mut guest: Guest, message: i32, file: i32, line: i32, column: i32| -> Result<()> {
        let text = text(&mut guest, message as u32).unwrap_or("the guest aborted".into());
        let place = self::text(&mut guest, file as u32).map(|file| format!(" ({file}:{line}:{column})"));
        let message = text + &place.unwrap_or_default();
        Err(guest.data_mut().stop(BugKind::Assertion, message).into())
    };
    linker.func_wrap(namespace, name, abort)?;
    Ok(())
}

/// Reads an AssemblyScript string: UTF-16, with its length in bytes in the four bytes before it. `None` if
/// the address is null or the string lies outside of memory.
fn text(guest: &mut Guest, address: u32) -> Option<String> {
    let length_at = address.checked_sub(4)?;
    with_memory(guest, |memory, _, _| {
        let length = memory.read(length_at, 4).ok()?;
        let length = u32::from_le_bytes(length.try_into().ok()?).min(TEXT_BYTES_MAX);
        let bytes = memory.read(address, length).ok()?;
        let units = bytes.chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
        Some(char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect())
    })
}
