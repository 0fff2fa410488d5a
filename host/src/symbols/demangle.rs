//! Names as programmers write them.

/// Demangles a Rust or C++ name; others stay as they are. Rust hashes are left out, also from names that the
/// linker demangled: they change with every build and mean nothing to a reader.
pub(super) fn demangle(name: &str) -> String {
    if let Ok(rust) = rustc_demangle::try_demangle(name) {
        return format!("{rust:#}");
    }
    if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
        && let Ok(cpp) = symbol.demangle()
    {
        return cpp;
    }
    without_hash(name).to_owned()
}

fn without_hash(name: &str) -> &str {
    match name.rsplit_once("::h") {
        Some((path, hash)) if hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit()) => path,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_each_language() {
        for (mangled, name) in [
            ("_ZN4core3fmt9Formatter3pad17h1b2c3d4e5f607182E", "core::fmt::Formatter::pad"),
            ("_RNvCs15kBYyAo9fc_7mycrate7example", "mycrate::example"),
            ("_ZN4bank7depositEi", "bank::deposit(int)"),
            ("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)"),
            ("core::fmt::Formatter::pad::h1b2c3d4e5f607182", "core::fmt::Formatter::pad"),
            ("bank::hold", "bank::hold"),
            ("_Zebra", "_Zebra"),
            ("main", "main"),
            ("", ""),
        ] {
            assert_eq!(demangle(mangled), name);
        }
    }
}
