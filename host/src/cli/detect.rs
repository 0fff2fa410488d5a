//! Which detectors watch, on the command line.

use crate::detect::{DETECTORS, DetectorEntry, Detectors, Switch};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use coyote_instrumenter::Options;

/// Options that choose detectors by their names in the table.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Detectors")]
pub struct DetectArgs {
    /// Turn a detector on [can be repeated]
    #[arg(long, value_name = "NAME", value_parser = names())]
    pub detect: Vec<&'static str>,
    /// Turn a detector off; that wins over --detect [can be repeated]
    #[arg(long, value_name = "NAME", value_parser = names())]
    pub no_detect: Vec<&'static str>,
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
    /// Turns them on and off.
    pub fn apply(&self, detectors: &mut Detectors) {
        for (names, on) in self.choices() {
            names.iter().for_each(|name| _ = detectors.set(name, on));
        }
    }

    /// Has the module instrumented with what they need.
    pub fn prepare(&self, options: &mut Options) {
        let mut detectors = Detectors::default();
        self.apply(&mut detectors);
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
