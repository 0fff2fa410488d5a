//! The compiler of C guests.

use coyote_cc::Language;

/// Called `coyote-c++`, by a link of that name, it compiles C++: cargo cannot make a program so called.
fn main() {
    let called = std::env::args_os().next().unwrap_or_default();
    let called = std::path::Path::new(&called).file_stem().unwrap_or_default();
    let language = if called.to_string_lossy().ends_with("++") { Language::Cpp } else { Language::C };
    std::process::exit(coyote_cc::main(language));
}
