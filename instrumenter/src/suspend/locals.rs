//! The locals that the pass adds to a function.

use super::operands::numeric_kind;
use wasm_encoder::ValType;

pub(super) struct AddedLocals {
    /// Index of the first one.
    first: u32,
    types: Vec<ValType>,
    /// By numeric kind and spill number.
    spills: [Vec<Option<u32>>; 5],
    temporaries: Vec<(ValType, Vec<u32>)>,
    result32: Option<u32>,
    result64: Option<u32>,
    flag: Option<u32>,
    /// Number of the site at which the function resumes, or at which it is being suspended; else 0.
    pub resume: u32,
    /// Address of the function's frame.
    pub frame: u32,
}

impl AddedLocals {
    pub fn new(first: u32) -> AddedLocals {
        let mut locals = AddedLocals {
            first,
            types: vec![],
            spills: Default::default(),
            temporaries: vec![],
            result32: None,
            result64: None,
            flag: None,
            resume: 0,
            frame: 0,
        };
        locals.resume = locals.add(ValType::I32);
        locals.frame = locals.add(ValType::I32);
        locals
    }

    fn add(&mut self, ty: ValType) -> u32 {
        self.types.push(ty);
        self.first + self.types.len() as u32 - 1
    }

    /// The local that is saved with the frame while its operand is on the stack. References have none.
    pub fn spill(&mut self, ty: wasmparser::ValType, number: u32) -> Option<u32> {
        let kind = numeric_kind(ty)?;
        let number = number as usize;
        if self.spills[kind].len() <= number {
            self.spills[kind].resize(number + 1, None);
        }
        if self.spills[kind][number].is_none() {
            self.spills[kind][number] = Some(self.add(NUMERIC[kind]));
        }
        self.spills[kind][number]
    }

    /// A local that holds a value between two neighbouring instructions; it is never saved.
    pub fn temporary(&mut self, ty: ValType, number: usize) -> u32 {
        let known = self.temporaries.iter().position(|(t, _)| *t == ty).unwrap_or_else(|| {
            self.temporaries.push((ty, vec![]));
            self.temporaries.len() - 1
        });
        while self.temporaries[known].1.len() <= number {
            let local = self.add(ty);
            self.temporaries[known].1.push(local);
        }
        self.temporaries[known].1[number]
    }

    /// The local for the result of a suspending import, from the import itself or from `next`.
    pub fn result(&mut self, ty: wasmparser::ValType) -> u32 {
        let (known, ty) = match ty {
            wasmparser::ValType::I32 => (self.result32, ValType::I32),
            _ => (self.result64, ValType::I64),
        };
        let local = known.unwrap_or_else(|| self.add(ty));
        match ty {
            ValType::I32 => self.result32 = Some(local),
            _ => self.result64 = Some(local),
        }
        local
    }

    /// The result locals that are in use: `(i32, i64)`.
    pub fn results(&self) -> (Option<u32>, Option<u32>) {
        (self.result32, self.result64)
    }

    /// The local for the unwind flag that a suspending import returned.
    pub fn flag(&mut self) -> u32 {
        let flag = self.flag.unwrap_or_else(|| self.add(ValType::I32));
        self.flag = Some(flag);
        flag
    }

    /// Types of the added locals, in declaration order.
    pub fn types(&self) -> &[ValType] {
        &self.types
    }

    pub fn ty(&self, local: u32) -> ValType {
        self.types[(local - self.first) as usize]
    }
}

const NUMERIC: [ValType; 5] = [ValType::I32, ValType::I64, ValType::F32, ValType::F64, ValType::V128];
