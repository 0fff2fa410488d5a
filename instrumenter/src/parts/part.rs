//! Parts: modules with functions that the root leaves out.

use super::write::write_code;
use super::{Part, PartImport, Parts};
use crate::Error;
use coyote_abi::rt;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use wasm_encoder::{
    ElementSection, Elements, EntityType, Function, FunctionSection, ImportSection, RawSection, Section,
    SectionId, TypeSection,
};
use wasmparser::{BinaryReader, BlockType, FunctionBody, HeapType, Operator, UnpackedIndex, ValType};

/// What a body refers to.
#[derive(Default)]
struct References {
    /// Indices of functions, with the offset of each in the body.
    functions: Vec<(usize, u32)>,
    /// Those of them that are values.
    values: BTreeSet<u32>,
    /// Types.
    types: BTreeSet<u32>,
}

/// About how long a part may be, in bytes of code. A part costs about as much as the compilation of 1,000 bytes, beside
/// its code.
const PART_BYTES: usize = 3000;

impl Parts {
    /// The functions of a part that is made because of this one: others that it calls, of those for which `wanted`
    /// holds, nearest first, until the part is long. The function must not be one that has to be in the root.
    ///
    /// # Errors
    /// The module is invalid.
    pub fn around(&self, function: u32, wanted: impl Fn(u32) -> bool) -> Result<BTreeSet<u32>, Error> {
        let mut part = BTreeSet::from([function]);
        let mut next = VecDeque::from([function]);
        let mut bytes = self.body(function).len();
        while let Some(caller) = next.pop_front() {
            for (_, index) in self.references(caller)?.functions {
                let Some(callee) = index.checked_sub(self.imported) else { continue };
                if part.contains(&callee) || self.is_of_root(callee) || !wanted(callee) {
                    continue;
                }
                bytes += self.body(callee).len();
                if bytes > PART_BYTES {
                    return Ok(part);
                }
                part.insert(callee);
                next.push_back(callee);
            }
        }
        Ok(part)
    }

    /// A part with these functions. None of them may have to be in the root.
    ///
    /// # Errors
    /// The module is invalid.
    pub fn part(&self, functions: &BTreeSet<u32>) -> Result<Part, Error> {
        let references: BTreeMap<u32, References> =
            functions.iter().map(|f| Ok((*f, self.references(*f)?))).collect::<Result<_, Error>>()?;
        let called =
            references.values().flat_map(|references| &references.functions).map(|(_, index)| *index);
        let own = functions.iter().map(|function| self.index(*function));
        let all: BTreeSet<u32> = called.chain(own).chain([self.need]).collect();
        let index: BTreeMap<u32, u32> = all.iter().copied().zip(0..).collect();
        let defined: Vec<u32> = all.iter().filter_map(|index| index.checked_sub(self.imported)).collect();

        let (imports, import_section) = self.part_imports(&all);
        let mut types = FunctionSection::new();
        defined.iter().for_each(|function| {
            types.function(self.type_of(*function));
        });
        let mut elements = ElementSection::new();
        for function in functions {
            self.put(&mut elements, *function, index[&self.index(*function)]);
        }
        let values: Vec<u32> =
            references.values().flat_map(|references| &references.values).map(|value| index[value]).collect();
        elements.declared(Elements::Functions(values[..].into()));
        let bodies = defined.iter().map(|function| match references.get(function) {
            Some(references) => self.patched(*function, &references.functions, &index),
            None => self.part_stub(*function, index[&self.need]),
        });

        let mut wasm = b"\0asm\x01\0\0\0".to_vec();
        let mut used: BTreeSet<u32> = references.values().flat_map(|r| &r.types).copied().collect();
        used.extend(all.iter().map(|index| self.types[*index as usize]));
        self.write_types(used, &mut wasm);
        import_section.append_to(&mut wasm);
        types.append_to(&mut wasm);
        elements.append_to(&mut wasm);
        let at = write_code(bodies, &mut wasm);
        let begins = at.into_iter().zip(&defined).map(|(at, f)| (at, self.begin(*f))).collect();
        Ok(Part { wasm, imports, begins })
    }

