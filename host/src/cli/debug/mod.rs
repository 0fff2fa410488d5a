//! `coyote-wasm replay --interactive`: commands that examine a replayed execution.
//!
//! - `commands`: the commands. `show`: their output.
//!
//! A command that cannot be understood gets an answer and changes nothing; only this tool's own errors end a session.

mod commands;
mod show;

use super::output;
use crate::debug::Debugger;
use crate::engine_thread::on_engine_thread;
use crate::exit::Exit;
use anyhow::{Context, Result};
use commands::{Console, Flow};
use rustyline::error::ReadlineError;
use std::io::IsTerminal;
use std::path::Path;

/// The prompt.
const PROMPT: &str = "(coyote) ";

/// The source of commands.
pub enum Input<'a> {
    /// Standard input, which may be a terminal.
    Standard,
    /// A file, whose lines are echoed before their output.
    File(&'a Path),
}

/// Runs a session. `make` executes the trace and says how that went.
///
/// # Errors
/// The file of commands cannot be read, or the machine's.
pub fn run(input: &Input, make: impl FnOnce() -> Result<(Debugger, Exit)> + Send) -> Result<Exit> {
    let script = match input {
        Input::Standard => None,
        Input::File(path) => {
            let text = std::fs::read_to_string(path);
            Some(text.with_context(|| format!("cannot read {}", path.display()))?)
        }
    };
    on_engine_thread(|| {
        let (debugger, exit) = make()?;
        let mut console = Console::new(debugger);
        console.greet();
        match script {
            Some(script) => follow(&mut console, &script)?,
            None => converse(&mut console)?,
        }
        Ok(exit)
    })
}

/// Executes the lines of a script.
fn follow(console: &mut Console, script: &str) -> Result<()> {
    for line in script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#')) {
        println!("{PROMPT}{line}");
        if console.execute(line)? == Flow::Quit {
            break;
        }
    }
    Ok(())
}

/// Executes the lines of standard input. An empty line repeats the last motion.
fn converse(console: &mut Console) -> Result<()> {
    if !std::io::stdin().is_terminal() {
        for line in std::io::stdin().lines() {
            let line = line.context("cannot read standard input")?;
            if console.execute(line.trim())? == Flow::Quit {
                break;
            }
        }
        return Ok(());
    }
    let mut editor = rustyline::DefaultEditor::new().context("cannot use the terminal")?;
    loop {
        match editor.readline(PROMPT) {
            Ok(line) => {
                let _ = editor.add_history_entry(&line);
                if console.execute(line.trim())? == Flow::Quit {
                    return Ok(());
                }
            }
            Err(ReadlineError::Interrupted) => println!("type quit to leave"),
            Err(ReadlineError::Eof) => return Ok(()),
            Err(error) => return Err(error).context("cannot read the terminal"),
        }
    }
}

/// The maximum number of columns of a line.
fn width() -> usize {
    output::width().unwrap_or(120)
}
