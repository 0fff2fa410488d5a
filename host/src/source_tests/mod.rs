//! Tests that a crate's sources contain and its test binary does not, because of the target: they would be skipped
//! silently.
//!
//! Sources are read in the same way as by the compiler, from a target's root along `mod`, and conditions are evaluated
//! as far as the target determines them. The expansion of the crate's macros is not known, so counts are lower bounds:
//! a `#[test]` within a macro's arguments counts as a test, one within `macro_rules!` does not.
//!
//! - `cfg`: conditions; `roots`: the sources from which a test binary was built.

mod cfg;
mod roots;

pub use roots::of_binary;

use crate::plural::counted;
use proc_macro2::{TokenStream, TokenTree};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::path::{Path, PathBuf};
use syn::spanned::Spanned;
use syn::{Attribute, Item, ItemMod, Lit, Meta, UseTree};

/// The attribute that replaces `#[test]` in browsers.
const OF_BROWSERS: &str = "wasm_bindgen_test";

/// The environment variable that says that tests for browsers are built as ordinary ones, which `cargo coyote` does.
pub const OF_BROWSERS_RUN: &str = "COYOTE_BROWSER_TESTS";

/// The tests in the sources of a test binary.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceTests {
    /// The number of all tests that were found.
    pub tests: usize,
    pub left_out: Vec<LeftOut>,
    /// Whether tests for browsers are ordinary tests.
    #[serde(skip)]
    browsers: bool,
}

/// Tests that do not exist on the target, for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub file: PathBuf,
    pub line: usize,
    pub tests: usize,
    /// The condition or attribute that leaves them out.
    pub why: String,
}

impl SourceTests {
    /// The tests below several roots. Paths are relative to `directory` where they are below it.
    pub fn of(roots: &[PathBuf], directory: &Path) -> SourceTests {
        SourceTests::with(roots, directory, std::env::var_os(OF_BROWSERS_RUN).is_some())
    }

    /// As [`SourceTests::of`]; `browsers`: whether tests for browsers are ordinary tests.
    pub fn with(roots: &[PathBuf], directory: &Path, browsers: bool) -> SourceTests {
        let mut all = SourceTests { browsers, ..SourceTests::default() };
        for root in roots {
            all.file(root, root.parent().unwrap_or(Path::new("")), None);
        }
        for part in &mut all.left_out {
            if let Ok(relative) = part.file.strip_prefix(directory) {
                part.file = relative.to_path_buf();
            }
        }
        all.left_out.retain(|part| part.tests > 0);
        all
    }

    /// The number of tests that are left out.
    pub fn missing(&self) -> usize {
        self.left_out.iter().map(|part| part.tests).sum()
    }

    /// Reads a file. `children`: the directory of its modules' files; `out`: the reason for which it is left out, if it
    /// is.
    fn file(&mut self, path: &Path, children: &Path, out: Option<usize>) {
        let Ok(text) = std::fs::read_to_string(path) else { return };
        let Ok(file) = syn::parse_file(&text) else { return };
        let mut scope = Scope { path, children: children.to_path_buf(), out, renamed: None };
        scope.out = self.reason(&scope, &file.attrs);
        self.items(&mut scope, &file.items);
    }

    fn items(&mut self, scope: &mut Scope, items: &[Item]) {
        scope.renamed = items.iter().find_map(of_browsers_as_test);
        for item in items {
            match item {
                Item::Fn(function) if is_test(&function.attrs) => {
                    self.tests += 1;
                    let out = self
                        .reason(scope, &function.attrs)
                        .or_else(|| self.of_browsers(scope, &function.attrs));
                    self.leave(out, 1);
                }
                Item::Mod(module) => self.module(scope, module),
                Item::Macro(call) if call.ident.is_none() => {
                    let tests = tests_in(call.mac.tokens.clone());
                    self.tests += tests;
                    let out = self.reason(scope, &call.attrs);
                    self.leave(out, tests);
                }
                _ => {}
            }
        }
    }

    fn module(&mut self, scope: &Scope, module: &ItemMod) {
        let out = self.reason(scope, &module.attrs);
        let name = module.ident.to_string();
        let name = name.trim_start_matches("r#");
        let children = scope.children.join(name);
        if let Some((_, items)) = &module.content {
            return self.items(&mut Scope { path: scope.path, children, out, renamed: None }, items);
        }
        let own = module.attrs.iter().find_map(path_of);
        if let Some(own) = own {
            let file = scope.path.parent().unwrap_or(Path::new("")).join(own);
            let children = file.parent().unwrap_or(Path::new("")).to_path_buf();
            return self.file(&file, &children, out);
        }
        let file = [scope.children.join(format!("{name}.rs")), children.join("mod.rs")];
        if let Some(file) = file.iter().find(|file| file.is_file()) {
            self.file(file, &children, out);
        }
    }

