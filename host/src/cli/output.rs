//! Standard output and standard error of the command line: what cannot be written is no reason to panic.
//!
//! `println!` of Rust's std panics when the reader is gone (`| head -1`) or the disk is full. The macros of the
//! same names here, which every file below [`super`] uses without knowing, write through [`put`] instead:
//! after an error nothing more is written, the command goes on to its end (a bug's trace is on disk, and the
//! exit code is that of the verdict), and [`finish`] says what happened.

use crate::report::render::style::Styles;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The first error of standard output.
static FAILED: Mutex<Option<io::Error>> = Mutex::new(None);

/// Writes to standard output, unless that has failed before.
pub fn put(text: Arguments) {
    write(|out| out.write_fmt(text));
}

/// Standard output as [`put`] writes to it, so that it never fails.
pub struct Stdout;

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write_all(bytes)?;
        Ok(bytes.len())
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        write(|out| out.write_all(bytes));
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        write(|out| out.flush());
        Ok(())
    }
}

/// Does something with standard output, unless that has failed before.
fn write(act: impl FnOnce(&mut io::Stdout) -> io::Result<()>) {
    let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    if failed.is_none() {
        *failed = act(&mut io::stdout()).err();
    }
}

/// Writes to standard error; if the reader is gone, nothing can be told.
pub fn put_error(text: Arguments) {
    let _ = io::stderr().write_fmt(text);
}

/// Columns of the terminal that standard output is; `None` if it is none.
pub fn width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(terminal_size::Width(columns), _)| columns.into())
}

/// What standard output shows beside text: colours as `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM` have it, or as
/// cargo is told by `CARGO_TERM_COLOR`; links where the terminal is known to have them.
pub fn styles() -> Styles {
    let cargo = std::env::var("CARGO_TERM_COLOR").unwrap_or_default();
    let no_colour = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colours = match cargo.as_str() {
        "never" => false,
        "always" => !no_colour,
        _ => anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
    };
    let links = io::stdout().is_terminal() && supports_hyperlinks::on(supports_hyperlinks::Stream::Stdout);
    Styles { colours, links: links && colours }
}

/// A file that is to be written beside the report. `{module}` in its name is the module's, so that test binaries of cargo,
/// which all get the same options, have a file each.
pub fn file_of(path: &Path, module: &Path) -> PathBuf {
    let stem = module.file_stem().map_or("module".into(), |stem| stem.to_string_lossy());
    match path.to_str() {
        Some(text) => text.replace("{module}", &stem).into(),
        None => path.into(),
    }
}

/// The end of the output.
///
/// # Errors
/// Some of it is lost, and it was wanted: not if the reader went away.
pub fn finish() -> io::Result<()> {
    let failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner).take();
    match failed.map_or_else(|| io::stdout().flush(), Err) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

macro_rules! print {
    ($($text:tt)*) => { $crate::cli::output::put(format_args!($($text)*)) };
}

macro_rules! println {
    ($format:literal $($arguments:tt)*) => {
        $crate::cli::output::put(format_args!("{}\n", format_args!($format $($arguments)*)))
    };
}

macro_rules! eprintln {
    ($format:literal $($arguments:tt)*) => {
        $crate::cli::output::put_error(format_args!("{}\n", format_args!($format $($arguments)*)))
    };
}
