//! Reads and writes trace files, whole or not at all.

use super::{Trace, TraceError};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

impl Trace {
    /// Reads a trace file.
    ///
    /// # Errors
    /// [`TraceError::Read`], or as [`Trace::parse`].
    pub fn read(path: impl AsRef<Path>) -> Result<Trace, TraceError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| TraceError::Read { path: path.to_owned(), source })?;
        Trace::parse(&bytes)
    }

    /// Writes the trace so that at any time, even after a power failure, `path` holds either the old or the
    /// whole new file. The directory must exist.
    ///
    /// # Errors
    /// [`TraceError::Write`].
    pub fn write(&self, path: impl AsRef<Path>) -> Result<(), TraceError> {
        let path = path.as_ref();
        replace_file(path, self.to_text().as_bytes())
            .map_err(|source| TraceError::Write { path: path.to_owned(), source })
    }
}

/// Replaces a file, whole or not at all.
pub(crate) fn replace_file(path: &Path, bytes: &[u8]) -> io::Result<()> {
    // The temporary file is in the same directory, since a rename does not cross file systems.
    let directory = match path.parent() {
        Some(parent) if parent != Path::new("") => parent,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".trace-").suffix(".partial");
    // Other users may read a trace, as any file that a test run leaves; the umask still applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(directory)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path)?;
    // The rename itself is durable only with its directory; on other systems, directories cannot be opened.
    if cfg!(unix) {
        File::open(directory)?.sync_all()?;
    }
    Ok(())
}
