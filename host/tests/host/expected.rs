//! `examples/expected.json`: the verdicts of the examples, and the options under which they are reached. Also part of
//! the benchmark of shrinking.

use coyote_wasm::cli::test::DEFAULT_STRATEGY;
use coyote_wasm::execution::Settings;
use coyote_wasm::instrumenter::{Options, Points};
use coyote_wasm::runtime::{FaultClass, Faults, Timers};
use coyote_wasm::world::{World, parse_listener};
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[derive(Deserialize)]
struct Index {
    version: u32,
    tests: Vec<Expected>,
}

/// The expectations about one test.
#[derive(Clone, Debug, Deserialize)]
pub struct Expected {
    pub module: String,
    pub test: String,
    /// `passed` or the kind of a bug.
    pub verdict: String,
    pub found_within: Option<u64>,
    pub passes: Option<u64>,
    pub message: Option<String>,
    /// The strategy that finds the bug, if the default does not.
    pub strategy: Option<String>,
    /// Options of the command line that the run needs.
    #[serde(default)]
    pub options: Vec<String>,
}

impl Expected {
    pub fn strategy(&self) -> &str {
        self.strategy.as_deref().unwrap_or(DEFAULT_STRATEGY)
    }

    pub fn is_bug(&self) -> bool {
        self.verdict != "passed"
    }

    /// The value of an option.
    pub fn option(&self, name: &str) -> Option<&str> {
        let at = self.options.iter().position(|option| option == name)?;
        let value = self.options.get(at + 1).map(String::as_str);
        Some(value.unwrap_or_else(|| panic!("{self:?}: {name} without a value")))
    }

    pub fn wants_leaks(&self) -> bool {
        self.options.iter().any(|option| option == "--leaks")
    }

    /// How its module is instrumented, by its options.
    pub fn instrument(&self) -> Options {
        let points = match self.option("--points") {
            None => Points::default(),
            Some("sync") => Points::Sync,
            Some("atomic") => Points::Atomic,
            Some(other) => panic!("{self:?}: --points {other}"),
        };
        let known = ["--points", "--faults", "--crash-model", "--memory", "--races", "--timers", "--listen"]
            .map(|name| 2 * usize::from(self.option(name).is_some()));
        let known: usize = known.iter().sum::<usize>() + usize::from(self.wants_leaks());
        assert_eq!(known, self.options.len(), "{self:?}: other options are for the command line");
        let mut options = Options { points, ..Options::default() };
        self.faults().prepare(&mut options);
        self.settings().detectors.prepare(&mut options);
        options
    }

    /// The settings of its executions, by its options.
    pub fn settings(&self) -> Settings {
        let mut settings = Settings::default();
        settings.detectors.set("leaks", self.wants_leaks());
        match self.option("--races") {
            None => {}
            Some("off") => assert!(settings.detectors.set("races", false)),
            Some(other) => panic!("{self:?}: --races {other}"),
        }
        settings.faults = self.faults();
        match self.option("--timers") {
            None => {}
            Some("ordered") => settings.timers = Timers::Ordered,
            Some(other) => panic!("{self:?}: --timers {other}"),
        }
        if let Some(listener) = self.option("--listen") {
            let mut world = World::clone(&settings.world);
            world.listeners = vec![parse_listener(listener).unwrap()];
            world.open(settings.memory_bytes_max).unwrap();
            settings.world = Arc::new(world);
        }
        if let Some(model) = self.option("--crash-model") {
            settings.crash_model = model.parse().unwrap();
        }
        settings
    }

    /// The same without an option and its value.
    pub fn without(&self, name: &str) -> Expected {
        let mut expected = self.clone();
        if let Some(at) = self.options.iter().position(|option| option == name) {
            expected.options.drain(at..at + 2);
        }
        expected
    }

    /// The budgets of faults in its options, including that of stale reads.
    pub fn faults(&self) -> Faults {
        let mut faults = Faults::default();
        match self.option("--memory") {
            None => {}
            Some("weak") => faults = faults.with(FaultClass::Stale, FaultClass::Stale.row().usual),
            Some(other) => panic!("{self:?}: --memory {other}"),
        }
        for budget in self.option("--faults").into_iter().flat_map(|budgets| budgets.split(',')) {
            faults.read(budget).unwrap();
        }
        faults
    }
}

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples")
}

/// The expectations about all tests.
pub fn index() -> Vec<Expected> {
    let path = examples().join("expected.json");
    let index: Index = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    assert_eq!(index.version, 1);
    index.tests
}

/// The path of an example's module.
pub fn module_path(module: &str) -> PathBuf {
    examples().join("wasm").join(format!("{module}.wasm"))
}
