//! Filters on function names: `--atomic-fn`, `--no-points-in`, `--points-only-in`.

use crate::Error;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// The names under which a pattern can find a function: as the module spells it, demangled, and
/// demangled without parameter list or hash.
pub fn names_of(name: &str) -> Vec<String> {
    let mut names = vec![name.to_string()];
    if let Ok(demangled) = rustc_demangle::try_demangle(name) {
        names.push(format!("{demangled:#}"));
    } else if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
    {
        names.extend(symbol.demangle());
        let bare = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
        names.extend(symbol.demangle_with_options(&bare));
    }
    names
}

/// A list of globs. `*` matches any characters, `::` included.
#[derive(Debug)]
pub struct Scope {
    set: GlobSet,
    patterns: Vec<String>,
}

impl Scope {
    pub fn new<'a>(patterns: impl IntoIterator<Item = &'a str>) -> Result<Scope, Error> {
        let patterns: Vec<String> = patterns.into_iter().map(str::to_string).collect();
        let mut set = GlobSetBuilder::new();
        for pattern in &patterns {
            // In `{a,}b` the empty alternative is meant.
            let glob = GlobBuilder::new(pattern).empty_alternates(true).build();
            set.add(glob.map_err(|e| {
                Error::Option(format!("`{pattern}` is not a pattern for function names: {}", e.kind()))
            })?);
        }
        let set = set.build().map_err(|e| Error::Option(e.to_string()))?;
        Ok(Scope { set, patterns })
    }

    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// The first pattern that matches one of a function's names.
    pub fn matching(&self, names: &[String]) -> Option<&str> {
        let first = names.iter().filter_map(|n| self.set.matches(n).into_iter().min()).min()?;
        Some(&self.patterns[first])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{ALLOCATORS, C_SDK, STDIO};

    fn matching(patterns: &[&str], name: &str) -> bool {
        Scope::new(patterns.iter().copied()).unwrap().matching(&names_of(name)).is_some()
    }

    #[test]
    fn patterns_match_mangled_and_demangled_names() {
        assert!(matching(&["app::queue::*"], "_ZN3app5queue4push17h0123456789abcdefE"));
        assert!(matching(&["app::queue::push"], "_ZN3app5queue4push17h0123456789abcdefE"));
        assert!(matching(&["ns::f"], "_ZN2ns1fEi"));
        assert!(matching(&["ns::f(int)"], "_ZN2ns1fEi"));
        assert!(!matching(&["app::queue"], "_ZN3app5queue4push17h0123456789abcdefE"));
    }

    #[test]
    fn defaults_match_whole_names() {
        for name in ["malloc", "dlfree", "__rdl_alloc", "_RNvCsiYvnZsFnsCA_7___rustc12___rust_alloc"] {
            assert!(matching(ALLOCATORS, name), "{name}");
        }
        for name in ["mallocate", "my_free", "freely"] {
            assert!(!matching(ALLOCATORS, name), "{name}");
        }
        for name in ["printf", "iprintf", "vfprintf", "snprintf", "siprintf", "puts", "putchar", "fwrite"] {
            assert!(matching(STDIO, name), "{name}");
        }
        assert!(matching(C_SDK, "__coyote_mutex") && !matching(C_SDK, "coyote_mutex_lock"));
        for name in ["print", "reprintf", "put", "f"] {
            assert!(!matching(STDIO, name), "{name}");
        }
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let error = Scope::new(["a[b"]).unwrap_err().to_string();
        assert_eq!(error, "`a[b` is not a pattern for function names: unclosed character class; missing ']'");
    }
}
