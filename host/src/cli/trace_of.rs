//! A trace, with the module, test and settings that it names.

use super::load;
use crate::artifact::Artifact;
use crate::execution::{Settings, Test};
use crate::libtest;
use crate::options;
use crate::trace::{Trace, TraceError};
use anyhow::{Context as _, Result, bail};
use std::path::Path;
use std::sync::Arc;

/// See the module's documentation.
pub struct TraceOf {
    pub trace: Trace,
    pub artifact: Arc<Artifact>,
    pub test: Test,
    pub settings: Settings,
}

impl TraceOf {
    /// `lenient`: the module and the preloaded files may have been edited since the trace was written.
    ///
    /// # Errors
    /// Something cannot be read, or is not what the trace names.
    pub fn load(module: &Path, path: &Path, lenient: bool, cached: bool) -> Result<TraceOf> {
        let trace = Trace::read(path).map_err(|error| named(error, path))?;
        let header = &trace.header;
        let (options, mut settings) = options::read(&header.options)?;
        open_world(&mut settings, path, lenient)?;
        let artifact = load::artifact(module, &options, cached)?;
        if artifact.identity != header.module && !lenient {
            bail!(
                "{} is not the module that {} was found in; give that module, or let `coyote-wasm replay --lenient` \
                 follow the trace as far as this one allows",
                module.display(),
                path.display()
            );
        }
        let Some(test) = libtest::named(&artifact.table, &header.test) else {
            let tests = Test::all(&artifact.table);
            let names: Vec<&str> = tests.iter().map(|t| t.name.as_str()).collect();
            bail!(
                "{} has no test {}, which the trace is of; it has {}",
                module.display(),
                header.test,
                names.join(", ")
            );
        };
        Ok(TraceOf { trace, artifact, test, settings })
    }
}

/// An error of a trace with the name of its file.
fn named(error: TraceError, path: &Path) -> anyhow::Error {
    match error {
        TraceError::Read { .. } => error.into(),
        error => anyhow::Error::from(error).context(path.display().to_string()),
    }
}

/// Preloads the files that the trace names. Changed files make another program, which is an error unless `lenient`.
fn open_world(settings: &mut Settings, trace: &Path, lenient: bool) -> Result<()> {
    let world = Arc::make_mut(&mut settings.world);
    let recorded = world.preload_hash.clone();
    world.open(settings.memory_bytes_max).context("the files that the trace's option preload names")?;
    if world.preload_hash != recorded && !lenient {
        let names: Vec<String> = world.preloads.iter().map(|p| p.host.display().to_string()).collect();
        bail!(
            "{} does not hold the files with which {} was recorded; restore them, or give --lenient to follow \
             the trace as far as these allow",
            names.join(" or "),
            trace.display()
        );
    }
    Ok(())
}
