//! Filters on function names: `--atomic-fn`, `--no-points-in`, `--points-only-in`.

use crate::Error;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Those of a function's names by which it may be recognised as a library's; the module's own spelling is
/// first. A C++ function outside of any namespace belongs to the program, even if it has the same name as a
/// function of C.
pub fn library_names(names: &[String]) -> impl Iterator<Item = &String> {
    names.iter().enumerate().filter(|(i, name)| *i == 0 || name.contains("::")).map(|(_, name)| name)
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
            // The pattern `{a,}b` has an empty alternative on purpose.
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
    use crate::libraries::{ALLOCATORS, C_SDK, PRINTS, STDIO, UNGUARDED, UNNOTICED};
    use crate::names::names_of;

    fn matching(patterns: &[&str], name: &str) -> bool {
        Scope::new(patterns.iter().copied()).unwrap().matching(&names_of(name)).is_some()
    }

    fn library(patterns: &[&str], name: &str) -> bool {
        let names = names_of(name);
        let names: Vec<String> = library_names(&names).cloned().collect();
        Scope::new(patterns.iter().copied()).unwrap().matching(&names).is_some()
    }

    #[test]
    fn patterns_match_mangled_and_demangled_names() {
        assert!(matching(&["app::queue::*"], "_ZN3app5queue4push17h0123456789abcdefE"));
        assert!(matching(&["app::queue::push"], "_ZN3app5queue4push17h0123456789abcdefE"));
        assert!(matching(&["ns::f"], "_ZN2ns1fEi"));
        assert!(matching(&["ns::f(int)"], "_ZN2ns1fEi"));
        assert!(!matching(&["app::queue"], "_ZN3app5queue4push17h0123456789abcdefE"));
        assert!(matching(&["ns::f"], "ns::f(void (*)(int)) const"));
        assert!(matching(&["main::$_0::operator()"], "main::$_0::operator()(int)"));
    }

    #[test]
    fn defaults_match_whole_names() {
        for name in ["malloc", "dlfree", "__rdl_alloc", "_RNvCsiYvnZsFnsCA_7___rustc12___rust_alloc"] {
            assert!(library(ALLOCATORS, name), "{name}");
        }
        for name in ["mallocate", "my_free", "freely"] {
            assert!(!library(ALLOCATORS, name), "{name}");
        }
        for name in ["vfprintf", "snprintf", "siprintf", "fputs", "putc", "getchar", "fwrite", "wscanf"] {
            assert!(library(STDIO, name) && !library(PRINTS, name), "{name}");
        }
        for name in ["printf", "iprintf", "vprintf", "puts", "putchar_unlocked", "wprintf", "perror"] {
            assert!(library(PRINTS, name) && !library(STDIO, name), "{name}");
        }
        for name in
            ["__cxa_atexit", "_ZNSt3__219__shared_weak_count4lockEv", "std::__2::__shared_weak_count::lock()"]
        {
            assert!(library(UNGUARDED, name), "{name}");
        }
        for name in [
            "_ZNSt3__26localeC1ERKS0_",
            "_ZNSt3__26locale2id5__getEv",
            "std::__2::locale::locale(std::__2::locale const&)",
            "__stdio_exit",
        ] {
            assert!(library(UNNOTICED, name) && !library(UNGUARDED, name), "{name}");
        }
        // These are in a header, or on the path to the program's own destructors.
        for name in ["exit", "_ZNSt3__219__shared_weak_count16__release_sharedEv", "_ZN6locale6localeEv"] {
            assert!(!library(UNGUARDED, name), "{name}");
        }
        assert!(library(C_SDK, "__coyote_mutex") && !library(C_SDK, "coyote_mutex_lock"));
        for name in ["_Z4freePv", "free(void*)", "_Z6mallocm"] {
            assert!(!library(ALLOCATORS, name), "{name}: a function of the program's own");
        }
        for name in ["print", "reprintf", "put", "f", "_Z7getlineP5Queue"] {
            assert!(!library(STDIO, name), "{name}");
        }
    }

    #[test]
    fn a_bad_pattern_is_named() {
        let error = Scope::new(["a[b"]).unwrap_err().to_string();
        assert_eq!(error, "`a[b` is not a pattern for function names: unclosed character class; missing ']'");
    }
}
