//! The lock of the list of threads in wasi-libc, which uses musl's: found without names, in what `wasi_thread_start` does
//! when a thread ends.
//!
//! `pthread_create` holds this lock while it starts a thread and links it into the list, a thread while it takes itself
//! out of it and wakes the one that joins it, and `pthread_join` waits until it is free. The program sees neither the lock
//! nor the list. So it makes no difference in which order workers take the lock, and it suffices that each of them
//! takes it, does its work and releases it without a pause (Lipton, "Reduction", CACM 1975): taking it moves to the right,
//! releasing it to the left, the list is accessed by its owner alone, and within it only one step concerns others, that a
//! thread begins, or that it has ended.
//! - The accesses of the lock and, by its owner, of the list are therefore no scheduling points, and searches are not told
//!   of them: otherwise they would try each order of beginnings, ends and joins. Nothing that they are told of may depend
//!   on these accesses then.
//! - A thread that ends changes its state twice, from joinable to exiting, and to ended while it owns the lock. Those
//!   that tell exiting threads from joinable ones join them, and they wait for nothing. So the section begins with the
//!   first change.
//! - The owner also counts threads, and the last one to end lets musl's locks do nothing from then on
//!   ([`ThreadList::notes_alone`]). So what a thread does would depend on the ends of others. This is left out: the locks
//!   are taken, as before.
//! - `pthread_key_delete` takes a key's value from all threads of the list, so with it the program sees the list. Rust's
//!   std deletes only keys that nobody has used.

use super::access::access;
use crate::code::{constant, instructions, sequences};
use coyote_abi::OpKind;
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::*;
use walrus::{ExportItem, FunctionId, FunctionKind, ImportKind, LocalFunction, MemoryId, Module};

/// The state of a thread that can be joined, in musl.
const JOINABLE: i32 = 2;
/// The state of a thread that is about to end.
const EXITING: i32 = 1;

/// The lock of the list of threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadList {
    /// Its address. It is 0 if the lock is free, or else the number of the thread that holds it.
    lock: u32,
    /// The address of the number of those that wait for it.
    pub waiters: u32,
    /// The address of the byte that lets musl's locks do nothing.
    alone: Option<u32>,
    /// The function that a thread executes, and then takes itself out of the list.
    thread: FunctionId,
    /// The functions that access the lock.
    pub users: Vec<FunctionId>,
}

/// What an instruction does to the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// It takes the lock if its result is 0.
    Acquire,
    Release,
    Load,
    Notify,
}

impl ThreadList {
    /// Finds the lock. `None`: the module has none, or uses it in another way than musl does.
    pub fn find(module: &Module, memory: MemoryId) -> Option<ThreadList> {
        let start = module.exports.iter().find(|export| export.name == "wasi_thread_start")?;
        let ExportItem::Function(start) = start.item else { return None };
        let FunctionKind::Local(start) = &module.funcs.get(start).kind else { return None };
        let end = start.block(start.entry_block()).instrs.iter().map(|(instr, _)| instr).rev().take(8);
        let end: Vec<&Instr> = end.collect();
        let [
            Instr::Drop(_),
            Instr::AtomicNotify(notify),
            Instr::Const(_),
            again,
            Instr::Store(store),
            freed,
            at,
            Instr::Call(thread),
        ] = end[..]
        else {
            return None;
        };
        let lock = address(at, store.arg.offset)?;
        if constant(freed) != Some(0)
            || !store.kind.atomic()
            || address(again, notify.arg.offset) != Some(lock)
        {
            return None;
        }
        let users: Vec<_> =
            module.funcs.iter_local().filter(|(_, function)| mentions(function, lock)).collect();
        let functions = || users.iter().map(|(_, function)| *function);
        let waiters: BTreeSet<u32> = functions().flat_map(|f| waits(f, lock)).collect();
        let [waiters] = waiters.into_iter().collect::<Vec<_>>()[..] else { return None };
        let alone = match &module.funcs.get(thread.func).kind {
            FunctionKind::Local(function) => stored_bytes(function).find(|(_, value)| *value == 0xff),
            _ => None,
        };
        let alone = alone.map(|(address, _)| address);
        let ids = users.iter().map(|(id, _)| *id).collect();
        let list = ThreadList { lock, waiters, alone, thread: thread.func, users: ids };
        // Whoever accesses the lock does it in a way that is known.
        let known = |f: &LocalFunction| {
            sequences(f).into_iter().all(|sequence| {
                let instrs = &f.block(sequence).instrs;
                (0..instrs.len())
                    .all(|at| !list.may_access(instrs, at, memory) || list.act(instrs, at, memory).is_some())
            })
        };
        functions().all(known).then_some(list)
    }

