//! The directory of a campaign.
//!
//! `campaign.json` ends with a checksum, and holds the hash of the module: a byte that is changed in either would make
//! another campaign, whose verdict nobody asked for.

use crate::cli::report_args::ReportArgs;
use crate::cli::units::{WHOLE, hash, hash_of};
use crate::exit::Exit;
use crate::units::FileError;
use anyhow::{Context, Error, Result, anyhow, bail, ensure};
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args as _, Command};
use coyote_strategies::search::is_search;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

pub const FILE: &str = "campaign.json";
const VERSION: u32 = 2;
pub const RESULTS: &str = "results";
pub const UNITS: &str = "units";
pub const FAILED: &str = "failed";
/// The number of processes that may fail at a unit before it is given up.
const FAILURES_MAX: usize = 3;
/// How often a worker checks the process of its unit.
const LOOK: Duration = Duration::from_millis(20);

/// Options for bugs, which [`Campaign::on_bugs`] hands on.
const ON_BUGS: &[&str] = &["no_shrink", "shrink_time", "no_experiments"];
/// Options of reports that have other headings.
const REPORTED: &[&str] = &["quiet", "nocapture"];
/// Other options of `test` without effect on units, and what to do instead.
const NOT_IN_CAMPAIGNS: &[(&str, &str)] = &[
    ("list", "run `coyote-wasm test` with it"),
    ("regressions", "a campaign tries no kept traces: run `coyote-wasm test` with it"),
    (
        "test_threads",
        "give --jobs to `coyote-wasm campaign work`, whose machines may have other numbers of cores",
    ),
    ("fail_fast", "the units of a campaign explore all its tests"),
];

/// What the campaign executes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    pub version: u32,
    /// The module's name in the directory.
    pub module: String,
    /// The BLAKE3 hash of the module.
    pub module_hash: String,
    /// The arguments of `test` behind the module.
    pub arguments: Vec<String>,
    /// The number of units; of a search, the largest number of parts of a stage.
    pub units: u64,
    /// Of a search: the number of steps of a unit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unit_steps: Option<u64>,
    /// The BLAKE3 hash of this file's text with an empty checksum.
    checksum: String,
}

impl Campaign {
    pub fn new(module: String, arguments: Vec<String>, units: u64) -> Campaign {
        let (module_hash, checksum) = (String::new(), String::new());
        Campaign { version: VERSION, module, module_hash, arguments, units, unit_steps: None, checksum }
    }

