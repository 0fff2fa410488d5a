//! Reads and writes results on disk.
//!
//! Version 1, as bytes: the line `coyote-wasm result 1`; a zstd frame of JSON; the BLAKE3 hash of all before it, 32 bytes.
//! The JSON of a set of results is `Content`, with the parts in the order of tests and ranges, so that a set has only one
//! possible file. That of a unit of a search is [`SearchUnit`].
//!
//! A file may come from another machine and is not trusted. The hash is compared before anything else is read; then
//! everything that the rest of the tool relies on is checked. A path of a trace that a file names is never used, nor
//! are directories of the host.

use super::{Campaign, Part, Results, SearchUnit};
use crate::results::{Stop, TestResult};
use crate::trace::replace_file;
use coyote_strategies::search::remembers;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

const NAME: &[u8] = b"coyote-wasm result ";
const VERSION: &[u8] = b"1\n";
const HASH_BYTES: usize = 32;
/// Maximum number of bytes of unpacked content: this tool writes no more.
const BYTES_MAX: u64 = 1 << 30;
const LEVEL: i32 = 3;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content<'a> {
    campaign: Cow<'a, Campaign>,
    path: Cow<'a, Path>,
    parts: Vec<Cow<'a, Part>>,
}

/// Reasons why results could not be read or written. None of these is a verdict on the guest.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The error of the operating system, with the path.
    #[error("cannot read {}: {}", .0.display(), .1)]
    Read(PathBuf, io::Error),
    /// The error of the operating system, with the path.
    #[error("cannot write {}: {}", .0.display(), .1)]
    Write(PathBuf, io::Error),
    /// The file is not a result.
    #[error("{} is no result of coyote-wasm: give files that `test --result` wrote", .0.display())]
    Other(PathBuf),
    /// The file was written by another version, which is given.
    #[error("{} is a result of version {}, and this tool reads version 1: use the one that wrote it", .0.display(), .1)]
    Version(PathBuf, String),
    /// The file is of a unit of a search, and a set of results is needed; or the other way round.
    #[error("{} is {} a unit of a search: `coyote-wasm campaign report` reports such units", .0.display(), if *.1 { "of" } else { "not of" })]
    Kind(PathBuf, bool),
    /// The file is damaged; the text says how that was noticed.
    #[error("{} is damaged and is not used: {}; execute its iterations again", .0.display(), .1)]
    Damaged(PathBuf, String),
}

/// The bytes of a file with this content.
fn to_bytes(content: &impl Serialize) -> Vec<u8> {
    let mut bytes = [NAME, VERSION].concat();
    let mut encoder = zstd::Encoder::new(&mut bytes, LEVEL).expect("a level of zstd");
    serde_json::to_writer(&mut encoder, content).expect("a Vec takes all, and keys are texts");
    encoder.finish().expect("a Vec takes all").flush().expect("a Vec takes all");
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    bytes
}

fn write(path: &Path, content: &impl Serialize) -> Result<(), FileError> {
    replace_file(path, &to_bytes(content)).map_err(|error| FileError::Write(path.into(), error))
}

fn read(path: &Path) -> Result<Vec<u8>, FileError> {
    std::fs::read(path).map_err(|error| FileError::Read(path.into(), error))
}

/// The content of a file. `of_search`: whether it is to be that of a unit of a search.
fn parse<T: DeserializeOwned>(path: &Path, bytes: &[u8], of_search: bool) -> Result<T, FileError> {
    /// The field that distinguishes both kinds.
    #[derive(Deserialize)]
    struct Kind {
        work: Option<serde::de::IgnoredAny>,
    }
    let damaged = |how: String| FileError::Damaged(path.into(), how);
    let rest = bytes.strip_prefix(NAME).ok_or_else(|| FileError::Other(path.into()))?;
    let Some(rest) = rest.strip_prefix(VERSION) else {
        let version = rest.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let version = version.iter().take(10).map(|byte| char::from(*byte)).collect::<String>();
        return Err(FileError::Version(path.into(), version.escape_default().to_string()));
    };
    let (packed, hash) =
        rest.split_last_chunk::<HASH_BYTES>().ok_or_else(|| damaged("it is cut off".into()))?;
    if blake3::hash(&bytes[..bytes.len() - HASH_BYTES]) != *hash {
        return Err(damaged("its checksum does not match".into()));
    }
    let content = unpack(packed).map_err(|error| damaged(error.to_string()))?;
    let Kind { work } = serde_json::from_slice(&content).map_err(|error| damaged(error.to_string()))?;
    if work.is_some() != of_search {
        return Err(FileError::Kind(path.into(), work.is_some()));
    }
    serde_json::from_slice(&content).map_err(|error| damaged(error.to_string()))
}

