//! Rewrites one function that may suspend.
//!
//! ```wat
//! ;; before              ;; after: two items, sites 1 and 2
//! local.get $a           block $item2
//! call $import             block $item1
//! (if (then                  dispatch on $resume: 1 -> $item1, 2 -> $item2
//!   call $f))                local.get $a
//! i32.eqz                    call $import            ;; -> unwind flag
//!                            local.set $flag
//!                            drop                    ;; $a can be pushed again
//!                            i32.const 1  local.set $resume
//!                            local.get $flag  br_if $unwind
//!                          end                       ;; resumed at 1: after the call
//!                          i32.const 0  local.set $resume
//!                          local.get $a
//!                          ...                       ;; the operands of the `if` to locals
//!                        end                         ;; resumed at 2: before the `if`
//!                        ...                         ;; and back
//!                        local.get $resume  i32.or   ;; the site is in the first arm
//!                        if
//!                          block $item
//!                            local.get $resume  br_if $item
//!                          end                       ;; resumed at 2: before the call
//!                          i32.const 0  local.set $resume
//!                          call $f
//!                          global.get $state
//!                          if
//!                            i32.const 2  local.set $resume  br $unwind
//!                          end
//!                        end
//!                        i32.eqz
//! ```
//!
//! A call of a suspending import is not repeated, so resumption continues after it and its arguments are not
//! moved. Any other call is repeated: its arguments are passed through temporary locals. These are not
//! restored, and need not be, because the callee restores its own frame.

use super::body::{Body, Item};
use super::code::{self, Code, Label};
use super::dispatch::dispatch;
use super::liveness::Locals;
use super::locals::AddedLocals;
use super::module::nullable;
use super::operands::{Operands, Source};
use super::{Context, Mutant, unsupported};
use crate::Error;
use std::ops::Range;
use wasm_encoder::reencode::{Reencode, RoundtripReencoder};
use wasm_encoder::{BlockType, Encode};
use wasmparser::{Catch, FuncValidator, Operator, ValType, ValidatorResources};

/// A rewritten body, before the layout of its frame is known.
pub(super) struct NewCode {
    /// Up to and including the end of the `UNWIND` block.
    pub code: Code,
    pub added: AddedLocals,
    /// Indexed by the site's number, minus 1.
    pub saved: Vec<Saved>,
}

/// Locals to be saved at a site.
pub(super) struct Saved {
    /// Locals of the original function from which operands are pushed again.
    pub locals: Locals,
    /// Spill locals in use, those of the constructs around the site included.
    pub spills: Vec<u32>,
}

pub(super) struct Rewriter<'m, 'a> {
    cx: &'m Context<'m, 'a>,
    body: &'m Body<'a>,
    validator: &'m mut FuncValidator<ValidatorResources>,
    code: Code,
    added: AddedLocals,
    saved: Vec<Saved>,
    operands: Operands,
    /// The original constructs that are open, the function first.
    open: Vec<Open>,
    /// Index of the next sequence in `body.sequences`.
    next_sequence: usize,
}

/// An original construct: its label in the output, and the next item of its sequence.
struct Open {
    label: Label,
    /// Index into `body.sequences`; `None` if the sequence has no items.
    sequence: Option<usize>,
    next_item: usize,
}

/// How an operand is pushed again.
#[derive(Clone, Copy)]
enum Back {
    /// By repeating this instruction, a constant.
    Copy(u32),
    Local(u32),
    /// From a local that had to be made nullable.
    NonNull(u32),
}

impl<'m, 'a> Rewriter<'m, 'a> {
    pub fn new(
        cx: &'m Context<'m, 'a>,
        body: &'m Body<'a>,
        validator: &'m mut FuncValidator<ValidatorResources>,
    ) -> Rewriter<'m, 'a> {
        let locals = validator.len_locals();
        Rewriter {
            cx,
            body,
            validator,
            code: Code::new(),
            added: AddedLocals::new(locals),
            saved: vec![],
            operands: Operands::new(locals),
            open: vec![Open { label: code::FUNCTION, sequence: None, next_item: 0 }],
            next_sequence: 0,
        }
    }

    pub fn run(mut self) -> Result<NewCode, Error> {
        self.begin_sequence(u32::MAX);
        let last = self.body.instrs.len() as u32 - 1;
        for index in 0..last {
            match self.item_at(index) {
                Some(item) => self.item(item)?,
                None => self.plain(index)?,
            }
        }
        self.code.mark(self.body.instrs[last as usize].at);
        self.code.put().return_();
        self.code.close();
        Ok(NewCode { code: self.code, added: self.added, saved: self.saved })
    }

