//! The frontier of a search: its remaining work, on disk. `--resume` continues with it.
//!
//! Version 2, as bytes:
//!
//! 1. the line `coyote-wasm frontier 2`;
//! 2. a line of JSON, `Header`: everything that must be equal for the rest to have the same meaning (module, test,
//!    search, seed, options, build of this tool), what earlier runs did and found, and the lengths of the sections;
//! 3. the sections: the remaining items of each job, and the states that jobs share, see `sections`;
//! 4. the BLAKE3 hash of everything before it, 32 bytes.
//!
//! Every defect of a file is reported as one error. The hash is compared before any content is used, then the identity
//! ([`Frontier::check`]), then whether the search can have left such items; and while the search continues, whether the
//! program can execute them ([`coyote_strategies::search::stored`]).
//!
//! A *part* of a campaign's search has the same form. What is left elsewhere is not in it, so it is no frontier with which
//! a search can end. If the search remembers states, what all parts have visited before is in a file of its own, which has
//! the same form, too, and which parts name by its hash.
//!
//! Version 1 was JSON without a hash. It can still be read; a search that resumes from it tells the user that nothing
//! protects it.

mod parts;
mod read;
mod sections;
mod version_1;

pub use sections::Section;

use super::Plan;
use crate::artifact::build;
use crate::results::{Difference, Done, Subject, is_default};
use coyote_strategies::search::Item;
use coyote_strategies::search::division::Work;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

const MAGIC: &str = "coyote-wasm frontier 2\n";
const HASH_BYTES: usize = 32;

/// The exploration to which a frontier belongs. Its parts are compared one by one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Identity {
    /// `None` in version 1.
    build: Option<String>,
    module: String,
    test: String,
    strategy: String,
    seed: u64,
    options: Vec<(String, String)>,
}

impl Identity {
    fn of(plan: &Plan, strategy: &str) -> Identity {
        Identity {
            build: Some(build()),
            module: plan.artifact.identity.clone(),
            test: plan.test.name.clone(),
            strategy: strategy.into(),
            seed: plan.seed,
            options: plan.options(),
        }
    }

    fn subject(&self) -> Subject {
        let Identity { build: _, module, test, strategy, seed, options } = self.clone();
        Subject { module, test, strategy, seed, options }
    }
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    identity: Identity,
    done: Done,
    /// What only a part of a campaign's search has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    part: Option<Part>,
    /// The size of each section in bytes.
    sections: Vec<u64>,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Part {
    /// See [`Work::common`].
    #[serde(skip_serializing_if = "is_default")]
    common: BTreeSet<u64>,
    /// The BLAKE3 of the file with what was visited before, in hex.
    #[serde(skip_serializing_if = "is_default")]
    visited: Option<String>,
    /// See [`Work::turn`].
    #[serde(skip_serializing_if = "is_default")]
    turn: u64,
}

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Frontier {
    identity: Identity,
    /// The file that it was read from.
    pub from: PathBuf,
    /// What earlier runs did.
    pub done: Done,
    /// The remaining work.
    pub work: Work,
    /// Whether it is a part of a campaign's search.
    pub is_part: bool,
    /// Of a part: the BLAKE3 of the file with what was visited before, in hex.
    pub visited_in: Option<String>,
}

/// Why a frontier was not written, or not read. None of these is a verdict on the guest.
#[derive(Debug, thiserror::Error)]
pub enum FrontierError {
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: std::io::Error },
    #[error("cannot read {}: {error}", path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{} is no frontier of a search: {reason}", path.display())]
    Malformed { path: PathBuf, reason: String },
    #[error("{} is damaged and is not used: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error(
        "{} is of version 1, which does not record everything that steps touch: dpor could prove too much \
         with it; search again from the start",
        path.display()
    )]
    Outdated { path: PathBuf },
    #[error(
        "{} is a part of a campaign's search, which alone proves nothing: `coyote-wasm campaign work` continues it",
        path.display()
    )]
    Part { path: PathBuf },
    #[error("{} is the frontier of a whole search, and no part of a campaign's", path.display())]
    Whole { path: PathBuf },
    #[error("{} belongs to another {what}: it says {has}, this run {wants}", path.display())]
    Other { path: PathBuf, what: &'static str, has: String, wants: String },
}

