//! The tests of a module.

use crate::world::World;
use coyote_abi::guest;
use coyote_instrumenter::{Entry, SiteTable};
use std::sync::Arc;

/// A test of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Test {
    /// As the user names it.
    pub name: String,
    /// The export that is called.
    pub export: String,
    /// If the export runs a test harness: its arguments. It is followed to the test function.
    pub harness: Option<Vec<String>>,
}

/// The name of the test that a plain program is.
const PROGRAM: &str = "main";

impl Test {
    /// The tests of a module in the order of their exports; a program with `_start` is one test.
    pub fn all(table: &SiteTable) -> Vec<Test> {
        let exports = table.entries.iter().filter_map(|e| match e {
            Entry::Export(name) => Some(name),
            _ => None,
        });
        exports
            .filter_map(|export| {
                let name = match export.strip_prefix(guest::TEST_PREFIX) {
                    Some(name) => name,
                    None if export == "_start" => PROGRAM,
                    None => return None,
                };
                Some(Test { name: name.into(), export: export.clone(), harness: None })
            })
            .collect()
    }

    /// A run of Rust's test harness, for modules with [`SiteTable::libtest`].
    pub fn harness(name: &str, arguments: Vec<String>) -> Test {
        Test { name: name.into(), export: "_start".into(), harness: Some(arguments) }
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
