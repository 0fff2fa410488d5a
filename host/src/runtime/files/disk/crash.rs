//! Crashes: the ways in which a crash can leave the files.
//!
//! A way is a number below [`Disk::ways`]. Its digits, one for each queue, say what the crash loses of that queue. The
//! digit 0 loses nothing, except with [`CrashRule::None`], and a smaller digit loses less, so minimising a trace leaves
//! little lost.

use super::super::{Files, Inode, ROOT, Table, Tree};
use super::{Change, CrashRule, Disk, Node, Origin, Pending, apply, entries};
use crate::runtime::files::{Ino, Open};
use coyote_strategies::WorkerId;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Maximum number of ways: a value of a trace is below 2^32.
const WAYS_MAX: u64 = u32::MAX as u64 - 2;

/// The losses of a crash.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Crash {
    /// Number of steps executed before the crash.
    pub step: u64,
    /// Lost operations, in the order in which they were done.
    pub lost: Vec<Lost>,
    /// The node that crashed; `None` if the whole program did.
    pub node: Option<Arc<str>>,
    /// The workers of the node that it ended.
    pub ended: Vec<WorkerId>,
}

/// An operation that a crash lost as a whole or in part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// The path of the file or the entry as it was before the crash, from the root; its number if it had none.
    pub path: String,
    /// The written bytes that were lost; only of writes.
    pub bytes: Option<Range<u64>>,
    /// What was lost, in words.
    pub what: &'static str,
    /// The call that made the operation.
    pub origin: Origin,
}

/// The part of a queue that a digit loses: the operations from an index on, except the first `kept` bytes of the first
/// of them; or the operations of a set.
enum Taken {
    From { index: usize, kept: u64 },
    Set(u64),
}

/// A queue of pending operations, by their indices.
pub(super) struct Queue {
    indices: Vec<usize>,
    of_names: bool,
}

impl Queue {
    /// The part of it for which a condition holds.
    pub(super) fn limited(mut self, holds: impl Fn(usize) -> bool) -> Queue {
        self.indices.retain(|index| holds(*index));
        self
    }
}

impl Disk {
    pub(super) fn queues(&self) -> Vec<Queue> {
        let files: BTreeSet<Ino> = self.pending.iter().filter_map(|pending| pending.change.file()).collect();
        let of_file = |file: &Ino| self.indices(|pending| pending.change.file() == Some(*file)).collect();
        let files = files.iter().map(|file| Queue { indices: of_file(file), of_names: false });
        let names = self.name_queues().into_iter().map(|indices| Queue { indices, of_names: true });
        files.chain(names).collect()
    }

    /// Number of values of a queue's digit.
    fn radix(&self, queue: &Queue) -> u64 {
        let length = queue.indices.len() as u64;
        match self.model.rule {
            CrashRule::None => 1,
            CrashRule::Subset if !queue.of_names => 1u64.checked_shl(length as u32).unwrap_or(WAYS_MAX),
            CrashRule::Prefix | CrashRule::Subset => length + 1,
            CrashRule::Torn(sector) => {
                let torn = |index: &usize| tears(&self.pending[*index].change, sector).count() as u64;
                length + 1 + queue.indices.iter().map(torn).sum::<u64>()
            }
        }
    }

    /// Number of ways in which a crash can leave the files now. If there are more than a trace can express,
    /// not all are tried.
    pub fn ways(&self) -> u32 {
        self.ways_of(&self.queues())
    }

    /// The same for these queues alone.
    pub(super) fn ways_of(&self, queues: &[Queue]) -> u32 {
        let product = queues.iter().map(|queue| self.radix(queue)).try_fold(1u64, u64::checked_mul);
        product.unwrap_or(WAYS_MAX).min(WAYS_MAX) as u32
    }