    /// Whether the instruction may access the lock's own bytes at an address that it knows.
    fn may_access(&self, instrs: &[(Instr, InstrLocId)], at: usize, memory: MemoryId) -> bool {
        let (base, offset, size) = match (&instrs[at].0, access(&instrs[at].0, memory)) {
            (_, Some(access)) => {
                (base(instrs, at, access.values.len()), access.offset, u64::from(access.size))
            }
            (Instr::AtomicNotify(i), _) => (base(instrs, at, 1), i.arg.offset, 4),
            (Instr::AtomicWait(i), _) => (base(instrs, at, 2), i.arg.offset, 4),
            _ => return false,
        };
        // Of an address that is computed, the offset is a table's or a field's; those of the lock are its address.
        let first = match base.and_then(constant) {
            Some(base) => u64::from(base as u32) + offset,
            None => offset,
        };
        first < u64::from(self.lock) + 4 && u64::from(self.lock) < first + size
    }

    /// Whether the thread that executes this function begins to end with the instruction at an index.
    pub fn begins_to_end(&self, id: FunctionId, instrs: &[(Instr, InstrLocId)], at: usize) -> bool {
        let operand = |above: usize| constant(&instrs[at.checked_sub(above + 1)?].0);
        id == self.thread
            && matches!(instrs[at].0, Instr::Cmpxchg(_))
            && (operand(1), operand(0)) == (Some(JOINABLE), Some(EXITING))
    }

    /// Whether the instruction at an index notes that one thread is left: -1 where a thread ends, and 0 where one could not
    /// be created, or by a lock that has been told so.
    pub fn notes_alone(&self, instrs: &[(Instr, InstrLocId)], at: usize) -> bool {
        stored_byte(instrs, at).is_some_and(|(address, value)| Some(address) == self.alone && value != 1)
    }

