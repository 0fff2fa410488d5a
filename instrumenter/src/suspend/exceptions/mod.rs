//! Replaces references to exceptions by numbers, before a module is made suspendable.
//!
//! A reference cannot be saved as bytes, and unwinding code holds one while destructors run. But core wasm
//! can observe nothing of an exception except its tag and its payload: `exnref` has no `ref.eq`, and no
//! import throws or lets an exception pass, so all exceptions have one of the module's own tags, and throwing
//! an equal exception again cannot be distinguished from rethrowing the same one. So an `exnref` becomes an
//! i64: the upper half is the tag's number, from 1, the lower half the payload; 0 is null.
//!
//! ```wat
//! ;; before                                    ;; after
//! (tag $a (param i32)) (tag $b)
//! (local $x exnref)                            (local $x i64) (local $e i64)
//! block $pad (result exnref)                   block $pad (result i64)
//!   try_table (catch_all_ref $pad)               block $done
//!     call $f                                      block $of_b
//!   end                                              block $of_a (result i32)
//!   return                                             try_table (catch $a $of_a) (catch $b $of_b)
//! end                                                    call $f
//! local.set $x                                         end
//! call $destructor                                     br $done
//! local.get $x                                       end
//! throw_ref                                          i64.extend_i32_u  i64.const 0x1_0000_0000  i64.or
//!                                                    br $pad
//!                                                  end
//!                                                  i64.const 0x2_0000_0000
//!                                                  br $pad
//!                                                end
//!                                                return
//!                                              end
//!                                              local.set $x
//!                                              call $destructor
//!                                              local.get $x  local.set $e
//!                                              block $null
//!                                                block $is_b
//!                                                  block $is_a
//!                                                    (br_table $null $is_a $is_b $null
//!                                                      (i32.wrap_i64 (i64.shr_u (local.get $e) (i64.const 32))))
//!                                                  end
//!                                                  (throw $a (i32.wrap_i64 (local.get $e)))
//!                                                end
//!                                                throw $b
//!                                              end
//!                                              (throw_ref (ref.null exn))   ;; the trap that it is
//! ```
//! A `catch_ref` is handled in the same way and takes its payload out of the number. Instructions on
//! references that may be null become comparisons with 0. The rest of the pass, snapshots and traces then
//! contain no exceptions, only locals.
//!
//! # What is not changed
//!
//! Either all references of a module are replaced or none. None are if a number is not enough: a tag with a
//! payload other than one i32 or f32, or references to exceptions in the types of functions, tables,
//! structures and casts. No compiler of C, C++ or Rust makes those. References that are then live across a
//! suspension are refused like all others.

mod body;
mod value;

use super::assemble::{has_code_offsets, write_code};
use super::module::Module;
use super::{Mutant, NewBody, copy_body};
use crate::Error;
use std::convert::Infallible;
use value::{Payload, is_exception};
use wasm_encoder::reencode::{self, Reencode};
use wasm_encoder::{GlobalSection, Instruction, RawSection, Section, SectionId, TypeSection};
use wasmparser::{
    BinaryReader, BlockType, Catch, CompositeInnerType, FuncValidatorAllocations, FunctionBody,
    GlobalSectionReader, HeapType, Operator, StorageType, TypeSectionReader, ValType,
};

/// A module without references to exceptions.
pub(super) struct Lowered {
    pub wasm: Vec<u8>,
    /// `(offset in it, offset in the input)` of the input's instructions, ascending by the first.
    map: Vec<(u32, u32)>,
}

impl Lowered {
    /// The offset in the input of an instruction, if the instruction is mapped to one of the input.
    pub fn origin(&self, offset: u32) -> Option<u32> {
        let at = self.map.binary_search_by_key(&offset, |(at, _)| *at).ok()?;
        Some(self.map[at].1)
    }
}

/// Replaces references to exceptions, if there are any and all can be replaced. Takes the module's bodies in
/// that case.
pub(super) fn lower(module: &mut Module, mutant: Option<Mutant>) -> Result<Option<Lowered>, Error> {
    let Some(payloads) = payloads(module) else { return Ok(None) };
    let Some(changed) = changed_bodies(module)? else { return Ok(None) };
    if !changed.contains(&true) {
        return Ok(None);
    }
    let bodies = std::mem::take(&mut module.bodies);
    let mut cx = body::Context { module, payloads: &payloads, types: vec![], mutant };
    let mut allocations = FuncValidatorAllocations::default();
    let mut new: Vec<NewBody> = vec![];
    for ((function, body), changed) in bodies.into_iter().zip(changed) {
        new.push(match changed {
            true => body::lower(&mut cx, function, &body, &mut allocations)?,
            false => copy_body(&body)?,
        });
    }
    let types = cx.types;
    let (mut wasm, mut map) = (b"\0asm\x01\0\0\0".to_vec(), vec![]);
    for (id, range) in &module.sections {
        let contents = &module.wasm[range.clone()];
        let reader = || BinaryReader::new(contents, range.start);
        if *id == SectionId::Type as u8 {
            let mut section = TypeSection::new();
            Numbers.parse_type_section(&mut section, TypeSectionReader::new(reader())?).expect(ENCODES);
            for (params, results) in &types {
                section.ty().function(params.iter().copied(), results.iter().copied());
            }
            section.append_to(&mut wasm);
        } else if *id == SectionId::Global as u8 {
            let mut section = GlobalSection::new();
            Numbers.parse_global_section(&mut section, GlobalSectionReader::new(reader())?).expect(ENCODES);
            section.append_to(&mut wasm);
        } else if *id == SectionId::Code as u8 {
            write_code(&new, &[], &mut wasm, &mut map);
        } else if *id != SectionId::Custom as u8 || !has_code_offsets(contents, range.start) {
            RawSection { id: *id, data: contents }.append_to(&mut wasm);
        }
    }
    Ok(Some(Lowered { wasm, map }))
}

