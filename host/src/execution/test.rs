//! The tests of a module.

use super::Settings;
use crate::artifact::Artifact;
use crate::runtime::{FaultClass, Start};
use crate::world::World;
use coyote_abi::guest;
use coyote_instrumenter::{Entry, INITIALISERS, RECOVER_PROGRAM, SiteTable};
use std::sync::Arc;

/// A test of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// Its name for the user.
    pub name: String,
    /// The export that is called.
    pub export: String,
    /// The arguments of the test harness, if the export runs one. The harness is followed to the test
    /// function.
    pub harness: Option<Vec<String>>,
}

/// Checks that the initialisers of a program with threads are known: an export other than `main` needs the
/// work that wasi-libc's `_start` does first.
///
/// # Errors
/// The module is a program with threads, and has no function with the name of libc's initialiser.
fn needs_initialisers(artifact: &Artifact) -> Result<(), String> {
    let known = || ["_initialize", INITIALISERS[0]].iter().any(|export| artifact.entry(export).is_some());
    if artifact.table.wasi_threads && artifact.entry(START).is_some() && !known() {
        return Err(format!(
            "what is called beside main needs libc's function {}, and the module has no function of this name: keep \
             its names (do not strip it), or test main",
            INITIALISERS[0]
        ));
    }
    Ok(())
}

/// The export of a program.
const START: &str = "_start";

/// The name of the test for a plain program.
const PROGRAM: &str = "main";

/// Whether the program has a `main`, as far as names of functions tell. The C SDK's start calls it by its address, so
/// linkers keep it as a function.
fn has_main(table: &SiteTable) -> bool {
    let is_there = |names: &[&str]| table.functions.iter().any(|f| names.contains(&f.name.as_str()));
    !is_there(&["__coyote_main"]) || is_there(&["main", "__main_argc_argv"])
}

impl Test {
    /// The tests of a module in the order of their exports; a program with `_start` is one test, unless it is known
    /// to have no `main`: coyote-cc also links programs that consist of tests alone.
    pub fn all(table: &SiteTable) -> Vec<Test> {
        let exports = table.entries.iter().filter_map(|e| match e {
            Entry::Export(name) => Some(name),
            _ => None,
        });
        exports
            .filter_map(|export| {
                let name = match export.strip_prefix(guest::TEST_PREFIX) {
                    Some(name) => name,
                    None if export == START && has_main(table) => PROGRAM,
                    None => return None,
                };
                Some(Test { name: name.into(), export: export.clone(), harness: None })
            })
            .collect()
    }

    /// A run of Rust's test harness, for modules with [`SiteTable::libtest`].
    pub fn harness(name: &str, arguments: Vec<String>) -> Test {
        Test { name: name.into(), export: START.into(), harness: Some(arguments) }
    }

    /// The exports that are called once, before iterations begin. A program initialises itself.
    ///
    /// # Errors
    /// It is unknown how the test's libc is initialised.
    pub(super) fn initialisers(&self, artifact: &Artifact) -> Result<Vec<&'static str>, String> {
        if self.is_program() {
            return Ok(vec![guest::SETUP]);
        }
        needs_initialisers(artifact)?;
        Ok(["_initialize"].into_iter().chain(INITIALISERS.iter().copied()).chain([guest::SETUP]).collect())
    }

    fn is_program(&self) -> bool {
        self.export == START
    }

    /// The entry that runs after a crash: the function for that, or the program, which starts again.
    fn recovery(&self, artifact: &Artifact) -> Result<Option<u32>, String> {
        let Some(recover) = artifact.entry(guest::RECOVER) else {
            return Ok(artifact.entry(&self.export).filter(|_| self.is_program()));
        };
        if !self.is_program() {
            return Ok(Some(recover));
        }
        // After a crash, memory is as it was before the program initialised itself.
        needs_initialisers(artifact)?;
        Ok(artifact.entry(RECOVER_PROGRAM).or(Some(recover)))
    }

    /// The start of the program after a crash, if it may crash.
    ///
    /// # Errors
    /// The program cannot start again; the text says why, and what to do.
    pub(super) fn restart(&self, artifact: &Artifact, settings: &Settings) -> Result<Option<Start>, String> {
        if !settings.faults.has(FaultClass::Crash) {
            return Ok(None);
        }
        let wrong = match self.recovery(artifact)? {
            _ if self.harness.is_some() => {
                "cannot be had within Rust's test harness: make it a #[coyote::test] with a #[coyote::recover], or a program"
            }
            _ if !settings.world.directories.is_empty() => {
                "leaves directories of the host as they are: give them with --preload instead of --dir"
            }
            _ if !artifact.options.fails("crash") => {
                "needs a module that is instrumented with Options::faults = [\"crash\"]"
            }
            None => {
                "needs to know how the program starts again: add a function #[coyote::recover], COYOTE_RECOVER in C, which \
                 says whether the files are what they should be"
            }
            Some(entry) => return Ok(Some(Start { entry, a: 0, b: 0, stack: None })),
        };
        Err(format!("--faults crash {wrong}"))
    }

    /// Whether nodes may crash.
    ///
    /// # Errors
    /// They cannot; the text says why, and what to do.
    pub(super) fn nodes_crash(&self, artifact: &Artifact, settings: &Settings) -> Result<bool, String> {
        if !settings.faults.has(FaultClass::CrashNode) {
            return Ok(false);
        }
        let wrong = if settings.faults.has(FaultClass::Crash) {
            "cannot be combined with crash: at a sync of a node's file, only one of the two could happen"
        } else if !settings.world.directories.is_empty() {
            "leaves directories of the host as they are: give them with --preload instead of --dir"
        } else if !artifact.options.fails("crash") {
            "needs a module that is instrumented with Options::faults = [\"crash\"]"
        } else {
            return Ok(true);
        };
        Err(format!("--faults crash.node {wrong}"))
    }

    /// The world in which it runs.
    pub(super) fn world(&self, world: &Arc<World>) -> Arc<World> {
        match &self.harness {
            None => world.clone(),
            Some(arguments) => {
                let mut world = World::clone(world);
                world.arguments.truncate(1);
                world.arguments.extend(arguments.iter().cloned());
                Arc::new(world)
            }
        }
    }
}
