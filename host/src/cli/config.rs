//! `coyote.toml`: options of `coyote-wasm test` that a project keeps, for all tests or for some.
//!
//! Keys are the names of the command line's options, so clap's table of options is the only one. An option of the
//! command line has priority over the first `[[tests]]` whose names match, and this over the rest of the file. Options
//! that can be repeated add up. An option of the file that contradicts one of the command line is ignored.

use anyhow::{Context, Result, anyhow, bail, ensure};
use clap::builder::ValueParser;
use clap::{Arg, ArgAction, ArgMatches, Command, parser::ValueSource};
use coyote_instrumenter::nearest;
use globset::{Glob, GlobSet, GlobSetBuilder};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// The file's name.
pub const NAME: &str = "coyote.toml";

/// Options for the file.
#[derive(clap::Args)]
#[command(next_help_heading = "Configuration")]
pub struct ConfigArgs {
    /// Read options from this file [default: coyote.toml of this directory or the nearest above it]
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read no coyote.toml
    #[arg(long, conflicts_with = "config")]
    no_config: bool,
}

impl ConfigArgs {
    /// The file that applies, if there is one.
    pub fn file(&self) -> Option<PathBuf> {
        self.config.clone().or_else(|| if self.no_config { None } else { Config::find() })
    }
}

/// Options that concern one run only.
const ONE_RUN: &[&str] = &[
    "bench",
    "claim",
    "config",
    "confirm",
    "exact",
    "help",
    "ignored",
    "include-ignored",
    "iteration",
    "iterations-from",
    "list",
    "no-config",
    "part",
    "pieces",
    "result",
    "resume",
    "runner",
    "shard",
    "test",
    "unit-steps",
];

/// Options that can be set for single tests, in addition to those of the headings [`PER_TEST_HEADINGS`].
const PER_TEST: &[&str] = &[
    "check-determinism",
    "explore",
    "island",
    "iterations",
    "no-experiments",
    "no-shrink",
    "races",
    "shrink-time",
    "strategy",
    "suppress",
    "suppressions",
    "timeout",
];
const PER_TEST_HEADINGS: &[&str] = &["Execution"];
/// Options under these headings that nevertheless apply to all tests of a run.
const NOT_PER_TEST: &[&str] = &["dir", "no-cache"];

/// Options whose value begins with a path, in addition to those whose whole value is a path.
const BEGIN_WITH_PATH: &[&str] = &["dir", "preload"];

/// A file of options.
#[derive(Debug)]
pub struct Config {
    pub path: PathBuf,
    all: Vec<Entry>,
    tests: Vec<Section>,
}

/// Options of some tests.
#[derive(Debug)]
struct Section {
    names: GlobSet,
    /// The names and globs as they are written, in the order of `names`.
    written: Vec<String>,
    entries: Vec<Entry>,
}

/// An option.
#[derive(Debug)]
struct Entry {
    /// Its identifier in clap.
    id: String,
    /// The option as arguments of the command line.
    arguments: Vec<OsString>,
}

impl Config {
    /// Finds the file in the nearest directory that has one, from the current one upwards to the root of a repository.
    pub fn find() -> Option<PathBuf> {
        Config::find_from(&std::env::current_dir().ok()?)
    }

    /// As [`Config::find`], from this directory.
    pub fn find_from(directory: &Path) -> Option<PathBuf> {
        let here = std::path::absolute(directory).ok()?;
        for folder in here.ancestors() {
            let file = folder.join(NAME);
            if file.is_file() {
                return Some(file);
            }
            if folder.join(".git").exists() {
                return None;
            }
        }
        None
    }

    /// Reads a file. `command`: the command whose options the file may set.
    ///
    /// # Errors
    /// The file cannot be read, is no TOML, names an unknown option, or gives an option a value that it does not
    /// accept.
    pub fn read(path: &Path, command: &Command) -> Result<Config> {
        let text =
            std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        parse(&text, folder, path, command).with_context(|| path.display().to_string())
    }

