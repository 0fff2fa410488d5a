//! `coyote-wasm frontier`: what is in the files that searches leave.

use crate::artifact::build;
use crate::exit::Exit;
use crate::explore::frontier::Frontier;
use crate::plural::counted;
use crate::results::Subject;
use anyhow::Result;
use std::fmt::Write as _;
use std::path::PathBuf;

#[derive(clap::Args)]
pub struct Args {
    /// Files that searches have left, or parts of a campaign's search
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
}

/// Runs the subcommand.
///
/// # Errors
/// A file is damaged, or is none. What is in the others is printed before.
pub fn run(args: &Args) -> Result<Exit> {
    let mut wrong = Vec::new();
    for path in &args.files {
        match Frontier::read(path) {
            Ok(frontier) => print!("{}", told(&frontier)),
            Err(error) => wrong.push(error),
        }
    }
    let mut wrong = wrong.into_iter();
    let Some(first) = wrong.next() else { return Ok(Exit::NoBug) };
    wrong.for_each(|error| eprintln!("error: {error}"));
    Err(first.into())
}

fn told(frontier: &Frontier) -> String {
    let Frontier { from, done, work, is_part, .. } = frontier;
    let Subject { module, test, strategy, seed, options } = frontier.subject();
    let path = from.display();
    let left = match (work.items.len() as u64, work.states.len() as u64) {
        (0, 0) => "no work".into(),
        (items, 0) => counted(items, "item"),
        (items, states) => format!("{} at {}", counted(items, "item"), counted(states, "shared state")),
    };
    let mut text = format!(". {path}: whole; {left} left of {strategy}, test {test}, seed {seed}\n");
    let _ = writeln!(text, "... Module {module}");
    let options: Vec<String> = options.iter().map(|(name, value)| format!("{name}={value}")).collect();
    if !options.is_empty() {
        let _ = writeln!(text, "... Options: {}", options.join(", "));
    }
    match frontier.build() {
        Some(by) if by == build() => {}
        Some(by) => {
            let _ = writeln!(
                text,
                "... Written by another build of coyote-wasm, {by}: only that one continues it"
            );
        }
        None => text += "... Of version 1, which has no checksum: damage would not be noticed\n",
    }
    let counts = &done.counts;
    if counts.steps > 0 {
        let _ = writeln!(
            text,
            "... Before: {}, {} with a bug, {} unfinished, {}",
            counted(counts.executions, "execution"),
            counts.bugs,
            counts.unfinished,
            counted(counts.steps, "step")
        );
    }
    for bug in &done.bugs {
        let _ = writeln!(
            text,
            "... {}: {} (id {}, {})",
            bug.kind,
            bug.message,
            bug.identity,
            bug.trace.display()
        );
    }
    if !work.visited.is_empty() {
        let _ = writeln!(text, "... {} visited", counted(work.visited.states.len() as u64, "state"));
    }
    text += &match is_part {
        true => "... It belongs to a campaign, which `coyote-wasm campaign work` continues\n".into(),
        false => format!(
            "... Go on with `coyote-wasm test MODULE --test {test} --strategy {strategy} --seed {seed} --resume {path}`\n"
        ),
    };
    text
}
