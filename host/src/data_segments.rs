//! The addresses of a module's initial data, which no stack may overlap.
//!
//! Linkers write initial data as active segments. In a module with a shared memory, the segments are passive, and the
//! start function copies them to constant addresses and clears the memory behind them:
//!
//! ```wat
//! i32.const 1048752 i32.const 0 i32.const 12792 memory.init 1
//! i32.const 1061628 i32.const 0 i32.const 1172 memory.fill
//! ```

use wasmparser::{DataKind, FunctionBody, Operator, Parser, Payload, TypeRef};

/// Ranges of addresses of initial data, in no particular order. Parts of the module that cannot be read are skipped.
pub fn ranges(wasm: &[u8]) -> Vec<(u32, u32)> {
    let (mut ranges, mut start, mut function) = (Vec::new(), None, 0);
    for payload in Parser::new(0).parse_all(wasm).map_while(Result::ok) {
        match payload {
            Payload::ImportSection(imports) => {
                let imported = imports.into_imports().map_while(Result::ok);
                let is_function = |ty: &TypeRef| matches!(ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
                function = imported.filter(|i| is_function(&i.ty)).count() as u32;
            }
            Payload::StartSection { func, .. } => start = Some(func),
            Payload::CodeSectionEntry(body) => {
                if start == Some(function) {
                    ranges.extend(written(&body));
                }
                function += 1;
            }
            Payload::DataSection(section) => {
                for data in section.into_iter().map_while(Result::ok) {
                    if let DataKind::Active { offset_expr, .. } = data.kind
                        && let Ok(Operator::I32Const { value }) = offset_expr.get_operators_reader().read()
                    {
                        ranges.push(range(value, data.data.len() as u32));
                    }
                }
            }
            _ => {}
        }
    }
    ranges
}

/// The ranges that a function copies or clears at constant addresses.
fn written(body: &FunctionBody) -> Vec<(u32, u32)> {
    let mut ranges = Vec::new();
    let mut constants = Vec::new();
    for operator in body.get_operators_reader().into_iter().flatten().map_while(Result::ok) {
        match operator {
            Operator::I32Const { value } => constants.push(value),
            Operator::MemoryInit { .. } | Operator::MemoryFill { .. } => {
                if let [.., to, _, bytes] = constants[..] {
                    ranges.push(range(to, bytes as u32));
                }
                constants.clear();
            }
            _ => constants.clear(),
        }
    }
    ranges
}

fn range(start: i32, bytes: u32) -> (u32, u32) {
    (start as u32, (start as u32).saturating_add(bytes))
}

#[cfg(test)]
mod tests {
    use super::ranges;

    #[test]
    fn active_segments_and_those_that_the_start_function_copies() {
        let text = r#"(module
          (import "env" "f" (func))
          (memory 1)
          (data (i32.const 16) "four")
          (data $passive "passive")
          (func (memory.init $passive (i32.const 1) (i32.const 0) (i32.const 2)))
          (func $init (local i32)
            (memory.init $passive (i32.const 32) (i32.const 0) (i32.const 7))
            (memory.init $passive (local.get 0) (i32.const 0) (i32.const 7))
            (memory.fill (i32.const 40) (i32.const 0) (i32.const 8)))
          (start $init))"#;
        let mut found = ranges(&wat::parse_str(text).unwrap());
        found.sort();
        assert_eq!(found, [(16, 20), (32, 39), (40, 48)]);
        assert_eq!(ranges(b"no module"), []);
    }
}
