//! The names of memory in an execution: global variables, and local variables in frames.
//!
//! A frame's memory is that of other frames at other times, so that an access has the name that it has in its frame.
//! Without a name are bytes that several variables of a frame hold one after another, and variables of several frames that
//! are called the same, as in two calls of one function.

use super::places::Places;
use super::recorder::{RawAccess, Recording};
use crate::observe::ShadowFrame;
use crate::symbols::{InFrame, MemoryName, Variables, is_library};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// A frame: its beginning and its function.
type FrameId = (u32, u32);

/// See the module's documentation.
pub struct MemoryNames<'a> {
    variables: &'a Variables,
    /// Of accesses to local variables, by their addresses and sizes.
    locals: Named<(u64, u32), MemoryName>,
    /// Of sync objects in local variables, by their addresses.
    local_objects: Named<u64, String>,
}

impl<'a> MemoryNames<'a> {
    pub fn of(recording: &Recording, variables: &'a Variables, places: &mut Places<'_>) -> MemoryNames<'a> {
        let (mut locals, mut objects) = (Named::default(), Named::default());
        let mut look = |address: u64, frame: Option<ShadowFrame>, bytes: Option<u32>| {
            let Some(frame) = frame else {
                // Of what it is now the frame is not known.
                objects.last.remove(&address);
                bytes.map(|bytes| locals.last.remove(&(address, bytes)));
                return;
            };
            let functions = places.at(frame.location);
            let has_names = |inlined: usize| {
                let function = functions.len().checked_sub(inlined + 1).and_then(|at| functions.get(at));
                function.is_some_and(|function| !is_library(function))
            };
            let Some(offset) = address.checked_sub(frame.begin.into()) else { return };
            let at = InFrame { function: frame.location, offset, has_names: &has_names };
            objects.add(address, id(frame), variables.local_object_at(&at));
            if let Some(bytes) = bytes {
                locals.add((address, bytes), id(frame), variables.local_at(&at, bytes));
            }
        };
        for step in &recording.steps {
            look(step.operation.object, step.frame, None);
            for access in &step.accesses {
                look(access.address, access.frame, Some(access.bytes));
            }
        }
        for (address, bytes, frame) in &recording.pending {
            look(*address, *frame, Some(*bytes));
        }
        locals.settle(|name| &name.name);
        objects.settle(|name| name);
        MemoryNames { variables, locals, local_objects: objects }
    }

    /// The name of the memory that an access touches.
    pub fn of_access(&self, access: &RawAccess) -> Option<MemoryName> {
        let place = (access.address, access.bytes);
        let local = || self.locals.get(&place, id(access.frame?));
        self.variables.at(access.address, access.bytes).or_else(|| local().cloned())
    }

    /// The name of memory at the end of the execution, if it was accessed.
    pub fn at(&self, address: u64, bytes: u32) -> Option<MemoryName> {
        self.variables.at(address, bytes).or_else(|| self.locals.last(&(address, bytes)).cloned())
    }

    /// The variable or field that is, or begins with, the sync object at an address, at the end of the execution.
    pub fn object_at(&self, address: u64) -> Option<String> {
        self.variables.object_at(address).or_else(|| self.local_objects.last(&address).cloned())
    }
}

fn id(frame: ShadowFrame) -> FrameId {
    (frame.begin, frame.location.function)
}

/// Names of places in frames.
struct Named<K, N> {
    /// `None` for a place with several names.
    names: BTreeMap<(K, FrameId), Option<N>>,
    /// The last frame in which each place was.
    last: BTreeMap<K, FrameId>,
}

impl<K, N> Default for Named<K, N> {
    fn default() -> Named<K, N> {
        Named { names: BTreeMap::new(), last: BTreeMap::new() }
    }
}

impl<K: Ord + Copy, N: PartialEq> Named<K, N> {
    /// Adds the name that a place has at one access. Where it has none, its variable may not be in scope yet.
    fn add(&mut self, place: K, frame: FrameId, name: Option<N>) {
        self.last.insert(place, frame);
        let Some(name) = name else { return };
        match self.names.entry((place, frame)) {
            Entry::Vacant(entry) => drop(entry.insert(Some(name))),
            Entry::Occupied(mut entry) if entry.get().as_ref() != Some(&name) => drop(entry.insert(None)),
            Entry::Occupied(_) => {}
        }
    }

    /// Leaves out the variables of several frames that are called the same.
    fn settle(&mut self, text: impl Fn(&N) -> &String) {
        let variable = |name: &N| {
            let text = text(name);
            text[..text.find(['.', '[']).unwrap_or(text.len())].to_string()
        };
        let mut frames: BTreeMap<String, BTreeSet<FrameId>> = BTreeMap::new();
        for ((_, frame), name) in &self.names {
            if let Some(name) = name {
                frames.entry(variable(name)).or_default().insert(*frame);
            }
        }
        self.names.retain(|_, name| name.as_ref().is_some_and(|name| frames[&variable(name)].len() == 1));
    }

    fn get(&self, place: &K, frame: FrameId) -> Option<&N> {
        self.names.get(&(*place, frame))?.as_ref()
    }

    fn last(&self, place: &K) -> Option<&N> {
        self.get(place, *self.last.get(place)?)
    }
}
