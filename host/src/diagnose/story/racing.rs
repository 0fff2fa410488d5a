//! Names from the source in the details of a data race.

use super::memory_names::MemoryNames;
use super::objects::Objects;
use crate::evidence::Evidence;
use crate::results::RaceHistory;
use crate::runtime::Runtime;

/// Names locks, and leaves out values that are no numbers to a reader: pointers, floats, and several fields at once.
/// `runtime`: at the end of the execution.
pub fn name(
    race: &mut RaceHistory,
    evidence: &Evidence,
    runtime: &Runtime,
    memory: &MemoryNames<'_>,
    objects: &Objects,
) {
    let Evidence::Race { first, second } = evidence else { return };
    let is_pointer = |value: u64| {
        u32::try_from(value).is_ok_and(|value| value != 0 && runtime.heap.block_around(value).is_some())
    };
    for (access, told) in [(first, &mut race.first), (second, &mut race.second)] {
        let known = memory.at(access.address.into(), access.bytes);
        told.value = told.value.filter(|value| match &known {
            Some(known) => known.encoding.is_number(),
            None => !is_pointer(*value),
        });
        for lock in &mut told.locks {
            lock.title = objects.title(runtime, lock.object);
        }
    }
}