    /// The only text of this campaign's file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let text = |checksum| {
            serde_json::to_vec_pretty(&Campaign { checksum, ..self.clone() }).expect("texts and numbers")
        };
        text(hash(&text(String::new())))
    }

    /// Reads a file. `path` is for messages.
    fn parse(path: &Path, bytes: &[u8]) -> Result<Campaign> {
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let damaged = || format!("{} is damaged: make the campaign anew", path.display());
        let Versioned { version } = serde_json::from_slice(bytes).with_context(damaged)?;
        ensure!(
            version == VERSION,
            "{} is of version {version}, and this tool reads version {VERSION}: use the one that made it",
            path.display(),
        );
        let campaign: Campaign = serde_json::from_slice(bytes).with_context(damaged)?;
        if campaign.to_bytes() != bytes {
            return Err(anyhow!("its checksum does not match").context(damaged()));
        }
        Ok(campaign)
    }

    /// The arguments of a unit with this module, as `test` understands them.
    ///
    /// # Errors
    /// What `test` would refuse.
    pub fn parsed(&self, module: &str) -> Result<ArgMatches> {
        let shard = format!("1/{}", self.units);
        let of_unit = match self.unit_steps {
            Some(_) => vec!["--part", WHOLE, "--unit-steps", "1", "--pieces", "1"],
            None => vec!["--shard", &shard],
        };
        let ours = ["test", "--no-config", "--result", "x", "--claim", "x", "--outdir", "x"];
        let line = ours.into_iter().chain(of_unit);
        let line = line.chain([module]).chain(self.arguments.iter().map(String::as_str));
        parse(line)
    }

    /// The arguments that `campaign new` was given.
    fn given(&self) -> Result<ArgMatches> {
        let line = ["test", "--no-config", &*self.module].into_iter();
        parse(line.chain(self.arguments.iter().map(String::as_str)))
    }

    /// Whether the strategy is a search.
    ///
    /// # Errors
    /// What `test` would refuse.
    pub fn of_search(&self) -> Result<bool> {
        let parsed = self.given()?;
        let of_search = is_search(parsed.get_one::<String>("strategy").map_or("", String::as_str));
        let given = |option: &&&str| parsed.value_source(option) == Some(ValueSource::CommandLine);
        if let Some(option) = ["iterations", "timeout", "total_timeout", "resume"].iter().find(given)
            && of_search
        {
            let option = option.replace('_', "-");
            bail!("--{option}: a campaign of a search begins at the start, and ends when nothing is left");
        }
        Ok(of_search)
    }

    /// Refuses options that no unit would heed.
    ///
    /// # Errors
    /// Says where the option belongs.
    pub fn check_heeded(&self) -> Result<()> {
        let parsed = self.given()?;
        let command = crate::cli::test::Args::augment_args(Command::new("test"));
        let given = |option: &&Arg| {
            parsed.try_contains_id(option.get_id().as_str()).is_ok()
                && parsed.value_source(option.get_id().as_str()) == Some(ValueSource::CommandLine)
        };
        for option in command.get_arguments().filter(given) {
            let (id, name) = (option.get_id().as_str(), option.get_long().unwrap_or_default());
            let of_report = option.get_help_heading() == Some(ReportArgs::HEADING);
            if (of_report || REPORTED.contains(&id)) && !ON_BUGS.contains(&id) {
                bail!("--{name}: give it to `coyote-wasm campaign report`");
            }
            if let Some((_, why)) = NOT_IN_CAMPAIGNS.iter().find(|(name, _)| *name == id) {
                bail!("--{name}: {why}");
            }
        }
        Ok(())
    }

    /// Its options for bugs, which concern the report of all units. `given`: options of the report, which override them.
    pub fn on_bugs(&self, given: &[OsString]) -> Result<Vec<OsString>> {
        let parsed = self.parsed(&self.module)?;
        let overridden = |name: &str| {
            given
                .iter()
                .filter_map(|option| option.to_str())
                .any(|option| option.split('=').next() == Some(name))
        };
        let mut options = Vec::new();
        if !overridden("--no-shrink") && !overridden("--shrink-time") {
            if parsed.get_flag("no_shrink") {
                options.push("--no-shrink".into());
            } else if let Some(seconds) = parsed.get_one::<f64>("shrink_time") {
                options.push(format!("--shrink-time={seconds}").into());
            }
        }
        if parsed.get_flag("no_experiments") && !overridden("--no-experiments") {
            options.push("--no-experiments".into());
        }
        Ok(options)
    }
}

/// Arguments of `test`.
fn parse<'a>(line: impl Iterator<Item = &'a str>) -> Result<ArgMatches> {
    let parsed = crate::cli::test::Args::augment_args(Command::new("test")).try_get_matches_from(line);
    parsed.map_err(|error| anyhow!("{}", error.to_string().trim().trim_start_matches("error: ")))
}

/// A unit: `7`, or `3-7` in the third stage of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    /// The stage, from 1; `None` if the campaign is of no search.
    pub stage: Option<u64>,
    /// Its number, from 1.
    pub number: u64,
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.stage {
            Some(stage) => write!(f, "{stage}-{}", self.number),
            None => self.number.fmt(f),
        }
    }
}

impl FromStr for Unit {
    type Err = String;

    fn from_str(text: &str) -> Result<Unit, String> {
        let read = || match text.split_once('-') {
            Some((stage, number)) => {
                Some(Unit { stage: Some(stage.parse().ok()?), number: number.parse().ok()? })
            }
            None => Some(Unit { stage: None, number: text.parse().ok()? }),
        };
        read().ok_or_else(|| "it is a number K, or S-K: the K-th unit of stage S of a search".into())
    }
}

/// The directory of a campaign.
pub struct Place {
    pub directory: PathBuf,
    pub campaign: Campaign,
}

/// How the process of a unit ended.
pub enum Ended {
    /// There is a result.
    Done,
    /// Another process holds the unit.
    Busy,
    Interrupted,
    /// The process refused the user's input, with its message.
    Refused(String),
    Failed(String),
}

impl Place {
    /// # Errors
    /// There is no campaign, one of another version, or its file or module is damaged.
    pub fn open(directory: &Path) -> Result<Place> {
        let path = directory.join(FILE);
        let text = fs::read(&path).with_context(|| {
            format!("{} is no campaign: `coyote-wasm campaign new` makes one", directory.display())
        })?;
        let campaign = Campaign::parse(&path, &text)?;
        let module = directory.join(&campaign.module);
        ensure!(
            hash_of(&module)? == campaign.module_hash,
            "{} is not the module that the campaign was made of: copy that one here, or make a new campaign",
            module.display(),
        );
        Ok(Place { directory: directory.to_owned(), campaign })
    }

    fn of(&self, part: &str, unit: Unit) -> PathBuf {
        self.directory.join(part).join(unit.to_string())
    }

