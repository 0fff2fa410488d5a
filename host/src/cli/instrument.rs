//! `coyote-wasm instrument`: what instrumentation does to a module.

use super::load::{self, InstrumentArgs};
use crate::exit::Exit;
use anyhow::{Context, Result, bail};
use std::path::PathBuf;

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
    /// Say of each function why it was or was not touched
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    instrument: InstrumentArgs,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<Exit> {
    if args.output.is_none() && args.dump.is_none() && !args.explain {
        bail!("nothing to do: give --output FILE, --dump FUNCTION or --explain");
    }
    let options = args.instrument.options();
    let original = load::read(&args.module)?;
    let named = || args.module.display().to_string();
    if args.explain {
        for explanation in coyote_instrumenter::explain(&original, &options).with_context(named)? {
            println!("{}: {}", explanation.function, explanation.reason);
        }
    }
    if let Some(function) = &args.dump {
        print!("{}", coyote_instrumenter::dump(&original, &options, function).with_context(named)?);
    }
    if let Some(output) = &args.output {
        let instrumented = load::instrument(&args.module, &original, &options)?;
        std::fs::write(output, &instrumented.wasm)
            .with_context(|| format!("cannot write {}", output.display()))?;
    }
    Ok(Exit::NoBug)
}
