//! `coyote-wasm replay`: reproduce a bug from its trace.

use super::bug_files;
use super::bundle::Replayable;
use super::debug;
use super::output;
use super::trace_of::TraceOf;
use crate::debug::Debugger;
use crate::diagnose::{Discovery, SourceLines, Teller, found_bug};
use crate::engine_thread::on_engine_thread;
use crate::execution::Execution;
use crate::exit::Exit;
use crate::explain::{self, Allowance, EXPERIMENTS_TIME};
use crate::machine::MachineError;
use crate::outcome::{BugKind, Outcome};
use crate::plural::counted;
use crate::record::{self, Origin};
use crate::replay::{Replayed, replay};
use crate::report::build::Builder;
use crate::report::model::BugReport;
use crate::report::render::{BUG_FILES, BugFileEntry, bug, log};
use crate::report::stack;
use crate::results::FoundBug;
use crate::symbols::Symbols;
use crate::trace::Trace;
use anyhow::Result;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

#[derive(clap::Args)]
pub struct Args {
    /// The module that the trace was found in, or a bundle
    module: PathBuf,
    /// The trace; for a bundle with several traces, the name of one of them
    trace: Option<PathBuf>,
    /// For a module that was edited or rebuilt: run over operations that the trace lacks, leave out those that
    /// the module lacks, and say so. Without a bug it ends with exit code 4: that is no evidence of a fix
    #[arg(long)]
    lenient: bool,
    /// Write the bug as a page for a browser into this file
    #[arg(long, value_name = "FILE")]
    page: Option<PathBuf>,
    /// Write the bug as a trace for ui.perfetto.dev into this file
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Print the whole log of the iteration
    #[arg(short, long)]
    verbose: bool,
    /// Look into the execution by commands: step forwards and backwards, breakpoints, watchpoints, variables, stacks
    #[arg(long, conflicts_with_all = ["page", "perfetto", "verbose"])]
    interactive: bool,
    /// As --interactive, with the commands of a file: one a line
    #[arg(long, value_name = "FILE", conflicts_with_all = ["interactive", "page", "perfetto", "verbose"])]
    commands: Option<PathBuf>,
    /// Do not use the artifact cache
    #[arg(long)]
    no_cache: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<Exit> {
    let given = Replayable::open(&args.module, args.trace.as_deref())?;
    let TraceOf { trace, artifact, test, settings } =
        TraceOf::load(&given.module, &given.trace, args.lenient, !args.no_cache)?;
    let (header, test) = (&trace.header, &test);
    println!(
        ". Replaying {}: test {}, {} choices, iteration {} of seed {}",
        given.shown_trace.display(),
        test.name,
        trace.decisions.len(),
        header.iteration,
        header.seed
    );
    if let Some(input) = args.input() {
        return debug::run(&input, || {
            let debugger =
                Debugger::new(&artifact, &given.shown_module, test, &settings, &trace, args.lenient)?;
            let exit = conclude(&debugger.replayed, &trace, args.lenient, &Symbols::new(&artifact.original));
            Ok((debugger, exit))
        });
    }
    let (replayed, found) = on_engine_thread(|| -> Result<_, MachineError> {
        let mut execution = Execution::new(&artifact, test, &settings)?;
        let replayed = replay(&mut execution, &trace, args.lenient)?;
        let mut found = found(&mut execution, &replayed, &trace, &given.shown_trace)?;
        if let Some(found) = &mut found {
            // Only files show the explanation.
            if args.wants_files() {
                explained(&mut execution, found)?;
            }
            let mut teller = Teller::new(&artifact, &given.shown_module).with_history(args.wants_files());
            teller.tell(&mut execution, found)?;
        }
        Ok((replayed, found))
    })?;
    let symbols = Symbols::new(&artifact.original);
    match &found {
        Some(found) => {
            let host_directories = !settings.world.directories.is_empty();
            let report =
                Builder { module: &given.shown_module, symbols: &symbols, host_directories }.bug(found);
            println!("{}", bug::headline(&test.name, &report, output::styles()));
            print!("{}", bug::details(&report, output::width(), output::styles()));
            if args.verbose {
                print!("{}", log::log(&test.name, &report));
            }
            args.write_files(&test.name, &report)?;
        }
        None if replayed.outcome == Outcome::Passed => {
            println!("this execution of test {} ended without a bug", test.name);
        }
        None => println!("{}", outcome_line(&test.name, &replayed.outcome)),
    }
    Ok(conclude(&replayed, &trace, args.lenient, &symbols))
}

impl Args {
    /// The source of a session's commands, if a session is requested.
    fn input(&self) -> Option<debug::Input<'_>> {
        match &self.commands {
            Some(file) => Some(debug::Input::File(file)),
            None => self.interactive.then_some(debug::Input::Standard),
        }
    }