    /// The file's part of the command line, ordered such that later arguments are added to earlier ones.
    ///
    /// `given`: the command line's own arguments; `test`: the test that the options are for, or `None` for the options
    /// of all tests.
    pub fn arguments(&self, command: &Command, given: &ArgMatches, test: Option<&str>) -> Vec<OsString> {
        let own = |name| self.tests.iter().filter(move |section| section.names.is_match(name));
        let sections = test.into_iter().flat_map(own).map(|section| &section.entries);
        let mut taken: BTreeSet<&str> = command
            .get_arguments()
            .map(|arg| arg.get_id().as_str())
            .filter(|id| given.value_source(id) == Some(ValueSource::CommandLine))
            .collect();
        let mut arguments = Vec::new();
        for entries in sections.chain([&self.all]) {
            let mut here = Vec::new();
            for entry in entries {
                let option = option_of(command, &entry.id);
                let said = taken.contains(entry.id.as_str()) && !adds_up(option);
                if !said && !contradicts(command, option, &taken) {
                    arguments.extend(entry.arguments.iter().cloned());
                    here.push(entry.id.as_str());
                }
            }
            taken.extend(here);
        }
        arguments
    }

    /// Whether this test has options of its own.
    pub fn names(&self, test: &str) -> bool {
        self.tests.iter().any(|section| section.names.is_match(test))
    }

    /// The names and globs of `[[tests]]` sections that match none of these tests, with advice: one sentence each.
    pub fn without_test(&self, tests: &[String]) -> Vec<String> {
        let mut said = Vec::new();
        for section in &self.tests {
            let matched: BTreeSet<usize> =
                tests.iter().flat_map(|test| section.names.matches(test)).collect();
            for (index, name) in section.written.iter().enumerate() {
                if !matched.contains(&index) {
                    let plain = name.trim_matches('*');
                    let close = nearest(plain, tests.iter().map(String::as_str));
                    let advice = match close.first() {
                        Some(other) => format!("the nearest is {other}"),
                        None => "--list shows all".into(),
                    };
                    said.push(format!("[[tests]] names {name:?}, and no test is called so: {advice}"));
                }
            }
        }
        said
    }

    /// The options of each part of the file that is about some tests, without the options of all tests.
    pub fn parts(&self) -> impl Iterator<Item = Vec<OsString>> {
        self.tests.iter().map(|section| arguments_of(&section.entries))
    }
}

fn parse(text: &str, folder: &Path, path: &Path, command: &Command) -> Result<Config> {
    let mut table: Table =
        text.parse().map_err(|error: toml::de::Error| anyhow!("{}", one_line(&error, text)))?;
    let sections = match table.remove("tests") {
        None => Vec::new(),
        Some(Value::Array(sections)) => sections,
        Some(_) => bail!("`tests` is not a list: write [[tests]] above the options of some tests"),
    };
    let reader = Reader { folder, command };
    let config = Config {
        path: path.to_path_buf(),
        all: reader.entries(&table, false)?,
        tests: sections.into_iter().map(|section| reader.section(section)).collect::<Result<_>>()?,
    };
    for arguments in config.parts().chain([arguments_of(&config.all)]) {
        check(command, arguments)?;
    }
    Ok(config)
}

/// A TOML parser's message with its line number, in one line.
fn one_line(error: &toml::de::Error, text: &str) -> String {
    let line = error.span().map(|span| text[..span.start.min(text.len())].matches('\n').count() + 1);
    let place = line.map(|line| format!("line {line}: ")).unwrap_or_default();
    format!("{place}{}", error.message().replace('\n', ", "))
}

/// Checks that the command accepts these options.
fn check(command: &Command, arguments: Vec<OsString>) -> Result<()> {
    let line = [command.get_name().into(), OsString::from("module.wasm")].into_iter().chain(arguments);
    let parsed = command.clone().try_get_matches_from(line);
    parsed.map(drop).map_err(|error| {
        let said = error.to_string();
        let said = said.lines().take_while(|line| !line.is_empty()).map(str::trim).collect::<Vec<_>>();
        anyhow!("{}", said.join(" ").trim_start_matches("error: "))
    })
}

fn arguments_of(entries: &[Entry]) -> Vec<OsString> {
    entries.iter().flat_map(|entry| entry.arguments.iter().cloned()).collect()
}

struct Reader<'a> {
    /// The directory that relative paths start at.
    folder: &'a Path,
    command: &'a Command,
}