    /// The imports of a part: of functions, those that it refers to; of all else, all, so that indices stay as they are.
    fn part_imports(&self, referred: &BTreeSet<u32>) -> (Vec<PartImport>, ImportSection) {
        let (mut imports, mut section) = (vec![], ImportSection::new());
        let mut function = 0;
        for (number, ty) in (0..).zip(&self.imports) {
            if let EntityType::Function(_) = ty {
                function += 1;
                if !referred.contains(&(function - 1)) {
                    continue;
                }
            }
            imports.push(PartImport::Import(number));
            section.import(rt::MODULE, "import", *ty);
        }
        let table = EntityType::Table(self.table_type());
        let defined = self.defined.iter().map(|(_, _, ty)| *ty).chain([table]);
        for (number, ty) in (0..).zip(defined) {
            imports.push(PartImport::Root(number));
            section.import(rt::MODULE, "root", ty);
        }
        (imports, section)
    }

    /// The module's types under their indices. The engine compiles some code for each signature, so those that are not
    /// `used` become equal.
    fn write_types(&self, mut used: BTreeSet<u32>, wasm: &mut Vec<u8>) {
        let signatures: Option<Vec<_>> = self.signatures.iter().map(Option::as_ref).collect();
        let Some(signatures) = signatures else {
            let data = self.contents(SectionId::Type as u8).expect("a module with functions has types");
            RawSection { id: SectionId::Type as u8, data }.append_to(wasm);
            return;
        };
        let others = self.imports.iter().chain(self.defined.iter().map(|(_, _, ty)| ty));
        used.extend(others.filter_map(|ty| match ty {
            EntityType::Tag(tag) => Some(tag.func_type_idx),
            _ => None,
        }));
        let mut types = TypeSection::new();
        for (number, (parameters, results)) in (0..).zip(signatures) {
            match used.contains(&number) {
                true => types.ty().function(parameters.iter().copied(), results.iter().copied()),
                false => types.ty().function([], []),
            }
        }
        types.append_to(wasm);
    }

    fn part_stub(&self, function: u32, need: u32) -> Vec<u8> {
        let (parameters, ty) = (self.parameters(function), self.type_of(function));
        let mut body = Function::new([]);
        self.write_call(&mut body, (parameters, ty, need), |body| {
            body.instructions().i32_const(function as i32);
        });
        body.into_raw_body()
    }

    fn references(&self, function: u32) -> Result<References, Error> {
        let begin = self.begin(function) as usize;
        let body = FunctionBody::new(BinaryReader::new(self.body(function), begin));
        let mut references = References::default();
        for local in body.get_locals_reader()? {
            if let (_, ValType::Ref(ty)) = local? {
                references.heap_type(ty.heap_type());
            }
        }
        for operator in body.get_operators_reader()?.into_iter_with_offsets() {
            let (operator, at) = operator?;
            // An index follows the one byte of each of the first three.
            references.operator(&operator, at + 1 - begin);
        }
        Ok(references)
    }

    /// A body whose calls have the indices of a part, each in as many bytes as before.
    fn patched(&self, function: u32, calls: &[(usize, u32)], index: &BTreeMap<u32, u32>) -> Vec<u8> {
        let mut body = self.body(function).to_vec();
        for (at, callee) in calls {
            let mut rest = index[callee];
            let mut at = *at;
            // The bytes of a LEB128 number before the last one have their high bit set.
            while body[at] & 0x80 != 0 {
                body[at] = 0x80 | (rest & 0x7f) as u8;
                rest >>= 7;
                at += 1;
            }
            assert!(rest < 0x80, "an index of a part is not greater than that of the module");
            body[at] = rest as u8;
        }
        body
    }
}

impl References {
    fn operator(&mut self, operator: &Operator, at: usize) {
        match *operator {
            Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                self.functions.push((at, function_index));
            }
            Operator::RefFunc { function_index } => {
                self.functions.push((at, function_index));
                self.values.insert(function_index);
            }
            Operator::CallIndirect { type_index, .. }
            | Operator::ReturnCallIndirect { type_index, .. }
            | Operator::CallRef { type_index }
            | Operator::ReturnCallRef { type_index } => {
                self.types.insert(type_index);
            }
            Operator::RefNull { hty } => self.heap_type(hty),
            Operator::Block { blockty } | Operator::Loop { blockty } | Operator::If { blockty } => {
                self.block_type(blockty);
            }
            Operator::TryTable { ref try_table } => self.block_type(try_table.ty),
            _ => {}
        }
    }

    fn block_type(&mut self, ty: BlockType) {
        match ty {
            BlockType::FuncType(index) => {
                self.types.insert(index);
            }
            BlockType::Type(ValType::Ref(ty)) => self.heap_type(ty.heap_type()),
            _ => {}
        }
    }

    fn heap_type(&mut self, ty: HeapType) {
        if let HeapType::Concrete(UnpackedIndex::Module(index)) = ty {
            self.types.insert(index);
        }
    }
}
