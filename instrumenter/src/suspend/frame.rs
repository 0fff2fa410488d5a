//! The frame of a suspended function: the saved values, their layout, and the code that saves and restores
//! them.
//!
//! ```wat
//! ;; before              ;; after
//! (func (result i32)     (func (result i32) (local $x i32) (local $resume i32) (local $frame i32)
//!   (local $x i32)         block $unwind
//!   body)                    global.get $state
//!                            if                          ;; rewinding
//!                              $frame = $fsp - size;  $fsp = $frame
//!                              $x = frames[$frame];  $resume = frames[$frame + size - 4] - base
//!                              $state = 2 if $frame is not the innermost, else 0
//!                            end
//!                            body                        ;; may branch to $unwind
//!                            return
//!                          end
//!                          frames_overflow() if there is no room
//!                          frames[$fsp] = $x;  frames[$fsp + size - 4] = $resume + base
//!                          $fsp = $fsp + size;  $state = 1
//!                          i32.const 0)                  ;; the caller looks at $state first
//! ```

use super::code::write_default;
use super::locals::AddedLocals;
use super::module::nullable;
use super::rewrite::NewCode;
use super::{Context, Control, NewBody};
use coyote_abi::rt;
use wasm_encoder::{BlockType, Encode, InstructionSink, MemArg, ValType};

/// Size of a page of wasm memory.
const PAGE: u64 = 65536;

pub(super) struct Layout {
    slots: Vec<Slot>,
    /// A multiple of 8. The last word is the site.
    pub size: u32,
}

struct Slot {
    local: u32,
    ty: ValType,
    offset: u32,
}

impl Layout {
    /// Wide locals first, so that all are aligned.
    pub fn new(mut locals: Vec<(u32, ValType)>) -> Layout {
        locals.sort_by_key(|(local, ty)| (std::cmp::Reverse(size(*ty)), *local));
        let mut end = 0;
        let slots = locals
            .into_iter()
            .map(|(local, ty)| {
                let offset = end;
                end += size(ty);
                Slot { local, ty, offset }
            })
            .collect();
        Layout { slots, size: (end + 4).next_multiple_of(8) }
    }

    /// The ranges `(start, length)` that hold neither a live local nor the site.
    pub fn dead(&self, live: impl Fn(u32) -> bool) -> Vec<(u32, u32)> {
        let mut dead: Vec<(u32, u32)> = vec![];
        let mut add = |start: u32, length: u32| match dead.last_mut() {
            Some((s, l)) if *s + *l == start => *l += length,
            _ => dead.push((start, length)),
        };
        let mut end = 0;
        for slot in &self.slots {
            end = slot.offset + size(slot.ty);
            if !live(slot.local) {
                add(slot.offset, size(slot.ty));
            }
        }
        if end < self.size - 4 {
            add(end, self.size - 4 - end);
        }
        dead
    }

    fn memory_argument(&self, memory: u32, offset: u32, ty: ValType) -> MemArg {
        // A frame begins at a multiple of 8.
        let align = size(ty).min(8).trailing_zeros();
        MemArg { offset: offset as u64, align, memory_index: memory }
    }

    /// Restores the function's locals from its frame, if it is being rewound.
    pub fn write_restore(
        &self,
        cx: &Context,
        first_site: u32,
        added: &AddedLocals,
        mut out: InstructionSink,
    ) {
        let Control { state, fsp, result, frames, .. } = cx.control;
        out.global_get(state).if_(BlockType::Empty);
        out.global_get(fsp).i32_const(self.size as i32).i32_sub().local_tee(added.frame).global_set(fsp);
        for slot in &self.slots {
            let at = self.memory_argument(frames, slot.offset, slot.ty);
            out.local_get(added.frame);
            match slot.ty {
                ValType::I32 => out.i32_load(at),
                ValType::I64 => out.i64_load(at),
                ValType::F32 => out.f32_load(at),
                ValType::F64 => out.f64_load(at),
                _ => out.v128_load(at),
            };
            out.local_set(slot.local);
        }
        out.local_get(added.frame).i32_load(self.memory_argument(frames, self.size - 4, ValType::I32));
        out.i32_const(first_site as i32 - 1).i32_sub().local_set(added.resume);
        let (result32, result64) = added.results();
        if let Some(local) = result32 {
            out.global_get(result).i32_wrap_i64().local_set(local);
        }
        if let Some(local) = result64 {
            out.global_get(result).local_set(local);
        }
        out.local_get(added.frame).i32_const(cx.frames_begin as i32).i32_ne();
        out.i32_const(1).i32_shl().global_set(state).end();
    }

