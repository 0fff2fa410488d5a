//! The root: the module, with stubs for what is left out.

use super::write::{extended, write_code};
use super::{Part, Parts};
use crate::suspend::ORDER;
use coyote_abi::rt;
use std::collections::{BTreeMap, BTreeSet};
use wasm_encoder::{
    ElementSection, ExportKind, ExportSection, Function, FunctionSection, RawSection, Section, SectionId,
    TableSection, TypeSection, ValType,
};

/// The functions through which stubs call, after those of the module.
struct Callers {
    /// By the type of the stubs: the number of the function among these, and its type.
    of: BTreeMap<u32, (u32, u32)>,
    /// The types of these functions, after those of the module.
    types: TypeSection,
}

impl Parts {
    /// The root with these functions, and those that have to be in it. It has no custom sections: the host has read them.
    pub fn root(&self, functions: &BTreeSet<u32>) -> Part {
        let is_whole = |function: u32| functions.contains(&function) || self.is_of_root(function);
        let callers = self.callers(is_whole);
        let mut wasm = b"\0asm\x01\0\0\0".to_vec();
        let mut begins = vec![];
        for section in ORDER {
            let own = self.contents(section as u8);
            match section {
                SectionId::Type => extended(section, own, &callers.types, &mut wasm),
                SectionId::Function => {
                    let mut types = FunctionSection::new();
                    callers.of.values().for_each(|(_, ty)| {
                        types.function(*ty);
                    });
                    extended(section, own, &types, &mut wasm);
                }
                SectionId::Table => {
                    extended(section, own, TableSection::new().table(self.table_type()), &mut wasm);
                }
                SectionId::Export => extended(section, own, &self.root_exports(), &mut wasm),
                SectionId::Element => extended(section, own, &self.root_elements(is_whole), &mut wasm),
                SectionId::Code => begins = self.root_code(is_whole, &callers, &mut wasm),
                _ => {
                    if let Some(data) = own {
                        RawSection { id: section as u8, data }.append_to(&mut wasm);
                    }
                }
            }
        }
        Part { wasm, imports: vec![], begins }
    }

    fn callers(&self, is_whole: impl Fn(u32) -> bool) -> Callers {
        let mut callers = Callers { of: BTreeMap::new(), types: TypeSection::new() };
        let first = self.signatures.len() as u32;
        let left_out = (0..self.functions()).filter(|function| !is_whole(*function));
        let types: BTreeSet<u32> = left_out.map(|function| self.type_of(function)).collect();
        for (number, ty) in (0..).zip(types) {
            let (parameters, results) = self.signatures[ty as usize].as_ref().expect("that of a function");
            let parameters = [parameters.as_slice(), &[ValType::I32]].concat();
            callers.types.ty().function(parameters, results.iter().copied());
            callers.of.insert(ty, (number, first + number));
        }
        callers
    }

    /// Exports of all that parts import; the table of all functions comes last.
    fn root_exports(&self) -> ExportSection {
        let mut exports = ExportSection::new();
        let table = (ExportKind::Table, self.table());
        let all = self.defined.iter().map(|(kind, index, _)| (*kind, *index)).chain([table]);
        for (number, (kind, index)) in all.enumerate() {
            exports.export(&format!("{}{number}", rt::PART_PREFIX), kind, index);
        }
        exports
    }

    /// The root's functions are in the table, for the stubs of parts.
    fn root_elements(&self, is_whole: impl Fn(u32) -> bool) -> ElementSection {
        let mut elements = ElementSection::new();
        for function in (0..self.functions()).filter(|function| is_whole(*function)) {
            self.put(&mut elements, function, self.index(function));
        }
        elements
    }

    fn root_code(
        &self,
        is_whole: impl Fn(u32) -> bool,
        callers: &Callers,
        wasm: &mut Vec<u8>,
    ) -> Vec<(u32, u32)> {
        let count = self.functions();
        let bodies = (0..count).map(|function| match is_whole(function) {
            true => self.body(function).to_vec(),
            false => self.stub(function, callers),
        });
        let begins = write_code(bodies.chain(callers.of.keys().map(|ty| self.caller(*ty))), wasm);
        // No function of the guest is behind the module's last one, nor behind those that follow here.
        let whole = (0..count).chain(std::iter::repeat(count - 1)).map(|function| self.begin(function));
        begins.into_iter().zip(whole).collect()
    }

    fn stub(&self, function: u32, callers: &Callers) -> Vec<u8> {
        let (caller, _) = callers.of[&self.type_of(function)];
        let mut body = Function::new([]);
        let mut code = body.instructions();
        for parameter in 0..self.parameters(function) {
            code.local_get(parameter);
        }
        code.i32_const(function as i32).return_call(self.index(self.functions()) + caller).end();
        body.into_raw_body()
    }

    fn caller(&self, ty: u32) -> Vec<u8> {
        let (parameters, _) = self.signatures[ty as usize].as_ref().expect("that of a function");
        let parameters = parameters.len() as u32;
        let mut body = Function::new([]);
        self.write_call(&mut body, (parameters, ty, self.need), |body| {
            body.instructions().local_get(parameters);
        });
        body.into_raw_body()
    }
}
