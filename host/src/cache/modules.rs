//! Instrumented modules: one file for each, with a hash of the key and the module, followed by the module.

use coyote_instrumenter::{Instrumented, SiteTable};
use std::io::Write;
use std::path::{Path, PathBuf};

const HASH_BYTES: usize = 32;

/// The extension differs from `.wasm`, which versions without a hash used.
fn path(directory: &Path, key: &str) -> PathBuf {
    directory.join(format!("{key}.checked"))
}

/// The hash includes the key, so a file under a wrong name is not a valid entry.
fn hash(key: &str, wasm: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(key.as_bytes()).update(wasm).finalize()
}

/// The instrumented module, if the file exists and is complete.
pub fn get(directory: &Path, key: &str) -> Option<Instrumented> {
    let path = path(directory, key);
    let mut file = std::fs::read(&path).ok()?;
    let wasm = file.split_off(file.len().min(HASH_BYTES));
    if hash(key, &wasm) != *<&[u8; HASH_BYTES]>::try_from(&file[..]).ok()? {
        return None;
    }
    let table = table_of(&wasm)?;
    super::evict::touch(&path);
    Some(Instrumented { wasm, table })
}

pub fn put(directory: &Path, key: &str, instrumented: &Instrumented) {
    let write = || -> std::io::Result<()> {
        std::fs::create_dir_all(directory)?;
        let mut file = tempfile::NamedTempFile::new_in(directory)?;
        file.write_all(hash(key, &instrumented.wasm).as_bytes())?;
        file.write_all(&instrumented.wasm)?;
        file.persist(path(directory, key))?;
        Ok(())
    };
    let _ = write();
}

/// The site table in an instrumented module.
fn table_of(wasm: &[u8]) -> Option<SiteTable> {
    for payload in wasmparser::Parser::new(0).parse_all(wasm) {
        if let wasmparser::Payload::CustomSection(section) = payload.ok()?
            && section.name() == coyote_abi::rt::SITES_SECTION
        {
            return SiteTable::from_bytes(section.data()).ok();
        }
    }
    None
}
