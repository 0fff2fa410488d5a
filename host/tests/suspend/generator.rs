//! Random modules that store a lot, never trap and always end.
//!
//! wasm-smith modules mostly trap early and hardly store, so that many a mutant goes unseen. Here every
//! address is masked, loops count down a local of their own, functions call later functions only, and
//! a budget that each call takes from bounds the whole. On demand they throw and catch exceptions in every way,
//! and keep references to them; what a function of the table throws goes to whoever calls it.

mod throwing;

use crate::random::Random;
use wasm_encoder::*;

const NUMERIC: [ValType; 5] = [ValType::I32, ValType::I64, ValType::F32, ValType::F64, ValType::V128];

/// Imports, in order: y, p, v, w, log.
const Y: u32 = 0;
const P: u32 = 1;
const V: u32 = 2;
const W: u32 = 3;
const LOG: u32 = 4;
const IMPORTED: u32 = 5;

/// Global 0 is the budget; one global of each numeric type follows.
const BUDGET: u32 = 0;

/// Type indices: those of the imports, then this one, then the functions' own.
const INDIRECT: u32 = 5;

struct Signature {
    params: Vec<ValType>,
    results: Vec<ValType>,
}

struct Generator<'r> {
    random: &'r mut Random,
    types: TypeSection,
    signatures: Vec<Signature>,
    /// Which functions are in the table, ascending; all have the `INDIRECT` type.
    table: Vec<u32>,
    /// Whether code throws and catches.
    exceptions: bool,
}

/// What exceptions carry, by tag.
const PAYLOADS: [&[ValType]; 3] = [&[ValType::I32], &[], &[ValType::F32]];

/// A body under construction.
struct Scope {
    function: u32,
    locals: Vec<ValType>,
    /// Locals from here on are loop counters, which nothing else assigns.
    first_counter: u32,
    free_counters: Vec<u32>,
    /// Local for references to exceptions; three of them, if any.
    first_reference: u32,
    /// Open labels, innermost last: whether one can branch there without values.
    labels: Vec<bool>,
    /// How much may still be generated.
    size: i32,
}

