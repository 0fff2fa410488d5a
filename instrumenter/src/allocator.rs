//! What allocators do to blocks, as their arguments and results say it.

use crate::code::Code;
use crate::scope::names_of;
use walrus::ir::BinaryOp;
use walrus::{LocalId, ValType};

/// What a call does: takes a block back, hands one out, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The parameter that is the old block.
    old: Option<usize>,
    /// Whether the result is the new block.
    new: bool,
    /// The parameters whose product is the size of the new block.
    bytes: &'static [usize],
}

impl Change {
    /// `None` for a function of which nothing is known: a block that it hands out is like any other
    /// memory.
    pub fn of(name: &str, params: &[ValType], results: &[ValType]) -> Option<Change> {
        let known = names_of(name).iter().find_map(|name| by_name(name.trim_start_matches("__rustc::")));
        let (parameters, change) = known?;
        let i32s = params.iter().chain(results).all(|ty| *ty == ValType::I32);
        let fits = params.len() == parameters && results.len() == usize::from(change.new);
        (i32s && fits).then_some(change)
    }

    /// Whether the function returns the new block.
    pub fn returns_block(self) -> bool {
        self.new
    }

    /// Pushes `(old, new, bytes)`; `result` is what the function returned.
    pub fn push(self, code: &mut Code, arguments: &[LocalId], result: Option<LocalId>) {
        for local in [self.old.map(|old| arguments[old]), result] {
            match local {
                Some(local) => code.get(local),
                None => code.i32(0),
            };
        }
        match self.bytes {
            [] => code.i32(0),
            [bytes] => code.get(arguments[*bytes]),
            [a, b, ..] => code.get(arguments[*a]).get(arguments[*b]).binary(BinaryOp::I32Mul),
        };
    }
}

/// The number of parameters, and what the function does.
fn by_name(name: &str) -> Option<(usize, Change)> {
    let takes = |parameters| Some((parameters, Change { old: Some(0), new: false, bytes: &[] }));
    let hands_out = |parameters, bytes| Some((parameters, Change { old: None, new: true, bytes }));
    let replaces = |parameters, bytes| Some((parameters, Change { old: Some(0), new: true, bytes }));
    match name {
        "malloc" | "__libc_malloc" | "dlmalloc" => hands_out(1, &[0]),
        "calloc" | "__libc_calloc" | "dlcalloc" => hands_out(2, &[0, 1]),
        "aligned_alloc" | "memalign" | "__libc_memalign" | "dlmemalign" => hands_out(2, &[1]),
        "realloc" | "__libc_realloc" | "dlrealloc" => replaces(2, &[1]),
        "reallocarray" => replaces(3, &[1, 2]),
        "free" | "__libc_free" | "dlfree" => takes(1),
        "__rust_alloc" | "__rust_alloc_zeroed" | "__rdl_alloc" | "__rdl_alloc_zeroed" => hands_out(2, &[0]),
        "__rust_realloc" | "__rdl_realloc" => replaces(4, &[3]),
        "__rust_dealloc" | "__rdl_dealloc" => takes(3),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_another_type_is_not_known() {
        const I32: ValType = ValType::I32;
        assert!(Change::of("malloc", &[I32], &[I32]).is_some());
        assert!(Change::of("_RNvCsiYvnZsFnsCA_7___rustc12___rust_alloc", &[I32; 2], &[I32]).is_some());
        assert_eq!(Change::of("malloc", &[I32; 2], &[I32]), None);
        assert_eq!(Change::of("malloc", &[ValType::I64], &[I32]), None);
        assert_eq!(Change::of("free", &[I32], &[I32]), None);
        assert_eq!(Change::of("malloc_usable_size", &[I32], &[I32]), None);
    }
}