    fn files(&self) -> impl Iterator<Item = (&'static BugFileEntry, &Path)> {
        BUG_FILES.iter().filter_map(|entry| {
            let path = match entry.name {
                "page" => self.page.as_deref(),
                "perfetto" => self.perfetto.as_deref(),
                _ => None,
            };
            Some((entry, path?))
        })
    }

    fn wants_files(&self) -> bool {
        self.files().next().is_some()
    }

    fn write_files(&self, test: &str, bug: &BugReport) -> Result<()> {
        for (entry, path) in self.files() {
            match bug_files::write(entry, &self.module, test, bug, path)? {
                true => println!("  {:<7} {}", format!("{}:", entry.name), path.display()),
                false => println!("... No {} was written: the iteration has too many steps", entry.name),
            }
        }
        Ok(())
    }
}

/// Adds the results of experiments on the replayed bug.
fn explained(execution: &mut Execution, found: &mut FoundBug) -> Result<(), MachineError> {
    let lines = Mutex::new(SourceLines::new(execution.machine().artifact()));
    let FoundBug { trace, identity, explanation, .. } = found;
    let allowance = Allowance::of(EXPERIMENTS_TIME);
    explain::experiments(execution, trace, identity, &lines, allowance, explanation)
}

/// The replayed bug in the form that reports use.
fn found(
    execution: &mut Execution,
    replayed: &Replayed,
    trace: &Trace,
    path: &Path,
) -> Result<Option<FoundBug>, MachineError> {
    let Outcome::Bug(bug) = &replayed.outcome else { return Ok(None) };
    let origin = Origin {
        strategy: "replay".into(),
        seed: trace.header.seed,
        iteration: trace.header.iteration,
        options: trace.header.options.clone(),
    };
    let trace = record::trace(execution, &replayed.outcome, origin);
    let lines = Mutex::new(SourceLines::new(execution.machine().artifact()));
    let index = Some(trace.header.iteration);
    let discovery = Discovery { trace, path: path.to_owned(), index, by: None };
    found_bug(execution, bug, discovery, &lines).map(Some)
}

fn conclude(replayed: &Replayed, trace: &Trace, lenient: bool, symbols: &Symbols) -> Exit {
    let header = &trace.header;
    let left = replayed.divergence.as_ref().map(|left| {
        let place = stack(&left.stack, symbols).into_iter().next();
        format!("at choice {}{}", left.at + 1, place.map_or(String::new(), |place| format!(", {place}")))
    });
    if let Some(divergence) = &replayed.divergence {
        let (at, reason) = (divergence.at + 1, &divergence.reason);
        println!("... The execution left the trace at choice {at}: {reason}");
    }
    if replayed.added + replayed.left_out > 0 {
        println!(
            "... To follow it further, {} that the trace lacks were made and {} of its own left out",
            counted(replayed.added, "choice"),
            replayed.left_out
        );
    }
    let ended = match header.message.as_str() {
        "" => header.outcome.clone(),
        message => format!("{}: {message}", header.outcome),
    };
    if replayed.reproduces(trace) {
        println!(". Reproduced: {}", header.outcome);
    } else if lenient && replayed.outcome.is_bug() {
        let kind = if replayed.ends_alike(trace) { "A bug of the same kind" } else { "Another bug" };
        println!(". {kind} was found (the trace ended with {ended})");
    } else if let Some(left) = left {
        println!(". Not reproduced: the trace ended with {ended}");
        println!(
            ". The trace was left {left}: its schedule was not followed, so this says nothing about the bug, \
             and is no evidence of a fix"
        );
        return Exit::ReplayDiverged;
    } else if replayed.outcome.is_bug() {
        let other = if replayed.ends_alike(trace) { "another bug of the same kind" } else { "another bug" };
        println!(". Not reproduced: the trace ended with {ended}; this is {other}");
        return Exit::ReplayDiverged;
    } else {
        println!(". Not reproduced: the trace ended with {ended}");
        println!(". One schedule without the bug is no evidence of a fix: explore the test again");
        return Exit::ReplayDiverged;
    }
    match &replayed.outcome {
        Outcome::Bug(bug) if bug.kind == BugKind::Limit => Exit::Limit,
        Outcome::Bug(_) => Exit::BugFound,
        _ => Exit::NoBug,
    }
}

/// The outcome, in the words of the test command.
fn outcome_line(test: &str, outcome: &Outcome) -> String {
    match outcome {
        Outcome::Passed => format!("test {test} passes"),
        Outcome::Bug(bug) if bug.kind == BugKind::Limit => {
            format!("no verdict on test {test}: {}", bug.message())
        }
        Outcome::Bug(bug) => format!("bug in test {test}: {}: {}", bug.kind.name(), bug.message()),
        Outcome::Bound(bound) => format!("no verdict on test {test}: {}", bound.advice()),
        Outcome::Abandoned => format!("no verdict on test {test}: the iteration was given up"),
    }
}
