//! A function body as a flat list of live operators, with its suspension sites and the constructs around
//! them.
//!
//! Unreachable code is omitted: it has no operand types, and after a tail call has become call + return it
//! would have to be validated again. The `else` and `end` of live constructs stay.

use super::closure::MaySuspend;
use super::unsupported;
use crate::Error;
use wasmparser::{FunctionBody, Operator};

pub(super) struct Body<'a> {
    /// `(count, type)`, as declared.
    pub locals: Vec<(u32, wasmparser::ValType)>,
    /// The last one is the function's `end`.
    pub instrs: Vec<Instr<'a>>,
    /// Indexed by the site's number in the function, minus 1.
    pub sites: Vec<Site>,
    /// Sequences with items, in the order of their beginnings.
    pub sequences: Vec<Sequence>,
}

pub(super) struct Instr<'a> {
    /// Byte offset in the input.
    pub at: u32,
    pub end: u32,
    pub operator: Operator<'a>,
    /// For `else` and `end`: the instruction that opened the construct; `u32::MAX` for the function.
    pub opener: u32,
}

/// A call at which the function can be suspended.
#[derive(Clone, Copy)]
pub(super) struct Site {
    /// Index of the instruction.
    pub instr: u32,
    /// Whether the called function is a suspending import: such a call is not repeated on resumption.
    pub import: bool,
    /// Whether it is a tail call, which becomes call + return.
    pub tail: bool,
}

/// The code between two structure instructions: a function body, block, loop, arm or try_table body.
pub(super) struct Sequence {
    /// The instruction that opens it (`if` and `else` for the arms); `u32::MAX` for the function.
    pub opener: u32,
    pub items: Vec<Item>,
}

/// The part of a sequence that a suspended function is in: a site, or a construct with sites in it.
#[derive(Clone, Copy)]
pub(super) struct Item {
    /// Index of the call, or of the instruction that opens the construct.
    pub instr: u32,
    /// Numbers of its first and last site, from 1.
    pub first: u32,
    pub last: u32,
    /// For an `if`: number of the first site that is in the `else` arm; `last + 1` if none is.
    pub split: u32,
}

/// A construct whose `end` has not been read.
struct Open {
    opener: u32,
    /// The instruction that opens its current sequence: differs from `opener` after `else`.
    sequence: u32,
    items: Vec<Item>,
    first_site: u32,
    split: u32,
    /// Whether the rest of the current sequence is unreachable.
    dead: bool,
    try_table: bool,
}

