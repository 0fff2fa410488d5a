//! `coyote-wasm instrument`: shows how instrumentation changes a module.

use super::load::{self, InstrumentArgs};
use crate::exit::Exit;
use anyhow::{Context, Result, bail};
use coyote_instrumenter::{Error, Options, Pipeline, Stage, instrument_with};
use std::path::PathBuf;
use std::time::{Duration, Instant};

#[derive(clap::Args)]
pub struct Args {
    /// The module (.wasm or .wat)
    module: PathBuf,
    /// Write the instrumented module here
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Show a function before and after
    #[arg(long, value_name = "FUNCTION")]
    dump: Option<String>,
    /// Show the module after this pass, or with --dump only that function
    #[arg(long, value_name = "PASS")]
    dump_after: Option<String>,
    /// Print for each function why it was or was not changed
    #[arg(long)]
    explain: bool,
    /// Print how long each pass takes
    #[arg(long)]
    timings: bool,
    #[command(flatten)]
    instrument: InstrumentArgs,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<Exit> {
    if args.output.is_none()
        && args.dump.is_none()
        && args.dump_after.is_none()
        && !args.explain
        && !args.timings
    {
        bail!(
            "nothing to do: give --output FILE, --dump FUNCTION, --dump-after PASS, --explain or --timings"
        );
    }
    let options = args.instrument.options();
    let original = load::read(&args.module)?;
    let named = || args.module.display().to_string();
    if args.explain {
        for explanation in coyote_instrumenter::explain(&original, &options).with_context(named)? {
            println!("{}: {}", explanation.function, explanation.reason);
        }
    }
    if let Some(pass) = &args.dump_after {
        let function = args.dump.as_deref();
        print!(
            "{}",
            coyote_instrumenter::dump_after(&original, &options, pass, function).with_context(named)?
        );
    } else if let Some(function) = &args.dump {
        print!("{}", coyote_instrumenter::dump(&original, &options, function).with_context(named)?);
    }
    if args.timings {
        for (stage, span) in timings(&original, &options).with_context(named)? {
            println!("{:>10.3} ms  {stage}", span.as_secs_f64() * 1e3);
        }
    }
    if let Some(output) = &args.output {
        let instrumented = load::instrument(&args.module, &original, &options)?;
        std::fs::write(output, &instrumented.wasm)
            .with_context(|| format!("cannot write {}", output.display()))?;
    }
    Ok(Exit::NoBug)
}

/// The duration of each stage of instrumenting a module.
fn timings(original: &[u8], options: &Options) -> Result<Vec<(String, Duration)>, Error> {
    let mut spans = Vec::new();
    let mut start = Instant::now();
    let mut watch = |stage: Stage| {
        spans.push((stage.name().to_string(), start.elapsed()));
        start = Instant::now();
    };
    instrument_with(original, options, &Pipeline::new(), &mut watch)?;
    Ok(spans)
}
