//! The options of a subcommand: those of the command line, and those that `coyote.toml` adds.

use super::config::Config;
use anyhow::{Context, Result};
use clap::{ArgMatches, Args, Command};
use std::ffi::OsString;
use std::marker::PhantomData;
use std::path::Path;

/// The arguments of a subcommand whose options are `A`, and the file that adds options.
pub struct Configured<A> {
    command: Command,
    /// The subcommand's name and its arguments, as they were typed.
    line: Vec<OsString>,
    given: ArgMatches,
    file: Option<Config>,
    options: PhantomData<A>,
}

impl<A: Args> Configured<A> {
    /// Reads the file, if there is one.
    ///
    /// # Errors
    /// As [`Config::read`].
    pub fn new(line: &[OsString], file: Option<&Path>) -> Result<Configured<A>> {
        let command = command::<A>();
        let file = file.map(|path| Config::read(path, &command)).transpose()?;
        let given = command.clone().try_get_matches_from(line)?;
        Ok(Configured { command, line: line.to_vec(), given, file, options: PhantomData })
    }

    /// The options of all tests.
    ///
    /// # Errors
    /// The options of the file and of the command line contradict each other.
    pub fn all(&self) -> Result<A> {
        self.with(self.added(None))
    }

    /// The options of this test, if the file has options for it.
    ///
    /// # Errors
    /// As [`Configured::all`].
    pub fn of_test(&self, name: &str) -> Result<Option<A>> {
        let has = self.file.as_ref().is_some_and(|file| file.names(name));
        has.then(|| self.with(self.added(Some(name)))).transpose()
    }

    /// The options that each part of the file sets for some tests, whichever tests exist.
    ///
    /// # Errors
    /// As [`Configured::all`].
    pub fn of_some_tests(&self) -> Result<Vec<A>> {
        let parts = self.file.iter().flat_map(Config::parts);
        let line = || [OsString::from("test"), "module.wasm".into()].into_iter();
        parts.map(|part| self.parsed(line().chain(part).collect())).collect()
    }

    /// The options that the file adds, as they would be typed; `None` if it adds nothing.
    pub fn said(&self, test: Option<&str>) -> Option<String> {
        let added = self.added(test);
        let file = self.file.as_ref().filter(|_| !added.is_empty())?;
        let words: Vec<_> = added.iter().map(|a| a.to_string_lossy()).collect();
        Some(format!("{}: {}", file.path.display(), words.join(" ")))
    }

    /// See [`Config::without_test`], with the file's path. `tests` is called if the file has sections for some tests.
    ///
    /// # Errors
    /// Those of `tests`.
    pub fn without_test(&self, tests: impl FnOnce() -> Result<Vec<String>>) -> Result<Vec<String>> {
        let Some(file) = self.file.as_ref().filter(|file| file.parts().next().is_some()) else {
            return Ok(Vec::new());
        };
        let said = file.without_test(&tests()?);
        Ok(said.into_iter().map(|said| format!("{}: {said}", file.path.display())).collect())
    }

    fn added(&self, test: Option<&str>) -> Vec<OsString> {
        let of = |file: &Config| file.arguments(&self.command, &self.given, test);
        self.file.as_ref().map(of).unwrap_or_default()
    }

    fn with(&self, added: Vec<OsString>) -> Result<A> {
        let mut line = self.line.clone();
        // Behind the subcommand's name.
        line.splice(1..1, added);
        self.parsed(line)
    }

    fn parsed(&self, line: Vec<OsString>) -> Result<A> {
        let matches = self.command.clone().try_get_matches_from(line).context(super::config::NAME)?;
        Ok(A::from_arg_matches(&matches)?)
    }
}

/// The command whose options are `A`.
pub fn command<A: Args>() -> Command {
    let mut command = A::augment_args(Command::new("test"));
    command.build();
    command
}
