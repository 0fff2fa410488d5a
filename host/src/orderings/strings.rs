//! Functions of the system's libc++ whose plain accesses are plain in the source.
//!
//! This library is built without atomics, so an access of it may have been atomic: those of reference counts, locales
//! and streams are. `std::basic_string` has none, and is the container whose functions are compiled there; the others
//! are templates that are compiled with the program.

/// Whether a function of this name, as linkers write it, is such a function.
pub fn is_one(name: &str) -> bool {
    // The namespace of the library's version has one digit.
    let forms =
        [("std::__", "::basic_string<"), ("_ZNSt3__", "12basic_stringI"), ("_ZNKSt3__", "12basic_stringI")];
    forms.iter().any(|(std, string)| {
        let rest = name.strip_prefix(std).and_then(|rest| rest.strip_prefix(|c: char| c.is_ascii_digit()));
        rest.is_some_and(|rest| rest.starts_with(string))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_known_in_both_forms() {
        let push = "std::__2::basic_string<char, std::__2::char_traits<char>, std::__2::allocator<char>>::push_back(char)";
        for name in [
            push,
            "_ZNSt3__212basic_stringIcNS_11char_traitsIcEENS_9allocatorIcEEE9push_backEc",
            "_ZNKSt3__112basic_stringIwE",
        ] {
            assert!(is_one(name), "{name}");
        }
        for name in [
            "std::__2::__shared_weak_count::lock()",
            "std::__2::basic_stringbuf<char>::str()",
            "void std::__2::sort<std::__2::basic_string<char>*>()",
            "_ZNSt3__215basic_streambufIcE",
            "basic_string<char>::size()",
        ] {
            assert!(!is_one(name), "{name}");
        }
    }
}
