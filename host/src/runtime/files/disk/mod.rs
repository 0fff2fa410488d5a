//! What a crash leaves of the files: what was durable, and what had been done since, in order.
//!
//! An operation is *pending* from its call until a sync makes it durable. Pending operations stand in *queues*: those on
//! the bytes of a file in one of its own, those on names in one for each directory, where directories that a pending
//! rename connects share one, and all of them if a directory was moved. What becomes of a crash, in terms of queues, says
//! [`CrashModel`].
//!
//! - `fsync` of a file makes its bytes and size durable, and so does `fdatasync`, and each write through a descriptor with
//!   `O_SYNC` or `O_DSYNC`. The *name* of a file becomes durable by `fsync` of its directory; with
//!   [`CrashModel::ordered_names`] by that of the file as well, as in ext4, whose journal is in order: with all that was
//!   done to names before.
//! - What one call does to names is one operation: a rename is atomic.
//! - What is there when the test begins is durable. Times of files are as they were: nothing is lost of them.
//!
//! Source: the study of application-level crash vulnerabilities (Pillai et al., OSDI 2014) for what differs between file
//! systems, and CrashMonkey (Mohan et al., OSDI 2018) for where crashes matter. What we deviate in: of a write that is
//! torn, a beginning survives, never an end or a middle; sizes change with the bytes that are written, not before.

mod crash;
mod model;
#[cfg(test)]
mod tests;

pub use crash::{Crash, Lost};
pub use model::{CrashModel, CrashRule};

use super::{Content, Entries, Ino, Node, Table, Tree, key};
use coyote_instrumenter::Location;
use coyote_strategies::WorkerId;
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// What is on the disk, as an object of the relation: no class has it beside this.
pub const OBJECT: u64 = 1 << 42;

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Disk {
    pub model: CrashModel,
    /// What is open when the program begins.
    begun: Arc<Table>,
    /// Files, directories and links as they are on the disk, reachable or not.
    nodes: BTreeMap<Ino, Node>,
    /// What is not there yet, in the order of the calls.
    pending: Vec<Pending>,
}

/// Where an operation comes from does not count.
impl Hash for Disk {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.nodes.hash(hasher);
        self.pending.iter().for_each(|pending| pending.change.hash(hasher));
    }
}

/// An operation that is not durable.
#[derive(Clone, Debug)]
struct Pending {
    change: Change,
    origin: Origin,
}

/// What made a pending operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Who, if it was not done before the test began.
    pub worker: Option<WorkerId>,
    /// Steps executed, with its own.
    pub step: u64,
    /// Where, innermost first.
    pub stack: Arc<[Location]>,
}

/// What an operation changes.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub enum Change {
    Write {
        file: Ino,
        offset: u64,
        bytes: Arc<[u8]>,
    },
    Resize {
        file: Ino,
        bytes: u64,
    },
    /// Entries that are made (with whose name they are) or removed, all at once.
    Names {
        entries: Vec<(Ino, Arc<str>, Option<Ino>)>,
        /// Whether a directory gets another place.
        moves_directory: bool,
    },
}

impl Change {
    /// A name that was given.
    pub fn named(directory: Ino, name: &str, what: Ino) -> Change {
        Change::Names { entries: vec![(directory, name.into(), Some(what))], moves_directory: false }
    }

    /// A name that was taken away.
    pub fn unnamed(directory: Ino, name: &str) -> Change {
        Change::Names { entries: vec![(directory, name.into(), None)], moves_directory: false }
    }

    fn file(&self) -> Option<Ino> {
        match self {
            Change::Write { file, .. } | Change::Resize { file, .. } => Some(*file),
            Change::Names { .. } => None,
        }
    }

    fn entries(&self) -> &[(Ino, Arc<str>, Option<Ino>)] {
        match self {
            Change::Names { entries, .. } => entries,
            _ => &[],
        }
    }
}

impl Disk {
    /// All that is there is durable.
    fn of(tree: &Tree, begun: Arc<Table>, model: CrashModel) -> Disk {
        let nodes = tree.inodes.iter().map(|(number, inode)| (*number, inode.node.clone())).collect();
        Disk { model, begun, nodes, pending: Vec::new() }
    }

    /// A file, directory or link was made, of which nothing refers to on the disk yet.
    pub(super) fn made(&mut self, number: Ino, node: &Node) {
        self.nodes.insert(number, node.clone());
    }

    pub(super) fn changed(&mut self, change: Change, origin: Origin) {
        self.pending.push(Pending { change, origin });
    }