/// Writes the complete file, or leaves the existing one unchanged.
pub fn write(
    path: &Path,
    plan: &Plan,
    strategy: &str,
    done: Done,
    left: &[Section],
) -> Result<(), FrontierError> {
    write_file(path, Identity::of(plan, strategy), done, None, left)
}

/// Writes what a unit has left of its part of a campaign's search. `common`: see [`Work::common`].
pub fn write_part(
    path: &Path,
    plan: &Plan,
    strategy: &str,
    common: BTreeSet<u64>,
    left: &[Section],
) -> Result<(), FrontierError> {
    let part = Part { common, ..Part::default() };
    write_file(path, Identity::of(plan, strategy), Done::default(), Some(part), left)
}

fn write_file(
    path: &Path,
    identity: Identity,
    done: Done,
    part: Option<Part>,
    left: &[Section],
) -> Result<(), FrontierError> {
    let failed = |error| FrontierError::Write { path: path.into(), error };
    let sections = left.iter().map(|section| section.bytes().len() as u64).collect();
    let header = Header { identity, done, part, sections };
    let header = serde_json::to_string(&header).map_err(|e| failed(e.into()))?;
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".frontier-").suffix(".partial");
    // Readable by other users, like any file that a test run writes; the umask still applies.
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let mut file = builder.tempfile_in(directory).map_err(failed)?;
    let mut hasher = blake3::Hasher::new();
    let header = [MAGIC, &header, "\n"].concat();
    for bytes in std::iter::once(header.as_bytes()).chain(left.iter().map(Section::bytes)) {
        hasher.update(bytes);
        file.write_all(bytes).map_err(failed)?;
    }
    file.write_all(hasher.finalize().as_bytes()).map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

impl Frontier {
    /// Reads a file of any version.
    ///
    /// # Errors
    /// The file cannot be read, is no frontier, or is damaged.
    pub fn read(path: &Path) -> Result<Frontier, FrontierError> {
        let bytes = std::fs::read(path).map_err(|error| FrontierError::Read { path: path.into(), error })?;
        Frontier::parse(path, &bytes)
    }

    /// Reads the content of a file.
    ///
    /// # Errors
    /// The bytes are no frontier, or are damaged.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Frontier, FrontierError> {
        read::frontier(path, bytes)
    }

    /// The exploration to which it belongs.
    pub fn subject(&self) -> Subject {
        self.identity.subject()
    }

    /// The build of the tool that wrote it; `None`: version 1, which does not name it.
    pub fn build(&self) -> Option<&str> {
        self.identity.build.as_deref()
    }

    /// The test that was searched.
    pub fn test(&self) -> &str {
        &self.identity.test
    }

    /// The seed of the search.
    pub fn seed(&self) -> u64 {
        self.identity.seed
    }

    /// Whether the search of `plan` can continue with this frontier.
    ///
    /// # Errors
    /// What is different.
    pub fn check(&self, plan: &Plan, strategy: &str) -> Result<(), FrontierError> {
        let (has, here) = (&self.identity, Identity::of(plan, strategy));
        // Version 1 does not name the build.
        let build = has.build.as_ref().zip(here.build.as_ref()).filter(|(has, here)| has != here);
        let difference = has.subject().difference(&here.subject()).or(build.map(|(has, here)| Difference {
            what: "build of coyote-wasm",
            one: has.clone(),
            other: here.clone(),
        }));
        if let Some(Difference { what, one, other }) = difference {
            return Err(FrontierError::Other { path: self.from.clone(), what, has: one, wants: other });
        }
        let tried = |item: &Item| item.branches.iter().any(|branch| !branch.tried.is_empty());
        if has.build.is_none() && self.work.items.iter().any(tried) {
            return Err(FrontierError::Outdated { path: self.from.clone() });
        }
        match (self.is_part, plan.budget.unit.is_some()) {
            (true, false) => Err(FrontierError::Part { path: self.from.clone() }),
            (false, true) => Err(FrontierError::Whole { path: self.from.clone() }),
            _ => Ok(()),
        }
    }
}
