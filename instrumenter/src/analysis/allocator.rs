//! What a call of an allocator does to blocks, derived from its name, arguments and result.

use crate::analysis::scope::library_names;
use crate::code::Code;
use crate::names::names_of;
use coyote_abi::rt;
use walrus::ir::{BinaryOp, Load, LoadKind, MemArg, Select};
use walrus::{LocalId, MemoryId, ValType};

/// What a call does: it frees a block, returns one, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change {
    /// The parameter that is the old block.
    old: Option<usize>,
    new: New,
    /// The parameters whose product is the size of the new block.
    bytes: &'static [usize],
}

/// The block that a call returns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum New {
    None,
    Result,
    /// Is in memory where this parameter points, if the result is 0.
    At(usize),
    /// The old block remains, and the result is its size.
    Old,
    /// It is not known what the function does.
    Unknown,
}

impl Change {
    /// Derives the change from the function's name and type.
    pub fn of(name: &str, params: &[ValType], results: &[ValType]) -> Change {
        let names = names_of(name);
        let known = library_names(&names).find_map(|name| by_name(name.trim_start_matches("__rustc::")));
        let i32s = params.iter().chain(results).all(|ty| *ty == ValType::I32);
        match known {
            Some((parameters, change))
                if i32s && params.len() == parameters && results.len() == usize::from(change.returns()) =>
            {
                change
            }
            _ => Change { old: None, new: New::Unknown, bytes: &[] },
        }
    }

    /// Whether the function has a result that must be reported.
    pub fn returns(self) -> bool {
        !matches!(self.new, New::None | New::Unknown)
    }

    /// Pushes the block that the function is about to free, or 0 if there is none.
    pub fn push_freed(self, code: &mut Code, arguments: &[LocalId]) {
        match self.old {
            Some(old) if self.new != New::Old => code.get(arguments[old]),
            _ => code.i32(0),
        };
    }

    /// Pushes `(old, new, bytes)`; `result` is what the function returned.
    pub fn push(self, code: &mut Code, arguments: &[LocalId], result: Option<LocalId>, memory: MemoryId) {
        match self.old {
            Some(old) => code.get(arguments[old]),
            None => code.i32(0),
        };
        match (self.new, result) {
            (New::Result, Some(result)) => {
                code.get(result);
            }
            (New::At(pointer), Some(result)) => {
                let kind = LoadKind::I32 { atomic: false };
                let arg = MemArg { align: 4, offset: 0 };
                code.i32(0).get(arguments[pointer]).add(Load { memory, kind, arg });
                code.get(result).add(Select { ty: None });
            }
            (New::Old, Some(_)) => {
                code.get(arguments[self.old.expect("it stays")]);
            }
            _ => {
                code.i32(0);
            }
        }
        match (self.new, self.bytes, result) {
            (New::Unknown, ..) => code.i32(rt::ALLOCATOR_UNKNOWN as i32),
            (New::Old, _, Some(result)) => code.get(result),
            (_, [], _) => code.i32(0),
            (_, [bytes], _) => code.get(arguments[*bytes]),
            (_, [a, b, ..], _) => code.get(arguments[*a]).get(arguments[*b]).binary(BinaryOp::I32Mul),
        };
    }
}

/// The number of parameters, and what the function of this name does.
fn by_name(name: &str) -> Option<(usize, Change)> {
    let change = |parameters, old, new, bytes| Some((parameters, Change { old, new, bytes }));
    match name {
        "malloc" | "__libc_malloc" | "dlmalloc" => change(1, None, New::Result, &[0]),
        "calloc" | "__libc_calloc" | "dlcalloc" => change(2, None, New::Result, &[0, 1]),
        "aligned_alloc" | "memalign" | "__libc_memalign" | "dlmemalign" | "internal_memalign" => {
            change(2, None, New::Result, &[1])
        }
        "posix_memalign" | "dlposix_memalign" => change(3, None, New::At(0), &[2]),
        "realloc" | "__libc_realloc" | "dlrealloc" => change(2, Some(0), New::Result, &[1]),
        "reallocarray" => change(3, Some(0), New::Result, &[1, 2]),
        "free" | "__libc_free" | "dlfree" => change(1, Some(0), New::None, &[]),
        "malloc_usable_size" | "dlmalloc_usable_size" => change(1, Some(0), New::Old, &[]),
        "__rust_alloc" | "__rust_alloc_zeroed" | "__rdl_alloc" | "__rdl_alloc_zeroed" => {
            change(2, None, New::Result, &[0])
        }
        "__rust_realloc" | "__rdl_realloc" => change(4, Some(0), New::Result, &[3]),
        "__rust_dealloc" | "__rdl_dealloc" => change(3, Some(0), New::None, &[]),
        // Rust's allocator without an operating system, where a linker inlined the functions that call it.
        _ if name.contains("dlmalloc::Dlmalloc<") => match name.rsplit_once(">::")?.1 {
            "malloc" => change(2, None, New::Result, &[1]),
            "memalign" => change(3, None, New::Result, &[2]),
            "realloc" => change(3, Some(1), New::Result, &[2]),
            "free" => change(2, Some(1), New::None, &[]),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_another_type_is_not_known() {
        const I32: ValType = ValType::I32;
        let known = |name: &str, params: &[ValType], results: &[ValType]| {
            Change::of(name, params, results).new != New::Unknown
        };
        assert!(known("malloc", &[I32], &[I32]));
        assert!(known("_RNvCsiYvnZsFnsCA_7___rustc12___rust_alloc", &[I32; 2], &[I32]));
        assert!(known("posix_memalign", &[I32; 3], &[I32]));
        assert!(known("free", &[I32], &[]));
        let dlmalloc = "_RNvMs0_NtCsjqx8TIyZbP9_8dlmalloc8dlmallocINtB5_8DlmallocNtNtB7_3sys6SystemE4freeCsebHcaeoSrxy_3std";
        assert!(known(dlmalloc, &[I32; 2], &[]));
        assert!(!known("malloc", &[I32; 2], &[I32]));
        assert!(!known("malloc", &[ValType::I64], &[I32]));
        assert!(!known("free", &[I32], &[I32]));
        assert!(!known("_Z4freeP4Node", &[I32], &[]), "the program's own");
        assert!(!known("mallocate", &[I32], &[I32]));
    }
}