    fn taken(&self, queue: &Queue, digit: u64) -> Taken {
        let length = queue.indices.len();
        match self.model.rule {
            CrashRule::None => Taken::From { index: 0, kept: 0 },
            CrashRule::Subset if !queue.of_names => Taken::Set(digit),
            CrashRule::Prefix | CrashRule::Subset => Taken::From { index: length - digit as usize, kept: 0 },
            CrashRule::Torn(sector) => {
                // A smaller digit loses later operations, and keeps more of the first one that is lost.
                let mut left = digit;
                let mut index = length;
                while left > 0 {
                    index -= 1;
                    let change = &self.pending[queue.indices[index]].change;
                    let kept: Vec<u64> = tears(change, sector).collect();
                    let here = kept.len() as u64 + 1;
                    if left <= here {
                        return Taken::From {
                            index,
                            kept: kept.get((left - 1) as usize).copied().unwrap_or(0),
                        };
                    }
                    left -= here;
                }
                Taken::From { index: length, kept: 0 }
            }
        }
    }

    /// The losses in a way: the number of bytes that are kept of each pending operation; `None`: it survives.
    pub(super) fn losses(&self, queues: &[Queue], way: u32) -> Vec<Option<u64>> {
        let mut losses = vec![None; self.pending.len()];
        let mut rest = u64::from(way);
        for queue in queues {
            let radix = self.radix(queue);
            let taken = self.taken(queue, rest % radix);
            rest /= radix;
            for (number, index) in queue.indices.iter().enumerate() {
                losses[*index] = match taken {
                    Taken::From { index, .. } if number < index => None,
                    Taken::From { index, kept } => Some(if number == index { kept } else { 0 }),
                    Taken::Set(set) => (set >> number & 1 == 1).then_some(0),
                };
            }
        }
        losses
    }

    /// The nodes on the disk after a crash with these [`Disk::losses`].
    fn survivors(&self, losses: &[Option<u64>]) -> BTreeMap<Ino, Node> {
        let mut nodes = self.nodes.clone();
        for (pending, loss) in self.pending.iter().zip(losses) {
            apply_rest(&mut nodes, pending, *loss);
        }
        nodes
    }

    /// The operations that are lost as a whole or in part.
    pub(super) fn lost(&self, losses: &[Option<u64>], tree: &Tree) -> Vec<Lost> {
        let paths = paths(tree);
        let lost = self.pending.iter().zip(losses);
        lost.filter_map(|(pending, kept)| Some(lost_of(pending, (*kept)?, &paths))).collect()
    }
}

/// Applies what is left of an operation of which this is lost.
pub(super) fn apply_rest(
    nodes: &mut BTreeMap<Ino, Node>,
    Pending { change, .. }: &Pending,
    loss: Option<u64>,
) {
    match (change, loss) {
        (change, None) => apply(nodes, change),
        (Change::Write { file, offset, bytes }, Some(kept)) if kept > 0 => {
            let bytes = bytes[..kept as usize].into();
            apply(nodes, &Change::Write { file: *file, offset: *offset, bytes });
        }
        _ => {}
    }
}

/// The numbers of bytes of a torn write that may survive, largest first: up to the end of each of its sectors but the
/// last.
fn tears(change: &Change, sector: u32) -> impl Iterator<Item = u64> + use<> {
    let (offset, length) = match change {
        Change::Write { offset, bytes, .. } => (*offset, bytes.len() as u64),
        _ => (0, 0),
    };
    let sector = u64::from(sector);
    let last = if length == 0 { offset } else { offset + length - 1 };
    (offset / sector..last / sector).rev().map(move |number| (number + 1) * sector - offset)
}

impl Files {
    /// Begins to record what a crash would leave.
    pub fn follow_disk(&mut self, model: super::CrashModel) {
        self.disk = Some(Arc::new(Disk::of(&self.tree, self.table.clone(), model)));
    }

    /// Number of ways in which a crash can leave the files now; at least one.
    pub fn crash_ways(&self) -> u32 {
        self.disk.as_ref().map_or(1, |disk| disk.ways())
    }

