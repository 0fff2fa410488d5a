//! Which memory several workers or tasks use.

use super::polls::{Lane, TaskId};
use super::recorder::{Quiet, RawAccess, RawStep, Recording};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The number of bytes of an access that are considered; further bytes are ignored.
const BYTES_MAX: u32 = 64;

/// A place in a recording: the index of a step, and the number of its accesses before it.
pub type At = (usize, usize);

/// The use of a byte of memory, as long as it belongs to one block.
#[derive(Default)]
struct Use {
    since: At,
    lanes: BTreeSet<Lane>,
    /// Those who wrote it, and when each did so last.
    writers: BTreeMap<Lane, At>,
    /// Whether a worker wrote it after another one had accessed it, or accessed it after another one wrote it while
    /// both existed.
    contended: bool,
}

/// What others than who accesses memory do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Others {
    Nothing,
    /// They read what was written before they existed, or write what nobody else uses then.
    Read,
    /// Several change it, or some change it while others read it.
    Contend,
}

/// The uses of memory: of each byte, in order.
pub struct Sharing(BTreeMap<u64, Vec<Use>>);

impl Sharing {
    pub fn of(recording: &Recording) -> Sharing {
        let mut sharing = Sharing(BTreeMap::new());
        let mut machines = Machines::default();
        let mut born: BTreeMap<Lane, At> = BTreeMap::new();
        for (at, step) in recording.steps.iter().enumerate() {
            if let Some(child) = step.spawned {
                born.insert(Lane::Worker(child), (at, 0));
            }
            let mut blocks = step.blocks.iter().enumerate().peekable();
            for count in 0..=step.accesses.len() {
                while let Some((number, block)) = blocks.next_if(|(_, block)| block.accesses <= count) {
                    // Blocks whose sizes are not known reach to the end of memory.
                    for range in block.renewed.iter().filter(|(_, bytes)| *bytes < u64::from(u32::MAX)) {
                        sharing.renew(*range, (at, count));
                        machines.end(*range);
                    }
                    for task in recording.spawned.get(&(at, number)).into_iter().flatten() {
                        machines.begin(*task, &recording.polls.tasks()[task.0].range);
                        born.insert(Lane::Task(*task), (at, count));
                    }
                }
                let Some(access) = step.accesses.get(count) else { break };
                let lane = lane(step, access);
                let is_own = |quiet: &Quiet| quiet.in_frame || quiet.stack.is_empty();
                if access.quiet.as_ref().is_some_and(is_own) {
                    continue;
                }
                let birth = born.get(&lane).copied().unwrap_or_default();
                for byte in bytes(access).filter(|byte| !machines.keep(lane, *byte)) {
                    sharing.add(byte, lane, (at, count), birth, access.writes);
                }
            }
        }
        sharing
    }

    fn add(&mut self, byte: u64, lane: Lane, at: At, birth: At, writes: bool) {
        let uses = self.0.entry(byte).or_default();
        if uses.is_empty() {
            uses.push(Use::default());
        }
        let all = uses.last_mut().expect("one was pushed");
        let others = all.lanes.iter().any(|other| *other != lane);
        let mut news = all.writers.iter().filter(|(writer, _)| **writer != lane);
        all.contended |= writes && others || news.any(|(_, at)| *at > birth);
        all.lanes.insert(lane);
        if writes {
            all.writers.insert(lane, at);
        }
    }

    /// Begins new uses of memory that becomes another block.
    fn renew(&mut self, (address, bytes): (u64, u64), since: At) {
        for (_, uses) in self.0.range_mut(address..address + bytes) {
            // Nobody asks for what one alone has used.
            uses.pop_if(|last| last.lanes.len() < 2);
            uses.push(Use { since, ..Use::default() });
        }
    }

    /// How others use what an access concerns. `at`: the place of the access.
    pub fn others(&self, access: &RawAccess, at: At) -> Others {
        let at_time = |uses: &Vec<Use>| uses.iter().rposition(|one| one.since <= at);
        let uses =
            || bytes(access).filter_map(|byte| self.0.get(&byte).and_then(|all| Some(&all[at_time(all)?])));
        match () {
            () if uses().any(|all| all.contended) => Others::Contend,
            () if uses().any(|all| all.lanes.len() > 1 && !all.writers.is_empty()) => Others::Read,
            () => Others::Nothing,
        }
    }
}

/// The machines of the tasks that exist at a time: by address, their ends and tasks.
#[derive(Default)]
struct Machines(BTreeMap<u64, (u64, TaskId)>);

impl Machines {
    fn begin(&mut self, task: TaskId, range: &Range<u64>) {
        self.0.insert(range.start, (range.end, task));
    }

    /// Ends those in memory that becomes another block.
    fn end(&mut self, (address, bytes): (u64, u64)) {
        let gone: Vec<u64> = self.0.range(address..address + bytes).map(|(start, _)| *start).collect();
        for start in gone {
            self.0.remove(&start);
        }
    }

    /// Whether only a task itself can see a byte that somebody accesses. Runtimes read the states of tasks, too, and who
    /// spawns a task writes its first state.
    fn keep(&self, lane: Lane, byte: u64) -> bool {
        let around = self.0.range(..=byte).next_back().filter(|(_, (end, _))| byte < *end);
        around.is_some_and(|(_, (_, task))| matches!(lane, Lane::Worker(_)) || lane == Lane::Task(*task))
    }
}

fn bytes(access: &RawAccess) -> Range<u64> {
    access.address..access.address + u64::from(access.bytes.min(BYTES_MAX))
}

/// Who makes an access of a step or of the code after it.
fn lane(step: &RawStep, access: &RawAccess) -> Lane {
    let task = access.quiet.as_ref().map_or(step.task, |quiet| quiet.task);
    Lane::of(step.worker, task)
}