    pub fn result(&self, unit: Unit) -> PathBuf {
        self.of(RESULTS, unit).with_extension("result")
    }

    pub fn is_done(&self, unit: Unit) -> bool {
        self.result(unit).is_file()
    }

    /// The file with a line for each process that failed at a unit.
    pub fn failed(&self, unit: Unit) -> PathBuf {
        self.of(FAILED, unit)
    }

    /// The messages of the processes that failed at a unit.
    pub fn failures(&self, unit: Unit) -> Vec<String> {
        let text = fs::read_to_string(self.failed(unit)).unwrap_or_default();
        text.lines().map(String::from).collect()
    }

    pub fn is_given_up(&self, unit: Unit) -> bool {
        self.failures(unit).len() >= FAILURES_MAX
    }

    pub fn is_held(&self, unit: Unit) -> bool {
        let file = File::open(self.of(UNITS, unit));
        file.is_ok_and(|file| matches!(file.try_lock_shared(), Err(TryLockError::WouldBlock)))
    }

    /// Executes a unit in a process of its own. `selected`: the arguments of `test` that select the unit.
    ///
    /// # Errors
    /// Errors of the environment.
    pub fn execute(
        &self,
        unit: Unit,
        selected: Vec<OsString>,
        jobs: Option<u64>,
        interrupted: &AtomicBool,
    ) -> Result<Ended> {
        let outdir = tempfile::tempdir()?;
        let mut said = tempfile::tempfile()?;
        let Campaign { module, arguments, .. } = &self.campaign;
        let mut command = process::Command::new(std::env::current_exe()?);
        // The campaign alone determines a unit.
        command.args(["test", "--no-config"]).args(selected);
        command.arg("--result").arg(self.result(unit)).arg("--claim").arg(self.of(UNITS, unit));
        command.arg("--outdir").arg(outdir.path());
        command.args(jobs.iter().flat_map(|jobs| ["--jobs".to_string(), jobs.to_string()]));
        // Arguments behind the module may belong to the program.
        command.arg(self.directory.join(module)).args(arguments);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said.try_clone()?);
        let mut child = command.spawn().context("a process for a unit cannot be started")?;
        let status = loop {
            if let Some(status) = child.try_wait()? {
                break status;
            }
            if interrupted.load(Ordering::Relaxed) {
                // The result is written completely or not at all.
                child.kill()?;
                child.wait()?;
                return Ok(Ended::Interrupted);
            }
            std::thread::sleep(LOOK);
        };
        if interrupted.load(Ordering::Relaxed) && !self.is_done(unit) {
            return Ok(Ended::Interrupted);
        }
        let mut text = String::new();
        said.rewind()?;
        said.read_to_string(&mut text)?;
        Ok(match status.code() {
            _ if self.is_done(unit) => Ended::Done,
            Some(code) if code == i32::from(Exit::Again as u8) => Ended::Busy,
            Some(code) if code == i32::from(Exit::BadInput as u8) => Ended::Refused(text),
            _ => {
                let last = text.lines().last().unwrap_or_default();
                Ended::Failed(format!("{status}: {last}"))
            }
        })
    }
}

/// What to do about a damaged result.
pub fn to_remove(file: FileError) -> Error {
    anyhow!("{file}: remove it, and `coyote-wasm campaign work` executes it again")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whichever byte of the file is damaged, cut off or added, no campaign is read.
    #[test]
    fn no_damaged_byte_is_overlooked() {
        let mut campaign = Campaign::new("a.wasm".into(), vec!["-s".into(), "dpor".into()], 40);
        campaign.module_hash = hash(b"module");
        campaign.unit_steps = Some(1000);
        let (path, whole) = (Path::new(FILE), campaign.to_bytes());
        let parsed = Campaign::parse(path, &whole).unwrap();
        assert_eq!((parsed.to_bytes(), parsed.arguments), (whole.clone(), campaign.arguments));
        for at in 0..whole.len() {
            for bit in 0..8 {
                let mut damaged = whole.clone();
                damaged[at] ^= 1 << bit;
                assert!(Campaign::parse(path, &damaged).is_err(), "bit {bit} of byte {at}");
            }
            assert!(Campaign::parse(path, &whole[..at]).is_err(), "cut off at {at}");
            let without = [&whole[..at], &whole[at + 1..]].concat();
            assert!(Campaign::parse(path, &without).is_err(), "without byte {at}");
            for added in *b" 0\n\"" {
                let more = [&whole[..at], &[added], &whole[at..]].concat();
                assert!(Campaign::parse(path, &more).is_err(), "{added} before byte {at}");
            }
        }
    }
}