    /// `fsync` or `fdatasync`, of a file or a directory: what it makes durable.
    pub(super) fn sync(&mut self, number: Ino, data_alone: bool) {
        let file = |pending: &Pending| pending.change.file() == Some(number);
        let mut durable: BTreeSet<usize> = self.indices(file).collect();
        let queues = self.name_queues();
        let concerns = |index: &usize| {
            let mut entries = self.pending[*index].change.entries().iter();
            entries.any(|(directory, _, what)| {
                *directory == number || self.model.ordered_names && !data_alone && *what == Some(number)
            })
        };
        for queue in queues {
            let last = queue.iter().rposition(concerns);
            durable.extend(queue.iter().take(last.map_or(0, |last| last + 1)));
        }
        for (index, pending) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            match durable.contains(&index) {
                true => apply(&mut self.nodes, &pending.change),
                false => self.pending.push(pending),
            }
        }
        self.forget_unreachable();
    }

    fn indices(&self, is: impl Fn(&Pending) -> bool) -> impl Iterator<Item = usize> {
        self.pending.iter().enumerate().filter(move |(_, pending)| is(pending)).map(|(index, _)| index)
    }

    /// The pending operations on names, by queue.
    fn name_queues(&self) -> Vec<Vec<usize>> {
        let all: Vec<usize> = self.indices(|pending| !pending.change.entries().is_empty()).collect();
        let moves = |index: &usize| {
            matches!(self.pending[*index].change, Change::Names { moves_directory: true, .. })
        };
        if self.model.ordered_names || all.iter().any(moves) {
            return if all.is_empty() { Vec::new() } else { vec![all] };
        }
        let mut queues: Vec<(BTreeSet<Ino>, Vec<usize>)> = Vec::new();
        for index in all {
            let entries = self.pending[index].change.entries();
            let mut joined = (entries.iter().map(|(directory, _, _)| *directory).collect(), vec![index]);
            let (met, others): (Vec<_>, Vec<_>) =
                queues.into_iter().partition(|(directories, _)| !directories.is_disjoint(&joined.0));
            queues = others;
            for (directories, indices) in met {
                joined.0.extend(directories);
                joined.1.extend(indices);
            }
            joined.1.sort_unstable();
            queues.push(joined);
        }
        queues.sort_by_key(|(_, indices)| indices[0]);
        queues.into_iter().map(|(_, indices)| indices).collect()
    }

    /// Forgets what no name on the disk leads to and none that is pending will.
    fn forget_unreachable(&mut self) {
        let pending = self.pending.iter().flat_map(|pending| pending.change.entries());
        let mut next: Vec<Ino> =
            pending.flat_map(|(directory, _, what)| what.iter().chain([directory])).copied().collect();
        next.push(super::ROOT);
        let mut reached = BTreeSet::new();
        while let Some(number) = next.pop() {
            if reached.insert(number)
                && let Some(Node::Directory { entries, .. }) = self.nodes.get(&number)
            {
                next.extend(entries.values());
            }
        }
        // A file that is open and has no name is gone after a crash.
        self.nodes.retain(|number, _| reached.contains(number));
        self.pending.retain(|pending| pending.change.file().is_none_or(|file| reached.contains(&file)));
    }
}

/// Does what an operation does to what is on the disk.
fn apply(nodes: &mut BTreeMap<Ino, Node>, change: &Change) {
    let content = |nodes: &mut BTreeMap<Ino, Node>, file: &Ino, change: &dyn Fn(&mut Content)| {
        if let Some(Node::File(content)) = nodes.get_mut(file) {
            change(content);
        }
    };
    match change {
        // It was possible when it was done.
        Change::Write { file, offset, bytes } => {
            content(nodes, file, &|content| _ = content.write(*offset, bytes, u64::MAX));
        }
        Change::Resize { file, bytes } => content(nodes, file, &|content| _ = content.resize(*bytes)),
        Change::Names { entries, .. } => {
            for (directory, name, what) in entries {
                if let Some(Node::Directory { entries, .. }) = nodes.get_mut(directory) {
                    match what {
                        Some(what) => entries.insert(key(name), *what),
                        None => entries.remove(&key(name)),
                    };
                }
            }
        }
    }
}

/// The entries of a directory on the disk.
fn entries(nodes: &BTreeMap<Ino, Node>, directory: Ino) -> Option<&Entries> {
    match nodes.get(&directory)? {
        Node::Directory { entries, .. } => Some(entries),
        _ => None,
    }
}
