//! Functions on strings of the system's libc and libc++, whose accesses are plain in the source.
//!
//! These libraries are built without atomics, so an access of them may have been atomic: those of locks, reference
//! counts, locales and streams are. Strings are not shared by the library, but by the program:
//!
//! - `std::basic_string` is the container whose functions are compiled in libc++; the others are templates that are
//!   compiled with the program.
//! - Functions of C that write a string write its bytes and no others. They, and those that search it, read whole words,
//!   and so bytes behind the end, which another worker may write: their loads do not count.

use coyote_abi::OpKind;

/// Functions of musl's `string.h` and `wchar.h` that write a string. `strtok` also writes its own state, which it
/// does not share safely.
const WRITERS: &[&str] = &[
    "strcpy",
    "stpcpy",
    "__stpcpy",
    "strncpy",
    "stpncpy",
    "__stpncpy",
    "strcat",
    "strncat",
    "strlcpy",
    "strlcat",
    "memccpy",
    "strtok",
    "strtok_r",
    "__strtok_r",
    "strsep",
    "wcscpy",
    "wcpcpy",
    "wcsncpy",
    "wcpncpy",
    "wcscat",
    "wcsncat",
    "wmemcpy",
    "wmemmove",
    "wmemset",
    "swab",
];

/// Whether accesses of this kind are plain in the function of this name, as linkers write it.
pub fn are_plain(name: &str, kind: OpKind) -> bool {
    is_of_cxx_string(name) || kind == OpKind::Store && WRITERS.contains(&name)
}

fn is_of_cxx_string(name: &str) -> bool {
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
            assert!(are_plain(name, OpKind::Load), "{name}");
        }
        for name in [
            "std::__2::__shared_weak_count::lock()",
            "std::__2::basic_stringbuf<char>::str()",
            "void std::__2::sort<std::__2::basic_string<char>*>()",
            "_ZNSt3__215basic_streambufIcE",
            "basic_string<char>::size()",
        ] {
            assert!(!are_plain(name, OpKind::Store), "{name}");
        }
        assert!(are_plain("strcpy", OpKind::Store) && !are_plain("strcpy", OpKind::Load));
    }
}