impl Reader<'_> {
    fn section(&self, section: Value) -> Result<Section> {
        let Value::Table(mut section) = section else {
            bail!("`tests` is not a list of tables: write [[tests]] above the options");
        };
        let names = match section.remove("names") {
            Some(Value::String(name)) => vec![name],
            Some(Value::Array(names)) => names
                .iter()
                .map(|name| name.as_str().map(str::to_string).context("names = [..] takes strings"))
                .collect::<Result<_>>()?,
            _ => bail!("[[tests]] needs names = [\"..\"], names or globs of the tests that it is about"),
        };
        let mut globs = GlobSetBuilder::new();
        for name in &names {
            globs.add(Glob::new(name).with_context(|| format!("names = {name:?}"))?);
        }
        let entries = self.entries(&section, true)?;
        ensure!(!entries.is_empty(), "[[tests]] of {} gives no option", names.join(", "));
        Ok(Section { names: globs.build()?, written: names, entries })
    }

    fn entries(&self, table: &Table, some_tests: bool) -> Result<Vec<Entry>> {
        let entry = |(key, value): (&String, &Value)| {
            let option = self.option(key, some_tests)?;
            let arguments = self.arguments(option, key, value)?;
            Ok(Entry { id: option.get_id().to_string(), arguments })
        };
        table.iter().map(entry).collect()
    }

    /// The option of this name.
    fn option(&self, key: &str, some_tests: bool) -> Result<&Arg> {
        let named = |arg: &&Arg| {
            arg.get_long() == Some(key) || arg.get_all_aliases().is_some_and(|names| names.contains(&key))
        };
        let Some(option) = self.command.get_arguments().filter(|arg| !arg.is_hide_set()).find(named) else {
            bail!("`{key}` is no option: `coyote-wasm test --help` lists them");
        };
        let name = option.get_long().unwrap_or(key);
        ensure!(!ONE_RUN.contains(&name), "`{key}` is about one run: give it on the command line");
        ensure!(
            !some_tests || is_per_test(option),
            "`{key}` holds for all tests of a run: write it above the first [[tests]]"
        );
        Ok(option)
    }

    fn arguments(&self, option: &Arg, key: &str, value: &Value) -> Result<Vec<OsString>> {
        let name = option.get_long().expect("only options with a name are found");
        let is_flag = matches!(option.get_action(), ArgAction::SetTrue);
        let may_be_bare = option.get_num_args().is_some_and(|n| n.min_values() == 0);
        match value {
            Value::Boolean(on) if is_flag || may_be_bare => {
                Ok(on.then(|| format!("--{name}").into()).into_iter().collect())
            }
            _ if is_flag => bail!("`{key}` takes true or false"),
            Value::Array(values) => {
                let each = values.iter().map(|value| self.argument(option, name, value));
                each.collect::<Result<_>>().with_context(|| format!("`{key}`"))
            }
            value => Ok(vec![self.argument(option, name, value).with_context(|| format!("`{key}`"))?]),
        }
    }

    fn argument(&self, option: &Arg, name: &str, value: &Value) -> Result<OsString> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Integer(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            other => bail!("takes a string or a number, not {other}"),
        };
        // Not a path, although all other values of the option are.
        let is_word = (name, text.as_str()) == ("regressions", "off");
        let is_path = !is_word && option.get_value_parser().type_id() == ValueParser::path_buf().type_id();
        let mut argument = OsString::from(format!("--{name}="));
        match is_path || BEGIN_WITH_PATH.contains(&name) {
            true => argument.push(self.folder.join(text)),
            false => argument.push(text),
        }
        Ok(argument)
    }
}

fn is_per_test(option: &Arg) -> bool {
    let name = option.get_long().unwrap_or_default();
    let heading = option.get_help_heading().is_some_and(|heading| PER_TEST_HEADINGS.contains(&heading));
    (heading || PER_TEST.contains(&name)) && !NOT_PER_TEST.contains(&name)
}

fn option_of<'c>(command: &'c Command, id: &str) -> &'c Arg {
    command.get_arguments().find(|arg| arg.get_id() == id).expect("the entry was made of it")
}

/// Whether several occurrences of this option form one list.
fn adds_up(option: &Arg) -> bool {
    matches!(option.get_action(), ArgAction::Append)
        && option.get_num_args().is_none_or(|values| values.max_values() == 1)
}