    fn item_at(&self, index: u32) -> Option<Item> {
        let open = self.open.last().expect("the function is open");
        let items = &self.body.sequences[open.sequence?].items;
        items.get(open.next_item).copied().filter(|item| item.instr == index)
    }

    /// Writes an instruction that is no item.
    fn plain(&mut self, index: u32) -> Result<(), Error> {
        let instr = &self.body.instrs[index as usize];
        let start = self.code.here();
        self.code.mark(instr.at);
        match &instr.operator {
            Operator::End => {
                self.code.close();
                self.open.pop();
            }
            Operator::LocalGet { local_index } | Operator::LocalTee { local_index } => {
                self.copy(index);
                if self.made_nullable(*local_index) {
                    self.code.put().ref_as_non_null();
                }
            }
            _ => self.write(index)?,
        }
        let bytes = (start, self.code.here());
        self.step(index, bytes)?;
        if matches!(
            instr.operator,
            Operator::Block { .. }
                | Operator::Loop { .. }
                | Operator::If { .. }
                | Operator::Else
                | Operator::TryTable { .. }
        ) {
            self.begin_sequence(index);
        }
        Ok(())
    }

    /// Writes the original instruction, with the branch depths of the output.
    fn write(&mut self, index: u32) -> Result<(), Error> {
        let mut operator = self.body.instrs[index as usize].operator.clone();
        match &mut operator {
            Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                self.copy(index);
                self.opened();
                return Ok(());
            }
            Operator::TryTable { try_table } => {
                for catch in &mut try_table.catches {
                    let (Catch::One { label, .. }
                    | Catch::OneRef { label, .. }
                    | Catch::All { label }
                    | Catch::AllRef { label }) = catch;
                    *label = self.depth(*label);
                }
            }
            Operator::Br { relative_depth }
            | Operator::BrIf { relative_depth }
            | Operator::BrOnNull { relative_depth }
            | Operator::BrOnNonNull { relative_depth }
            | Operator::BrOnCast { relative_depth, .. }
            | Operator::BrOnCastFail { relative_depth, .. }
            | Operator::BrOnCastDescEq { relative_depth, .. }
            | Operator::BrOnCastDescEqFail { relative_depth, .. } => {
                *relative_depth = self.depth(*relative_depth);
            }
            Operator::BrTable { targets } => {
                let default = self.depth(targets.default());
                let targets = targets.targets().collect::<Result<Vec<_>, _>>()?;
                let targets: Vec<u32> = targets.into_iter().map(|t| self.depth(t)).collect();
                self.code.put().br_table(targets, default);
                return Ok(());
            }
            _ => {
                self.copy(index);
                return Ok(());
            }
        }
        let opens = matches!(operator, Operator::TryTable { .. });
        let instruction =
            RoundtripReencoder.instruction(operator).expect("a validated instruction can be encoded");
        instruction.encode(&mut self.code.bytes);
        if opens {
            self.opened();
        }
        Ok(())
    }

    /// Writes the original instruction. Its bytes contain old numbers of locals, which are replaced.
    fn copy(&mut self, index: u32) {
        let instr = &self.body.instrs[index as usize];
        let bytes = &self.cx.module.wasm[instr.at as usize..instr.end as usize];
        match instr.operator {
            Operator::LocalGet { local_index } => {
                self.code.put().local_get(local_index);
            }
            Operator::LocalSet { local_index } => {
                self.code.put().local_set(local_index);
            }
            Operator::LocalTee { local_index } => {
                self.code.put().local_tee(local_index);
            }
            _ => self.code.bytes.extend_from_slice(bytes),
        }
    }

    /// Records that an original construct has been opened.
    fn opened(&mut self) {
        let label = self.code.opened();
        self.open.push(Open { label, sequence: None, next_item: 0 });
    }

    /// Converts an original branch depth to one of the output.
    fn depth(&self, depth: u32) -> u32 {
        self.code.depth(self.open[self.open.len() - 1 - depth as usize].label)
    }

    /// Validates the instruction and records its effect on the operands.
    fn step(&mut self, index: u32, bytes: (u32, u32)) -> Result<(), Error> {
        let instr = &self.body.instrs[index as usize];
        let kept = match instr.operator {
            Operator::End | Operator::Else => self.sequence_base(),
            _ => self.operands.len() - self.pops(index)?,
        };
        self.validator.op(instr.at as usize, &instr.operator)?;
        let height = self.validator.operand_stack_height() as usize;
        self.operands.apply(index, &instr.operator, kept, height, bytes);
        if let Operator::LocalGet { local_index } | Operator::LocalTee { local_index } = instr.operator
            && matches!(self.validator.get_local_type(local_index), Some(ValType::Ref(_)))
        {
            // Simplification: references are refused at sites, even where they could be pushed again.
            self.operands.set_source(height - 1, Source::Computed);
        }
        Ok(())
    }

    fn pops(&self, index: u32) -> Result<usize, Error> {
        let instr = &self.body.instrs[index as usize];
        match instr.operator.operator_arity(&*self.validator) {
            Some((pops, _)) => Ok(pops as usize),
            None => Err(unsupported(
                self.validator.index(),
                instr.at,
                "an instruction of unknown arity in a function that may suspend is not supported",
            )),
        }
    }

    /// Height of the operand stack below the current sequence.
    fn sequence_base(&self) -> usize {
        self.validator.get_control_frame(0).map_or(0, |frame| frame.height)
    }

    /// Whether the type of a local is made nullable, so that it has a default value: it has none and is no
    /// parameter. Without a default value, an initialisation would be invalid after the block around an item.
    fn made_nullable(&self, local: u32) -> bool {
        let parameters = self.cx.module.function_type(self.validator.index()).params().len();
        local as usize >= parameters
            && self.validator.get_local_type(local).is_some_and(|ty| !ty.is_defaultable())
    }

    /// Begins the code after `opener`. If it has items, writes the blocks that the dispatch leaves, and the
    /// dispatch; the construct's parameters are moved to locals meanwhile.
    fn begin_sequence(&mut self, opener: u32) {
        let next = self.body.sequences.get(self.next_sequence).filter(|s| s.opener == opener);
        let open = self.open.last_mut().expect("a sequence is inside of its construct");
        open.sequence = next.map(|_| self.next_sequence);
        open.next_item = 0;
        let Some(sequence) = next else { return };
        self.next_sequence += 1;
        self.find_slots();
        let parameters = self.sequence_base()..self.operands.len();
        for index in parameters.clone().rev() {
            let local = self.temporary(parameters.start, index);
            self.code.put().local_set(local);
        }
        let mut labels: Vec<Label> = sequence.items.iter().map(|_| self.code.open_block()).collect();
        labels.reverse();
        dispatch(&mut self.code, self.added.resume, &sequence.items, &labels);
        for index in parameters.clone() {
            let ty = self.operands.slot(index).ty;
            if self.cx.config.mutant == Some(Mutant::LoseBlockParameters) && !matches!(ty, ValType::Ref(_)) {
                super::code::write_default(self.cx.module.encode(ty), &mut self.code.put());
                continue;
            }
            let local = self.temporary(parameters.start, index);
            let back = if ty.is_defaultable() { Back::Local(local) } else { Back::NonNull(local) };
            self.push(back);
        }
    }

    /// The temporary for the operand at `index`, in a range of operands that begins at `start`.
    fn temporary(&mut self, start: usize, index: usize) -> u32 {
        let ty = nullable(self.operands.slot(index).ty);
        let number = (start..index).filter(|i| nullable(self.operands.slot(*i).ty) == ty).count();
        self.added.temporary(self.cx.module.encode(ty), number)
    }

    fn find_slots(&mut self) {
        let shared = self.cx.config.mutant == Some(Mutant::ShareSpills);
        let base = if shared { self.sequence_base() } else { 0 };
        self.operands.find_slots(self.validator, base);
    }

    fn item(&mut self, item: Item) -> Result<(), Error> {
        self.open.last_mut().expect("the function is open").next_item += 1;
        self.find_slots();
        let pops = self.pops(item.instr)?;
        let (base, top) = (self.sequence_base(), self.operands.len());
        let (below, arguments) = (base..top - pops, top - pops..top);
        match self.body.sites.get(item.first as usize - 1) {
            Some(site) if site.instr == item.instr && site.import => self.import(item, site.tail, below),
            Some(site) if site.instr == item.instr => self.call(item, site.tail, below, arguments),
            _ => self.construct(item, below, arguments),
        }
    }

    /// Writes a call of a suspending import: resumption continues after it.
    fn import(&mut self, item: Item, tail: bool, below: Range<usize>) -> Result<(), Error> {
        let instr = &self.body.instrs[item.instr as usize];
        let (Operator::Call { function_index } | Operator::ReturnCall { function_index }) = instr.operator
        else {
            unreachable!("imports are called directly");
        };
        let result = self.cx.module.function_type(function_index).results().first().copied();
        let result = result.map(|ty| self.added.result(ty));
        self.code.mark(instr.at);
        self.code.put().call(self.cx.callee(function_index));
        // The flag is on top. It may stay there if no operand below it has to be moved.
        let flag = (result.is_some() || !below.is_empty()).then(|| self.added.flag());
        flag.into_iter().chain(result).for_each(|local| {
            self.code.put().local_set(local);
        });
        let back = self.put_away(below.clone(), tail, instr.at)?;
        self.save_site(below.end, tail);
        self.code.put().i32_const(item.first as i32).local_set(self.added.resume);
        if let Some(flag) = flag {
            self.code.put().local_get(flag);
        }
        let unwind = self.code.depth(code::UNWIND);
        self.code.put().br_if(unwind);
        self.code.close();
        self.reset_resume();
        back.into_iter().for_each(|b| self.push(b));
        if let Some(local) = result {
            self.code.put().local_get(local);
        }
        if tail {
            self.code.put().return_();
        }
        self.step(item.instr, (0, 0))
    }

    /// Writes a call of a function that may suspend: resumption continues before it.
    fn call(
        &mut self,
        item: Item,
        tail: bool,
        below: Range<usize>,
        mut arguments: Range<usize>,
    ) -> Result<(), Error> {
        let instr = &self.body.instrs[item.instr as usize];
        let indirect = !matches!(instr.operator, Operator::Call { .. } | Operator::ReturnCall { .. });
        let mut callee = arguments.end..arguments.end;
        if indirect && self.cx.config.mutant != Some(Mutant::LoseCalleeIndex) {
            arguments.end -= 1;
            callee.start -= 1;
        }
        let callee_back = self.put_away(callee.clone(), false, instr.at)?;
        let argument_back = self.put_arguments_away(arguments, instr.at)?;
        let below_back = self.put_away(below.clone(), tail, instr.at)?;
        self.save_site(below.end, tail);
        self.save_operands(callee);
        self.code.close();
        // Before the call, because an exception may lead to a handler in this function.
        self.reset_resume();
        [below_back, argument_back, callee_back].concat().into_iter().for_each(|b| self.push(b));
        self.code.mark(instr.at);
        match instr.operator {
            Operator::ReturnCall { function_index } => {
                self.code.put().call(function_index);
            }
            Operator::ReturnCallIndirect { type_index, table_index } => {
                self.code.put().call_indirect(table_index, type_index);
            }
            Operator::ReturnCallRef { type_index } => {
                self.code.put().call_ref(type_index);
            }
            _ => self.copy(item.instr),
        }
        self.code.put().global_get(self.cx.control.state).if_(BlockType::Empty);
        self.code.opened();
        let unwind = self.code.depth(code::UNWIND);
        self.code.put().i32_const(item.first as i32).local_set(self.added.resume).br(unwind);
        self.code.close();
        if tail {
            self.code.put().return_();
        }
        self.step(item.instr, (0, 0))
    }

    /// Writes a block, loop, if or try_table with sites in it.
    fn construct(&mut self, item: Item, below: Range<usize>, arguments: Range<usize>) -> Result<(), Error> {
        let instr = &self.body.instrs[item.instr as usize];
        let argument_back = self.put_arguments_away(arguments, instr.at)?;
        // Locals may be assigned inside the construct.
        for index in below.clone() {
            if let Source::Local(_) = self.operands.get(index).source {
                self.operands.set_source(index, Source::Computed);
            }
        }
        let below_back = self.put_away(below, false, instr.at)?;
        self.code.close();
        [below_back, argument_back].concat().into_iter().for_each(|b| self.push(b));
        if let Operator::If { .. } = instr.operator {
            self.choose_arm(item);
        }
        self.code.mark(instr.at);
        self.write(item.instr)?;
        self.step(item.instr, (0, 0))?;
        self.begin_sequence(item.instr);
        Ok(())
    }

    /// Makes the condition on the stack choose the arm that holds the site, if resuming.
    fn choose_arm(&mut self, item: Item) {
        let resume = self.added.resume;
        if self.cx.config.mutant == Some(Mutant::WrongArm) {
        } else if item.split > item.last {
            self.code.put().local_get(resume).i32_or();
        } else if item.split == item.first {
            self.code.put().i32_const(0).local_get(resume).i32_eqz().select();
        } else {
            self.code.put().local_get(resume).i32_const(item.split as i32).i32_lt_u();
            self.code.put().local_get(resume).i32_eqz().select();
        }
    }

    fn reset_resume(&mut self) {
        if self.cx.config.mutant != Some(Mutant::KeepResume) {
            self.code.put().i32_const(0).local_set(self.added.resume);
        }
    }

    /// Removes an operand from the stack that can be pushed again from elsewhere.
    fn put_known_away(&mut self, index: usize, at: u32) -> Result<Back, Error> {
        let source = self.operands.get(index).source;
        self.unpush(index);
        Ok(match source {
            Source::Constant(instr) => Back::Copy(instr),
            Source::Local(local) => Back::Local(local),
            Source::Spilled => Back::Local(self.spill(index, at)?),
            Source::Computed => unreachable!("what was computed is only on the stack"),
        })
    }

    /// Removes operands from the stack so that they survive a suspension. `dead`: they are not needed again.
    fn put_away(&mut self, operands: Range<usize>, dead: bool, at: u32) -> Result<Vec<Back>, Error> {
        let mut back = vec![];
        for index in operands.rev() {
            match self.operands.get(index).source {
                _ if dead => self.unpush(index),
                Source::Constant(_) | Source::Local(_) | Source::Spilled => {
                    back.push(self.put_known_away(index, at)?);
                }
                Source::Computed => {
                    let spill = self.spill(index, at)?;
                    self.code.put().local_set(spill);
                    self.operands.set_source(index, Source::Spilled);
                    back.push(Back::Local(spill));
                }
            }
        }
        back.reverse();
        Ok(back)
    }

    /// Removes operands from the stack that are not read when the function resumes.
    fn put_arguments_away(&mut self, operands: Range<usize>, at: u32) -> Result<Vec<Back>, Error> {
        let mut back = vec![];
        for index in operands.clone().rev() {
            match self.operands.get(index).source {
                Source::Constant(_) | Source::Local(_) | Source::Spilled => {
                    back.push(self.put_known_away(index, at)?);
                }
                Source::Computed => {
                    if !self.operands.slot(index).ty.is_defaultable() {
                        let what = "a reference that cannot be null, passed to code that may suspend, is not \
                                    supported; make its type nullable";
                        return Err(unsupported(self.validator.index(), at, what));
                    }
                    let local = self.temporary(operands.start, index);
                    self.code.put().local_set(local);
                    back.push(Back::Local(local));
                }
            }
        }
        back.reverse();
        Ok(back)
    }

    fn spill(&mut self, index: usize, at: u32) -> Result<u32, Error> {
        let slot = self.operands.slot(index);
        self.added.spill(slot.ty, slot.number).ok_or_else(|| {
            let what = "a reference on the operand stack across a call that may suspend is not supported; \
                        keep it in a table";
            unsupported(self.validator.index(), at, what)
        })
    }

    /// Removes an operand from the stack that can be pushed again. If the code that pushed it was the last
    /// code written, removes that code instead.
    fn unpush(&mut self, index: usize) {
        let operand = self.operands.get(index);
        let (start, end) = operand.pushed;
        if start < end && end == self.code.here() {
            self.code.truncate(start);
        } else {
            self.code.put().drop();
        }
        self.operands.set_source(index, operand.source);
    }

    fn push(&mut self, back: Back) {
        match back {
            Back::Copy(instr) => self.copy(instr),
            Back::Local(local) => {
                self.code.put().local_get(local);
            }
            Back::NonNull(local) => {
                self.code.put().local_get(local).ref_as_non_null();
            }
        }
    }

    /// Begins the list of values to be saved at the next site: the operands below `top`, including those of
    /// the constructs around it. A tail call's function ends with it and needs none.
    fn save_site(&mut self, top: usize, tail: bool) {
        self.saved.push(Saved { locals: Locals::none(self.validator.len_locals()), spills: vec![] });
        self.save_operands(0..if tail { 0 } else { top });
    }

    /// Adds operands to the values to be saved at the last site.
    fn save_operands(&mut self, operands: Range<usize>) {
        let saved = self.saved.last_mut().expect("the site was added");
        for index in operands {
            match self.operands.get(index).source {
                Source::Spilled => {
                    let slot = self.operands.slot(index);
                    saved.spills.extend(self.added.spill(slot.ty, slot.number));
                }
                Source::Local(local) => saved.locals.insert(local),
                _ => {}
            }
        }
    }
}