impl SearchUnit {
    /// The bytes of its file.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(self)
    }

    /// Writes the whole file, or leaves the old one.
    ///
    /// # Errors
    /// [`FileError::Write`].
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        write(path, self)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, is something else, or is damaged.
    pub fn read(path: &Path) -> Result<SearchUnit, FileError> {
        SearchUnit::parse(path, &read(path)?)
    }

    /// Reads the content of a file. `path` is for messages.
    ///
    /// # Errors
    /// The bytes are something else, or damaged.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<SearchUnit, FileError> {
        let unit: SearchUnit = parse(path, bytes, true)?;
        check_search(&unit).map_err(|how| FileError::Damaged(path.into(), how))?;
        Ok(unit)
    }
}

impl Results {
    /// The bytes of its file.
    pub fn to_bytes(&self) -> Vec<u8> {
        to_bytes(&self.content())
    }

    fn content(&self) -> Content<'_> {
        let parts = self.parts.values().map(Cow::Borrowed).collect();
        Content { campaign: Cow::Borrowed(&self.campaign), path: Cow::Borrowed(&*self.path), parts }
    }

    /// Writes the whole file, or leaves the old one.
    ///
    /// # Errors
    /// [`FileError::Write`].
    pub fn write(&self, path: &Path) -> Result<(), FileError> {
        write(path, &self.content())
    }

    /// Reads a file.
    ///
    /// # Errors
    /// The file cannot be read, is something else, or is damaged.
    pub fn read(path: &Path) -> Result<Results, FileError> {
        Results::parse(path, &read(path)?)
    }

    /// Reads the content of a file. `path` is for messages.
    ///
    /// # Errors
    /// The bytes are something else, or damaged.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Results, FileError> {
        let damaged = |how: String| FileError::Damaged(path.into(), how);
        let content: Content = parse(path, bytes, false)?;
        let mut results = Results::new(content.campaign.into_owned(), content.path.into_owned());
        for part in content.parts {
            check(&part, &results.campaign).map_err(damaged)?;
            results.insert(part.into_owned()).map_err(|error| damaged(error.to_string()))?;
        }
        Ok(results)
    }
}

fn unpack(packed: &[u8]) -> io::Result<Vec<u8>> {
    let mut unpacked = Vec::new();
    let read = zstd::Decoder::new(packed)?.take(BYTES_MAX + 1).read_to_end(&mut unpacked)?;
    if read as u64 > BYTES_MAX {
        return Err(io::Error::other("it unpacks to more than 1 GiB"));
    }
    Ok(unpacked)
}

/// Checks a part. The error says what is wrong with it.
fn check(part: &Part, campaign: &Campaign) -> Result<(), String> {
    let Part { test, first, end, result, .. } = part;
    let of = |what: &str| Err(format!("test {test}, iterations from {first} before {end}: {what}"));
    if !campaign.tests.iter().any(|known| known.name == *test) || result.subject.test != *test {
        return of("there is no such test");
    }
    if first >= end || !result.indices.are_in(*first..*end) {
        return of("other iterations are in it");
    }
    if result.search.is_some() || result.sweep.is_some() || !result.missing.is_empty() {
        return of("it is not of a sampler's iterations");
    }
    if !matches!(result.stop, Stop::Iterations | Stop::Bug | Stop::Exhausted) {
        return of("it was interrupted");
    }
    if result.stop == Stop::Iterations && result.indices.len() != end - first {
        return of("iterations are missing in it");
    }
    check_directories(result).or_else(|what| of(&what))
}

/// Checks the result of a unit of a search. The error says what is wrong with it.
fn check_search(unit: &SearchUnit) -> Result<(), String> {
    let SearchUnit { campaign, result, .. } = unit;
    if campaign.tests.len() != 1 || campaign.tests[0].name != result.subject.test {
        return Err("it is not of one test".into());
    }
    let is_of_unit = |result: &TestResult| {
        result.search.as_ref().is_some_and(|search| search.resumed.is_none() && search.open_units == 0)
            && result.sweep.is_none()
            && result.missing.is_empty()
            && result.indices.is_empty()
    };
    if !is_of_unit(result) || !matches!(result.stop, Stop::Iterations | Stop::Bug | Stop::Exhausted) {
        return Err("it is not of a unit of a search".into());
    }
    match (result.stop, &unit.work.left) {
        // One that remembers states leaves these.
        (Stop::Exhausted, Some(_)) if !remembers(&result.subject.strategy) => {
            return Err("it left something after everything".into());
        }
        (Stop::Iterations, None) => return Err("it left nothing before the end".into()),
        _ => {}
    }
    check_directories(result)
}

fn check_directories(result: &TestResult) -> Result<(), String> {
    match result.subject.options.iter().any(|(name, _)| name == "dir") {
        true => Err("it works in a directory of the host".into()),
        false => Ok(()),
    }
}
