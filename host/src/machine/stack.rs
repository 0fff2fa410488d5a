//! Suspended workers: their saved bytes, their stacks, and the bytes of their state that are dead.

use super::indices;
use crate::artifact::Artifact;
use crate::observe::{ShadowFrame, StackPlace};
use crate::runtime::Runtime;
use coyote_abi::rt::GLOBAL_BYTES;
use coyote_instrumenter::{FrameSite, Location, SiteTable};
use coyote_strategies::{WorkerId, WorkerState};
use std::borrow::Cow;
use std::ops::Range;

/// Leaf functions keep live data up to this many bytes below the stack pointer (LLVM's red zone on
/// wasm), without moving it.
pub const RED_ZONE: u32 = 128;

/// The maximum number of places on a stack that reports and the debugger keep, the innermost ones.
pub const SHOWN_MAX: usize = 128;

/// A suspended worker: its globals and frames, and whether it has run at all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SavedWorker {
    pub bytes: Vec<u8>,
    pub started: bool,
}

impl SavedWorker {
    /// Its stack pointer, if the worker has run, and if it lies within the bounds of its stack.
    fn pointer_within(&self, table: &SiteTable, (low, high): (u32, u32)) -> Option<u32> {
        let pointer = self.stack_pointer(table).filter(|_| self.started)?;
        Some(pointer).filter(|pointer| (low..=high).contains(pointer))
    }

    /// The value of its stack pointer, if the guest has one.
    pub fn stack_pointer(&self, table: &SiteTable) -> Option<u32> {
        let (slot, _) = table.stack_pointer()?;
        let bytes = self.bytes.get(slot * GLOBAL_BYTES..)?.get(..4)?;
        Some(u32::from_le_bytes(bytes.try_into().ok()?))
    }
}

/// The frames in saved bytes, outermost first: the site and the range of each.
fn walk<'a>(table: &'a SiteTable, bytes: &'a [u8]) -> impl Iterator<Item = (u32, Range<usize>)> + 'a {
    let base = table.worker_globals.len() * GLOBAL_BYTES;
    let mut end = bytes.len();
    std::iter::from_fn(move || {
        if end <= base {
            return None;
        }
        let word = bytes.get(end.checked_sub(4)?..end)?;
        let site = u32::from_le_bytes(word.try_into().ok()?);
        let start = end.checked_sub(table.frames.get(site as usize)?.size as usize)?;
        let range = start..end;
        end = start;
        Some((site, range))
    })
}

/// What the bytes of a frame in the shadow stack are.
fn in_frame(frame: &FrameSite) -> StackPlace {
    if frame.escapes { StackPlace::Other } else { StackPlace::Private }
}

/// What the bytes of a worker's stack belong to. By default, nothing is known about any of them ([`StackPlace::Other`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    is_known: bool,
    /// The stack pointer: bytes below it belong to no frame.
    pointer: u32,
    /// What the bytes of the red zone below it belong to, if they are in use.
    red_zone: Option<StackPlace>,
    /// Frames by their ends, innermost first. Nothing is known about what is behind the last one.
    frames: Vec<(u32, StackPlace)>,
}

impl Layout {
    /// Becomes the layout of a suspended worker's stack with these bounds.
    pub fn read(&mut self, table: &SiteTable, saved: &SavedWorker, bounds: (u32, u32)) {
        let pointer = saved.pointer_within(table, bounds);
        self.frames.clear();
        self.is_known = pointer.is_some();
        let Some(pointer) = pointer else { return };
        self.pointer = pointer;
        self.red_zone = None;
        for (site, _) in walk(table, &saved.bytes) {
            let frame = &table.frames[site as usize];
            let place = in_frame(frame);
            self.red_zone = frame.red_zone.then_some(place);
            match frame.stack_bytes {
                Some(bytes) => self.frames.push((bytes, place)),
                None => self.frames.clear(),
            }
        }
        self.frames.reverse();
        let mut end = pointer;
        for (bytes, _) in &mut self.frames {
            end = end.saturating_add(*bytes);
            *bytes = end;
        }
    }

    /// The layout of a stack of which nothing is in use, up to this end.
    pub fn unused(high: u32) -> Layout {
        Layout { is_known: true, pointer: high, ..Layout::default() }
    }

    /// Whether anything is known.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// The end of the part about which something is known.
    pub fn end(&self) -> u32 {
        self.frames.last().map_or(self.pointer, |(end, _)| *end)
    }

