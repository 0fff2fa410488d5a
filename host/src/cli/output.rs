//! Standard output and standard error of the command line, without panics when writing fails.
//!
//! `println!` of Rust's std panics when the reader is gone (`| head -1`) or the disk is full. The macros with the same
//! names in this module, which shadow std's in every file below [`super`], write through [`put`] instead. After an
//! error nothing more is written, the command continues to its end (a bug's trace is on disk, and the exit code is that
//! of the verdict), and [`finish`] reports the error.

use crate::module_name;
use crate::report::render::style::Styles;
use std::fmt::Arguments;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The first error of writing to standard output.
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

/// Performs an action on standard output, unless that has failed before.
fn write(act: impl FnOnce(&mut io::Stdout) -> io::Result<()>) {
    let mut failed = FAILED.lock().unwrap_or_else(PoisonError::into_inner);
    if failed.is_none() {
        *failed = act(&mut io::stdout()).err();
    }
}

/// Writes to standard error. Errors are ignored, since they could not be reported.
pub fn put_error(text: Arguments) {
    let _ = io::stderr().write_fmt(text);
}

/// The number of columns if standard output is a terminal, else `None`.
pub fn width() -> Option<usize> {
    terminal_size::terminal_size_of(io::stdout()).map(|(terminal_size::Width(columns), _)| columns.into())
}

/// The styles of standard output: colours according to `NO_COLOR`, `CLICOLOR`, `CLICOLOR_FORCE` and `TERM`, or to
/// cargo's `CARGO_TERM_COLOR`; links where the terminal is known to support them.
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

/// The path of a file that is written beside the report. `{module}` in it is replaced by the module's name, so that
/// test binaries of cargo, which all get the same options, have different files.
pub fn file_of(path: &Path, module: &Path) -> PathBuf {
    let stem = module_name::stem(module);
    match path.to_str() {
        Some(text) => text.replace("{module}", &stem).into(),
        None => path.into(),
    }
}

/// Finishes the output.
///
/// # Errors
/// Some of the output is lost. It is no error if the reader went away.
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
