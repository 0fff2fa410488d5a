//! Names of functions as programmers write them.

/// The names by which a pattern can find a function: as the module spells it, demangled, and demangled
/// without parameter list, hash or generic arguments, as the older of Rust's two manglings has it. Linkers may have
/// demangled the module's spelling already.
pub fn names_of(name: &str) -> Vec<String> {
    let mut names = vec![name.to_string()];
    if let Ok(demangled) = rustc_demangle::try_demangle(name) {
        let demangled = format!("{demangled:#}");
        let plain = without_generics(&demangled);
        if plain != demangled {
            names.push(plain);
        }
        names.push(demangled);
    } else if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
    {
        names.extend(symbol.demangle());
        let bare = cpp_demangle::DemangleOptions::new().no_params().no_return_type();
        names.extend(symbol.demangle_with_options(&bare));
    } else if let Some(bare) = without_parameters(name) {
        names.push(bare.to_string());
    }
    names
}

/// Whether a function's name, as the module spells it, is one of these names of Rust.
pub fn is_one_of(name: &str, wanted: &[&str]) -> bool {
    // Identifiers are spelled out in both manglings. To compare them first is faster than to demangle thousands of names.
    let spelled = |part: &str| name.contains(part.trim_matches(|c: char| !c.is_alphanumeric() && c != '_'));
    wanted.iter().any(|wanted| wanted.rsplit("::").take(2).all(spelled))
        && names_of(name).iter().any(|name| wanted.contains(&name.as_str()))
}

/// Reduces `a::b(int (*)(char)) const` to `a::b`; `None` for a name without parameters.
pub fn without_parameters(name: &str) -> Option<&str> {
    let name = name.strip_suffix(" const").unwrap_or(name);
    let mut depth = 0;
    let open = name.char_indices().rev().find_map(|(at, c)| {
        match c {
            ')' => depth += 1,
            '(' => depth -= 1,
            _ => {}
        }
        (depth == 0).then_some(at)
    });
    open.filter(|open| *open > 0 && name.ends_with(')')).map(|open| &name[..open])
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
    fn both_of_rust_s_manglings_have_a_name_in_common() {
        let legacy = "_ZN4mine7SeqLock13validate_read17h8e77915ec7fe283dE";
        let v0 = "_RNvMCsl1MFxcZ9GS1_4mineNtB2_7SeqLock13validate_read";
        for name in [legacy, v0] {
            assert!(
                names_of(name).contains(&"mine::SeqLock::validate_read".to_string()),
                "{:?}",
                names_of(name)
            );
        }
        assert!(names_of(v0).contains(&"<mine::SeqLock>::validate_read".to_string()), "{:?}", names_of(v0));
        assert_eq!(names_of("_ZN3app5queue4push17h0123456789abcdefE").len(), 2);
    }

    #[test]
    fn names_of_rust_are_known_in_both_manglings() {
        const WANTED: [&str; 2] = ["std::thread::Thread::new", "<app::A as app::B>::release"];
        for name in [
            "_ZN3std6thread6Thread3new17h0123456789abcdefE",
            "_ZN3std6thread6Thread3new17h0123456789abcdefE.llvm.990233401936487312",
            "_ZN33_$LT$app..A$u20$as$u20$app..B$GT$7release17h5165af55ba5e81dfE",
        ] {
            assert!(is_one_of(name, &WANTED), "{name}");
        }
        for name in ["std::thread::Thread::newer", "_ZN3app6thread6Thread3new17h0123456789abcdefE", "new"] {
            assert!(!is_one_of(name, &WANTED), "{name}");
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
