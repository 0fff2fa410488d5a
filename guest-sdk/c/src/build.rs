//! The command line of clang.

use crate::arguments::{Arguments, translate};
use crate::sdk::Sdk;
use crate::toolchain::Toolchain;
use crate::{Error, Language, verifier};
use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

/// Options for every file. Without -matomics, atomic operations are not atomic. A C++ function that ends
/// without its `return` continues, as it does on most machines: a trap there would hide the bugs that the
/// program is tested for. With ThreadSanitizer's attribute the optimiser adds no reads that the source does not make,
/// and which may be in a race. Allocators are called as the source calls them: clang 19 would make a block that a static
/// pointer keeps into a variable, which is no block for memory errors, and which it does not align for atomic operations.
const COMPILE: &[&str] = &[
    "--target=wasm32-wasi",
    "-matomics",
    "-mbulk-memory",
    "-fno-strict-return",
    "-fno-builtin-malloc",
    "-fno-builtin-calloc",
    "-fno-builtin-realloc",
    "-fno-builtin-free",
    "-fno-builtin-aligned_alloc",
    "-mllvm",
    "-force-attribute=sanitize_thread",
];

/// The header that tells the tool the memory orders of atomic operations; included before everything else.
const ORDERS: &str = "coyote_order.h";

/// Says in the debug information, behind the compiler's name, that the header was included.
const TELLS_ORDERS: [&str; 4] = ["-Xclang", "-dwarf-debug-flags", "-Xclang", "coyote-order"];

/// Parts of the C library that emulate what WASI lacks, with the macros that declare them.
const EMULATED: &[(&str, &str)] = &[
    ("-D_WASI_EMULATED_SIGNAL", "-lwasi-emulated-signal"),
    ("-D_WASI_EMULATED_MMAN", "-lwasi-emulated-mman"),
    ("-D_WASI_EMULATED_PROCESS_CLOCKS", "-lwasi-emulated-process-clocks"),
    ("-D_WASI_EMULATED_GETPID", "-lwasi-emulated-getpid"),
];

/// Options for linking. With a shared memory, thread-local variables are per thread; the C library
/// was built without threads, which the linker would refuse. (The tool makes the memory a private one.)
/// Each worker has its own values of the two globals: the tool knows them by name. In front of all data, the first
/// worker's stack has known bounds.
const LINK: &[&str] = &[
    "-Wl,--shared-memory,--no-check-features,--max-memory=1073741824",
    "-Wl,--export=__stack_pointer,--export=__tls_base",
    "-Wl,-z,stack-size=262144,--stack-first",
];

/// A clang with the SDK.
pub struct Compiler {
    toolchain: Toolchain,
    sdk: Sdk,
}

impl Compiler {
    /// Writes the SDK below the directory `cache`, unless it is there.
    ///
    /// # Errors
    /// The cache cannot be written.
    pub fn new(toolchain: Toolchain, cache: &Path) -> Result<Compiler, Error> {
        Ok(Compiler { toolchain, sdk: Sdk::unpack(cache)? })
    }

    /// The command line of clang for the user's `arguments`.
    ///
    /// # Errors
    /// As [`translate`]; or the library that comes with the SDK could not be compiled.
    pub fn command(&self, language: Language, arguments: &[String]) -> Result<Command, Error> {
        let Arguments { kept, links, debug_info } = translate(arguments)?;
        let options = self.options(language);
        let mut command = Command::new(self.toolchain.clang(language));
        command.args(&options);
        command.args(EMULATED.iter().map(|(macro_, _)| macro_));
        command.args(verifier::options(&kept));
        if !debug_info {
            command.arg("-g");
        }
        if !kept.iter().any(|argument| argument.contains("COYOTE_NO_ORDERINGS")) {
            command.args(TELLS_ORDERS);
        }
        if links {
            // Before the user's: the last one counts, of directories the first.
            command.args(LINK).arg(self.sdk.programs());
        }
        command.args(&kept);
        // After the user's: the last one counts, and the cache may lie below what they rename.
        command.arg(self.sdk.renamed());
        if links {
            // The input may have been said to be of another language.
            command.args(["-x", "none", "-Wl,--start-lib"]);
            if language == Language::Cpp {
                command.args(self.sdk.library(&self.toolchain, Language::Cpp, &options)?);
            }
            command.args(self.sdk.library(&self.toolchain, Language::C, &self.options(Language::C))?);
            command.arg("-Wl,--end-lib");
            command.args(EMULATED.iter().map(|(_, library)| library));
        }
        Ok(command)
    }

    /// Options for compiling the library and the user's files.
    fn options(&self, language: Language) -> Vec<OsString> {
        let mut options: Vec<OsString> = COMPILE.iter().map(OsString::from).collect();
        // The program's own directories come before these.
        let (first, last) = self.toolchain.headers(language);
        if last.is_some() {
            options.push("-nostdlibinc".into());
        }
        if let Some(sysroot) = &self.toolchain.sysroot {
            options.push("--sysroot".into());
            options.push(sysroot.into());
        }
        let include = self.sdk.directory().join("include");
        if language == Language::Cpp {
            options.extend(["-isystem".into(), include.join("c++").into()]);
        }
        options.extend(["-isystem".into(), include.into()]);
        options.extend(first.into_iter().flat_map(|path| ["-isystem".into(), path.into()]));
        options.extend(last.into_iter().flat_map(|path| ["-idirafter".into(), path.into()]));
        options.extend(["-include".into(), ORDERS.into()]);
        options.push("-Wno-unused-command-line-argument".into());
        options
    }
}
