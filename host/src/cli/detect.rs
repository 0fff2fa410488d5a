//! Which detectors watch, on the command line.

use crate::detect::races::Suppression;
use crate::detect::{BLOCK_RACES, DETECTORS, DetectorEntry, Detectors, RACES, Switch};
use anyhow::{Context, Result, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use coyote_instrumenter::Options;
use std::path::PathBuf;

/// Options that choose detectors by their names in the table.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Detectors")]
pub struct DetectArgs {
    /// Turn detectors on [can be repeated]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', value_parser = names())]
    pub detect: Vec<&'static str>,
    /// Turn detectors off; that wins over --detect [can be repeated]
    #[arg(long, value_name = "NAME,..", value_delimiter = ',', value_parser = names())]
    pub no_detect: Vec<&'static str>,
    /// What to do about data races; wins over --detect races, which is `bug` [default: some]
    #[arg(long, value_name = "WHAT", value_enum)]
    pub races: Option<RaceMode>,
    /// Steps that a monitor of the program may be hot in a fair execution before that is a bug; 0 for any number [default:
    /// half of the bound on steps of fair strategies]
    #[arg(long, value_name = "STEPS")]
    pub max_hot_steps: Option<u64>,
    /// Ignore data races with an access in a function or file that GLOB matches, in which * stands for any characters
    /// [can be repeated]
    #[arg(long, value_name = "race:GLOB", value_parser = suppression)]
    pub suppress: Vec<Suppression>,
    /// Read suppressions from a file, one a line, as `race:GLOB`
    #[arg(long, value_name = "FILE")]
    pub suppressions: Option<PathBuf>,
}

/// What becomes of data races.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum RaceMode {
    /// Do not look for them
    Off,
    /// Report a bug; look for those of accesses in 1 of 16 iterations of samplers, and not in searches
    Some,
    /// Report a bug, in all iterations and searches; to allocate a block, or to free it, is no access
    Accesses,
    /// Add a note to the test, once for each pair of places
    Warn,
    /// Report a bug, in all iterations and searches
    Bug,
}

fn suppression(text: &str) -> Result<Suppression, String> {
    Suppression::parse(text).ok_or_else(|| "it is no `race:GLOB`".into())
}

/// The names of detectors that can be turned on and off, as options take them.
fn names() -> impl TypedValueParser<Value = &'static str> {
    let switched = |entry: &&DetectorEntry| entry.switch != Switch::Always;
    let value = |entry: &'static DetectorEntry| PossibleValue::new(entry.name).help(entry.doc);
    PossibleValuesParser::new(DETECTORS.iter().filter(switched).map(value)).map(|name| {
        let entry = crate::detect::by_name(&name);
        entry.expect("only names of the table are possible").name
    })
}

impl DetectArgs {
    /// The detectors that watch, with those that are on by default.
    ///
    /// # Errors
    /// As [`DetectArgs::apply`].
    pub fn detectors(&self) -> Result<Detectors> {
        let mut detectors = Detectors::default();
        self.apply(&mut detectors)?;
        Ok(detectors)
    }

    /// Turns them on and off, and says what becomes of races.
    ///
    /// # Errors
    /// Of the file of suppressions.
    pub fn apply(&self, detectors: &mut Detectors) -> Result<()> {
        self.switch(detectors);
        detectors.hot_steps_max = self.max_hot_steps.or(detectors.hot_steps_max);
        detectors.races.suppressions.extend(self.suppress.iter().cloned());
        if let Some(path) = &self.suppressions {
            let shown = path.display();
            let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {shown}"))?;
            let read = Suppression::parse_all(&text).map_err(|why| anyhow!("{shown}: {why}"))?;
            detectors.races.suppressions.extend(read);
        }
        Ok(())
    }

    fn switch(&self, detectors: &mut Detectors) {
        for (names, on) in self.choices() {
            for name in names {
                detectors.set(name, on);
                if on && *name == RACES {
                    detectors.set(BLOCK_RACES, true);
                }
            }
        }
        if let Some(mode) = self.races {
            let finds = mode != RaceMode::Off;
            detectors.set(RACES, finds);
            detectors.set(BLOCK_RACES, finds && mode != RaceMode::Accesses);
            detectors.races.warn = mode == RaceMode::Warn;
            if mode == RaceMode::Some {
                *detectors = detectors.in_some();
            }
        }
    }

    /// Has the module instrumented with what they need to watch a sampler, or a search, which those that watch some
    /// iterations alone do not watch.
    pub fn prepare(&self, is_search: bool, options: &mut Options) {
        let mut detectors = Detectors::default();
        self.switch(&mut detectors);
        if is_search {
            detectors = detectors.without_sampled();
        }
        detectors.prepare(options);
        for (names, on) in self.choices() {
            if names
                .iter()
                .any(|name| crate::detect::by_name(name).is_some_and(|e| e.switch == Switch::MemoryErrors))
            {
                options.memory_errors = on;
            }
        }
    }

    fn choices(&self) -> [(&[&'static str], bool); 2] {
        [(&self.detect, true), (&self.no_detect, false)]
    }
}