    /// What an address belongs to.
    pub fn place(&self, address: u32) -> StackPlace {
        if !self.is_known {
            return StackPlace::Other;
        }
        if address < self.pointer {
            return self.red_zone.filter(|_| self.pointer - address <= RED_ZONE).unwrap_or(StackPlace::Ended);
        }
        self.frames.iter().find(|(end, _)| address < *end).map_or(StackPlace::Other, |(_, place)| *place)
    }

    /// The range outside of which two layouts are the same; empty if they are.
    pub fn difference(&self, other: &Layout) -> Range<u32> {
        if self == other {
            return 0..0;
        }
        let ends = |of: &Layout| {
            let frames = of.frames.iter().map(|(end, _)| *end);
            frames.chain([of.pointer.saturating_sub(RED_ZONE), of.pointer]).collect::<Vec<_>>()
        };
        let mut ends = [ends(self), ends(other)].concat();
        ends.sort_unstable();
        let begins = std::iter::once(0).chain(ends.iter().copied());
        let mut differ =
            begins.zip(&ends).filter(|(begin, end)| begin < end && self.place(*begin) != other.place(*begin));
        let Some((begin, end)) = differ.next() else { return 0..0 };
        begin..differ.last().map_or(*end, |(_, end)| *end)
    }
}

/// The functions on the stack of a suspended worker, innermost first, each with its frame's range of memory. `bounds`: those
/// of the stack. The range is `None` for a frame of unknown size and all behind it.
pub fn shadow_frames(
    table: &SiteTable,
    saved: &SavedWorker,
    bounds: (u32, u32),
) -> Vec<(Location, Option<Range<u32>>)> {
    let sites: Vec<u32> = walk(table, &saved.bytes).map(|(site, _)| site).collect();
    let mut begin = saved.pointer_within(table, bounds);
    let with_range = |(inside, site): (usize, u32)| {
        let frame = &table.frames[site as usize];
        let range = begin.and_then(|begin| Some(begin..begin.checked_add(frame.stack_bytes?)?));
        begin = range.as_ref().map(|range| range.end);
        let below = |range: Range<u32>| {
            let bytes = frame.red_zone_bytes.filter(|_| inside == 0)?;
            Some(range.start.checked_sub(bytes)?..range.end)
        };
        (frame.location, if frame.red_zone { range.and_then(below) } else { range })
    };
    sites.into_iter().rev().enumerate().map(with_range).collect()
}

/// The frame that contains an address in the stack of a suspended worker, if it is known.
pub fn frame_around(
    table: &SiteTable,
    saved: &SavedWorker,
    bounds: (u32, u32),
    address: u32,
) -> Option<ShadowFrame> {
    let frames = shadow_frames(table, saved, bounds).into_iter();
    let mut known = frames.filter_map(|(location, range)| Some((location, range?)));
    let (location, range) = known.find(|(_, range)| range.contains(&address))?;
    Some(ShadowFrame { location, begin: range.start })
}

/// The stack of a suspended worker, innermost first.
pub fn frames(table: &SiteTable, bytes: &[u8]) -> Vec<Location> {
    let mut frames: Vec<Location> =
        walk(table, bytes).map(|(site, _)| table.frames[site as usize].location).collect();
    frames.reverse();
    frames
}

/// A worker's saved bytes with everything dead set to zero: equal for equal states.
pub fn canonical<'a>(table: &SiteTable, bytes: &'a [u8]) -> Cow<'a, [u8]> {
    let mut canonical = Cow::Borrowed(bytes);
    for (site, range) in walk(table, bytes) {
        for (start, length) in &table.frames[site as usize].dead {
            let start = range.start + *start as usize;
            canonical.to_mut()[start..start + *length as usize].fill(0);
        }
    }
    canonical
}

/// Bounds of the first worker's stack, `low` being a bound below which it must not grow: the end of
/// the data below it, or the first page if the linker put the stack first. `None` if unknown.
pub fn main_stack(artifact: &Artifact) -> Option<(u32, u32)> {
    /// An overflow is noticed this much before address 0, where it would wrap around.
    const FIRST: u32 = 1024;
    let high = artifact.table.stack_pointer()?.1.initial as u32;
    let below = artifact.data().iter().map(|d| d.1).filter(|end| *end <= high).max();
    Some((below.unwrap_or(FIRST), high))
}

