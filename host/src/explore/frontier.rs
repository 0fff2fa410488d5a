//! What is left of a search, on disk: `--resume` goes on with it.
//!
//! Version 2, as bytes:
//!
//! 1. the line `coyote-wasm frontier 2`;
//! 2. a line of JSON, `Header`: everything that has to be the same for the rest to mean the same (module, test,
//!    search, seed, options, build of this tool), what the runs before did and found, and how long the
//!    sections are;
//! 3. the sections: what each job had left, see `sections`;
//! 4. the BLAKE3 hash of all before it, 32 bytes.
//!
//! Whatever is wrong with a file is one error that says so: the hash is compared before anything is believed, then
//! the identity ([`Frontier::check`]), then that the items are some that the search can have left, and
//! while the search goes on, that the program can execute them ([`coyote_strategies::search::stored`]).
//!
//! Version 1 was JSON without a hash. It still reads; who goes on with it is told that nothing protects it.

mod read;
mod sections;
mod version_1;

pub use sections::Section;

use super::Plan;
use crate::artifact::build;
use crate::results::Done;
use coyote_strategies::search::Item;
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::path::{Path, PathBuf};

const MAGIC: &str = "coyote-wasm frontier 2\n";
const HASH_BYTES: usize = 32;

/// What a frontier belongs to. Its parts are compared one by one.
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
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    identity: Identity,
    done: Done,
    /// Bytes of each section.
    sections: Vec<u64>,
}

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Frontier {
    identity: Identity,
    /// The file that it was read from.
    pub from: PathBuf,
    /// What was done before.
    pub done: Done,
    /// What is left.
    pub items: Vec<Item>,
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
    #[error("{} is damaged, and nothing is done with it: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error(
        "{} is of version 1, whose steps do not say all that they touch: what dpor left then would prove too \
         much; search again from the start",
        path.display()
    )]
    Outdated { path: PathBuf },
    #[error("{} belongs to another {what}: it says {has}, this run {wants}", path.display())]
    Other { path: PathBuf, what: &'static str, has: String, wants: String },
}

/// Writes the whole file or leaves what was there.
pub fn write(
    path: &Path,
    plan: &Plan,
    strategy: &str,
    done: Done,
    left: &[Section],
) -> Result<(), FrontierError> {
    let failed = |error| FrontierError::Write { path: path.into(), error };
    let identity = Identity::of(plan, strategy);
    let sections = left.iter().map(|section| section.bytes().len() as u64).collect();
    let header = serde_json::to_string(&Header { identity, done, sections }).map_err(|e| failed(e.into()))?;
    let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".frontier-").suffix(".partial");
    // Others may read it, as any file that a test run leaves; the umask still applies.
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
    /// The file cannot be read, is something else, or is damaged.
    pub fn read(path: &Path) -> Result<Frontier, FrontierError> {
        let bytes = std::fs::read(path).map_err(|error| FrontierError::Read { path: path.into(), error })?;
        Frontier::parse(path, &bytes)
    }

    /// Reads what stands in a file.
    ///
    /// # Errors
    /// The bytes are something else, or damaged.
    pub fn parse(path: &Path, bytes: &[u8]) -> Result<Frontier, FrontierError> {
        read::frontier(path, bytes)
    }

    /// The test that was searched.
    pub fn test(&self) -> &str {
        &self.identity.test
    }

    /// The seed of the search.
    pub fn seed(&self) -> u64 {
        self.identity.seed
    }

    /// Whether it can go on as `plan` says.
    ///
    /// # Errors
    /// Names what is different.
    pub fn check(&self, plan: &Plan, strategy: &str) -> Result<(), FrontierError> {
        let here = Identity::of(plan, strategy);
        let text = |options: &[(String, String)]| {
            let options: Vec<_> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
            options.join(" ")
        };
        let has = &self.identity;
        let build = |identity: &Identity| identity.build.clone().or(here.build.clone()).unwrap_or_default();
        for (what, has, wants) in [
            ("module", has.module.clone(), here.module.clone()),
            ("test", has.test.clone(), here.test.clone()),
            ("strategy", has.strategy.clone(), here.strategy.clone()),
            ("seed", has.seed.to_string(), here.seed.to_string()),
            ("set of options", text(&has.options), text(&here.options)),
            ("build of coyote-wasm", build(has), build(&here)),
        ] {
            if has != wants {
                return Err(FrontierError::Other { path: self.from.clone(), what, has, wants });
            }
        }
        let tried = |item: &Item| item.branches.iter().any(|branch| !branch.tried.is_empty());
        if has.build.is_none() && self.items.iter().any(tried) {
            return Err(FrontierError::Outdated { path: self.from.clone() });
        }
        Ok(())
    }
}