    /// What the instruction at an index does to the lock, if it accesses it.
    pub fn act(&self, instrs: &[(Instr, InstrLocId)], at: usize, memory: MemoryId) -> Option<Act> {
        let is_lock = |operands: usize, offset: u64| {
            base(instrs, at, operands).and_then(|base| address(base, offset)) == Some(self.lock)
        };
        if let Instr::AtomicNotify(i) = &instrs[at].0 {
            return is_lock(1, i.arg.offset).then_some(Act::Notify);
        }
        let access = access(&instrs[at].0, memory)?;
        if access.size != 4 || !is_lock(access.values.len(), access.offset) {
            return None;
        }
        let operand = |above: usize| instrs.get(at.checked_sub(above + 1)?).map(|(instr, _)| instr);
        match access.kind {
            OpKind::Load | OpKind::AtomicLoad => Some(Act::Load),
            OpKind::AtomicStore if operand(0).and_then(constant) == Some(0) => Some(Act::Release),
            OpKind::CompareExchange => match [operand(1)?, operand(0)?].map(constant) {
                [_, Some(0)] => Some(Act::Release),
                [Some(0), None] => Some(Act::Acquire),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether the condition of the branch at an index is that the worker holds the lock already: that the lock has the
    /// number of its thread.
    fn is_own(&self, instrs: &[(Instr, InstrLocId)], at: usize, memory: MemoryId) -> bool {
        let Some(load) = at.checked_sub(2) else { return false };
        matches!(instrs[at - 1].0, Instr::Binop(Binop { op: BinaryOp::I32Eq }))
            && self.act(instrs, load, memory) == Some(Act::Load)
    }

    /// The places of a function, as offsets of its instructions, that need no scheduling point.
    pub fn unseen(&self, module: &Module, id: FunctionId, memory: MemoryId) -> BTreeSet<u32> {
        let FunctionKind::Local(function) = &module.funcs.get(id).kind else { return BTreeSet::new() };
        let mut unseen = BTreeSet::new();
        let ends = id == self.thread;
        let begins = !ends && starts_thread(module, function);
        let owned = match ends || begins {
            true => Owned::new(self, function, memory).unwrap_or_default(),
            false => Owned::default(),
        };
        for sequence in sequences(function) {
            let instrs = &function.block(sequence).instrs;
            for (index, (instr, at)) in instrs.iter().enumerate().filter(|(_, (_, at))| !at.is_default()) {
                let is_owned = || owned.places.get(&(sequence, index)) == Some(&true);
                let is_unseen = match access(instr, memory).map(|access| access.kind) {
                    None => false,
                    Some(_) if self.act(instrs, index, memory).is_some() => true,
                    Some(OpKind::Load | OpKind::Store) => is_owned(),
                    // A thread's number, which it also stores itself.
                    Some(OpKind::AtomicStore) => begins && is_owned(),
                    Some(_) => false,
                };
                if is_unseen {
                    unseen.insert(at.data());
                }
            }
        }
        unseen
    }
}

/// Where a function owns the lock for certain, whichever way it came there.
#[derive(Default)]
struct Owned {
    places: BTreeMap<(InstrSeqId, usize), bool>,
    /// Whether the lock is owned where branches to this sequence go; absent as long as there is none.
    targets: BTreeMap<InstrSeqId, bool>,
}

impl Owned {
    /// `None`: the function has instructions that this analysis does not know.
    fn new(list: &ThreadList, function: &LocalFunction, memory: MemoryId) -> Option<Owned> {
        let mut owned = Owned::default();
        owned.follow(list, function, memory, function.entry_block(), Some(false))?;
        Some(owned)
    }

    /// Follows a sequence. `state`: whether the lock is owned at its beginning, `None` if execution does not come there.
    /// The result is the state at its end.
    fn follow(
        &mut self,
        list: &ThreadList,
        function: &LocalFunction,
        memory: MemoryId,
        sequence: InstrSeqId,
        mut state: Option<bool>,
    ) -> Option<Option<bool>> {
        let instrs = &function.block(sequence).instrs;
        for (index, (instr, _)) in instrs.iter().enumerate() {
            let Some(now) = state else { break };
            self.places.entry((sequence, index)).and_modify(|owned| *owned &= now).or_insert(now);
            match instr {
                Instr::Block(i) => {
                    let end = self.follow(list, function, memory, i.seq, state)?;
                    state = both(end, self.targets.get(&i.seq).copied());
                }
                Instr::Loop(i) => loop {
                    let known = self.targets.get(&i.seq).copied();
                    let end = self.follow(list, function, memory, i.seq, both(state, known))?;
                    if self.targets.get(&i.seq).copied() == known {
                        state = end;
                        break;
                    }
                },
                Instr::IfElse(i) => {
                    let own = now || list.is_own(instrs, index, memory);
                    let then = self.follow(list, function, memory, i.consequent, Some(own))?;
                    let otherwise = self.follow(list, function, memory, i.alternative, state)?;
                    let branches = both(then, otherwise);
                    let jumps = [i.consequent, i.alternative].map(|seq| self.targets.get(&seq).copied());
                    state = jumps.into_iter().fold(branches, both);
                }
                Instr::Br(i) => {
                    self.jump(i.block, now);
                    state = None;
                }
                Instr::BrIf(i) => self.jump(i.block, now || list.is_own(instrs, index, memory)),
                Instr::BrTable(i) => {
                    i.blocks.iter().chain([&i.default]).for_each(|block| self.jump(*block, now));
                    state = None;
                }
                Instr::Return(_) | Instr::Unreachable(_) | Instr::ReturnCall(_) => state = None,
                Instr::TryTable(_) | Instr::Throw(_) | Instr::ThrowRef(_) | Instr::ReturnCallIndirect(_) => {
                    return None;
                }
                _ => match list.act(instrs, index, memory) {
                    // Where it was not taken, musl waits and tries again.
                    Some(Act::Acquire) => state = Some(true),
                    Some(Act::Release) => state = Some(false),
                    _ => {}
                },
            }
        }
        Some(state)
    }

    fn jump(&mut self, to: InstrSeqId, state: bool) {
        self.targets.entry(to).and_modify(|owned| *owned &= state).or_insert(state);
    }
}

/// The address and the value of a byte that an instruction stores, if both are constants.
fn stored_byte(instrs: &[(Instr, InstrLocId)], at: usize) -> Option<(u32, u8)> {
    let Instr::Store(Store { kind: StoreKind::I32_8 { atomic: false }, arg, .. }) = &instrs[at].0 else {
        return None;
    };
    let value = constant(&instrs[at.checked_sub(1)?].0)?;
    Some((address(&instrs[at.checked_sub(2)?].0, arg.offset)?, value as u8))
}

/// All of them in a function.
fn stored_bytes(function: &LocalFunction) -> impl Iterator<Item = (u32, u8)> {
    sequences(function).into_iter().flat_map(|sequence| {
        let instrs = &function.block(sequence).instrs;
        (0..instrs.len()).filter_map(|at| stored_byte(instrs, at))
    })
}

/// The state where two ways meet.
fn both(one: Option<bool>, other: Option<bool>) -> Option<bool> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one && other),
        (one, other) => one.or(other),
    }
}