/// The range of memory that only the first worker's stack uses, if the linker put it before all data. Else
/// only the stack's upper end is known, and the result is `None`.
pub fn main_stack_alone(artifact: &Artifact) -> Option<(u32, u32)> {
    let high = artifact.table.stack_pointer()?.1.initial as u32;
    let first = artifact.data().iter().map(|d| d.0).min()?;
    (first >= high).then_some((0, high))
}

/// Number of bytes from address 0 on that a compiled guest never uses on purpose: linkers leave the first
/// 1024 free or put the far end of the first worker's stack there. 0 for a guest of which this is not known:
/// one without a stack pointer, or with a tiny stack at the beginning of memory.
pub fn null_page(artifact: &Artifact) -> u64 {
    const BYTES: u64 = 1024;
    let pointer = artifact.table.stack_pointer();
    let data_above = artifact.data().iter().all(|(start, _)| u64::from(*start) >= BYTES);
    let known = pointer.is_some_and(|(_, global)| global.initial >= 2 * u128::from(BYTES)) && data_above;
    if known { BYTES } else { 0 }
}

/// Ranges of guest memory that are dead when a test has ended: the stacks of ended workers, and the parts of
/// other workers' stacks that lie below all live data.
pub fn dead_at_end(
    runtime: &Runtime,
    table: &SiteTable,
    saved_workers: &[SavedWorker],
    main_stack: Option<(u32, u32)>,
) -> Vec<Range<usize>> {
    let mut dead = dead_ranges(runtime, table, saved_workers, RED_ZONE);
    for i in 0..runtime.workers().len() {
        let id = WorkerId(i as u32);
        let stack = runtime.stack_of(id).or(main_stack.filter(|_| id == runtime.first()));
        if let Some((low, high)) = stack
            && runtime.pending(id).state == WorkerState::Ended
        {
            dead.push(indices(low..high));
        }
    }
    dead
}

/// Ranges of guest memory that belong to a suspended worker's stack and lie below all live data. Only for
/// stacks whose bounds are known.
pub fn dead_ranges(
    runtime: &Runtime,
    table: &SiteTable,
    saved_workers: &[SavedWorker],
    red_zone: u32,
) -> Vec<Range<usize>> {
    let mut dead = Vec::new();
    for i in 0..runtime.workers().len() {
        let id = WorkerId(i as u32);
        let Some((low, high)) = runtime.stack_of(id) else {
            continue;
        };
        // A worker that has ended has no frames.
        let Some(saved) = saved_workers.get(i) else { continue };
        if !saved.started || runtime.pending(id).state == WorkerState::Ended {
            continue;
        }
        if let Some(sp) = saved.stack_pointer(table)
            && (low..=high).contains(&sp)
            && sp - low > red_zone
        {
            dead.push(indices(low..sp - red_zone));
        }
    }
    dead
}

#[cfg(test)]
mod tests {
    use super::*;
    use coyote_instrumenter::WorkerGlobal;
    use rand::rngs::StdRng;
    use rand::{RngExt, SeedableRng};

    /// A table with three functions: a frame of 32 bytes that escapes, one of 16 that does not, and one of unknown size; the
    /// fourth has no frame, and data below the stack pointer.
    fn table() -> SiteTable {
        let site = |stack_bytes, escapes, red_zone| FrameSite {
            location: Location { function: 0, offset: 0 },
            size: 12,
            dead: Vec::new(),
            stack_bytes,
            escapes,
            red_zone,
            red_zone_bytes: red_zone.then_some(24),
        };
        let frames = vec![
            site(Some(32), true, false),
            site(Some(16), false, false),
            site(None, false, false),
            site(Some(0), false, true),
        ];
        let pointer = WorkerGlobal { name: "sp".into(), initial: 1_000, stack_pointer: true };
        SiteTable { frames, worker_globals: vec![pointer], ..SiteTable::default() }
    }

    /// A worker that is suspended in these functions of [`table`], innermost first, with this stack pointer.
    fn suspended(pointer: u32, sites: &[u32]) -> SavedWorker {
        let mut bytes = vec![0; GLOBAL_BYTES];
        bytes[..4].copy_from_slice(&pointer.to_le_bytes());
        for site in sites {
            bytes.extend([0xff; 8]);
            bytes.extend(site.to_le_bytes());
        }
        SavedWorker { bytes, started: true }
    }

