//! What is left of a search, on disk: `--resume` goes on with it.
//!
//! JSON with a version, and everything that has to be the same for the rest to mean the same: the module,
//! the test, the search and the options that change what decisions mean.

use super::Plan;
use coyote_strategies::search::{Counts, Item};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The version that is written and read.
const VERSION: u32 = 1;

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Frontier {
    version: u32,
    tool: String,
    module: String,
    pub test: String,
    strategy: String,
    pub seed: u64,
    options: Vec<(String, String)>,
    /// What was done before.
    pub counts: Counts,
    /// What is left.
    pub items: Vec<Item>,
}

#[derive(Debug, thiserror::Error)]
pub enum FrontierError {
    #[error("cannot write {}: {error}", path.display())]
    Write { path: PathBuf, error: std::io::Error },
    #[error("cannot read {}: {error}", path.display())]
    Read { path: PathBuf, error: std::io::Error },
    #[error("{} is no frontier of a search: {reason}", path.display())]
    Malformed { path: PathBuf, reason: String },
    #[error("{} belongs to another {what}: it says {has}, this run {wants}", path.display())]
    Other { path: PathBuf, what: &'static str, has: String, wants: String },
}

impl Frontier {
    pub fn new(plan: &Plan, strategy: &str, counts: Counts, items: Vec<Item>) -> Frontier {
        Frontier {
            version: VERSION,
            tool: env!("CARGO_PKG_VERSION").into(),
            module: plan.artifact.identity.clone(),
            test: plan.test.name.clone(),
            strategy: strategy.into(),
            seed: plan.seed,
            options: plan.options(),
            counts,
            items,
        }
    }

    /// Writes the whole file or leaves what was there.
    pub fn write(&self, path: &Path) -> Result<(), FrontierError> {
        let failed = |error| FrontierError::Write { path: path.into(), error };
        let directory = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut file = tempfile::NamedTempFile::new_in(directory).map_err(failed)?;
        serde_json::to_writer(std::io::BufWriter::new(&mut file), self).map_err(|e| failed(e.into()))?;
        file.persist(path).map_err(|e| failed(e.error))?;
        Ok(())
    }

    pub fn read(path: &Path) -> Result<Frontier, FrontierError> {
        let bytes = std::fs::read(path).map_err(|error| FrontierError::Read { path: path.into(), error })?;
        let malformed = |reason: String| FrontierError::Malformed { path: path.into(), reason };
        #[derive(Deserialize)]
        struct Version {
            version: u32,
        }
        let version: Version = serde_json::from_slice(&bytes).map_err(|e| malformed(e.to_string()))?;
        if version.version != VERSION {
            return Err(malformed(format!("it has version {}, this tool reads {VERSION}", version.version)));
        }
        serde_json::from_slice(&bytes).map_err(|e| malformed(e.to_string()))
    }

    /// Whether it can go on as `plan` says. `path` is where it was read from.
    pub fn check(&self, path: &Path, plan: &Plan, strategy: &str) -> Result<(), FrontierError> {
        let here = Frontier::new(plan, strategy, Counts::default(), Vec::new());
        let text = |options: &[(String, String)]| {
            let options: Vec<_> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
            options.join(" ")
        };
        for (what, has, wants) in [
            ("module", self.module.clone(), here.module),
            ("test", self.test.clone(), here.test),
            ("strategy", self.strategy.clone(), here.strategy),
            ("seed", self.seed.to_string(), here.seed.to_string()),
            ("set of options", text(&self.options), text(&here.options)),
        ] {
            if has != wants {
                return Err(FrontierError::Other { path: path.into(), what, has, wants });
            }
        }
        Ok(())
    }
}
