//! The passes over walrus' form of a module, as data: which passes run, and in which order.

use crate::analysis::Analyses;
use crate::nearest::nearest;
use crate::original::Original;
use crate::pass::Pass;
use crate::passes::{OWN, USUAL_PLACE};
use crate::{Draft, Error, Options};

/// Passes in the order in which they run: the tool's own, and a user's between them.
///
/// The tool's passes can be neither omitted nor reordered, since later stages rely on all of them.
pub struct Pipeline {
    passes: Vec<Box<dyn Pass>>,
}

impl Default for Pipeline {
    fn default() -> Pipeline {
        Pipeline::new()
    }
}

impl Pipeline {
    /// The tool's own passes. A pass that the options disable returns without changes.
    pub fn new() -> Pipeline {
        Pipeline { passes: OWN.iter().map(|pass| Box::new(*pass) as Box<dyn Pass>).collect() }
    }

    /// Adds a pass at a place where memory is already private and imports are already runtime imports.
    /// Accesses that the pass adds to the guest's functions become scheduling points like any other.
    /// Functions that it adds stay as they are.
    #[must_use]
    pub fn with(mut self, pass: impl Pass + 'static) -> Pipeline {
        let place = self.position(USUAL_PLACE).expect("it is one of the tool's");
        self.passes.insert(place, Box::new(pass));
        self
    }

    /// Adds a pass before another one.
    ///
    /// # Errors
    /// There is no pass of this name.
    pub fn before(mut self, name: &str, pass: impl Pass + 'static) -> Result<Pipeline, Error> {
        let place = self.position(name)?;
        self.passes.insert(place, Box::new(pass));
        Ok(self)
    }

    /// Adds a pass after another one. Accesses that are added after `points` are no scheduling points; stores
    /// that are added after `memory` are not undone when a state is restored.
    ///
    /// # Errors
    /// There is no pass of this name.
    pub fn after(mut self, name: &str, pass: impl Pass + 'static) -> Result<Pipeline, Error> {
        let place = self.position(name)? + 1;
        self.passes.insert(place, Box::new(pass));
        Ok(self)
    }

    /// The passes in their order.
    pub fn passes(&self) -> impl Iterator<Item = &dyn Pass> {
        self.passes.iter().map(AsRef::as_ref)
    }

    /// The index of the pass with this name.
    pub(crate) fn position(&self, name: &str) -> Result<usize, Error> {
        self.passes.iter().position(|pass| pass.name() == name).ok_or_else(|| {
            let names: Vec<&str> = self.passes().map(Pass::name).collect();
            let close = nearest(name, names.iter().copied());
            let list = if close.is_empty() { names } else { close };
            let list: Vec<String> = list.iter().map(|n| format!("`{n}`")).collect();
            Error::Option(format!("there is no pass `{name}`; there is {}", list.join(", ")))
        })
    }

    /// Runs all passes over a module.
    pub(crate) fn run<'a>(
        &self,
        wasm: &[u8],
        original: &'a Original,
        options: &'a Options,
        watch: &mut Watch,
    ) -> Result<Draft<'a>, Error> {
        let mut draft = Draft::new(wasm, original, options)?;
        watch(Stage::Done("read"));
        let mut analyses = Analyses::default();
        for pass in self.passes() {
            pass.run(&mut draft, &mut analyses)?;
            if !pass.keeps_calls() {
                analyses.invalidate();
            }
            watch(Stage::Pass(pass.name(), &mut draft));
        }
        Ok(draft)
    }
}

/// The stage that has just ended.
pub enum Stage<'a, 'd> {
    /// A pass of this name ran.
    Pass(&'a str, &'a mut Draft<'d>),
    /// A stage that is not a pass.
    Done(&'static str),
}

impl Stage<'_, '_> {
    /// The name of the pass or of the other stage.
    pub fn name(&self) -> &str {
        match self {
            Stage::Pass(name, _) => name,
            Stage::Done(name) => name,
        }
    }
}

/// Called after each stage: to measure it, or to look at the module.
pub type Watch<'w> = dyn FnMut(Stage) + 'w;

/// A [`Watch`] that ignores every stage.
pub(crate) fn unwatched(_: Stage) {}
