//! The imports between modules: paths that begin with `crate`, `super`, `self` or a child's name, in code and
//! in macros, but not in tests. An item that a module exports from another one counts as that of the other
//! one.

use crate::files;
use anyhow::{Context, Result};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A path in a module, from the crate's root.
type Segments = Vec<String>;

/// A path in the source: its names, and the local name of the last one.
struct Written {
    path: Segments,
    name: String,
    /// Whether it is in an import that other modules can use.
    exported: bool,
}

/// Modules by their path (`machine::wasi`, the root being empty), with the paths that each names.
pub struct Graph {
    modules: BTreeMap<String, Vec<Written>>,
    /// `(module, name)` -> the path that the module exports under this name.
    exports: BTreeMap<(String, String), Segments>,
    /// `(from, to)` -> one of the paths that cause the arrow, for messages. Both are modules.
    arrows: BTreeMap<(String, String), String>,
}

impl Graph {
    /// Reads all sources below a folder.
    pub fn read(source: &Path) -> Result<Graph> {
        let mut texts = Vec::new();
        for path in files::files_under(source)? {
            let relative = path.strip_prefix(source)?.with_extension("");
            let mut names: Vec<String> =
                relative.iter().map(|name| name.to_string_lossy().into_owned()).collect();
            if names == ["lib"] || names.last().is_some_and(|last| last == "mod") {
                names.pop();
            }
            if path.extension().is_some_and(|e| e == "rs")
                && names != ["main"]
                && names.first().is_none_or(|n| n != "bin")
            {
                texts.push((names.join("::"), files::read_text(&path)?));
            }
        }
        let texts: Vec<(&str, &str)> =
            texts.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        Graph::parse(&texts).with_context(|| source.display().to_string())
    }

    #[cfg(test)]
    pub fn of(texts: &[(&str, &str)]) -> Graph {
        Graph::parse(texts).unwrap()
    }

    fn parse(texts: &[(&str, &str)]) -> Result<Graph> {
        let names: BTreeSet<String> = texts.iter().map(|(name, _)| name.to_string()).collect();
        let mut graph = Graph { modules: BTreeMap::new(), exports: BTreeMap::new(), arrows: BTreeMap::new() };
        for (name, text) in texts {
            let tokens: TokenStream =
                text.parse().map_err(|e| anyhow::anyhow!("{name} cannot be read: {e}"))?;
            let mut written = Vec::new();
            paths(&tokens.into_iter().collect::<Vec<_>>(), name, &names, false, &mut written);
            for path in written.iter().filter(|path| path.exported) {
                graph.exports.insert((name.to_string(), path.name.clone()), path.path.clone());
            }
            graph.modules.insert(name.to_string(), written);
        }
        for (from, written) in &graph.modules {
            for path in written {
                let (to, rest) = graph.resolve(path.path.clone());
                if *from != to {
                    let shown = [to.as_str()]
                        .into_iter()
                        .filter(|to| !to.is_empty())
                        .chain(rest.iter().map(String::as_str));
                    let shown = format!("{from} -> {}", shown.collect::<Vec<_>>().join("::"));
                    graph.arrows.entry((from.clone(), to)).or_insert(shown);
                }
            }
        }
        Ok(graph)
    }

    /// The module that a path refers to, following exports, and the remaining names of the path.
    fn resolve(&self, mut path: Segments) -> (String, Segments) {
        for _ in 0..16 {
            let length = (0..=path.len())
                .rev()
                .find(|length| self.modules.contains_key(&path[..*length].join("::")))
                .unwrap_or(0);
            let module = path[..length].join("::");
            let rest = path[length..].to_vec();
            let through = rest.first().and_then(|name| self.export(&module, name));
            match through {
                Some(target) => path = [target, rest[1..].to_vec()].concat(),
                None => return (module, rest),
            }
        }
        (String::new(), path)
    }

    /// The path that a module exports under a name. The names in `pub use child::*` are not known: it counts
    /// as an item of the module itself.
    fn export(&self, module: &str, name: &str) -> Option<Segments> {
        self.exports.get(&(module.to_string(), name.to_string())).cloned()
    }

    pub fn exists(&self, name: &str) -> bool {
        self.modules.contains_key(name)
    }

    /// Whether a module, or one below it, imports an item of another module, or of one below that.
    pub fn has(&self, from: &str, to: &str) -> bool {
        self.arrow(from, to).is_some()
    }

    /// The first import because of which [`Graph::has`] is true.
    pub fn places(&self, from: &str, to: &str) -> String {
        self.arrow(from, to).unwrap_or_default().to_string()
    }

    fn arrow(&self, from: &str, to: &str) -> Option<&str> {
        let arrow = self.arrows.iter().find(|((f, t), _)| below(f, from) && below(t, to));
        arrow.map(|(_, shown)| shown.as_str())
    }

    /// Circles among the children of each module, with everything below them: a shortest one for each start.
    /// Arrows between a module and one that contains it are ignored.
    pub fn circles(&self) -> Vec<Vec<String>> {
        let mut found: Vec<Vec<String>> = Vec::new();
        for parent in self.modules.keys() {
            let children: Vec<&String> = self.modules.keys().filter(|m| is_child(m, parent)).collect();
            let mut next: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
            for (from, to) in self.arrows.keys() {
                let of =
                    |module: &str| children.iter().find(|child| below(module, child)).map(|c| c.as_str());
                if let (Some(from), Some(to)) = (of(from), of(to))
                    && from != to
                {
                    next.entry(from).or_default().insert(to);
                }
            }
            for child in &children {
                if let Some(circle) = shortest_circle(child, &next)
                    && !found.iter().any(|c| c.contains(child) && c.len() <= circle.len())
                {
                    found.push(circle);
                }
            }
        }
        found
    }
}

