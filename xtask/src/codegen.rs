//! `cargo xtask codegen`: makes `guest-sdk/c/coyote.h` from its template and the contract, and
//! `docs/guests.md` from what is known to work.

use crate::{files, support};
use anyhow::{Result, bail, ensure};
use coyote_abi::Type;
use coyote_abi::guest::{self, Import};
use std::fmt::Write;

const TEMPLATE: &str = "guest-sdk/c/coyote.h.in";
const HEADER: &str = "guest-sdk/c/coyote.h";

/// Makes the files that follow from others: guest-sdk/c/coyote.h, docs/guests.md
#[derive(clap::Args)]
pub struct Arguments {
    /// Change nothing; fail if a file is out of date
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let header = header(&files::read_text(&files::root().join(TEMPLATE))?)?;
    for (name, text) in [(HEADER, header), (support::PAGE, support::page()?)] {
        let path = files::root().join(name);
        if !arguments.check {
            files::write(&path, text)?;
        } else if files::read_text(&path)?.replace("\r\n", "\n") != text {
            // A checkout may have turned line ends.
            bail!("{name} is out of date: run `cargo xtask codegen`");
        }
    }
    Ok(())
}

/// Fills the template in. Every placeholder must occur in it.
fn header(template: &str) -> Result<String> {
    let template = template.replace("\r\n", "\n");
    let values = [
        ("@MODULE@", guest::MODULE.to_string()),
        ("@TEST_PREFIX@", guest::TEST_PREFIX.to_string()),
        ("@SETUP@", guest::SETUP.to_string()),
        ("@STACK_BYTES@", guest::STACK_BYTES.to_string()),
        ("@IMPORTS@", guest::IMPORTS.iter().map(declaration).collect::<Vec<_>>().join("\n")),
    ];
    let mut header = template;
    for (placeholder, value) in &values {
        ensure!(header.contains(placeholder), "{TEMPLATE} does not contain {placeholder}");
        header = header.replace(placeholder, value.trim_end());
    }
    let notice = "/* Made from coyote.h.in by `cargo xtask codegen`: change that file. */\n";
    Ok(format!("{notice}{header}"))
}

/// An import as C declares it, under its documentation.
fn declaration(import: &Import) -> String {
    let point = if import.operation.is_some() { " (point)" } else { "" };
    let mut text = comment(&format!("{}{point}", import.doc));
    let result = import.result.map_or("void", c_type);
    let params: Vec<_> = import.params.iter().map(|(name, ty)| format!("{} {name}", c_type(*ty))).collect();
    let params = if params.is_empty() { "void".to_string() } else { params.join(", ") };
    let name = import.name;
    writeln!(text, "COYOTE_IMPORT(\"{name}\")\n{result} coyote_raw_{name}({params});")
        .expect("a String takes it");
    text
}

/// Addresses, handles and counts are unsigned in C; spans of time are signed, as in the contract.
fn c_type(ty: Type) -> &'static str {
    match ty {
        Type::I32 => "uint32_t",
        Type::I64 => "int64_t",
    }
}

/// A comment of lines that are not too long.
fn comment(text: &str) -> String {
    const WIDTH: usize = 88;
    let mut lines = vec![String::from("/*")];
    for word in text.split_whitespace() {
        let last = lines.last_mut().expect("there is a line");
        if last.len() + 1 + word.len() > WIDTH {
            lines.push(format!(" * {word}"));
        } else {
            *last += &format!(" {word}");
        }
    }
    lines.join("\n") + " */\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn imports_become_documented_declarations() {
        let import = guest::import("semaphore_wait").unwrap();
        assert_eq!(
            declaration(import),
            "/* Blocks while the value is 0, and takes 1 from it. (point) */\n\
             COYOTE_IMPORT(\"semaphore_wait\")\n\
             uint32_t coyote_raw_semaphore_wait(uint32_t semaphore, int64_t timeout_ns);\n"
        );
    }

    #[test]
    fn the_committed_files_are_current() {
        run(&Arguments { check: true }).unwrap();
    }

    #[test]
    fn a_template_without_a_placeholder_is_refused() {
        assert_eq!(
            header("@MODULE@ @SETUP@").unwrap_err().to_string(),
            "guest-sdk/c/coyote.h.in does not contain @TEST_PREFIX@"
        );
    }
}
