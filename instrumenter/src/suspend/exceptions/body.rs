//! Rewrites one function without references to exceptions. Unreachable code is omitted.

use super::value::{Payload, is_exception};
use crate::Error;
use crate::suspend::code::{Code, Label};
use crate::suspend::module::Module;
use crate::suspend::{Mutant, NewBody};
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{Catch as NewCatch, Encode, ValType as Encoded};
use wasmparser::{
    BlockType, Catch, FuncToValidate, FuncValidator, FuncValidatorAllocations, FunctionBody, Operator,
    TryTable, ValidatorResources,
};

pub(super) struct Context<'m, 'a> {
    pub module: &'m Module<'a>,
    /// By tag.
    pub payloads: &'m [Payload],
    /// Types of blocks that the input does not have, as parameters and results.
    pub types: Vec<(Vec<Encoded>, Vec<Encoded>)>,
    pub mutant: Option<Mutant>,
}

/// Exceptions that a `try_table` catches by reference: of one tag, to one label.
#[derive(Clone, Copy)]
struct Handler {
    tag: u32,
    /// The depth by which a branch right before the `try_table` would refer to it in the input.
    label: u32,
    /// Whether the payload is passed too.
    payload: bool,
}

/// A construct of the input that is open.
struct Open {
    label: Label,
    /// The handlers of a `try_table`, which has a block around it for each.
    handlers: Vec<Handler>,
}

struct Lowering<'c, 'm, 'a> {
    cx: &'c mut Context<'m, 'a>,
    wasm: &'a [u8],
    validator: FuncValidator<ValidatorResources>,
    code: Code,
    open: Vec<Open>,
    /// Holds an exception between neighbouring instructions.
    local: u32,
}

/// Rewrites a body.
pub(super) fn lower(
    cx: &mut Context,
    function: FuncToValidate<ValidatorResources>,
    body: &FunctionBody,
    allocations: &mut FuncValidatorAllocations,
) -> Result<NewBody, Error> {
    let mut validator = function.into_validator(std::mem::take(allocations));
    let mut groups: Vec<(u32, Encoded)> = vec![];
    for local in body.get_locals_reader()? {
        let (count, ty) = local?;
        validator.define_locals(body.range().start, count, ty)?;
        groups.push((count, cx.encode(ty)));
    }
    let local = validator.len_locals();
    groups.push((1, Encoded::I64));
    let mut bytes = vec![];
    groups.len().encode(&mut bytes);
    for (count, ty) in groups {
        count.encode(&mut bytes);
        ty.encode(&mut bytes);
    }
    let code = Code { bytes, height: 1, map: vec![(0, body.range().start as u32)] };
    let open = vec![Open { label: 0, handlers: vec![] }];
    let wasm = cx.module.wasm;
    let mut lowering = Lowering { cx, wasm, validator, code, open, local };
    lowering.run(body)?;
    *allocations = lowering.validator.into_allocations();
    Ok(NewBody { bytes: lowering.code.bytes, map: lowering.code.map })
}

impl Context<'_, '_> {
    fn encode(&self, ty: wasmparser::ValType) -> Encoded {
        if is_exception(ty) { Encoded::I64 } else { self.module.encode(ty) }
    }

    /// Parameters and results of a block of the input.
    fn signature(&self, ty: BlockType) -> (Vec<Encoded>, Vec<Encoded>) {
        match ty {
            BlockType::Empty => (vec![], vec![]),
            BlockType::Type(ty) => (vec![], vec![self.encode(ty)]),
            BlockType::FuncType(index) => {
                let types = self.module.types.as_ref();
                let ty = self.module.types[types.core_type_at_in_module(index)].unwrap_func();
                let encode = |types: &[wasmparser::ValType]| types.iter().map(|t| self.encode(*t)).collect();
                (encode(ty.params()), encode(ty.results()))
            }
        }
    }

    /// The type of a block.
    fn block(&mut self, params: &[Encoded], results: &[Encoded]) -> wasm_encoder::BlockType {
        match (params, results) {
            ([], []) => return wasm_encoder::BlockType::Empty,
            ([], [result]) => return wasm_encoder::BlockType::Result(*result),
            _ => {}
        }
        let known = self.types.iter().position(|(p, r)| p == params && r == results);
        let added = known.unwrap_or_else(|| {
            self.types.push((params.to_vec(), results.to_vec()));
            self.types.len() - 1
        });
        let first = self.module.types.as_ref().core_type_count_in_module();
        wasm_encoder::BlockType::FunctionType(first + added as u32)
    }
}

