//! Marks where Rust's test harness calls a test, so that the host can begin each iteration there
//! and need not let the harness be interrupted.
//!
//! The harness calls every test through a function of its own, which is there to be found in backtraces.
//!
//! ```wat
//! ;; before
//! (func $test::__rust_begin_short_backtrace (param i32 i32) ..)
//! ;; after
//! (func $test::__rust_begin_short_backtrace (param i32 i32)
//!   i32.const 3 (; site ;) call $coyote_rt.test_begin
//!   local.get 0 local.get 1 call $"test::__rust_begin_short_backtrace (body)"
//!   i32.const 4 (; site ;) call $coyote_rt.test_end)
//! (func $"test::__rust_begin_short_backtrace (body)" (param i32 i32) ..)
//! ```

use crate::code::Code;
use crate::draft::{Draft, site_location};
use coyote_abi::{OpKind, rt};
use walrus::ir::{Call, InstrLocId};
use walrus::{FunctionBuilder, ValType};
use wasmparser::{KnownCustom, Name, Parser, Payload};

/// Whether this is the function by which a program enters the harness.
pub fn is_main(name: &str) -> bool {
    named(name, &["test_main_static", "test_main_static_abort", "test_main"])
}

/// Whether a module is a program that runs the harness. What cannot be read is none.
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

/// Whether this is the function through which the harness calls a test.
fn calls_test(name: &str) -> bool {
    named(name, &["__rust_begin_short_backtrace"])
}

/// Whether a name, as the module spells it, is that of one of these functions of the crate `test`.
fn named(name: &str, functions: &[&str]) -> bool {
    // Demangling thousands of names costs more than looking at them.
    if !functions.iter().any(|f| name.contains(f)) {
        return false;
    }
    let Ok(demangled) = rustc_demangle::try_demangle(name) else { return false };
    let demangled = format!("{demangled:#}");
    let Some(rest) = demangled.strip_prefix("test::") else { return false };
    functions
        .iter()
        .any(|f| rest.strip_prefix(f).is_some_and(|rest| rest.is_empty() || rest.starts_with("::<")))
}

pub fn harness(draft: &mut Draft) {
    if !draft.original.libtest {
        return;
    }
    let begin = draft.suspending(rt::TEST_BEGIN, &[ValType::I32], &[]);
    let end = draft.suspending(rt::TEST_END, &[ValType::I32], &[]);
    for id in draft.guest_functions() {
        let origin = draft.origin(id).expect("it is the guest's");
        if !calls_test(&draft.original.functions[origin as usize].name) {
            continue;
        }
        let ty = draft.module.types.get(draft.module.funcs.get(id).ty());
        let (params, results) = (ty.params().to_vec(), ty.results().to_vec());
        let at = draft.location(origin, InstrLocId::default());
        draft.wrap(id, " (body)", |draft, inner| {
            let args: Vec<_> = params.iter().map(|ty| draft.module.locals.add(*ty)).collect();
            let mut code = Code::default();
            let announce = |draft: &mut Draft, code: &mut Code, kind, function| {
                let site = draft.site(at, kind, 0, 0);
                code.i32(site as i32).push(Call { func: function }, site_location(site));
            };
            announce(draft, &mut code, OpKind::Start, begin);
            args.iter().for_each(|arg| {
                code.get(*arg);
            });
            // The beginning of the function is no instruction's place, so it is free for this one.
            code.push(Call { func: inner }, InstrLocId::new(at.offset));
            announce(draft, &mut code, OpKind::Exit, end);
            let mut body = FunctionBuilder::new(&mut draft.module.types, &params, &results).local_func(args);
            let entry = body.entry_block();
            body.block_mut(entry).instrs = code.into();
            body
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
