//! The names of sync objects: from variables, from the source, or from the stacks or heap blocks that contain them.

use super::memory_names::MemoryNames;
use super::moment::{Act, Moment};
use super::places::Places;
use super::recorder::Recording;
use super::{receivers, words};
use crate::plural::amount;
use crate::runtime::{ObjectId, Runtime};
use crate::symbols::{SourceFrame, Sources};
use std::collections::BTreeMap;

/// See the module's documentation.
pub struct Objects {
    /// Names by address, only those that are certain.
    pub names: BTreeMap<u64, String>,
    /// Where blocks were allocated, by the numbers of the events.
    allocated: BTreeMap<u32, SourceFrame>,
}

impl Objects {
    pub fn of(
        recording: &Recording,
        moments: &[Moment],
        memory: &MemoryNames<'_>,
        places: &mut Places<'_>,
        sources: &mut Sources,
    ) -> Objects {
        let mut names = receivers::names(recording, moments, places, sources);
        for moment in moments {
            if let Act::Object { address, .. } = moment.act
                && let Some(name) = memory.object_at(address)
            {
                names.insert(address, name);
            }
        }
        let mut allocated = BTreeMap::new();
        for block in recording.steps.iter().flat_map(|step| &step.blocks) {
            if let Some((_, line)) = places.own(&block.stack) {
                allocated.insert(block.event, line);
            }
        }
        Objects { names, allocated }
    }

    /// An object's description in a sentence: "mutex `state`".
    pub fn title(&self, runtime: &Runtime, object: ObjectId) -> String {
        let name = self.names.get(&object.address.into());
        let noun = name.map_or(object.noun().into(), |name| format!("{} `{name}`", object.noun()));
        // One of several with this name.
        if name.is_some_and(|name| !name.contains('#')) {
            return noun;
        }
        if let Some(worker) = runtime.stack_at(object.address) {
            return format!("{noun} on the stack of {}", runtime.title(worker));
        }
        let block = runtime.heap.block_around(object.address);
        match block.and_then(|block| Some((block, self.allocated.get(&block.allocated)?))) {
            Some((block, line)) => {
                let size = amount(block.bytes);
                format!("{noun} in a block of {size} that is allocated at {}", words::place(line))
            }
            None if name.is_some() => noun,
            None => object.title(),
        }
    }
}