pub fn module(random: &mut Random, exceptions: bool) -> Vec<u8> {
    let count = 3 + random.below(4) as u32;
    let mut types = TypeSection::new();
    let (i32, i64) = (ValType::I32, ValType::I64);
    types.ty().function([], []);
    types.ty().function([i32, i32], []);
    types.ty().function([], [i32]);
    types.ty().function([i32], [i64]);
    types.ty().function([i32], []);
    types.ty().function([i32, i32], [i32]);
    let mut imports = ImportSection::new();
    for (index, name) in ["y", "p", "v", "w", "log"].iter().enumerate() {
        imports.import("t", name, EntityType::Function(index as u32));
    }
    let mut functions = FunctionSection::new();
    let (mut signatures, mut table) = (vec![], vec![]);
    for function in 0..count {
        let signature = if function % 2 == 1 {
            functions.function(INDIRECT);
            table.push(function);
            Signature { params: vec![i32, i32], results: vec![i32] }
        } else {
            let list = |random: &mut Random, most| {
                (0..random.below(most)).map(|_| *random.pick(&NUMERIC)).collect::<Vec<_>>()
            };
            let signature = Signature { params: list(random, 5), results: list(random, 4) };
            functions.function(types.len());
            types.ty().function(signature.params.iter().copied(), signature.results.iter().copied());
            signature
        };
        signatures.push(signature);
    }
    let mut generator = Generator { random, types, signatures, table, exceptions };
    // Types of tags, after which bodies add those of blocks.
    let first_tag_type = generator.types.len();
    if exceptions {
        for payload in PAYLOADS {
            generator.types.ty().function(payload.iter().copied(), []);
        }
    }
    let mut code = CodeSection::new();
    for function in 0..count {
        code.function(&generator.body(function));
    }
    // Exported functions fill the budget and call one of the others.
    let mut exports = ExportSection::new();
    for function in 0..count.min(3) {
        let signature = &generator.signatures[function as usize];
        functions.function(generator.types.len());
        generator.types.ty().function(signature.params.iter().copied(), signature.results.iter().copied());
        let mut body = Function::new([]);
        let mut out = body.instructions();
        out.i32_const(40).global_set(BUDGET);
        let call = |out: &mut InstructionSink| {
            for p in 0..signature.params.len() as u32 {
                out.local_get(p);
            }
            out.call(IMPORTED + function);
        };
        // Two of three let nothing out.
        if exceptions && function < 2 {
            out.block(BlockType::Empty).try_table(BlockType::Empty, [Catch::All { label: 0 }]);
            call(&mut out);
            out.return_().end().end();
            signature.results.iter().for_each(|ty| zero(&mut out, *ty));
        } else {
            call(&mut out);
        }
        out.end();
        code.function(&body);
        exports.export(&format!("f{function}"), ExportKind::Func, IMPORTED + count + function);
    }
    let mut tables = TableSection::new();
    let slots = generator.table.len() as u64;
    tables.table(TableType {
        element_type: RefType::FUNCREF,
        minimum: slots,
        maximum: Some(slots),
        table64: false,
        shared: false,
    });
    let members: Vec<u32> = generator.table.iter().map(|f| IMPORTED + f).collect();
    let mut elements = ElementSection::new();
    elements.active(None, &ConstExpr::i32_const(0), Elements::Functions(members.into()));
    let mut memories = MemorySection::new();
    memories.memory(MemoryType {
        minimum: 1,
        maximum: Some(1),
        memory64: false,
        shared: false,
        page_size_log2: None,
    });
    let mut globals = GlobalSection::new();
    let mut global = |val_type, init: ConstExpr| {
        globals.global(GlobalType { val_type, mutable: true, shared: false }, &init);
    };
    global(i32, ConstExpr::i32_const(0));
    global(i32, ConstExpr::i32_const(11));
    global(i64, ConstExpr::i64_const(12));
    global(ValType::F32, ConstExpr::f32_const(1.25.into()));
    global(ValType::F64, ConstExpr::f64_const(2.25.into()));
    global(ValType::V128, ConstExpr::v128_const(77));
    let mut tags = TagSection::new();
    for tag in 0..if exceptions { PAYLOADS.len() as u32 } else { 0 } {
        tags.tag(TagType { kind: TagKind::Exception, func_type_idx: first_tag_type + tag });
    }
    let mut module = Module::new();
    module.section(&generator.types).section(&imports).section(&functions).section(&tables);
    module.section(&memories);
    if !tags.is_empty() {
        module.section(&tags);
    }
    module.section(&globals).section(&exports).section(&elements).section(&code);
    module.finish()
}