/// Whether the option excludes one of the others, or one of them excludes it.
fn contradicts(command: &Command, option: &Arg, others: &BTreeSet<&str>) -> bool {
    let excludes = |one: &Arg, other: &str| {
        command.get_arg_conflicts_with(one).iter().any(|excluded| excluded.get_id() == other)
    };
    others.iter().any(|other| {
        let there = option_of(command, other);
        excludes(option, other) || excludes(there, option.get_id().as_str())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::test::Args;

    fn command() -> Command {
        let mut command = <Args as clap::Args>::augment_args(Command::new("test"));
        command.build();
        command
    }

    fn read(text: &str) -> Result<Config, String> {
        let parsed = parse(text, Path::new("/project"), Path::new("/project/coyote.toml"), &command());
        parsed.map_err(|error| format!("{error:#}"))
    }

    /// The resulting command line.
    fn line(text: &str, given: &[&str], test: Option<&str>) -> String {
        let command = command();
        let config = read(text).unwrap();
        let typed = ["test", "module.wasm"].iter().chain(given);
        let given = command.clone().try_get_matches_from(typed).unwrap();
        let arguments = config.arguments(&command, &given, test);
        arguments.iter().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
    }

    const TEXT: &str = r#"
        strategy = "pct:3"
        timeout = 2.5
        max-steps = [1000, 5000]
        leaks = true
        verbose = false
        env = ["A=1"]
        suppressions = "races.txt"
        preload = "data::/data"
        spurious-wakeups = true

        [[tests]]
        names = ["queue_*", "stack"]
        strategy = "dpor"
        env = "B=2"

        [[tests]]
        names = "*_slow"
        strategy = "pos"
        iterations = 10
    "#;

    #[test]
    fn keys_are_options() {
        assert_eq!(
            line(TEXT, &[], None),
            "--env=A=1 --leaks --max-steps=1000 --max-steps=5000 --preload=/project/data::/data --spurious-wakeups \
             --strategy=pct:3 --suppressions=/project/races.txt --timeout=2.5"
        );
    }

    #[test]
    fn the_command_line_wins_then_the_first_entry_then_the_rest() {
        let of = |given: &[&str], test| line(TEXT, given, Some(test));
        assert!(
            of(&[], "queue_slow").starts_with("--env=B=2 --strategy=dpor --iterations=10 --env=A=1 --leaks")
        );
        assert!(!of(&[], "queue_slow").contains("pct"));
        assert!(of(&[], "other").contains("--strategy=pct:3"));
        assert!(!of(&["-s", "random"], "queue_slow").contains("--strategy"));
        assert!(!of(&["--ms", "7"], "queue_slow").contains("--max-steps"));
        // Options that can be repeated add up.
        assert!(of(&["--env", "C=3"], "stack").contains("--env=B=2"));
    }

    #[test]
    fn names_without_a_test_are_told() {
        let tests = ["queue_push", "stack", "stack_of_plates"].map(String::from);
        let of = |text: &str| read(text).unwrap().without_test(&tests);
        assert_eq!(of(TEXT), ["[[tests]] names \"*_slow\", and no test is called so: --list shows all"],);
        assert_eq!(
            of("[[tests]]\nnames = ['stak', 'queue_*', 'stack?of*']\nstrategy = 'pos'"),
            ["[[tests]] names \"stak\", and no test is called so: the nearest is stack"],
        );
    }

    #[test]
    fn what_the_command_line_contradicts_is_left_out() {
        assert_eq!(line("shrink-time = 3", &["--no-shrink"], None), "");
        assert_eq!(line("no-shrink = true", &["--shrink-time", "3"], None), "");
        assert_eq!(line("iterations = 3", &["--iteration", "3"], None), "");
    }

    #[test]
    fn mistakes_are_named() {
        let of = |text: &str| read(text).unwrap_err();
        assert_eq!(of("strategie = 'x'"), "`strategie` is no option: `coyote-wasm test --help` lists them");
        assert_eq!(of("list = true"), "`list` is about one run: give it on the command line");
        assert_eq!(of("leaks = 3"), "`leaks` takes true or false");
        assert_eq!(of("timeout = { a = 1 }"), "`timeout`: takes a string or a number, not { a = 1 }");
        assert_eq!(of("jobs = 0"), "invalid value '0' for '--jobs <N>': 0 is not in 1..=1024");
        assert_eq!(of("iterations = 3\nno"), "line 2: key with no value, expected `=`");
        assert_eq!(
            of("[tests]\nleaks = true"),
            "`tests` is not a list: write [[tests]] above the options of some tests"
        );
        assert!(of("[[tests]]\nleaks = true").starts_with("[[tests]] needs names"));
        assert_eq!(
            of("[[tests]]\nnames = 'a'\npoints = 'sync'"),
            "`points` holds for all tests of a run: write it above the first [[tests]]"
        );
        assert_eq!(of("[[tests]]\nnames = 'a'"), "[[tests]] of a gives no option");
    }

    #[test]
    fn lists_name_options_that_there_are() {
        let command = command();
        let names: BTreeSet<&str> = command.get_arguments().filter_map(Arg::get_long).collect();
        for name in [ONE_RUN, PER_TEST, NOT_PER_TEST, BEGIN_WITH_PATH].concat() {
            assert!(names.contains(name), "{name}");
        }
    }
}