    /// Saves the function's frame and begins or continues unwinding.
    pub fn write_save(&self, cx: &Context, first_site: u32, added: &AddedLocals, mut out: InstructionSink) {
        let Control { state, fsp, frames, .. } = cx.control;
        let room = (rt::FRAME_PAGES * PAGE - self.size as u64) as u32;
        out.global_get(fsp).local_tee(added.frame).i32_const(room as i32).i32_gt_u();
        out.if_(BlockType::Empty).call(cx.config.frames_overflow).unreachable().end();
        for slot in &self.slots {
            let at = self.memory_argument(frames, slot.offset, slot.ty);
            out.local_get(added.frame).local_get(slot.local);
            match slot.ty {
                ValType::I32 => out.i32_store(at),
                ValType::I64 => out.i64_store(at),
                ValType::F32 => out.f32_store(at),
                ValType::F64 => out.f64_store(at),
                _ => out.v128_store(at),
            };
        }
        out.local_get(added.frame).local_get(added.resume).i32_const(first_site as i32 - 1).i32_add();
        out.i32_store(self.memory_argument(frames, self.size - 4, ValType::I32));
        out.local_get(added.frame).i32_const(self.size as i32).i32_add().global_set(fsp);
        out.i32_const(1).global_set(state);
    }
}

/// The whole function: declarations, restoring, the rewritten body, saving. `start` is where the original
/// body begins, `declared` its locals. `None` if the function has a result without a value that could be
/// returned while unwinding.
pub(super) fn write_body(
    cx: &Context,
    start: u32,
    declared: &[(u32, wasmparser::ValType)],
    new: &NewCode,
    layout: &Layout,
    first_site: u32,
    results: &[ValType],
) -> Option<NewBody> {
    let mut groups: Vec<(u32, ValType)> =
        declared.iter().map(|(count, ty)| (*count, cx.module.encode(nullable(*ty)))).collect();
    for ty in new.added.types() {
        match groups.last_mut() {
            Some((count, last)) if last == ty => *count += 1,
            _ => groups.push((1, *ty)),
        }
    }
    let mut bytes = vec![];
    groups.len().encode(&mut bytes);
    for (count, ty) in groups {
        count.encode(&mut bytes);
        ty.encode(&mut bytes);
    }
    InstructionSink::new(&mut bytes).block(BlockType::Empty);
    layout.write_restore(cx, first_site, &new.added, InstructionSink::new(&mut bytes));
    let shift = bytes.len() as u32;
    let mut map = vec![(0, start)];
    map.extend(new.code.map.iter().map(|(at, original)| (at + shift, *original)));
    bytes.extend_from_slice(&new.code.bytes);
    layout.write_save(cx, first_site, &new.added, InstructionSink::new(&mut bytes));
    let mut out = InstructionSink::new(&mut bytes);
    let returns = results.iter().all(|ty| write_default(*ty, &mut out));
    out.end();
    returns.then_some(NewBody { bytes, map })
}

fn size(ty: ValType) -> u32 {
    match ty {
        ValType::I32 | ValType::F32 => 4,
        ValType::I64 | ValType::F64 => 8,
        ValType::V128 => 16,
        ValType::Ref(_) => unreachable!("references are not saved"),
    }
}
