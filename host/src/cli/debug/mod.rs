//! `coyote-wasm replay --interactive`: a replayed execution, looked into by commands.
//!
//! - `commands`: what can be said. `show`: what is said of it.
//!
//! A command that cannot be understood is answered and changes nothing; only this tool's own errors end a session.

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

/// What is shown before a command is typed.
const PROMPT: &str = "(coyote) ";

/// Where commands come from.
pub enum Input<'a> {
    /// The terminal, or whatever standard input is.
    Standard,
    /// A file, whose lines are shown with what they do.
    File(&'a Path),
}

/// A session. `make`: executes the trace, and says how that went.
///
/// # Errors
/// The file of commands cannot be read, and the machine's.
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

/// Executes what is typed. An empty line repeats the last motion.
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

/// Columns that a line may have.
fn width() -> usize {
    output::width().unwrap_or(120)
}