    /// The reason for which an item with these attributes is left out, if it is: the outermost one.
    fn reason(&mut self, scope: &Scope, attributes: &[Attribute]) -> Option<usize> {
        if scope.out.is_some() {
            return scope.out;
        }
        let conditions = attributes.iter().filter(|attribute| attribute.path().is_ident("cfg"));
        let out =
            conditions.into_iter().find(|a| cfg::condition(a).is_some_and(|meta| cfg::leaves_out(&meta)))?;
        Some(self.new_reason(scope, out.span().start().line, shown(&out.meta)))
    }

    /// The reason if a test is only for browsers.
    fn of_browsers(&mut self, scope: &Scope, attributes: &[Attribute]) -> Option<usize> {
        if self.browsers {
            return None;
        }
        let direct = attributes.iter().find(|a| last(a).is_some_and(|name| name == OF_BROWSERS));
        let has_test = attributes.iter().any(|a| last(a).is_some_and(|name| name == "test"));
        let (line, why) = match (direct, scope.renamed) {
            (Some(attribute), _) if !has_test => (attribute.span().start().line, format!("#[{OF_BROWSERS}]")),
            (_, Some(line)) if attributes.iter().any(|a| a.path().is_ident("test")) => {
                (line, format!("use {OF_BROWSERS} as test"))
            }
            _ => return None,
        };
        let known = self.left_out.iter().position(|p| p.file == scope.path && p.line == line);
        Some(known.unwrap_or_else(|| self.new_reason(scope, line, why)))
    }

    fn new_reason(&mut self, scope: &Scope, line: usize, why: String) -> usize {
        self.left_out.push(LeftOut { file: scope.path.into(), line, tests: 0, why });
        self.left_out.len() - 1
    }

    fn leave(&mut self, out: Option<usize>, tests: usize) {
        if let Some(reason) = out {
            self.left_out[reason].tests += tests;
        }
    }
}

/// How many tests are left out, and where: the middle of a sentence, with at most three places.
impl fmt::Display for SourceTests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PLACES: usize = 3;
        write!(f, "{} of {} in the sources", self.missing(), counted(self.tests as u64, "test"))?;
        for (number, part) in self.left_out.iter().take(PLACES).enumerate() {
            let LeftOut { file, line, tests, why } = part;
            let before = if number == 0 { ": " } else { ", " };
            write!(f, "{before}{tests} by {why} ({}:{line})", file.display())?;
        }
        match self.left_out.len().saturating_sub(PLACES) {
            0 => Ok(()),
            more => write!(f, ", and {more} more such places"),
        }
    }
}

/// The context of items.
struct Scope<'a> {
    path: &'a Path,
    children: PathBuf,
    out: Option<usize>,
    /// The line in which `#[test]` is redefined as an attribute for browsers.
    renamed: Option<usize>,
}

/// The last word of an attribute's path.
fn last(attribute: &Attribute) -> Option<String> {
    attribute.path().segments.last().map(|segment| segment.ident.to_string())
}

/// Whether a function is a test: `#[test]`, `#[tokio::test]`, `#[rstest]` and the like.
fn is_test(attributes: &[Attribute]) -> bool {
    const NAMES: [&str; 4] = ["test", "rstest", "quickcheck", OF_BROWSERS];
    attributes.iter().any(|a| last(a).is_some_and(|name| NAMES.contains(&name.as_str())))
}

/// The line of `use wasm_bindgen_test::wasm_bindgen_test as test`, if it applies on the target.
fn of_browsers_as_test(item: &Item) -> Option<usize> {
    let Item::Use(import) = item else { return None };
    let conditions = import.attrs.iter().filter(|a| a.path().is_ident("cfg")).filter_map(cfg::condition);
    let counts = conditions.into_iter().all(|condition| cfg::may_hold(&condition));
    (counts && renames(&import.tree)).then(|| import.span().start().line)
}

fn renames(tree: &UseTree) -> bool {
    match tree {
        UseTree::Rename(rename) => rename.ident == OF_BROWSERS && rename.rename == "test",
        UseTree::Path(path) => renames(&path.tree),
        UseTree::Group(group) => group.items.iter().any(renames),
        UseTree::Name(_) | UseTree::Glob(_) => false,
    }
}

