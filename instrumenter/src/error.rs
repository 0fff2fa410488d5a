//! Why a module could not be instrumented. None of these is a verdict on the guest.

use crate::Location;

/// Why a module could not be instrumented, in a sentence that says what to do.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are not a core wasm module that validates.
    #[error("not a valid wasm module: {message} (at offset {offset:#x})")]
    Invalid {
        /// The validator's words.
        message: String,
        /// Bytes from the beginning of the module.
        offset: usize,
    },
    /// A component, not a core module.
    #[error("this is a component, not a core module; instrument the core module it was made from")]
    Component,
    /// Already instrumented.
    #[error("the module is already instrumented; give the original module instead")]
    Instrumented,
    /// A feature that cannot be supported. `what` ends with what to do about it.
    #[error("{what} (in {function}, at offset {:#x}); this is no verdict on the guest", .location.offset)]
    Unsupported {
        /// The feature, and what to do about it.
        what: String,
        /// The name of the function that uses it.
        function: String,
        /// Where it is used.
        location: Location,
    },
    /// As `Unsupported`, where no single instruction is at fault.
    #[error("{0}; this is no verdict on the guest")]
    UnsupportedModule(String),
    /// An import that is neither coyote's, WASI's nor declared.
    #[error("{0}")]
    Import(String),
    /// A pattern, a name or an answer of a stub that the user gave is wrong.
    #[error("{0}")]
    Option(String),
    /// The site table of an instrumented module cannot be read.
    #[error("the site table cannot be read: {0}")]
    SiteTable(String),
    /// An error of the tool: the output does not validate.
    #[error("this is a bug in coyote-wasm: the instrumented module does not validate: {message}")]
    Output {
        /// The validator's words.
        message: String,
        /// The module that does not validate.
        wasm: Vec<u8>,
    },
}

impl Error {
    /// As [`Error::UnsupportedModule`].
    pub(crate) fn unsupported(message: &str) -> Error {
        Error::UnsupportedModule(message.to_string())
    }
}

impl From<wasmparser::BinaryReaderError> for Error {
    fn from(e: wasmparser::BinaryReaderError) -> Error {
        Error::Invalid { message: e.message().to_string(), offset: e.offset() }
    }
}