const ENCODES: &str = "a validated section can be encoded";

/// The payload of exceptions, by tag. `None` if there are no tags, or if some payload does not fit.
fn payloads(module: &Module) -> Option<Vec<Payload>> {
    let types = module.types.as_ref();
    let payload = |tag| Payload::of(module.types[types.tag_at(tag)].unwrap_func().params());
    let all: Option<Vec<Payload>> = (0..types.tag_count()).map(payload).collect();
    all.filter(|all| !all.is_empty())
}

/// Which bodies contain references to exceptions. `None` if some are where they cannot be replaced.
fn changed_bodies(module: &Module) -> Result<Option<Vec<bool>>, Error> {
    let types = module.types.as_ref();
    let mut in_type = vec![];
    for index in 0..types.core_type_count_in_module() {
        let is = |field: &wasmparser::FieldType| matches!(field.element_type, StorageType::Val(ty) if is_exception(ty));
        match &module.types[types.core_type_at_in_module(index)].composite_type.inner {
            CompositeInnerType::Func(ty) => {
                in_type.push(ty.params().iter().chain(ty.results()).any(|ty| is_exception(*ty)));
            }
            CompositeInnerType::Struct(ty) if ty.fields.iter().any(is) => return Ok(None),
            CompositeInnerType::Array(ty) if is(&ty.0) => return Ok(None),
            _ => in_type.push(false),
        }
    }
    let table = |table| is_exception(ValType::Ref(types.table_at(table).element_type));
    let element = |segment| is_exception(ValType::Ref(types.element_at(segment)));
    let function = |function| {
        let ty = module.function_type(function);
        ty.params().iter().chain(ty.results()).any(|ty| is_exception(*ty))
    };
    if (0..types.table_count()).any(table)
        || (0..types.element_count()).any(element)
        || (0..types.function_count()).any(function)
    {
        return Ok(None);
    }
    let mut changed = vec![];
    for (_, body) in &module.bodies {
        match changes(body, &in_type)? {
            Some(is) => changed.push(is),
            None => return Ok(None),
        }
    }
    Ok(Some(changed))
}

/// Whether a body contains references to exceptions. `None` if one of them cannot be replaced.
fn changes(body: &FunctionBody, in_type: &[bool]) -> Result<Option<bool>, Error> {
    let mut found = false;
    for local in body.get_locals_reader()? {
        found |= is_exception(local?.1);
    }
    let heap =
        |ty: HeapType| wasmparser::RefType::new(true, ty).is_some_and(|r| is_exception(ValType::Ref(r)));
    let block = |ty: BlockType| match ty {
        BlockType::Empty => false,
        BlockType::Type(ty) => is_exception(ty),
        BlockType::FuncType(index) => in_type[index as usize],
    };
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        match operators.read()? {
            Operator::ThrowRef => found = true,
            Operator::RefNull { hty } => found |= heap(hty),
            Operator::TypedSelect { ty } => found |= is_exception(ty),
            Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => {
                found |= block(blockty);
            }
            Operator::TryTable { try_table } => {
                let by_reference = |c: &Catch| matches!(c, Catch::OneRef { .. } | Catch::AllRef { .. });
                found |= block(try_table.ty) || try_table.catches.iter().any(by_reference);
            }
            Operator::CallIndirect { type_index, .. }
            | Operator::CallRef { type_index }
            | Operator::ReturnCallIndirect { type_index, .. }
            | Operator::ReturnCallRef { type_index }
                if in_type[type_index as usize] =>
            {
                return Ok(None);
            }
            Operator::RefTestNonNull { hty }
            | Operator::RefTestNullable { hty }
            | Operator::RefCastNonNull { hty }
            | Operator::RefCastNullable { hty }
                if heap(hty) =>
            {
                return Ok(None);
            }
            Operator::BrOnCast { to_ref_type, .. } | Operator::BrOnCastFail { to_ref_type, .. }
                if is_exception(ValType::Ref(to_ref_type)) =>
            {
                return Ok(None);
            }
            Operator::Try { .. } | Operator::TypedSelectMulti { .. } => return Ok(None),
            _ => {}
        }
    }
    Ok(Some(found))
}

/// Encodes types and constants with numbers in place of references to exceptions.
struct Numbers;

impl Reencode for Numbers {
    type Error = Infallible;

    fn val_type(&mut self, ty: ValType) -> Result<wasm_encoder::ValType, reencode::Error<Infallible>> {
        match is_exception(ty) {
            true => Ok(wasm_encoder::ValType::I64),
            false => reencode::utils::val_type(self, ty),
        }
    }

    fn instruction<'a>(
        &mut self,
        operator: Operator<'a>,
    ) -> Result<Instruction<'a>, reencode::Error<Infallible>> {
        match operator {
            Operator::RefNull { hty: HeapType::Abstract { ty, .. } } if value::is_exception_heap(ty) => {
                Ok(Instruction::I64Const(0))
            }
            other => reencode::utils::instruction(self, other),
        }
    }
}
