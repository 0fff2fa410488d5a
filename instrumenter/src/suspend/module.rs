//! The input module in the form that the pass needs: its sections, its types, and its bodies ready to
//! validate.

use crate::Error;
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::ops::Range;
use wasm_encoder::reencode::{self, Reencode};
use wasmparser::types::{CoreTypeId, Types};
use wasmparser::{
    FuncToValidate, FunctionBody, Parser, Payload, UnpackedIndex, ValType, ValidPayload, Validator,
    ValidatorResources, WasmFeatures,
};

pub(super) type ModuleBody<'a> = (FuncToValidate<ValidatorResources>, FunctionBody<'a>);

pub(super) struct Module<'a> {
    pub wasm: &'a [u8],
    /// `(id, contents)` in file order, custom sections included.
    pub sections: Vec<(u8, Range<usize>)>,
    /// In the order of the code section: body `i` is that of function `imported + i`.
    pub bodies: Vec<ModuleBody<'a>>,
    pub types: Types,
    /// How many functions are imported.
    pub imported: u32,
    /// The first type index of each canonical type.
    first_index: BTreeMap<CoreTypeId, u32>,
}

impl<'a> Module<'a> {
    pub fn read(wasm: &'a [u8]) -> Result<Module<'a>, Error> {
        let mut validator = Validator::new_with_features(WasmFeatures::all());
        let (mut sections, mut bodies, mut types) = (vec![], vec![], None);
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload?;
            sections.extend(payload.as_section());
            if let Payload::Version { encoding: wasmparser::Encoding::Component, .. } = payload {
                return Err(Error::Component);
            }
            match validator.payload(&payload)? {
                ValidPayload::Func(function, body) => bodies.push((function, body)),
                ValidPayload::End(t) => types = Some(t),
                _ => {}
            }
        }
        let types = types.expect("the parser ends every module");
        let t = types.as_ref();
        let mut first_index = BTreeMap::new();
        for index in 0..t.core_type_count_in_module() {
            first_index.entry(t.core_type_at_in_module(index)).or_insert(index);
        }
        let imported = t.function_count() - bodies.len() as u32;
        Ok(Module { wasm, sections, bodies, imported, first_index, types })
    }

    pub fn function_type(&self, function: u32) -> &wasmparser::FuncType {
        let types = self.types.as_ref();
        self.types[types.core_function_at(function)].unwrap_func()
    }

    /// Converts a type of the validator to one of the output: canonical types get an index again.
    pub fn encode(&self, ty: ValType) -> wasm_encoder::ValType {
        Indexed(self).val_type(ty).expect("a validated type can be encoded")
    }
}

/// Encodes types that the validator has replaced by canonical ids.
struct Indexed<'m, 'a>(&'m Module<'a>);

impl Reencode for Indexed<'_, '_> {
    type Error = Infallible;

    fn type_index_unpacked(&mut self, index: UnpackedIndex) -> Result<u32, reencode::Error<Infallible>> {
        match index {
            UnpackedIndex::Id(id) => Ok(self.0.first_index[&id]),
            other => reencode::utils::type_index_unpacked(self, other),
        }
    }
}

/// As `ty`, but with a default value, which locals that the pass adds must have.
pub(super) fn nullable(ty: ValType) -> ValType {
    match ty {
        ValType::Ref(r) => ValType::Ref(r.nullable()),
        other => other,
    }
}
