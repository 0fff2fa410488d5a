//! The guest's own places in stacks: of each stack, the frames, and the innermost one that is not a library's.

use super::lock_words::LockWord;
use super::polls::Chain;
use super::recorder::{RawAccess, RawStep};
use crate::symbols::{SourceFrame, Suspension, Symbols, is_library, is_of_core, is_of_locks, wraps_access};
use coyote_instrumenter::Location;
use std::collections::BTreeMap;
use std::rc::Rc;

/// The frames at places, as a cache.
pub struct Places<'a> {
    symbols: &'a Symbols,
    known: BTreeMap<Location, Rc<[SourceFrame]>>,
}

impl<'a> Places<'a> {
    pub fn new(symbols: &'a Symbols) -> Places<'a> {
        Places { symbols, known: BTreeMap::new() }
    }

    pub fn at(&mut self, location: Location) -> Rc<[SourceFrame]> {
        let read = || self.symbols.frames(location).into();
        self.known.entry(location).or_insert_with(read).clone()
    }

    /// A path of debug information as reports show it.
    pub fn shown(&self, file: &str) -> String {
        self.symbols.shown(file)
    }

    /// The place of a state machine as a frame.
    pub fn suspension(&self, place: &Suspension) -> SourceFrame {
        let file = place.file.as_deref().map(|file| self.shown(file));
        SourceFrame { function: place.function.clone(), file, line: place.line, column: None }
    }

    /// The innermost place of the guest's own source in a chain of machines that await each other.
    pub fn of_chain(&mut self, chain: &Chain) -> Option<SourceFrame> {
        let own = chain.iter().map(|(at, _)| self.suspension(at)).find(|frame| !is_library(frame));
        let stores: Vec<Location> = chain.iter().filter_map(|(_, stored)| *stored).collect();
        own.or_else(|| self.own(&stores).map(|(_, frame)| frame))
    }

    /// All frames of a stack, innermost first.
    pub fn frames(&mut self, stack: &[Location]) -> Vec<SourceFrame> {
        stack.iter().flat_map(|location| self.at(*location).to_vec()).collect()
    }

    /// The lock of Rust's std whose code accesses memory at the top of a stack: see [`LockWord::of`].
    pub fn lock_of(&mut self, stack: &[Location]) -> Option<(LockWord, bool)> {
        stack.iter().find_map(|location| LockWord::of(&self.at(*location)))
    }

    /// The innermost frame of the guest's own code with a line, and the number of frames inside it.
    pub fn own(&mut self, stack: &[Location]) -> Option<(usize, SourceFrame)> {
        let mut inside = 0;
        for location in stack {
            let frames = self.at(*location);
            if let Some(at) = frames.iter().position(|frame| !is_library(frame) && frame.line.is_some()) {
                return Some((inside + at, frames[at].clone()));
            }
            inside += frames.len();
        }
        None
    }

    /// Whether a library's function within the guest's innermost one is such a function.
    pub fn is_in(&mut self, stack: &[Location], wanted: fn(&SourceFrame) -> bool) -> bool {
        for location in stack {
            for frame in self.at(*location).iter() {
                if !is_library(frame) {
                    return false;
                }
                if wanted(frame) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether the code at the top of a stack accesses values that are its own, as `keeps` tells by its frame. Functions of
    /// core that it calls for that work on values of their callers.
    pub fn is_own(&mut self, stack: &[Location], keeps: fn(&SourceFrame) -> bool) -> bool {
        let caller = stack.iter().find_map(|location| {
            let frames = self.at(*location);
            frames.iter().find(|frame| !is_of_core(frame) && !wraps_access(frame)).cloned()
        });
        caller.is_some_and(|frame| keeps(&frame))
    }

    /// Whether a library has called the functions at the top of a stack, which are those of a lock of Rust's std.
    pub fn is_lock_of_library(&mut self, stack: &[Location]) -> bool {
        let outer = stack.iter().find_map(|location| {
            let frames = self.at(*location);
            frames.iter().find(|frame| !is_of_locks(frame)).cloned()
        });
        outer.is_some_and(|frame| is_library(&frame))
    }

    /// A frame for a stack without lines: the innermost one that is not known to be a library's, or else the innermost
    /// one.
    pub fn without_line(&mut self, stack: &[Location]) -> Option<SourceFrame> {
        let frames = self.frames(stack);
        frames.iter().find(|frame| !is_library(frame)).or(frames.first()).cloned()
    }

    /// Whether an access is in the guest's own code: only functions that wrap an access, which are calls in code
    /// without optimisation, may be inside it. `stack`: the place of the access, followed by its callers.
    pub fn is_direct(&mut self, stack: impl Iterator<Item = Location>) -> bool {
        let inner = self.accessing(stack);
        inner.is_some_and(|frame| !is_library(&frame) && (frame.line.is_some() || !self.symbols.has_lines()))
    }

    /// The innermost frame that does more than wrap an access.
    fn accessing(&mut self, mut stack: impl Iterator<Item = Location>) -> Option<SourceFrame> {
        stack.find_map(|location| {
            let frames = self.at(location);
            frames.iter().find(|frame| !wraps_access(frame)).cloned()
        })
    }
}

/// The place of an access, followed by its callers.
pub fn stack_of(step: &RawStep, raw: &RawAccess) -> Vec<Location> {
    if let Some(quiet) = raw.polled() {
        let callers = quiet.stack.iter().skip(1).copied();
        return raw.location.into_iter().chain(callers).collect();
    }
    let own = raw.location.or(step.stack.first().copied());
    own.into_iter().chain(step.stack.iter().skip(1).copied()).collect()
}
