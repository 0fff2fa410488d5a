//! A bundle: everything that another machine needs to replay the bugs of a run, in one file.
//!
//! A tar archive, compressed by zstd with its checksum: `manifest.json` first, then `module.wasm`, `report.json` (the
//! output of `--format json`) and `traces/NAME.trace`. The manifest contains the blake3 hash of each other file, the
//! module's name and identity, the seed and the versions. Files given with `--preload` or `--dir` are not part of a
//! bundle.
//!
//! A reader accepts a bundle as a whole or not at all.

use crate::trace::replace_file;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};

/// The first bytes of zstd's compressed format.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The name of the format in a manifest.
const FORMAT: &str = "coyote-wasm bundle";
/// The version of the format.
const VERSION: u32 = 1;
/// Limit of the unpacked size; a larger file is not a bundle.
const BYTES_MAX: u64 = 1 << 30;
const MANIFEST: &str = "manifest.json";
/// The module's name in a bundle.
pub const MODULE: &str = "module.wasm";
/// The report's name in a bundle.
pub const REPORT: &str = "report.json";
const LEVEL: i32 = 9;

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bundle {
    /// The bundle's description of itself.
    pub manifest: Manifest,
    /// The other files, by their names.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// A bundle's description of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// The name of the format; set by [`Bundle::write`].
    pub format: String,
    /// The version of the format; set by [`Bundle::write`].
    pub version: u32,
    /// The version of coyote-wasm that wrote the bundle.
    pub tool: String,
    /// The operating system and processor on which the bundle was written.
    pub platform: String,
    /// The module's file name.
    pub module: String,
    /// The module's identity, as in traces.
    pub identity: String,
    /// The seed of the run.
    pub seed: u64,
    /// The strategy of the run.
    pub strategy: String,
    /// The bugs, in the order of the report.
    pub bugs: Vec<BundledBug>,
    /// The blake3 hash of each other file; set by [`Bundle::write`].
    pub files: BTreeMap<String, String>,
}

/// A bug of a bundle.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BundledBug {
    /// The name of its trace in the bundle.
    pub trace: String,
    /// The test in which the bug was found.
    pub test: String,
    /// The kind of bug.
    pub kind: String,
    /// The bug in one sentence.
    pub message: String,
}

/// Why a bundle could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The system's error, with the path.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Read(PathBuf, io::Error),
    /// The system's error, with the path.
    #[error("cannot write {}: {}", .0.display(), .1)]
    Write(PathBuf, io::Error),
    /// The file is damaged or is not a bundle, with the reason.
    #[error("{} is damaged, or is no bundle: {}", .0.display(), .1)]
    Damaged(PathBuf, String),
    /// The bundle was written by a later version.
    #[error("{} is a bundle of version {}, and this tool reads version {VERSION}: use the one that wrote it, {}", .0.display(), .1, .2)]
    Version(PathBuf, u32, String),
}

impl Bundle {
    /// Whether a file begins like a bundle.
    pub fn is_one(path: &Path) -> bool {
        let mut first = [0; MAGIC.len()];
        std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut first)).is_ok() && first == MAGIC
    }

    /// Writes the bundle, as a whole or not at all.
    ///
    /// # Errors
    /// [`BundleError::Write`].
    pub fn write(&mut self, path: &Path) -> Result<(), BundleError> {
        self.manifest.format = FORMAT.into();
        self.manifest.version = VERSION;
        self.manifest.files = self.files.iter().map(|(name, bytes)| (name.clone(), hash(bytes))).collect();
        let packed = self.pack().and_then(|bytes| replace_file(path, &bytes));
        packed.map_err(|error| BundleError::Write(path.to_owned(), error))
    }

    fn pack(&self) -> io::Result<Vec<u8>> {
        let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL)?;
        encoder.include_checksum(true)?;
        let mut archive = tar::Builder::new(encoder);
        let manifest = serde_json::to_vec_pretty(&self.manifest)?;
        let files = self.files.iter().map(|(name, bytes)| (name.as_str(), bytes));
        for (name, bytes) in std::iter::once((MANIFEST, &manifest)).chain(files) {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            // A constant time, so that the same content always gives the same file.
            header.set_mtime(0);
            archive.append_data(&mut header, name, bytes.as_slice())?;
        }
        archive.into_inner()?.finish()
    }

    /// Reads a bundle.
    ///
    /// # Errors
    /// [`BundleError`].
    pub fn read(path: &Path) -> Result<Bundle, BundleError> {
        let bytes = std::fs::read(path).map_err(|error| BundleError::Read(path.to_owned(), error))?;
        let damaged = |how: String| BundleError::Damaged(path.to_owned(), how);
        let mut files = unpack(&bytes).map_err(|error| damaged(error.to_string()))?;
        let manifest = files.remove(MANIFEST).ok_or_else(|| damaged("it has no manifest".into()))?;
        let head: Head = serde_json::from_slice(&manifest).map_err(|error| damaged(error.to_string()))?;
        if head.format != FORMAT {
            return Err(damaged("its manifest is of something else".into()));
        }
        if head.version != VERSION {
            return Err(BundleError::Version(path.to_owned(), head.version, head.tool));
        }
        let manifest: Manifest =
            serde_json::from_slice(&manifest).map_err(|error| damaged(error.to_string()))?;
        let here: BTreeMap<String, String> =
            files.iter().map(|(name, bytes)| (name.clone(), hash(bytes))).collect();
        if here != manifest.files {
            return Err(damaged("its files are not those that its manifest names".into()));
        }
        let missing = manifest.bugs.iter().map(|bug| bug.trace.as_str()).chain([MODULE]);
        if let Some(name) = missing.into_iter().find(|name| !files.contains_key(*name)) {
            return Err(damaged(format!("{name} is missing")));
        }
        Ok(Bundle { manifest, files })
    }
}

