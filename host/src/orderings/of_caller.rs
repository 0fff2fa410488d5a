//! Functions of the system's libc and libc++ that access memory of their caller, whose accesses are plain in the source:
//! on strings, on arrays, and those with a result behind a pointer.
//!
//! These libraries are built without atomics, so an access of them may have been atomic: those of locks, reference
//! counts, locales and streams are. But the library does not share such memory; the program does.
//!
//! - `std::basic_string` is the container whose functions are compiled in libc++; the others are templates that are
//!   compiled with the program.
//! - Functions of C write the bytes of a string and no others. Some of them read whole words, and so bytes behind the
//!   end of the string, which another worker may write at the same time: these loads are no accesses of the program.
//!   The bytes of the word in which the string ends are read one by one afterwards.

use super::Atomicity;
use coyote_abi::OpKind;
use coyote_instrumenter::Site;

/// Functions of musl that read whole words.
const BY_WORDS: &[&str] = &[
    "strlen",
    "strnlen",
    "memchr",
    "strchr",
    "strchrnul",
    "__strchrnul",
    "strcpy",
    "stpcpy",
    "__stpcpy",
    "strncpy",
    "stpncpy",
    "__stpncpy",
    "strlcpy",
    "memccpy",
];

/// Functions of musl that access what they are asked for and nothing else. `strtok` also has a state of its own, which
/// the standard does not let threads share.
const EXACT: &[&str] = &[
    "strcmp",
    "strncmp",
    "strcasecmp",
    "strncasecmp",
    "strrchr",
    "memrchr",
    "__memrchr",
    "strstr",
    "memmem",
    "memcmp",
    "strspn",
    "strcspn",
    "strpbrk",
    "strcat",
    "strncat",
    "strlcat",
    "strtok",
    "strtok_r",
    "__strtok_r",
    "strsep",
    "swab",
    "wcslen",
    "wcsnlen",
    "wcscmp",
    "wcsncmp",
    "wcschr",
    "wcsrchr",
    "wcscpy",
    "wcpcpy",
    "wcsncpy",
    "wcpncpy",
    "wcscat",
    "wcsncat",
    "wmemchr",
    "wmemcmp",
    "wmemcpy",
    "wmemmove",
    "wmemset",
];

/// Functions of musl on arrays, and those that write a result or a state behind a pointer. (Not those that also access the
/// locale, which threads share: `strftime`, `mbrtowc`; nor those that the libraries call on their own shared memory:
/// `memcpy`, `memset`.) Those that pass a static object, as `gmtime` does, are not thread-safe by the standard.
const BY_POINTER: &[&str] = &[
    "qsort",
    "qsort_r",
    "__qsort_r",
    "bsearch",
    "lsearch",
    "lfind",
    "rand_r",
    "gmtime_r",
    "__gmtime_r",
    "localtime_r",
    "__localtime_r",
    "__secs_to_tm",
    "__tm_to_secs",
    "mktime",
    "timegm",
    "clock_gettime",
    "__clock_gettime",
    "gettimeofday",
    "frexp",
    "frexpf",
    "frexpl",
    "modf",
    "modff",
    "modfl",
    "remquo",
    "remquof",
    "remquol",
    "sincos",
    "sincosf",
    "sincosl",
];

/// Functions that are private to a file of musl, the parts of its `qsort`. Programs have functions of these names, too,
/// whose accesses are known to be plain only where coyote-cc compiled them.
const PRIVATE: &[&str] = &["sift", "trinkle", "cycle"];

/// What a load or store is in the function of this name, as linkers write it, if that is such a function of a library.
/// `of_coyote_cc`: whether coyote-cc linked the module.
pub fn atomicity(name: &str, site: &Site, of_coyote_cc: bool) -> Option<Atomicity> {
    match site.kind() {
        OpKind::Load if BY_WORDS.contains(&name) && site.size > 1 => Some(Atomicity::None),
        OpKind::Load | OpKind::Store => {
            let known = [BY_WORDS, EXACT, BY_POINTER].iter().any(|names| names.contains(&name))
                || of_coyote_cc && PRIVATE.contains(&name)
                || is_of_cxx_string(name);
            known.then_some(Atomicity::Plain)
        }
        _ => None,
    }
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
            assert!(is_of_cxx_string(name), "{name}");
        }
        for name in [
            "std::__2::__shared_weak_count::lock()",
            "std::__2::basic_stringbuf<char>::str()",
            "void std::__2::sort<std::__2::basic_string<char>*>()",
            "_ZNSt3__215basic_streambufIcE",
            "basic_string<char>::size()",
        ] {
            assert!(!is_of_cxx_string(name), "{name}");
        }
    }
}
