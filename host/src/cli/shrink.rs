//! `coyote-wasm shrink`: the same bug from a schedule that is easier to read.

use super::trace_of::TraceOf;
use crate::diagnose::SourceLines;
use crate::engine_thread::on_engine_thread;
use crate::execution::Execution;
use crate::exit::Exit;
use crate::explore::alarm;
use crate::machine::MachineError;
use crate::report::render::explanation;
use crate::shrink::{self, Effort, Shrunk};
use anyhow::{Result, bail};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Args {
    /// The module that the trace was found in
    module: PathBuf,
    /// The trace
    trace: PathBuf,
    /// Where the minimised trace is written [default: beside the trace, as NAME.min.trace]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Seconds after which it ends with what it has
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0)]
    time_limit: f64,
    /// Do not use the artifact cache
    #[arg(long)]
    no_cache: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<Exit> {
    let TraceOf { trace, artifact, test, settings } =
        TraceOf::load(&args.module, &args.trace, false, !args.no_cache)?;
    if !(args.time_limit > 0.0 && args.time_limit < 1e9) {
        bail!("--time-limit {}: give a positive number of seconds", args.time_limit);
    }
    let (limit, started) = (Duration::from_secs_f64(args.time_limit), Instant::now());
    let lines = Mutex::new(SourceLines::new(&artifact));
    let result = on_engine_thread(|| -> Result<Result<Option<Shrunk>, &str>, MachineError> {
        let mut execution = Execution::new(&artifact, &test, &settings)?;
        if let Some(why) = shrink::refused(&execution, &trace) {
            return Ok(Err(why));
        }
        alarm::with(Some(limit), &AtomicBool::new(false), |stop| {
            shrink::shrink(&mut execution, &trace, Effort::default(), stop, &lines).map(Ok)
        })
    })?;
    let shrunk = match result {
        Err(why) => bail!("{} cannot be shrunk: {why}", args.trace.display()),
        Ok(None) => {
            println!(". Not reproduced: {} does not end with the bug any more", args.trace.display());
            return Ok(Exit::ReplayDiverged);
        }
        Ok(Some(shrunk)) => shrunk,
    };
    let output = args.output.clone().unwrap_or_else(|| args.trace.with_extension("min.trace"));
    shrunk.trace.write(&output)?;
    println!(
        ". Shrunk {}: test {}, {} choices to {}, {} schedules in {:.1} s",
        args.trace.display(),
        test.name,
        trace.decisions.len(),
        shrunk.trace.decisions.len(),
        shrunk.shrinking.attempts,
        started.elapsed().as_secs_f64()
    );
    println!("  smallest: {}", explanation::smallest(&shrunk.shrinking));
    println!("  trace:    {}", output.display());
    Ok(Exit::BugFound)
}
