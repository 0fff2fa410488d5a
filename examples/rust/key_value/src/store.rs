//! A key-value store: a map in memory, and a log on the disk with a line for each change.
//!
//! A change is made once its line is synced. Compaction writes the values that there are into a new file, which then
//! takes the log's place: write, sync, rename, sync of the directory. Opening reads the log, and cuts off a last line
//! that is not whole. Keys have no `=`, and neither keys nor values have line feeds.

use coyote::sync::{Mutex, MutexGuard};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What a store does wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Mistake {
    None,
    /// The new log is not synced before it takes the place of the old one.
    NewLogUnsynced,
    /// The directory is not synced when the new log has the name.
    DirectoryUnsynced,
    /// What is put while the new log is written is not written into it.
    PutForgotten,
    /// Nobody looks whether a line could be written.
    WriteErrorIgnored,
}

pub struct Store {
    directory: PathBuf,
    mistake: Mistake,
    state: Mutex<State>,
    /// Held by who compacts.
    compaction: Mutex<()>,
}

type Values = BTreeMap<String, String>;

struct State {
    values: Values,
    log: File,
    /// A write or a sync has failed: nobody knows what is in the file, until it is read again.
    failed: bool,
}

impl Store {
    pub fn open(directory: &Path, mistake: Mistake) -> io::Result<Store> {
        let log = directory.join("log");
        let text = match fs::read(&log) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut values = Values::new();
        let mut whole = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let Some((key, value)) = change(line) else { break };
            set(&mut values, key, value);
            whole += line.len();
        }
        let log = OpenOptions::new().append(true).create(true).open(&log)?;
        log.set_len(whole as u64)?;
        log.sync_all()?;
        File::open(directory)?.sync_all()?;
        let state = Mutex::new(State { values, log, failed: false });
        Ok(Store { directory: directory.into(), mistake, state, compaction: Mutex::new(()) })
    }

    pub fn get(&self, key: &str) -> Option<String> {
        self.state().values.get(key).cloned()
    }

    /// An error says that the value may be there after the next opening, or not.
    pub fn put(&self, key: &str, value: &str) -> io::Result<()> {
        self.change(key, Some(value))
    }

    pub fn delete(&self, key: &str) -> io::Result<()> {
        self.change(key, None)
    }

    fn change(&self, key: &str, value: Option<&str>) -> io::Result<()> {
        let mut state = self.state();
        state.writing(|log| {
            let written = log.write_all(line(key, value).as_bytes());
            if self.mistake != Mistake::WriteErrorIgnored {
                written?;
            }
            log.sync_data()
        })?;
        set(&mut state.values, key, value);
        Ok(())
    }

    /// Makes the log as short as it can be. Others put and delete while the most of it is written.
    pub fn compact(&self) -> io::Result<()> {
        let _alone = self.compaction.lock();
        let path = self.directory.join("log.new");
        let mut new = OpenOptions::new().write(true).create(true).truncate(true).open(&path)?;
        let then = self.state().values.clone();
        for (key, value) in &then {
            new.write_all(line(key, Some(value)).as_bytes())?;
        }
        let mut state = self.state();
        if self.mistake != Mistake::PutForgotten {
            for (key, value) in since(&then, &state.values) {
                new.write_all(line(key, value).as_bytes())?;
            }
        }
        if self.mistake != Mistake::NewLogUnsynced {
            new.sync_all()?;
        }
        state.writing(|log| {
            fs::rename(&path, self.directory.join("log"))?;
            *log = new;
            if self.mistake != Mistake::DirectoryUnsynced {
                File::open(&self.directory)?.sync_all()?;
            }
            Ok(())
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    /// Changes the log, unless that has failed before.
    fn writing(&mut self, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("the store has to be opened again"));
        }
        let written = write(&mut self.log);
        self.failed = written.is_err();
        written
    }
}

fn set(values: &mut Values, key: &str, value: Option<&str>) {
    match value {
        Some(value) => values.insert(key.into(), value.into()),
        None => values.remove(key),
    };
}

/// The keys whose values have changed, with what they are now.
fn since<'a>(then: &'a Values, now: &'a Values) -> impl Iterator<Item = (&'a str, Option<&'a str>)> {
    let changed = now.iter().filter(|(key, value)| then.get(*key) != Some(*value));
    let deleted = then.keys().filter(|key| !now.contains_key(*key));
    let changed = changed.map(|(key, value)| (key.as_str(), Some(value.as_str())));
    changed.chain(deleted.map(|key| (key.as_str(), None)))
}

/// A line of the log: a sum over the rest, the key, and the value if there is one.
fn line(key: &str, value: Option<&str>) -> String {
    let rest = match value {
        Some(value) => format!("{key}={value}"),
        None => key.to_string(),
    };
    format!("{:08x} {rest}\n", sum(&rest))
}

/// The key and the value of a line that is whole.
fn change(line: &[u8]) -> Option<(&str, Option<&str>)> {
    let line = std::str::from_utf8(line).ok()?.strip_suffix('\n')?;
    let (written, rest) = line.split_once(' ')?;
    let whole = u32::from_str_radix(written, 16) == Ok(sum(rest));
    whole.then(|| match rest.split_once('=') {
        Some((key, value)) => (key, Some(value)),
        None => (rest, None),
    })
}

/// FNV-1a.
fn sum(text: &str) -> u32 {
    text.bytes().fold(0x811c9dc5, |sum, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193))
}
