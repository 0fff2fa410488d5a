//! SV-COMP's functions in programs that use them without a declaration.
//!
//! Programs written for verifiers often contain such uses. Compilers refuse them, or assume a function that
//! returns an `int`, which has another type on this target. Declarations in every program would conflict with
//! those of programs that declare or define the functions differently (as static, of other types). So sources
//! are searched word by word: functions that a source uses and does not declare are declared in front of it,
//! by `coyote_verifier.h`.

use std::path::Path;

/// Names that `coyote_verifier.h` declares begin like this.
const MACRO: &str = "COYOTE_DECLARE_";

const HEADER: &str = include_str!("../include/coyote_verifier.h");

/// Extensions of C and C++ sources; other inputs are not read.
const SOURCES: &[&str] = &["c", "i", "cc", "cpp", "cxx", "c++", "C", "ii"];

/// Options that declare the functions that these sources use without a declaration.
pub fn options(arguments: &[String]) -> Vec<String> {
    let source = |argument: &&String| {
        let extension = Path::new(argument).extension().and_then(|e| e.to_str());
        extension.is_some_and(|e| SOURCES.contains(&e))
    };
    let mut options: Vec<String> = Vec::new();
    for path in arguments.iter().filter(source) {
        // Clang reports files that cannot be read.
        let Ok(bytes) = std::fs::read(path) else { continue };
        let text = String::from_utf8_lossy(&bytes);
        for name in undeclared(&text) {
            let option = format!("-D{MACRO}{name}");
            if !options.contains(&option) {
                options.push(option);
            }
        }
    }
    if !options.is_empty() {
        options.extend(["-include".into(), "coyote_verifier.h".into()]);
    }
    options
}

/// The functions that can be declared.
fn known() -> impl Iterator<Item = &'static str> {
    HEADER.lines().filter_map(|line| line.strip_prefix("#ifdef ")?.strip_prefix(MACRO))
}

/// The functions that a source calls and neither declares nor defines.
fn undeclared(source: &str) -> Vec<&'static str> {
    // Most sources need no further search.
    if !source.contains("__VERIFIER_") && !source.contains("reach_error") {
        return Vec::new();
    }
    let code = without_comments(source);
    known().filter(|name| uses(&code, name) == Some(true)).collect()
}

/// Whether all uses of a name are calls; `None` if it does not occur.
fn uses(code: &str, name: &str) -> Option<bool> {
    let word = |c: char| c.is_alphanumeric() || c == '_';
    let mut called = None;
    for (at, _) in code.match_indices(name) {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        if before.ends_with(word) || after.starts_with(word) {
            continue;
        }
        // A declaration has a type in front of the name, a definition of a macro its directive.
        let before = before.trim_end();
        let last = before.rsplit(|c: char| !word(c)).next().unwrap_or_default();
        let declared = match last {
            "return" | "else" | "do" | "case" | "sizeof" | "goto" => false,
            "" => before.ends_with('*') && is_type_before(before),
            _ => true,
        };
        if declared {
            return Some(false);
        }
        called = Some(true);
    }
    called
}

/// Whether the stars at the end belong to the type of a declaration, not to a product.
fn is_type_before(before: &str) -> bool {
    const TYPES: [&str; 8] = ["void", "char", "int", "short", "long", "unsigned", "signed", "struct"];
    let rest = before.trim_end_matches(['*', ' ', '\t', '\n']);
    let last = rest.rsplit(|c: char| !(c.is_alphanumeric() || c == '_')).next().unwrap_or_default();
    TYPES.contains(&last) || last.ends_with("_t")
}

/// The source without comments and string literals, which may contain the names.
fn without_comments(source: &str) -> String {
    let mut code = String::with_capacity(source.len());
    let mut rest = source;
    while let Some(c) = rest.chars().next() {
        let skipped = match c {
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => literal(rest, c),
            _ => {
                code.push(c);
                rest = &rest[c.len_utf8()..];
                continue;
            }
        };
        code.push(' ');
        rest = &rest[skipped..];
    }
    code
}

/// The length of a string or character literal, or of the rest of its line if it does not end there.
fn literal(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\n' => return at,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_only_called_is_undeclared() {
        let all: [(&str, &[&str]); 14] = [
            ("int main() { return 0; }", &[]),
            ("int main() { __VERIFIER_assume(1); }", &["__VERIFIER_assume"]),
            ("void __VERIFIER_assume(int); int main() { __VERIFIER_assume(1); }", &[]),
            ("int main() { __VERIFIER_assume(1); } void __VERIFIER_assume(int x) {}", &[]),
            ("extern void\n__VERIFIER_assume(); void f() { __VERIFIER_assume(1); }", &[]),
            ("/* void __VERIFIER_assume(int); */ void f() { __VERIFIER_assume(1); }", &["__VERIFIER_assume"]),
            ("#define __VERIFIER_assume(x) (x)\nvoid f() { __VERIFIER_assume(1); }", &[]),
            (
                "int f() { return __VERIFIER_nondet_int() * __VERIFIER_nondet_int(); }",
                &["__VERIFIER_nondet_int"],
            ),
            ("char *__VERIFIER_nondet_pointer(); void f() { g(__VERIFIER_nondet_pointer()); }", &[]),
            ("void f() { g(\"int __VERIFIER_error\"); if (x) __VERIFIER_error(); }", &["__VERIFIER_error"]),
            ("void f() { char c = '\"'; __VERIFIER_error(); /* \" */ }", &["__VERIFIER_error"]),
            ("void __VERIFIER_atomic_take(void) { } void f() { __VERIFIER_atomic_take(); }", &[]),
            (
                "void f() { __VERIFIER_atomic_begin(); x = 1; __VERIFIER_atomic_end(); }",
                &["__VERIFIER_atomic_begin", "__VERIFIER_atomic_end"],
            ),
            ("static void reach_error(void) {} void f() { if (x) reach_error(); }", &[]),
        ];
        for (source, names) in all {
            assert_eq!(undeclared(source), names, "{source}");
        }
    }

    #[test]
    fn the_header_has_what_the_library_defines() {
        let library = include_str!("../lib/verifier.c");
        for name in known() {
            let listed = name
                .strip_prefix("__VERIFIER_nondet_")
                .is_none_or(|kind| library.contains(&format!("({kind}, ")));
            assert!(listed || library.contains(name), "{name}");
        }
        assert!(known().count() > 20);
    }
}