/// The path in `#[path = ".."]`.
fn path_of(attribute: &Attribute) -> Option<String> {
    let Meta::NameValue(pair) = &attribute.meta else { return None };
    match &pair.value {
        syn::Expr::Lit(syn::ExprLit { lit: Lit::Str(path), .. }) if pair.path.is_ident("path") => {
            Some(path.value())
        }
        _ => None,
    }
}

/// The number of `#[test]` attributes in a macro's arguments.
fn tests_in(tokens: TokenStream) -> usize {
    let mut tests = 0;
    let mut after_hash = false;
    for token in tokens {
        if let TokenTree::Group(group) = &token {
            let is_attribute = after_hash && group.stream().to_string() == "test";
            tests += if is_attribute { 1 } else { tests_in(group.stream()) };
        }
        after_hash = matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#');
    }
    tests
}

/// An attribute's text as in the source, without the spaces between tokens.
fn shown(meta: &Meta) -> String {
    let text = quote::quote!(#meta).to_string();
    format!("#[{}]", text.replace(" (", "(").replace("( ", "(").replace(" )", ")").replace(" ,", ","))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> SourceTests {
        let directory = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        SourceTests::of(&[directory.path().join(files[0].0)], directory.path())
    }

    #[test]
    fn tests_of_other_targets_are_counted_with_their_place() {
        let found = of(&[
            (
                "src/lib.rs",
                "mod kept;\n#[cfg(not(target_family = \"wasm\"))]\nmod lost;\nmod inner { mod deep; }\n\
                 #[cfg(test)] mod tests {\n #[test] fn a() {}\n #[cfg(any(not(target_arch = \"wasm32\")))]\n \
                 #[test]\n fn b() {}\n #[tokio::test] async fn c() {}\n}\n",
            ),
            ("src/kept.rs", "#[test] fn d() {}\nmod below;"),
            ("src/kept/below.rs", "#![cfg(not(target_os = \"wasi\"))]\n#[test] fn e() {}"),
            ("src/lost/mod.rs", "// #[test]\n#[test] fn f() {}\nproptest! { #[test] fn g(a in 1..2) {} }"),
            ("src/inner/deep.rs", "#[test] fn h() {}\nmacro_rules! m { () => { #[test] fn i() {} } }"),
        ]);
        let places: Vec<_> = found
            .left_out
            .iter()
            .map(|part| (part.file.to_str().unwrap(), part.line, part.tests, part.why.as_str()))
            .collect();
        let expected = [
            ("src/kept/below.rs", 1, 1, "#[cfg(not(target_os = \"wasi\"))]"),
            ("src/lib.rs", 2, 2, "#[cfg(not(target_family = \"wasm\"))]"),
            ("src/lib.rs", 7, 1, "#[cfg(any(not(target_arch = \"wasm32\")))]"),
        ];
        assert_eq!(places, expected);
        assert_eq!((found.tests, found.missing()), (8, 4));
    }

    /// The style of the crates of smol-rs.
    #[test]
    fn tests_of_browsers_are_none() {
        let rename = "#[cfg(target_family = \"wasm\")]\nuse wasm_bindgen_test::wasm_bindgen_test as test;\n#[test] fn a() {}\n";
        assert_eq!(
            of(&[("a.rs", rename)]).to_string(),
            "1 of 1 test in the sources: 1 by use wasm_bindgen_test as test (a.rs:1)"
        );
        let other = "#[cfg(target_os = \"unknown\")]\nuse wasm_bindgen_test::wasm_bindgen_test as test;\n#[test] fn a() {}";
        assert_eq!(of(&[("a.rs", other)]).missing(), 0);
        assert_eq!(of(&[("a.rs", "#[wasm_bindgen_test]\nfn a() {}")]).missing(), 1);
        assert_eq!(
            of(&[("a.rs", "#[wasm_bindgen_test::wasm_bindgen_test]\n#[test]\nfn a() {}")]).missing(),
            0
        );
    }

    /// Unknown conditions and unreadable sources leave nothing out.
    #[test]
    fn other_conditions_are_none_of_ours() {
        let text = "#![cfg(feature = \"full\")]\n#[cfg(not(loom))] #[test] fn a() {}\nmod gone;";
        assert_eq!(of(&[("a.rs", text)]), SourceTests { tests: 1, ..SourceTests::default() });
        assert_eq!(of(&[("a.rs", "this is no Rust")]), SourceTests::default());
    }
}
