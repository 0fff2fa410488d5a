//! `coyote-cc` and `coyote-cxx`: compilers for C and C++ guests of coyote-wasm.
//!
//! Programs are compiled without changes, by `CC=coyote-cc ./configure` or `coyote-cc -pthread *.c`. The
//! compiler is a clang with a library for WASI. Threads, which that library lacks, come with this crate:
//! headers (`include`) and a library (`lib`), which are part of the executable and written to a cache
//! directory. So is a stand-in (`bin`) for an optimiser that clang would run on what it links.
//!
//! - [`arguments`]: translates the options of a program's build to the target; refuses options that are not
//!   supported.
//! - [`toolchain`]: finds clang and its library for WASI.
//! - [`sdk`]: headers, library and stand-in in the cache directory.
//! - [`verifier`]: declares SV-COMP's functions that a program uses without a declaration.
//! - [`build`]: the command line of clang.

pub mod arguments;
pub mod build;
pub mod sdk;
pub mod toolchain;
pub mod verifier;

use std::fmt;

/// The language of a source, which selects the compiler and the runtime's objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// C11 and later, by `coyote-cc`.
    C,
    /// C++, by `coyote-cxx`.
    Cpp,
}

impl Language {
    /// The name of the compiler.
    pub fn compiler(self) -> &'static str {
        match self {
            Language::C => "coyote-cc",
            Language::Cpp => "coyote-cxx",
        }
    }
}

/// An error in the command line or on the machine. The text says what to do about it.
#[derive(Debug)]
pub struct Error(String);

impl Error {
    /// An error with this text: a lowercase sentence, and what to do about it.
    pub fn new(text: impl Into<String>) -> Error {
        Error(text.into())
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

/// Runs the compiler as the process that was started; returns its exit code.
pub fn main(language: Language) -> i32 {
    let arguments: Result<Vec<String>, _> = std::env::args_os().skip(1).map(|a| a.into_string()).collect();
    let result = match arguments {
        Ok(arguments) => run(language, &arguments),
        Err(wrong) => Err(Error::new(format!("the argument {wrong:?} is not UTF-8"))),
    };
    result.unwrap_or_else(|error| {
        eprintln!("{}: error: {error}", language.compiler());
        1
    })
}

fn run(language: Language, arguments: &[String]) -> Result<i32, Error> {
    match arguments {
        [option] if option == "--coyote-cmake" => {
            println!("{}", sdk::Sdk::unpack(&sdk::cache())?.cmake().display());
            return Ok(0);
        }
        [option] if option == "--coyote-help" => {
            print!("{}", HELP);
            return Ok(0);
        }
        _ => {}
    }
    let compiler = build::Compiler::new(toolchain::Toolchain::find()?, &sdk::cache())?;
    let status = compiler.command(language, arguments)?.status();
    let status = status.map_err(|e| Error::new(format!("clang cannot be run: {e}")))?;
    Ok(status.code().unwrap_or(1))
}

const HELP: &str = "\
coyote-cc and coyote-cxx take the options of clang and build guests of coyote-wasm.

  CC=coyote-cc CXX=coyote-cxx ./configure --host=wasm32-wasi && make
  cmake -DCMAKE_TOOLCHAIN_FILE=\"$(coyote-cc --coyote-cmake)\" ..

Options of their own:
  --coyote-cmake  print the path of the toolchain file for CMake
  --coyote-help   print this

Environment:
  COYOTE_CLANG    the clang to use, 18 or newer
  WASI_SDK_PATH   a wasi-sdk, whose clang is used (also found in /opt/wasi-sdk)
  WASI_SYSROOT    the WASI library, where clang does not find it itself
  COYOTE_CC_CACHE where headers and library are written [a directory of the user's cache]
";