impl<'a> Body<'a> {
    pub fn read(
        function: u32,
        body: &FunctionBody<'a>,
        may: &MaySuspend,
        suspending: &[u32],
    ) -> Result<Body<'a>, Error> {
        let locals = body.get_locals_reader()?.into_iter().collect::<Result<Vec<_>, _>>()?;
        let mut read = Body { locals, instrs: vec![], sites: vec![], sequences: vec![] };
        let mut open = vec![Open::new(u32::MAX, 0, false)];
        let mut dead_constructs = 0;
        let mut try_tables = 0;
        let mut operators = body.get_operators_reader()?;
        while !operators.eof() {
            let at = operators.original_position() as u32;
            let operator = operators.read()?;
            let end = operators.original_position() as u32;
            let index = read.instrs.len() as u32;
            let top = open.last_mut().expect("the function's own construct is open until its end");
            if top.dead {
                match operator {
                    Operator::Block { .. }
                    | Operator::Loop { .. }
                    | Operator::If { .. }
                    | Operator::TryTable { .. }
                    | Operator::Try { .. } => {
                        dead_constructs += 1;
                        continue;
                    }
                    Operator::End | Operator::Delegate { .. } if dead_constructs > 0 => {
                        dead_constructs -= 1;
                        continue;
                    }
                    Operator::End | Operator::Else if dead_constructs == 0 => {}
                    _ => continue,
                }
            }
            let mut opener = u32::MAX;
            match &operator {
                Operator::Block { .. } | Operator::Loop { .. } | Operator::If { .. } => {
                    open.push(Open::new(index, read.next_site(), false));
                }
                Operator::TryTable { .. } => {
                    try_tables += 1;
                    open.push(Open::new(index, read.next_site(), true));
                }
                Operator::Else => {
                    opener = top.opener;
                    let items = std::mem::take(&mut top.items);
                    read.add_sequence(top.sequence, items);
                    top.sequence = index;
                    top.split = read.next_site();
                    top.dead = false;
                }
                Operator::End => {
                    let closed = open.pop().expect("checked above");
                    opener = closed.opener;
                    try_tables -= closed.try_table as u32;
                    let last = read.sites.len() as u32;
                    if let (Some(parent), true) = (open.last_mut(), closed.first_site <= last) {
                        parent.items.push(Item {
                            instr: closed.opener,
                            first: closed.first_site,
                            last,
                            split: closed.split.min(last + 1),
                        });
                    }
                    read.add_sequence(closed.sequence, closed.items);
                }
                Operator::Br { .. }
                | Operator::BrTable { .. }
                | Operator::Return
                | Operator::Unreachable
                | Operator::Throw { .. }
                | Operator::ThrowRef
                | Operator::ReturnCall { .. }
                | Operator::ReturnCallIndirect { .. }
                | Operator::ReturnCallRef { .. } => top.dead = true,
                Operator::Try { .. } | Operator::Rethrow { .. } => {
                    return Err(unsupported(
                        function,
                        at,
                        "legacy exception handling in a function that may suspend is not supported; \
                         compile with the standard try_table instructions",
                    ));
                }
                Operator::Resume { .. }
                | Operator::ResumeThrow { .. }
                | Operator::ResumeThrowRef { .. }
                | Operator::Suspend { .. }
                | Operator::Switch { .. } => {
                    return Err(unsupported(
                        function,
                        at,
                        "stack switching in a function that may suspend is not supported; compile \
                         without it",
                    ));
                }
                _ => {}
            }
            if let Some((import, tail)) = site(&operator, may, suspending) {
                if tail && try_tables > 0 {
                    return Err(unsupported(
                        function,
                        at,
                        "a tail call of a function that may suspend inside of a try_table is not \
                         supported; make it a plain call",
                    ));
                }
                read.sites.push(Site { instr: index, import, tail });
                let number = read.sites.len() as u32;
                let top = open.last_mut().expect("a call is inside of the function");
                top.items.push(Item { instr: index, first: number, last: number, split: number + 1 });
            }
            read.instrs.push(Instr { at, end, operator, opener });
        }
        read.sequences.sort_by_key(|s| s.opener.wrapping_add(1));
        Ok(read)
    }

    fn next_site(&self) -> u32 {
        self.sites.len() as u32 + 1
    }

    fn add_sequence(&mut self, opener: u32, items: Vec<Item>) {
        if !items.is_empty() {
            self.sequences.push(Sequence { opener, items });
        }
    }
}

impl Open {
    fn new(opener: u32, first_site: u32, try_table: bool) -> Open {
        Open { opener, sequence: opener, items: vec![], first_site, split: u32::MAX, dead: false, try_table }
    }
}

/// If the operator is a site: `(import, tail)`.
fn site(operator: &Operator, may: &MaySuspend, suspending: &[u32]) -> Option<(bool, bool)> {
    let function = |f: u32| may.functions[f as usize].then(|| suspending.contains(&f));
    let indirect = |t: u32| may.types[t as usize].then_some(false);
    match *operator {
        Operator::Call { function_index } => Some((function(function_index)?, false)),
        Operator::ReturnCall { function_index } => Some((function(function_index)?, true)),
        Operator::CallIndirect { type_index, .. } | Operator::CallRef { type_index } => {
            Some((indirect(type_index)?, false))
        }
        Operator::ReturnCallIndirect { type_index, .. } | Operator::ReturnCallRef { type_index } => {
            Some((indirect(type_index)?, true))
        }
        _ => None,
    }
}
