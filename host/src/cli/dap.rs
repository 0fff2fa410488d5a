//! `coyote-wasm dap`: debugging of a replay in an editor.

use super::bundle::Replayable;
use super::trace_of::TraceOf;
use crate::dap::{Launch, Opened, ServeError, serve};
use crate::debug::Debugger;
use crate::engine_thread::on_engine_thread;
use crate::exit::Exit;
use anyhow::{Context, Result};

#[derive(clap::Args)]
pub struct Args {
    /// Do not use the artifact cache
    #[arg(long)]
    no_cache: bool,
}

/// Runs the subcommand until the client disconnects.
pub fn run(args: &Args) -> Result<Exit> {
    let open = |launch: &Launch| open(launch, !args.no_cache).map_err(|error| format!("{error:#}"));
    // No other code writes to standard output.
    match on_engine_thread(|| serve(std::io::stdin(), std::io::stdout(), &open)) {
        Ok(()) => Ok(Exit::NoBug),
        // The kind of the error says whether it is internal or one of the environment.
        Err(ServeError::Machine(error)) => Err(error.into()),
        Err(error) => Err(error.into()),
    }
}

fn open(launch: &Launch, cached: bool) -> Result<Opened> {
    let given = match &launch.module {
        Some(module) => Replayable::open(module, Some(&launch.trace))?,
        None => Replayable::open(&launch.trace, None)
            .context("\"trace\" must be a bundle unless \"module\" is given")?,
    };
    let module = &given.shown_module;
    let loaded = TraceOf::load(&given.module, &given.trace, launch.lenient, cached)?;
    let TraceOf { trace, artifact, test, settings } = &loaded;
    let debugger = Debugger::new(artifact, module, test, settings, trace, launch.lenient)?;
    let reproduced = match (debugger.reproduces, &debugger.replayed.divergence) {
        (true, _) => format!("Reproduced: {}", trace.header.outcome),
        (false, Some(left)) => {
            format!("Not reproduced: the trace was left at choice {}: {}", left.at + 1, left.reason)
        }
        (false, None) => format!("Not reproduced: the trace ended with {}", trace.header.outcome),
    };
    let steps = debugger.schedule.steps.iter().filter(|step| !step.timeout).count();
    let said = format!("test {}, {steps} steps; {}\n{reproduced}\n", test.name, debugger.ending());
    Ok(Opened { debugger, said })
}
