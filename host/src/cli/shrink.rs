//! `coyote-wasm shrink`: reproduces a bug by a schedule that is easier to read, and reports it.

use super::bundle::Replayable;
use super::output;
use super::report_args::{interruptible, seconds};
use super::trace_of::TraceOf;
use crate::bundle::Bundle;
use crate::diagnose::{Discovery, SourceLines, Teller, found_bug};
use crate::engine_thread::on_engine_thread;
use crate::execution::Execution;
use crate::exit::Exit;
use crate::explain::{self, Allowance, EXPERIMENTS_TIME};
use crate::explore::alarm;
use crate::machine::MachineError;
use crate::report::build::Builder;
use crate::report::render::{bug, explanation};
use crate::results::FoundBug;
use crate::shrink::{self, Effort, Shrunk};
use crate::symbols::Symbols;
use anyhow::{Result, bail};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Instant;

#[derive(clap::Args)]
pub struct Args {
    /// The module that the trace was found in, or a bundle
    module: PathBuf,
    /// The trace; for a bundle with several traces, the name of one of them
    trace: Option<PathBuf>,
    /// Where the minimised trace is written [default: beside the trace or the bundle, as NAME.min.trace]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Seconds for minimising; after that, the smallest trace found so far is written
    #[arg(long, alias = "time-limit", value_name = "SECONDS", default_value_t = 60.0)]
    shrink_time: f64,
    /// Do not use the artifact cache
    #[arg(long)]
    no_cache: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<Exit> {
    let given = Replayable::open(&args.module, args.trace.as_deref())?;
    let shown = given.shown_trace.display();
    let TraceOf { trace, artifact, test, settings } =
        TraceOf::load(&given.module, &given.trace, false, !args.no_cache)?;
    let (limit, started) = (seconds("--shrink-time", args.shrink_time)?, Instant::now());
    let interrupted = interruptible()?;
    let lines = Mutex::new(SourceLines::new(&artifact));
    let output = args.output.clone().unwrap_or_else(|| beside(args, &given));
    let explained = |execution: &mut Execution, shrunk: &Shrunk| -> Result<FoundBug, MachineError> {
        let (trace, path) = (shrunk.trace.clone(), output.clone());
        let discovery = Discovery { index: Some(trace.header.iteration), trace, path, by: None };
        let mut found = found_bug(execution, &shrunk.bug, discovery, &lines)?;
        found.explanation.shrinking = Some(shrunk.shrinking);
        let FoundBug { trace, identity, explanation, .. } = &mut found;
        let allowance = Allowance { time: limit.max(EXPERIMENTS_TIME), interrupted: &interrupted };
        explain::experiments(execution, trace, identity, &lines, allowance, explanation)?;
        Teller::new(&artifact, &given.shown_module).tell(execution, &mut found)?;
        Ok(found)
    };
    let result = on_engine_thread(|| -> Result<Option<(Shrunk, FoundBug)>> {
        let mut execution = Execution::new(&artifact, &test, &settings)?;
        if let Some(why) = shrink::refused(&execution, &trace) {
            bail!("{shown} cannot be shrunk: {why}");
        }
        let shrunk = alarm::with(Some(limit), &interrupted, |stop| {
            shrink::shrink(&mut execution, &trace, Effort::default(), stop, &lines)
        })?;
        let Some(shrunk) = shrunk else { return Ok(None) };
        let found = explained(&mut execution, &shrunk)?;
        Ok(Some((shrunk, found)))
    })?;
    let Some((shrunk, found)) = result else {
        println!(". Not reproduced: {shown} does not end with the bug any more");
        return Ok(Exit::ReplayDiverged);
    };
    shrunk.trace.write(&output)?;
    println!(
        ". Shrunk {shown}: test {}, {} choices to {}, {} schedules in {:.1} s",
        test.name,
        trace.decisions.len(),
        shrunk.trace.decisions.len(),
        shrunk.shrinking.attempts,
        started.elapsed().as_secs_f64()
    );
    let (symbols, host_directories) = (Symbols::new(&artifact.original), false);
    let report = Builder { module: &given.shown_module, symbols: &symbols, host_directories }.bug(&found);
    println!("{}", bug::headline(&test.name, &report, output::styles()));
    print!("{}", bug::details(&report, output::width(), output::styles()));
    print!("{}", explanation::lines(&report));
    println!("  trace:  {}", output.display());
    Ok(Exit::BugFound)
}

/// The default file of a minimised trace: beside the trace, or beside the bundle that contains it.
fn beside(args: &Args, given: &Replayable) -> PathBuf {
    let minimised = given.shown_trace.with_extension("min.trace");
    if given.trace == given.shown_trace {
        return minimised;
    }
    let mut named = args.trace.iter().chain([&args.module]);
    let bundle = named.find_map(|path| path.ancestors().find(|file| Bundle::is_one(file)));
    let bundle = bundle.unwrap_or(&args.module);
    let name = minimised.file_name().unwrap_or_default();
    bundle.parent().unwrap_or(Path::new("")).join(name)
}