/// Whether some access of a function may be one of the lock: its address is in the code, or the sum of an address and the
/// offset of an access.
fn mentions(function: &LocalFunction, lock: u32) -> bool {
    let near = |address: u64| address < u64::from(lock) + 4 && u64::from(lock) < address + 16;
    sequences(function).into_iter().any(|sequence| {
        let instrs = &function.block(sequence).instrs;
        instrs.iter().enumerate().any(|(at, (instr, _))| {
            let offset = match instr {
                Instr::Load(Load { arg, .. })
                | Instr::Store(Store { arg, .. })
                | Instr::LoadSimd(LoadSimd { arg, .. })
                | Instr::AtomicRmw(AtomicRmw { arg, .. })
                | Instr::Cmpxchg(Cmpxchg { arg, .. })
                | Instr::AtomicNotify(AtomicNotify { arg, .. })
                | Instr::AtomicWait(AtomicWait { arg, .. }) => arg.offset,
                _ => return constant(instr) == Some(lock as i32),
            };
            let bases = instrs[at.saturating_sub(3)..at].iter().filter_map(|(instr, _)| constant(instr));
            near(offset) || bases.map(|base| u64::from(base as u32) + offset).any(near)
        })
    })
}

/// Whether a function starts a thread, itself or by a function that does nothing else.
fn starts_thread(module: &Module, function: &LocalFunction) -> bool {
    let is_import = |id: FunctionId| match &module.funcs.get(id).kind {
        FunctionKind::Import(import) => {
            let import = module.imports.get(import.import);
            matches!(import.kind, ImportKind::Function(_))
                && import.module == "wasi"
                && import.name == "thread-spawn"
        }
        _ => false,
    };
    let calls = |function: &LocalFunction, wanted: &dyn Fn(FunctionId) -> bool| {
        instructions(function).any(|(instr, _)| matches!(instr, Instr::Call(i) if wanted(i.func)))
    };
    let passes_on = |id: FunctionId| match &module.funcs.get(id).kind {
        FunctionKind::Local(callee) => calls(callee, &is_import),
        _ => false,
    };
    calls(function, &|id| is_import(id) || passes_on(id))
}

/// The addresses of numbers of waiters with which a function waits for the lock: `__wait(lock, waiters, owner, private)`.
fn waits(function: &LocalFunction, lock: u32) -> Vec<u32> {
    let found = sequences(function).into_iter().flat_map(|sequence| {
        function.block(sequence).instrs.windows(5).filter_map(|part| match part {
            [(first, _), (second, _), (Instr::LocalGet(_), _), (Instr::Const(_), _), (Instr::Call(_), _)] => {
                (constant(first)? as u32 == lock)
                    .then(|| constant(second))
                    .flatten()
                    .map(|address| address as u32)
            }
            _ => None,
        })
    });
    found.collect()
}

/// The instruction that pushes the address below this number of operands, if each of them is pushed by one instruction.
fn base(instrs: &[(Instr, InstrLocId)], at: usize, operands: usize) -> Option<&Instr> {
    let first = at.checked_sub(operands + 1)?;
    let pushes = |instr: &Instr| matches!(instr, Instr::LocalGet(_) | Instr::Const(_));
    instrs[first + 1..at].iter().all(|(instr, _)| pushes(instr)).then(|| &instrs[first].0)
}

/// The address that an instruction pushes, with an offset, if it is a constant.
fn address(base: &Instr, offset: u64) -> Option<u32> {
    u32::try_from(u64::from(constant(base)? as u32) + offset).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A thread that ends in another way has no such list, however short its function is.
    #[test]
    fn other_ends_are_none() {
        for end in
            ["", "call $f call $f memory.atomic.notify drop", "call $f i32.const 1 memory.atomic.notify drop"]
        {
            let text = format!(
                "(module (memory 1 1 shared) (func $f (result i32) i32.const 8)
                   (func (export \"wasi_thread_start\") (param i32 i32) {end}))"
            );
            let module = Module::from_buffer(&wat::parse_str(&text).unwrap()).unwrap();
            let memory = module.memories.iter().next().unwrap().id();
            assert_eq!(ThreadList::find(&module, memory), None, "{end}");
        }
    }
}
