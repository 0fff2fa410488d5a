//! Sections and code of parts.

use super::Parts;
use wasm_encoder::{
    BlockType, CodeSection, ConstExpr, ElementSection, Elements, Encode, Function, RawSection, Section,
    SectionId,
};
use wasmparser::BinaryReader;

impl Parts {
    /// An element segment that puts a function into the table of all functions. `index`: in the module that is written.
    pub(super) fn put(&self, elements: &mut ElementSection, function: u32, index: u32) {
        let offset = ConstExpr::i32_const(function as i32);
        elements.active(Some(self.table()), &offset, Elements::Functions([index][..].into()));
    }

    /// Calls the function whose number `number` pushes, with the first `parameters` parameters, through the table of all
    /// functions. `need`: the index of the import in the module that is written.
    pub(super) fn write_call(
        &self,
        body: &mut Function,
        (parameters, ty, need): (u32, u32, u32),
        number: impl Fn(&mut Function),
    ) {
        number(body);
        body.instructions().table_get(self.table()).ref_is_null().if_(BlockType::Empty);
        number(body);
        let mut code = body.instructions();
        code.call(need).end();
        for parameter in 0..parameters {
            code.local_get(parameter);
        }
        number(body);
        body.instructions().return_call_indirect(self.table(), ty).end();
    }
}

/// Appends a section with these contents and further entries.
pub(super) fn extended(id: SectionId, contents: Option<&[u8]>, more: &dyn Encode, wasm: &mut Vec<u8>) {
    let mut added = vec![];
    more.encode(&mut added);
    let mut added = BinaryReader::new(&added, 0);
    let mut own = BinaryReader::new(contents.unwrap_or(&[0]), 0);
    let mut counts = || Ok((added.read_var_u32().and(added.read_var_u32())?, own.read_var_u32()?));
    let (new, count): (u32, u32) =
        counts().map_err(|e: wasmparser::BinaryReaderError| e).expect("valid sections");
    let mut data = vec![];
    (count + new).encode(&mut data);
    for rest in [&mut own, &mut added] {
        data.extend_from_slice(rest.read_bytes(rest.bytes_remaining()).expect("what remains"));
    }
    RawSection { id: id as u8, data: &data }.append_to(wasm);
}

/// Appends a code section; returns where each body begins in the module.
pub(super) fn write_code(bodies: impl Iterator<Item = Vec<u8>>, wasm: &mut Vec<u8>) -> Vec<u32> {
    let mut section = CodeSection::new();
    let mut begins = vec![];
    let mut end = 0;
    for body in bodies {
        section.raw(&body);
        let mut size = vec![];
        body.len().encode(&mut size);
        begins.push(end + size.len());
        end += size.len() + body.len();
    }
    section.append_to(wasm);
    let first = wasm.len() - end;
    begins.into_iter().map(|begin| (first + begin) as u32).collect()
}
