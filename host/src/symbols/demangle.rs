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

/// A function's name without its generic arguments, which can be longer than the rest. `<T as Trait>::method`
/// keeps the part in front, `<T>::method` becomes `T::method`.
pub fn without_generics(name: &str) -> String {
    if let Some(plain) = without_brackets(name) {
        return without_generics(&plain);
    }
    let mut short = String::new();
    let mut depth = 0;
    let mut before = ' ';
    for (at, c) in name.char_indices() {
        match c {
            '<' if at == 0 || (depth == 0 && name[..at].ends_with("operator")) => short.push(c),
            '<' if !short.starts_with('<') => depth += 1,
            '>' if depth > 0 && before != '-' => depth -= 1,
            _ if depth == 0 => short.push(c),
            _ => {}
        }
        before = c;
    }
    short.replace("::::", "::").trim_end_matches("::").to_string()
}

/// `T::method` for `<T>::method`.
fn without_brackets(name: &str) -> Option<String> {
    let rest = name.strip_prefix('<')?;
    let mut depth = 1;
    let close = rest.char_indices().find_map(|(at, c)| {
        match c {
            '<' => depth += 1,
            '>' if !rest[..at].ends_with('-') => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    })?;
    let (ty, method) = (&rest[..close], &rest[close + 1..]);
    let path = !ty.contains(" as ") && !ty.starts_with(['[', '(', '&', '*']) && method.starts_with("::");
    path.then(|| format!("{ty}{method}"))
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

    #[test]
    fn names_lose_their_generic_arguments_alone() {
        let cases = [
            ("main", "main"),
            ("core::sync::atomic::atomic_load::<u32>", "core::sync::atomic::atomic_load"),
            ("<std::thread::Thread>::park", "std::thread::Thread::park"),
            ("<alloc::RawVec<std::System>>::grow", "alloc::RawVec::grow"),
            ("std::thread::scoped::<impl std::Builder>::spawn_scoped", "std::thread::scoped::spawn_scoped"),
            ("<[T]>::sort", "<[T]>::sort"),
            ("call_once<Box<dyn FnOnce<(), Output=()>>, ()>", "call_once"),
            ("scope<(), run::{closure_env#0}>", "scope"),
            ("map<fn(u32) -> u32>::next", "map::next"),
            ("<Vec<u8> as Drop>::drop", "<Vec<u8> as Drop>::drop"),
            ("{closure#0}", "{closure#0}"),
            ("std::vector<int>::push_back(int)", "std::vector::push_back(int)"),
        ];
        for (name, short) in cases {
            assert_eq!(without_generics(name), short);
        }
    }
}