impl Lowering<'_, '_, '_> {
    fn run(&mut self, body: &FunctionBody) -> Result<(), Error> {
        let mut dead_constructs = 0;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let at = operators.original_position();
            let operator = operators.read()?;
            let end = operators.original_position();
            let unreachable = self.validator.get_control_frame(0).is_some_and(|frame| frame.unreachable);
            // The validator treats a construct opened in dead code as live.
            let skipped = (unreachable || dead_constructs > 0)
                && match operator {
                    Operator::Block { .. }
                    | Operator::Loop { .. }
                    | Operator::If { .. }
                    | Operator::TryTable { .. } => {
                        dead_constructs += 1;
                        true
                    }
                    Operator::End if dead_constructs > 0 => {
                        dead_constructs -= 1;
                        true
                    }
                    Operator::End => false,
                    Operator::Else => dead_constructs > 0,
                    _ => true,
                };
            if !skipped {
                self.instruction(&operator, at as u32, end as u32);
            }
            self.validator.op(at, &operator)?;
        }
        Ok(())
    }

    /// Writes the replacement of an instruction.
    fn instruction(&mut self, operator: &Operator, at: u32, end: u32) {
        let operand = |depth| self.validator.get_operand_type(depth).flatten();
        let on_exception = operand(0).is_some_and(is_exception);
        self.code.mark(at);
        match operator {
            Operator::Block { blockty } => {
                let ty = self.block_type(*blockty);
                self.code.put().block(ty);
                self.opened(vec![]);
            }
            Operator::Loop { blockty } => {
                let ty = self.block_type(*blockty);
                self.code.put().loop_(ty);
                self.opened(vec![]);
            }
            Operator::If { blockty } => {
                let ty = self.block_type(*blockty);
                self.code.put().if_(ty);
                self.opened(vec![]);
            }
            Operator::TryTable { try_table } => self.try_table(try_table, at),
            Operator::End => self.end(),
            Operator::ThrowRef => self.throw(at),
            Operator::RefNull { .. } if self.is_null_exception(operator) => {
                self.code.put().i64_const(0);
            }
            Operator::RefIsNull if on_exception => {
                self.code.put().i64_eqz();
            }
            Operator::RefAsNonNull if on_exception => {
                let local = self.local;
                self.code.put().local_tee(local).i64_eqz().if_(wasm_encoder::BlockType::Empty);
                self.trap();
                self.code.put().end().local_get(local);
            }
            Operator::BrOnNull { relative_depth } if on_exception => {
                let (local, depth) = (self.local, self.depth(*relative_depth));
                self.code.put().local_tee(local).i64_eqz().br_if(depth).local_get(local);
            }
            Operator::BrOnNonNull { relative_depth } if on_exception => {
                let (local, depth) = (self.local, self.depth(*relative_depth));
                let mut out = self.code.put();
                out.local_tee(local).local_get(local).i64_const(0).i64_ne().br_if(depth).drop();
            }
            Operator::TypedSelect { ty } if is_exception(*ty) => {
                self.code.put().select();
            }
            Operator::Br { relative_depth } => {
                let depth = self.depth(*relative_depth);
                self.code.put().br(depth);
            }
            Operator::BrIf { relative_depth } => {
                let depth = self.depth(*relative_depth);
                self.code.put().br_if(depth);
            }
            Operator::BrTable { targets } => {
                let default = self.depth(targets.default());
                let labels = targets.targets().map(|target| self.depth(target.expect("validated")));
                let labels: Vec<u32> = labels.collect();
                self.code.put().br_table(labels, default);
            }
            Operator::BrOnNull { relative_depth }
            | Operator::BrOnNonNull { relative_depth }
            | Operator::BrOnCast { relative_depth, .. }
            | Operator::BrOnCastFail { relative_depth, .. }
            | Operator::BrOnCastDescEq { relative_depth, .. }
            | Operator::BrOnCastDescEqFail { relative_depth, .. } => {
                let depth = self.depth(*relative_depth);
                let mut operator = operator.clone();
                if let Operator::BrOnNull { relative_depth }
                | Operator::BrOnNonNull { relative_depth }
                | Operator::BrOnCast { relative_depth, .. }
                | Operator::BrOnCastFail { relative_depth, .. }
                | Operator::BrOnCastDescEq { relative_depth, .. }
                | Operator::BrOnCastDescEqFail { relative_depth, .. } = &mut operator
                {
                    *relative_depth = depth;
                }
                let instruction = RoundtripReencoder.instruction(operator).expect("it is validated");
                instruction.encode(&mut self.code.bytes);
            }
            _ => self.code.bytes.extend_from_slice(&self.wasm[at as usize..end as usize]),
        }
    }

    fn is_null_exception(&self, operator: &Operator) -> bool {
        let Operator::RefNull { hty: wasmparser::HeapType::Abstract { ty, .. } } = operator else {
            return false;
        };
        super::value::is_exception_heap(*ty)
    }

    fn block_type(&mut self, ty: BlockType) -> wasm_encoder::BlockType {
        match ty {
            // The indices of types do not change.
            BlockType::FuncType(index) => wasm_encoder::BlockType::FunctionType(index),
            BlockType::Empty => wasm_encoder::BlockType::Empty,
            BlockType::Type(ty) => wasm_encoder::BlockType::Result(self.cx.encode(ty)),
        }
    }

    fn opened(&mut self, handlers: Vec<Handler>) {
        let label = self.code.opened();
        self.open.push(Open { label, handlers });
    }

    /// Converts a branch depth of the input to one of the output.
    fn depth(&self, depth: u32) -> u32 {
        self.code.depth(self.open[self.open.len() - 1 - depth as usize].label)
    }

    fn try_table(&mut self, try_table: &TryTable, at: u32) {
        let mut handlers: Vec<Handler> = vec![];
        for catch in &try_table.catches {
            match *catch {
                Catch::OneRef { tag, label } => handlers.push(Handler { tag, label, payload: true }),
                Catch::AllRef { label } => {
                    let tags = 0..self.cx.payloads.len() as u32;
                    handlers.extend(tags.map(|tag| Handler { tag, label, payload: false }));
                }
                Catch::One { .. } | Catch::All { .. } => {}
            }
        }
        let (params, results) = self.cx.signature(try_table.ty);
        if !handlers.is_empty() {
            let ty = self.cx.block(&params, &results);
            self.code.put().block(ty);
            self.code.opened();
        }
        for handler in handlers.iter().rev() {
            let payload = self.cx.payloads[handler.tag as usize];
            let ty = self.cx.block(&params, payload.types());
            self.code.put().block(ty);
            self.code.opened();
        }
        let mut next = 0;
        let mut catches: Vec<NewCatch> = vec![];
        for catch in &try_table.catches {
            let by_reference = match *catch {
                Catch::One { tag, label } => {
                    catches.push(NewCatch::One { tag, label: self.depth(label) });
                    0
                }
                Catch::All { label } => {
                    catches.push(NewCatch::All { label: self.depth(label) });
                    0
                }
                Catch::OneRef { .. } => 1,
                Catch::AllRef { .. } => self.cx.payloads.len(),
            };
            for (handler, label) in handlers[next..next + by_reference].iter().zip(next as u32..) {
                catches.push(NewCatch::One { tag: handler.tag, label });
            }
            next += by_reference;
        }
        let ty = self.block_type(try_table.ty);
        // The instruction itself, not the blocks around it, is mapped to that of the input.
        self.code.map.pop();
        self.code.mark(at);
        self.code.put().try_table(ty, catches);
        self.opened(handlers);
    }

    /// Ends a construct; the handlers of a `try_table` follow its end.
    fn end(&mut self) {
        self.code.close();
        let open = self.open.pop().expect("the function's end is the last");
        if open.handlers.is_empty() {
            return;
        }
        self.code.put().br(open.handlers.len() as u32);
        for handler in open.handlers {
            self.code.close();
            let payload = self.cx.payloads[handler.tag as usize];
            let tag = if self.cx.mutant == Some(Mutant::WrongTag) { 0 } else { handler.tag };
            payload.pack(tag, &mut self.code.put());
            if handler.payload {
                self.code.put().local_set(self.local);
                payload.unpack(self.local, &mut self.code.put());
                self.code.put().local_get(self.local);
            }
            let depth = self.depth(handler.label);
            self.code.put().br(depth);
        }
        self.code.close();
    }

    /// Throws the exception on the stack.
    fn throw(&mut self, at: u32) {
        let tags = self.cx.payloads.len() as u32;
        self.code.map.pop();
        self.code.put().local_set(self.local);
        for _ in 0..=tags {
            self.code.open_block();
        }
        self.code.put().local_get(self.local).i64_const(32).i64_shr_u().i32_wrap_i64();
        // The outermost block is for null.
        let labels: Vec<u32> = std::iter::once(tags).chain(0..tags).collect();
        self.code.put().br_table(labels, tags);
        for (tag, payload) in (0..).zip(self.cx.payloads) {
            self.code.close();
            payload.unpack(self.local, &mut self.code.put());
            self.code.mark(at);
            self.code.put().throw(tag);
        }
        self.code.close();
        self.code.mark(at);
        self.trap();
    }

    /// Traps as the original does for a null reference.
    fn trap(&mut self) {
        let ty = wasm_encoder::AbstractHeapType::Exn;
        self.code.put().ref_null(wasm_encoder::HeapType::Abstract { shared: false, ty }).throw_ref();
    }
}