fn below(module: &str, root: &str) -> bool {
    module == root || module.strip_prefix(root).is_some_and(|rest| rest.starts_with("::"))
}

fn is_child(module: &str, parent: &str) -> bool {
    match module.rsplit_once("::") {
        Some((above, _)) => above == parent,
        None => parent.is_empty() && !module.is_empty(),
    }
}

/// A shortest path from a module back to itself, including both ends.
fn shortest_circle(start: &str, next: &BTreeMap<&str, BTreeSet<&str>>) -> Option<Vec<String>> {
    let mut ways: Vec<Vec<&str>> = vec![vec![start]];
    let mut seen = BTreeSet::new();
    while !ways.is_empty() {
        let mut longer = Vec::new();
        for way in ways {
            for to in next.get(way[way.len() - 1]).into_iter().flatten() {
                let way: Vec<&str> = way.iter().copied().chain([*to]).collect();
                if *to == start {
                    return Some(way.into_iter().map(str::to_string).collect());
                }
                if seen.insert(*to) {
                    longer.push(way);
                }
            }
        }
        ways = longer;
    }
    None
}

/// Collects all paths in some tokens of a module. `names` are the names of all modules.
fn paths(
    tokens: &[TokenTree],
    module: &str,
    names: &BTreeSet<String>,
    exported: bool,
    into: &mut Vec<Written>,
) {
    let mut at = 0;
    // Whether the present tokens belong to a `pub use`.
    let mut exported = exported;
    while at < tokens.len() {
        if is_test(&tokens[at..]) {
            at += 2;
            // Skips to the end of the item.
            while at < tokens.len() && !ends_item(&tokens[at]) {
                at += 1;
            }
            at += 1;
            continue;
        }
        match &tokens[at] {
            TokenTree::Ident(name) => {
                let name = name.to_string();
                if name == "use" {
                    let before = at.checked_sub(1).map(|i| tokens[i].to_string());
                    let scoped = at >= 2 && tokens[at - 2].to_string() == "pub";
                    exported = before.as_deref() == Some("pub") || scoped;
                }
                let after_path = at >= 1 && tokens[at - 1].to_string() == ":";
                let begins = begin(&name, module, names).filter(|_| !after_path && is_path(tokens, at));
                at += 1;
                if let Some(start) = begins {
                    at = tree(tokens, at, start, module, exported, into);
                }
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                paths(&inner, module, names, exported, into);
                at += 1;
            }
            token => {
                exported &= token.to_string() != ";";
                at += 1;
            }
        }
    }
}

fn is_test(tokens: &[TokenTree]) -> bool {
    match tokens {
        [TokenTree::Punct(hash), TokenTree::Group(group), ..] => {
            hash.as_char() == '#' && group.stream().to_string().replace(' ', "").starts_with("cfg(test")
        }
        _ => false,
    }
}

fn ends_item(token: &TokenTree) -> bool {
    match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        TokenTree::Punct(punct) => punct.as_char() == ';',
        _ => false,
    }
}

/// The first segments of a path that starts with this name.
fn begin(name: &str, module: &str, names: &BTreeSet<String>) -> Option<Segments> {
    let own: Segments = module.split("::").filter(|s| !s.is_empty()).map(str::to_string).collect();
    match name {
        "crate" => Some(Vec::new()),
        "self" => Some(own),
        "super" => own.split_last().map(|(_, above)| above.to_vec()),
        child => {
            let path = [own, vec![child.to_string()]].concat();
            names.contains(&path.join("::")).then_some(path)
        }
    }
}

/// Whether `::` follows.
fn is_path(tokens: &[TokenTree], at: usize) -> bool {
    let colon = |at: usize| tokens.get(at).is_some_and(|token| token.to_string() == ":");
    colon(at + 1) && colon(at + 2)
}

/// Reads the rest of a path after `path`, at a `::` or at its end. Returns the position after it.
fn tree(
    tokens: &[TokenTree],
    mut at: usize,
    mut path: Segments,
    module: &str,
    exported: bool,
    into: &mut Vec<Written>,
) -> usize {
    while at >= 1 && is_path(tokens, at - 1) {
        match tokens.get(at + 2) {
            Some(TokenTree::Ident(name)) => {
                match name.to_string().as_str() {
                    "super" => drop(path.pop()),
                    "self" => {}
                    name => path.push(name.to_string()),
                }
                at += 3;
            }
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for branch in
                    inner.split(|token| token.to_string() == ",").filter(|branch| !branch.is_empty())
                {
                    branch_of(branch, &path, module, exported, into);
                }
                return at + 3;
            }
            // The names that a glob imports are not known: it counts as an import of the module.
            _ => {
                into.push(Written { path, name: "*".into(), exported: false });
                return at + 3;
            }
        }
    }
    let renamed = tokens.get(at).is_some_and(|token| token.to_string() == "as");
    let name = match tokens.get(at + 1) {
        Some(name) if renamed => name.to_string(),
        _ => path.last().cloned().unwrap_or_default(),
    };
    into.push(Written { path, name, exported });
    at
}

/// A branch of a braced import.
fn branch_of(branch: &[TokenTree], path: &Segments, module: &str, exported: bool, into: &mut Vec<Written>) {
    let mut path = path.clone();
    match &branch[0] {
        TokenTree::Ident(name) if *name == "self" => {}
        TokenTree::Ident(name) => path.push(name.to_string()),
        _ => {}
    }
    tree(branch, 1, path, module, exported, into);
}
