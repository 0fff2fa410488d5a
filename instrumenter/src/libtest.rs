//! Rust's test harness, known by the names of its functions.

use crate::libraries::{HARNESS, HARNESS_BESIDE_TEST};
use crate::names::is_one_of;
use wasmparser::{KnownCustom, Name, Parser, Payload};

/// Whether this is the name of the function by which a program enters the harness.
pub fn is_main(name: &str) -> bool {
    is_one_of(name, &["test::test_main_static", "test::test_main_static_abort", "test::test_main"])
}

/// Whether a module is a program that runs the harness. `false` for a module that cannot be read.
pub fn runs_libtest(wasm: &[u8]) -> bool {
    let custom = Parser::new(0).parse_all(wasm).map_while(Result::ok).find_map(|payload| match payload {
        Payload::CustomSection(section) => match section.as_known() {
            KnownCustom::Name(names) => Some(names),
            _ => None,
        },
        _ => None,
    });
    let functions = custom.into_iter().flatten().map_while(Result::ok).filter_map(|name| match name {
        Name::Function(functions) => Some(functions),
        _ => None,
    });
    functions.flatten().map_while(Result::ok).any(|function| is_main(function.name))
}

/// Patterns of the harness's functions among functions with these names. The program's own crate may have the name of one
/// of the harness's; only the program has a function `main`.
pub(crate) fn patterns<'a>(names: impl Iterator<Item = &'a str> + Clone) -> Vec<&'static str> {
    let is_own =
        |crate_name: &str| names.clone().any(|name| is_one_of(name, &[&format!("{crate_name}::main")]));
    let of = |(crate_name, all): (&str, &'static [&'static str])| match is_own(crate_name) {
        false => all,
        true if crate_name == "test" => HARNESS_BESIDE_TEST,
        // It only reads arguments.
        true => &[],
    };
    HARNESS.into_iter().flat_map(of).copied().collect()
}

/// Whether this is the name of the function through which the harness calls a test.
pub fn calls_test(name: &str) -> bool {
    is_one_of(name, &["test::__rust_begin_short_backtrace"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::scope::Scope;

    #[test]
    fn the_harness_is_known_by_its_mangled_names() {
        assert!(is_main("_RNvCsaa7Yx8xKdDf_4test16test_main_static"));
        assert!(is_main("_ZN4test16test_main_static17h0123456789abcdefE"));
        assert!(!is_main("test_main_static"), "a function of C");
        assert!(!is_main("_ZN3app4test16test_main_static17h0123456789abcdefE"), "a module of this name");
        assert!(!is_main("_ZN4test27test_main_with_exit_callback17h0123456789abcdefE"));
        assert!(calls_test("_ZN4test28__rust_begin_short_backtrace17h0123456789abcdefE"));
        assert!(!calls_test("_ZN3std3sys9backtrace28__rust_begin_short_backtrace17h01b6c286ac82b5b5E"));
        let generic = "_RINvCsaa7Yx8xKdDf_4test28___rust_begin_short_backtraceINtNtCscFLQViUS3Yz_4core6result\
                       6ResultuNtNtCsdnZ9ZgO8gZC_5alloc6string6StringEFEBQ_EB2_";
        assert!(calls_test(generic));
    }

    #[test]
    fn a_program_may_have_the_name_of_the_harness() {
        let main_of =
            |crate_name: &str| format!("_ZN{}{crate_name}4main17h0123456789abcdefE", crate_name.len());
        let patterns = |name: &str| {
            let mains = ["_ZN4test16test_main_static17h0123456789abcdefE".to_string(), main_of(name)];
            Scope::new(patterns(mains.iter().map(String::as_str))).unwrap()
        };
        let is_left_out = |of: &str, name: &str| patterns(of).matching(&[name.to_string()]).is_some();
        for name in [
            "test::run_tests",
            "test::run_tests::{{closure}}",
            "<test::types::TestId as core::fmt::Debug>::fmt",
        ] {
            assert!(is_left_out("app", name) && is_left_out("test", name), "{name}");
        }
        for name in ["test::increment", "test::increment::{{closure}}", "test::main"] {
            assert!(is_left_out("app", name) && !is_left_out("test", name), "{name}");
        }
        assert!(is_left_out("test", "getopts::Options::parse") && !is_left_out("getopts", "getopts::get"));
    }
}