    /// Crashes in one of the ways: the files are those that were on the disk, and the descriptors those of the
    /// beginning.
    pub fn crash(&mut self, way: u32, step: u64) -> Crash {
        let Some(disk) = self.disk.clone() else { return Crash { step, ..Crash::default() } };
        let losses = disk.losses(&disk.queues(), way);
        let lost = disk.lost(&losses, &self.tree);
        let tree = rebuild(disk.survivors(&losses), &self.tree);
        let mut table = Table::clone(&disk.begun);
        // A file that was open from the beginning and does not exist any more was removed durably.
        let is_there = |open: &Open| match open {
            Open::File { inode, .. } | Open::Directory { inode, .. } => tree.inodes.contains_key(inode),
            // One that was made before the test began: connections do not outlast a crash.
            Open::Connection { .. } => false,
            _ => true,
        };
        let gone: Vec<u32> =
            table.open.iter().filter(|(_, open)| !is_there(open)).map(|(number, _)| *number).collect();
        for number in gone {
            table.open.remove(&number);
            table.closed.insert(number);
        }
        let begun = Disk::of(&tree, disk.begun.clone(), disk.model);
        (self.tree, self.table) = (Arc::new(tree), Arc::new(table));
        self.restart_sockets();
        self.disk = Some(Arc::new(begun));
        Crash { step, lost, ..Crash::default() }
    }
}

/// The paths of all files, directories and links that have a name.
fn paths(tree: &Tree) -> BTreeMap<Ino, String> {
    let mut paths = BTreeMap::from([(ROOT, String::new())]);
    let mut next = vec![ROOT];
    while let Some(directory) = next.pop() {
        let base = paths[&directory].clone();
        for ((_, name), number) in tree.inode(directory).entries().into_iter().flatten() {
            paths.insert(*number, format!("{base}/{name}"));
            if tree.is_directory(*number) {
                next.push(*number);
            }
        }
    }
    paths
}

fn lost_of(pending: &Pending, kept: u64, paths: &BTreeMap<Ino, String>) -> Lost {
    let path = |number: &Ino| paths.get(number).cloned().unwrap_or_else(|| format!("(number {number})"));
    let (path, bytes, what) = match &pending.change {
        Change::Write { file, offset, bytes } => {
            (path(file), Some(offset + kept..offset + bytes.len() as u64), "written")
        }
        Change::Resize { file, .. } => (path(file), None, "its size"),
        Change::Names { entries, .. } => {
            let name =
                |(directory, name, _): &(Ino, Arc<str>, Option<Ino>)| format!("{}/{name}", path(directory));
            let texts: Vec<String> = entries.iter().map(name).collect();
            let what = match &entries[..] {
                [(_, _, Some(_))] => "its name",
                [(_, _, None)] => "its removal",
                _ => "its renaming",
            };
            (texts.join(" -> "), None, what)
        }
    };
    Lost { path, bytes, what, origin: pending.origin.clone() }
}

/// The tree of the nodes that can be reached on the disk.
pub(super) fn rebuild(mut nodes: BTreeMap<Ino, Node>, before: &Tree) -> Tree {
    let mut links: BTreeMap<Ino, u64> = BTreeMap::from([(ROOT, 1)]);
    let mut parents: BTreeMap<Ino, Ino> = BTreeMap::from([(ROOT, ROOT)]);
    let mut next = vec![ROOT];
    while let Some(directory) = next.pop() {
        for number in entries(&nodes, directory).into_iter().flat_map(|entries| entries.values()) {
            *links.entry(*number).or_default() += 1;
            if matches!(nodes.get(number), Some(Node::Directory { .. }))
                && parents.insert(*number, directory).is_none()
            {
                next.push(*number);
            }
        }
    }
    let mut tree = Tree { next: before.next, ..Tree::default() };
    for (number, links) in links {
        let Some(mut node) = nodes.remove(&number) else { continue };
        if let (Node::Directory { parent, .. }, Some(is)) = (&mut node, parents.get(&number)) {
            *parent = *is;
        }
        tree.taken += super::super::INODE_BYTES;
        if let Node::File(content) = &node {
            tree.taken += content.space();
        }
        let times = before.inodes.get(&number).map_or([crate::runtime::REALTIME_NS; 3], |inode| inode.times);
        tree.inodes.insert(number, Arc::new(Inode { node, links, times, digest: OnceLock::new() }));
    }
    tree
}
