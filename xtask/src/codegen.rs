//! `cargo xtask codegen`: makes headers of the C SDK from their templates and the contract, and
//! `docs/guests.md` from `docs/support.json`.

use crate::{files, support};
use anyhow::{Result, bail, ensure};
use coyote_abi::Type;
use coyote_abi::guest::{self, Import};
use std::fmt::Write;

/// Each is made from the file next to it that has `.in` added to its name.
const HEADERS: [&str; 2] = ["guest-sdk/c/include/coyote.h", "guest-sdk/c/include/coyote_raw.h"];

/// Makes the files that follow from others: headers of guest-sdk/c, docs/guests.md
#[derive(clap::Args)]
pub struct Arguments {
    /// Change nothing; fail if a file is out of date
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut unused = values();
    let mut made = vec![(support::PAGE, support::page()?)];
    for name in HEADERS {
        let template = format!("{name}.in");
        let text = files::read_text(&files::root().join(&template))?.replace("\r\n", "\n");
        unused.retain(|(placeholder, _)| !text.contains(placeholder));
        made.push((name, header(&template, &text)?));
    }
    ensure!(unused.is_empty(), "no template contains {}", unused[0].0);
    for (name, text) in made {
        let path = files::root().join(name);
        if !arguments.check {
            files::write(&path, text)?;
        } else if files::read_text(&path)?.replace("\r\n", "\n") != text {
            // A checkout may have converted line ends.
            bail!("{name} is out of date: run `cargo xtask codegen`");
        }
    }
    Ok(())
}

/// The values of placeholders.
fn values() -> Vec<(&'static str, String)> {
    vec![
        ("@MODULE@", guest::MODULE.to_string()),
        ("@TEST_PREFIX@", guest::TEST_PREFIX.to_string()),
        ("@SETUP@", guest::SETUP.to_string()),
        ("@RECOVER@", guest::RECOVER.to_string()),
        ("@STACK_BYTES@", guest::STACK_BYTES.to_string()),
        ("@IMPORTS@", guest::IMPORTS.iter().map(declaration).collect::<Vec<_>>().join("\n")),
    ]
}

/// Fills a template in.
fn header(name: &str, template: &str) -> Result<String> {
    let mut header = template.to_string();
    for (placeholder, value) in values() {
        header = header.replace(placeholder, value.trim_end());
    }
    let unknown =
        header.split('@').nth(1).filter(|word| word.chars().all(|c| c.is_ascii_uppercase() || c == '_'));
    if let Some(unknown) = unknown {
        bail!("{name} contains @{unknown}@, which stands for nothing");
    }
    let name = name.rsplit('/').next().expect("a path has a name");
    Ok(format!("/* Made from {name} by `cargo xtask codegen`: change that file. */\n{header}"))
}

/// The declaration of an import in C, below its documentation.
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

/// A comment with lines of limited length.
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
    fn an_unknown_placeholder_is_named() {
        assert_eq!(
            header("a/b.h.in", "@MODULE@ @SETUPS@").unwrap_err().to_string(),
            "a/b.h.in contains @SETUPS@, which stands for nothing"
        );
    }
}