impl Generator<'_> {
    fn body(&mut self, function: u32) -> Function {
        let mut locals = self.signatures[function as usize].params.clone();
        let params = locals.len();
        // At least one of each type, in random order beyond that.
        locals.extend(NUMERIC);
        for _ in 0..self.random.below(6) {
            locals.push(*self.random.pick(&NUMERIC));
        }
        let first_counter = locals.len() as u32;
        locals.extend([ValType::I32; 3]);
        let first_reference = locals.len() as u32;
        if self.exceptions {
            locals.extend([ValType::Ref(RefType::EXNREF); 3]);
        }
        let mut body = Function::new(locals[params..].iter().map(|ty| (1, *ty)));
        let mut scope = Scope {
            function,
            locals,
            first_counter,
            free_counters: (first_counter..first_counter + 3).collect(),
            first_reference,
            labels: vec![false],
            size: 60 + self.random.below(100) as i32,
        };
        let results = self.signatures[function as usize].results.clone();
        let mut out = body.instructions();
        out.global_get(BUDGET).i32_const(1).i32_sub().global_set(BUDGET);
        out.global_get(BUDGET).i32_const(0).i32_lt_s().if_(BlockType::Empty);
        results.iter().for_each(|ty| zero(&mut out, *ty));
        out.return_().end();
        for _ in 0..3 + self.random.below(5) {
            self.statement(&mut out, &mut scope, 4);
        }
        results.iter().for_each(|ty| self.value(&mut out, &mut scope, *ty, 3));
        out.end();
        body
    }

    fn block_type(&mut self, params: &[ValType], results: &[ValType]) -> BlockType {
        match (params, results) {
            ([], []) => BlockType::Empty,
            ([], [ty]) => BlockType::Result(*ty),
            _ => {
                self.types.ty().function(params.iter().copied(), results.iter().copied());
                BlockType::FunctionType(self.types.len() - 1)
            }
        }
    }

    /// Leaves the operand stack as it is.
    fn statement(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        scope.size -= 1;
        if scope.size < 0 {
            return;
        }
        let depth = depth.saturating_sub(1);
        if self.exceptions && self.random.one_in(4) {
            match self.random.below(if depth == 0 { 2 } else { 5 }) {
                0 => self.throw(out, scope, depth),
                1 => self.throw_again(out, scope, depth),
                _ => self.catching(out, scope, depth),
            }
            return;
        }
        match self.random.below(if depth == 0 { 9 } else { 18 }) {
            0 | 1 => {
                let ty = *self.random.pick(&NUMERIC);
                self.value(out, scope, ty, depth);
                out.local_set(self.local(scope, ty));
            }
            2 => {
                let kind = self.random.below(5) as usize;
                self.value(out, scope, NUMERIC[kind], depth);
                out.global_set(1 + kind as u32);
            }
            3..=5 => self.store(out, scope, depth),
            6 => {
                out.call(Y);
            }
            7 => {
                self.value(out, scope, ValType::I32, depth);
                self.value(out, scope, ValType::I32, depth);
                out.call(P);
            }
            8 => {
                self.value(out, scope, ValType::I32, depth);
                out.call(LOG);
            }
            9 | 10 => self.arms(out, scope, depth, &[], None),
            11 => {
                out.block(BlockType::Empty);
                scope.labels.push(true);
                self.statements(out, scope, depth);
                scope.labels.pop();
                out.end();
            }
            12 => self.counted_loop(out, scope, depth),
            13 => self.jump_table(out, scope, depth),
            14 => {
                // Out of a construct around, if one takes no values.
                let open = scope.labels.len();
                let targets: Vec<usize> = (0..open).filter(|i| scope.labels[*i]).collect();
                if !targets.is_empty() {
                    let target = *self.random.pick(&targets);
                    self.value(out, scope, ValType::I32, depth);
                    out.i32_const(3).i32_and().i32_eqz().br_if((open - 1 - target) as u32);
                }
            }
            15 => self.call(out, scope, depth),
            16 => self.carried_loop(out, scope, depth),
            _ => {
                // A value that stays on the stack while statements run.
                let ty = *self.random.pick(&NUMERIC);
                self.value(out, scope, ty, depth);
                self.statements(out, scope, depth);
                out.local_set(self.local(scope, ty));
            }
        }
    }

    fn statements(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        for _ in 0..1 + self.random.below(3) {
            self.statement(out, scope, depth);
        }
    }

    /// Pushes one value.
    fn value(&mut self, out: &mut InstructionSink, scope: &mut Scope, ty: ValType, depth: u32) {
        scope.size -= 1;
        let depth = if scope.size < 0 { 0 } else { depth.saturating_sub(1) };
        match self.random.below(if depth == 0 { 4 } else { 14 }) {
            0 => self.constant(out, ty),
            1 | 2 => {
                out.local_get(self.local(scope, ty));
            }
            3 => {
                out.global_get(1 + kind(ty));
            }
            4 | 5 => {
                self.value(out, scope, ty, depth);
                self.value(out, scope, ty, depth);
                self.binary(out, ty);
            }
            6 | 7 => self.load(out, scope, ty, depth),
            8 => {
                self.value(out, scope, ty, depth);
                out.local_tee(self.local(scope, ty));
            }
            9 => {
                // From a suspending import.
                match ty {
                    ValType::I32 => out.call(V),
                    ValType::I64 => {
                        self.value(out, scope, ValType::I32, depth);
                        out.call(W)
                    }
                    ValType::F32 => out.call(V).f32_convert_i32_s(),
                    ValType::F64 => out.call(V).f64_convert_i32_u(),
                    _ => out.call(V).i32x4_splat(),
                };
            }
            10 => {
                let params = self.types_of_some(3);
                self.arms(out, scope, depth, &params, Some(ty));
            }
            11 => {
                let params = self.types_of_some(3);
                params.iter().for_each(|p| self.value(out, scope, *p, depth));
                out.block(self.block_type(&params, &[ty]));
                scope.labels.push(false);
                self.use_up(out, scope, depth, &params, ty);
                scope.labels.pop();
                out.end();
            }
            12 => {
                self.value(out, scope, ty, depth);
                self.value(out, scope, ty, depth);
                self.value(out, scope, ValType::I32, depth);
                out.select();
            }
            _ if ty == ValType::I32 => self.indirect(out, scope, depth),
            _ => {
                self.value(out, scope, ty, depth);
                self.statements(out, scope, depth);
            }
        }
    }

    /// From `params` on the stack to one value, with statements while some are still there.
    fn use_up(
        &mut self,
        out: &mut InstructionSink,
        scope: &mut Scope,
        depth: u32,
        params: &[ValType],
        ty: ValType,
    ) {
        for param in params.iter().rev() {
            if self.random.one_in(2) {
                self.statement(out, scope, depth);
            }
            out.local_set(self.local(scope, *param));
        }
        self.value(out, scope, ty, depth);
    }

    fn arms(
        &mut self,
        out: &mut InstructionSink,
        scope: &mut Scope,
        depth: u32,
        params: &[ValType],
        result: Option<ValType>,
    ) {
        params.iter().for_each(|p| self.value(out, scope, *p, depth));
        self.value(out, scope, ValType::I32, depth);
        // Other values than 0 and 1 as well.
        let mask = *self.random.pick(&[1, 2, 4]);
        out.i32_const(mask).i32_and();
        let Some(ty) = result else {
            out.if_(BlockType::Empty);
            scope.labels.push(true);
            self.statements(out, scope, depth);
            if self.random.one_in(2) {
                out.else_();
                self.statements(out, scope, depth);
            }
            scope.labels.pop();
            out.end();
            return;
        };
        out.if_(self.block_type(params, &[ty]));
        scope.labels.push(false);
        self.use_up(out, scope, depth, params, ty);
        out.else_();
        self.use_up(out, scope, depth, params, ty);
        scope.labels.pop();
        out.end();
    }

    fn counted_loop(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        let Some(counter) = scope.free_counters.pop() else { return };
        out.i32_const(1 + self.random.below(3) as i32).local_set(counter);
        out.loop_(BlockType::Empty);
        scope.labels.push(false);
        self.statements(out, scope, depth);
        scope.labels.pop();
        out.local_get(counter).i32_const(1).i32_sub().local_tee(counter).br_if(0).end();
        scope.free_counters.push(counter);
    }

    /// A loop that carries values from round to round on the stack.
    fn carried_loop(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        let Some(counter) = scope.free_counters.pop() else { return };
        let carried = [*self.random.pick(&NUMERIC), *self.random.pick(&NUMERIC)];
        out.i32_const(1 + self.random.below(3) as i32).local_set(counter);
        carried.iter().for_each(|ty| self.value(out, scope, *ty, depth));
        out.loop_(self.block_type(&carried, &carried));
        scope.labels.push(false);
        self.binary_with(out, scope, carried[1], depth);
        self.statements(out, scope, depth);
        let (second, first) = (self.local(scope, carried[1]), self.local(scope, carried[0]));
        out.local_set(second);
        self.binary_with(out, scope, carried[0], depth);
        out.local_tee(first);
        self.value(out, scope, carried[1], depth);
        scope.labels.pop();
        out.local_get(counter).i32_const(1).i32_sub().local_tee(counter).br_if(0).end();
        out.local_set(second).local_set(first);
        scope.free_counters.push(counter);
    }

    fn jump_table(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        for _ in 0..3 {
            out.block(BlockType::Empty);
            scope.labels.push(true);
        }
        self.value(out, scope, ValType::I32, depth);
        out.i32_const(3).i32_and().br_table([0, 1], 2);
        for _ in 0..3 {
            scope.labels.pop();
            out.end();
            self.statements(out, scope, depth);
        }
    }

    /// A direct call of a later function, results into locals.
    fn call(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        let later = self.signatures.len() as u64 - 1 - scope.function as u64;
        if later == 0 {
            return;
        }
        let function = scope.function + 1 + self.random.below(later) as u32;
        let params = self.signatures[function as usize].params.clone();
        params.iter().for_each(|ty| self.value(out, scope, *ty, depth));
        out.call(IMPORTED + function);
        for ty in self.signatures[function as usize].results.clone().iter().rev() {
            if self.random.one_in(3) {
                out.call(Y);
            }
            out.local_set(self.local(scope, *ty));
        }
    }

    /// An indirect call of a later function; an i32.
    fn indirect(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        let first = self.table.partition_point(|f| *f <= scope.function);
        let choices = self.table.len() - first;
        if choices == 0 {
            out.call(V);
            return;
        }
        self.value(out, scope, ValType::I32, depth);
        self.value(out, scope, ValType::I32, depth);
        self.value(out, scope, ValType::I32, depth);
        out.i32_const(choices as i32).i32_rem_u().i32_const(first as i32).i32_add();
        out.call_indirect(0, INDIRECT);
    }

    fn address(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        self.value(out, scope, ValType::I32, depth);
        out.i32_const(0xff8).i32_and();
    }

    fn store(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        let ty = *self.random.pick(&NUMERIC);
        self.address(out, scope, depth);
        self.value(out, scope, ty, depth);
        let at = MemArg { offset: self.random.below(64), align: 0, memory_index: 0 };
        match ty {
            ValType::I32 if self.random.one_in(2) => out.i32_store8(at),
            ValType::I32 => out.i32_store(at),
            ValType::I64 => out.i64_store(at),
            ValType::F32 => out.f32_store(at),
            ValType::F64 => out.f64_store(at),
            _ => out.v128_store(at),
        };
    }

    fn load(&mut self, out: &mut InstructionSink, scope: &mut Scope, ty: ValType, depth: u32) {
        self.address(out, scope, depth);
        let at = MemArg { offset: self.random.below(64), align: 0, memory_index: 0 };
        match ty {
            ValType::I32 => out.i32_load(at),
            ValType::I64 => out.i64_load32_s(at),
            ValType::F32 => out.f32_load(at),
            ValType::F64 => out.f64_load(at),
            _ => out.v128_load(at),
        };
    }

    /// Combines the value on the stack with another one.
    fn binary_with(&mut self, out: &mut InstructionSink, scope: &mut Scope, ty: ValType, depth: u32) {
        self.value(out, scope, ty, depth);
        self.binary(out, ty);
    }

    fn binary(&mut self, out: &mut InstructionSink, ty: ValType) {
        let which = self.random.below(3);
        match (ty, which) {
            (ValType::I32, 0) => out.i32_add(),
            (ValType::I32, 1) => out.i32_sub(),
            (ValType::I32, _) => out.i32_xor(),
            (ValType::I64, 0) => out.i64_add(),
            (ValType::I64, 1) => out.i64_mul(),
            (ValType::I64, _) => out.i64_rotl(),
            (ValType::F32, 0) => out.f32_add(),
            (ValType::F32, _) => out.f32_sub(),
            (ValType::F64, 0) => out.f64_mul(),
            (ValType::F64, _) => out.f64_sub(),
            (_, 0) => out.i32x4_add(),
            (_, _) => out.i16x8_sub(),
        };
    }

    fn constant(&mut self, out: &mut InstructionSink, ty: ValType) {
        let bits = self.random.next();
        let small = self.random.below(100) as f64;
        match ty {
            ValType::I32 => out.i32_const(bits as i32 >> 16),
            ValType::I64 => out.i64_const(bits as i64),
            ValType::F32 => out.f32_const((small as f32).into()),
            ValType::F64 => out.f64_const(small.into()),
            _ => out.v128_const(bits as i128),
        };
    }

    /// A local of this type that may be assigned.
    fn local(&mut self, scope: &Scope, ty: ValType) -> u32 {
        let of_type: Vec<u32> =
            (0..scope.first_counter).filter(|i| scope.locals[*i as usize] == ty).collect();
        *self.random.pick(&of_type)
    }

    fn types_of_some(&mut self, most: u64) -> Vec<ValType> {
        (0..self.random.below(most + 1)).map(|_| *self.random.pick(&NUMERIC)).collect()
    }
}

fn kind(ty: ValType) -> u32 {
    NUMERIC.iter().position(|t| *t == ty).expect("numeric") as u32
}

fn zero(out: &mut InstructionSink, ty: ValType) {
    match ty {
        ValType::I32 => out.i32_const(0),
        ValType::I64 => out.i64_const(0),
        ValType::F32 => out.f32_const(0.0.into()),
        ValType::F64 => out.f64_const(0.0.into()),
        _ => out.v128_const(0),
    };
}