    /// What each part of a stack from 500 to 1,000 belongs to: ranges up to the first place that differs.
    fn parts(saved: &SavedWorker) -> Vec<(u32, StackPlace)> {
        let mut layout = Layout::default();
        layout.read(&table(), saved, (500, 1_000));
        let mut parts: Vec<(u32, StackPlace)> = Vec::new();
        for address in 500..1_000 {
            let place = layout.place(address);
            match parts.last_mut().filter(|part| part.1 == place) {
                Some(part) => part.0 = address + 1,
                None => parts.push((address + 1, place)),
            }
        }
        parts
    }

    #[test]
    fn saved_frames_tell_what_a_stack_holds() {
        use StackPlace::{Ended, Other, Private};
        // The outermost function's frame, of 32 bytes, ends where the stack does.
        assert_eq!(parts(&suspended(952, &[1, 0])), [(952, Ended), (968, Private), (1_000, Other)]);
        // Behind a frame of unknown size nothing is known.
        assert_eq!(parts(&suspended(800, &[1, 2, 0])), [(800, Ended), (816, Private), (1_000, Other)]);
        // The innermost function keeps data below the stack pointer, which belongs to its frame.
        assert_eq!(parts(&suspended(984, &[3, 1])), [(856, Ended), (1_000, Private)]);
        // Only the innermost one does.
        assert_eq!(parts(&suspended(968, &[0, 3])), [(968, Ended), (1_000, Other)]);
        // A stack pointer elsewhere, and a worker that has not begun: nothing is known.
        assert_eq!(parts(&suspended(1_008, &[0])), [(1_000, Other)]);
        assert_eq!(parts(&SavedWorker { started: false, ..suspended(952, &[0]) }), [(1_000, Other)]);
    }

    #[test]
    fn the_frame_around_an_address() {
        let frame = |saved: &SavedWorker, address| frame_around(&table(), saved, (500, 1_000), address);
        let location = Location { function: 0, offset: 0 };
        let saved = suspended(952, &[1, 0]);
        assert_eq!(frame(&saved, 951), None);
        for (addresses, begin) in [(952..968, 952), (968..1_000, 968)] {
            for address in addresses {
                assert_eq!(frame(&saved, address), Some(ShadowFrame { location, begin }), "{address}");
            }
        }
        // The innermost function's data lie below the stack pointer, as far as is known.
        let saved = suspended(984, &[3, 1]);
        assert_eq!(frame(&saved, 959), None);
        assert_eq!(frame(&saved, 960), Some(ShadowFrame { location, begin: 960 }));
        assert_eq!(frame(&saved, 984), Some(ShadowFrame { location, begin: 984 }));
        // Beyond the outermost function, and behind a frame of unknown size.
        assert_eq!(frame(&suspended(952, &[1, 0]), 1_000), None);
        let saved = suspended(800, &[1, 2, 0]);
        assert_eq!(frame(&saved, 815), Some(ShadowFrame { location, begin: 800 }));
        assert_eq!(frame(&saved, 816), None);
    }

    fn random(random: &mut StdRng) -> Layout {
        const PLACES: [StackPlace; 2] = [StackPlace::Private, StackPlace::Other];
        let pointer = random.random_range(0..300);
        let red_zone = random.random_bool(0.5).then(|| PLACES[random.random_range(0..2)]);
        let mut end = pointer;
        let mut frames = Vec::new();
        for _ in 0..random.random_range(0..5) {
            end += random.random_range(0..60);
            frames.push((end, PLACES[random.random_range(0..2)]));
        }
        Layout { is_known: true, pointer, red_zone, frames }
    }

    /// The difference of two layouts is that of what they say of each address.
    #[test]
    fn differences_are_those_of_the_places() {
        let mut source = StdRng::seed_from_u64(0);
        let mut equal = 0;
        for _ in 0..2_000 {
            let one = random(&mut source);
            let other = match source.random_range(0..4) {
                0 => one.clone(),
                1 => Layout::unused(one.end()),
                _ => random(&mut source),
            };
            let differ: Vec<u32> =
                (0..700).filter(|address| one.place(*address) != other.place(*address)).collect();
            let range = differ.first().map_or(0..0, |first| *first..differ[differ.len() - 1] + 1);
            equal += u32::from(range.is_empty());
            assert_eq!(one.difference(&other), range, "{one:?} {other:?}");
        }
        assert!((400..1_000).contains(&equal), "{equal}");
    }
}