/// The fields that manifests of all versions have.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
    tool: String,
}

fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

fn unpack(bytes: &[u8]) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut unpacked = Vec::new();
    let decoder = zstd::Decoder::new(Cursor::new(bytes))?;
    let read = decoder.take(BYTES_MAX + 1).read_to_end(&mut unpacked)?;
    if read as u64 > BYTES_MAX {
        return Err(io::Error::other("it unpacks to more than 1 GiB"));
    }
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(Cursor::new(unpacked)).entries()? {
        let mut entry = entry?;
        let name = entry.path()?.to_string_lossy().into_owned();
        let mut content = Vec::new();
        entry.read_to_end(&mut content)?;
        if files.insert(name.clone(), content).is_some() {
            return Err(io::Error::other(format!("{name} is in it twice")));
        }
    }
    Ok(files)
}

/// A bundle's module and one of its traces as files, for as long as this value lives.
pub struct Unpacked {
    directory: tempfile::TempDir,
}

impl Unpacked {
    /// Unpacks the module and this trace.
    ///
    /// # Errors
    /// [`BundleError::Write`].
    pub fn new(bundle: &Bundle, trace: &str) -> Result<Unpacked, BundleError> {
        let failed = |path: PathBuf| move |error| BundleError::Write(path, error);
        let directory = tempfile::tempdir().map_err(failed(std::env::temp_dir()))?;
        let unpacked = Unpacked { directory };
        for (path, name) in [(unpacked.module(), MODULE), (unpacked.trace(), trace)] {
            let content = bundle.files.get(name).map(Vec::as_slice).unwrap_or_default();
            let written = std::fs::File::create(&path).and_then(|mut file| file.write_all(content));
            written.map_err(failed(path))?;
        }
        Ok(unpacked)
    }

    /// The path of the module.
    pub fn module(&self) -> PathBuf {
        self.directory.path().join(MODULE)
    }

    /// The path of the trace.
    pub fn trace(&self) -> PathBuf {
        self.directory.path().join("bundled.trace")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle() -> Bundle {
        let bug = BundledBug {
            trace: "traces/a.trace".into(),
            test: "a".into(),
            kind: "deadlock".into(),
            message: String::new(),
        };
        let names = [MODULE, REPORT, "traces/a.trace"];
        let manifest = Manifest { tool: "0.1.0".into(), bugs: vec![bug], ..Manifest::default() };
        Bundle { manifest, files: names.map(|name| (name.to_string(), name.repeat(20).into_bytes())).into() }
    }

    #[test]
    fn what_was_written_is_read() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.bundle");
        let mut written = bundle();
        written.write(&path).unwrap();
        assert!(Bundle::is_one(&path));
        assert_eq!(Bundle::read(&path).unwrap(), written);
        // The same content gives the same file.
        let first = std::fs::read(&path).unwrap();
        bundle().write(&path).unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), first);
    }

    /// Flipped bits, truncation and appended bytes all give an error.
    #[test]
    fn damage_is_one_error() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.bundle");
        let mut written = bundle();
        written.write(&path).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            Bundle::read(&path)
        };
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            match read(&bytes) {
                // zstd ignores this bit.
                Ok(same) => assert_eq!(same, written, "bit {bit}"),
                Err(error) => assert!(matches!(error, BundleError::Damaged(..)), "bit {bit}: {error}"),
            }
        }
        for length in 0..whole.len() {
            assert!(matches!(read(&whole[..length]), Err(BundleError::Damaged(..))), "{length} bytes");
        }
        assert!(matches!(read(&[&whole[..], b"x"].concat()), Err(BundleError::Damaged(..))));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.bundle");
        let said = |change: &dyn Fn(&mut Bundle)| {
            let mut bundle = bundle();
            bundle.manifest.format = FORMAT.into();
            bundle.manifest.version = VERSION;
            bundle.manifest.files =
                bundle.files.iter().map(|(name, bytes)| (name.clone(), hash(bytes))).collect();
            change(&mut bundle);
            std::fs::write(&path, bundle.pack().unwrap()).unwrap();
            let error = Bundle::read(&path).unwrap_err().to_string();
            error.replace(&path.display().to_string(), "a.bundle")
        };
        assert_eq!(
            said(&|bundle| bundle.manifest.version = 2),
            "a.bundle is a bundle of version 2, and this tool reads version 1: use the one that wrote it, 0.1.0"
        );
        assert_eq!(
            said(&|bundle| drop(bundle.files.remove("traces/a.trace"))),
            "a.bundle is damaged, or is no bundle: its files are not those that its manifest names"
        );
        assert_eq!(
            said(&|bundle| {
                bundle.files.remove("traces/a.trace");
                bundle.manifest.files.remove("traces/a.trace");
            }),
            "a.bundle is damaged, or is no bundle: traces/a.trace is missing"
        );
    }
}
