//! The state that a crash leaves of the files: keeps what is durable, and the operations since, in order.
//!
//! An operation is *pending* from its call until a sync makes it durable. Pending operations form *queues*. Each file
//! has a queue for operations on its bytes, and each directory one for operations on its names. Directories that a
//! pending rename connects share one queue; if a directory was moved, all of them do. [`CrashModel`] says what may
//! survive of each queue.
//!
//! `crash`: crashes of the program; `node`: of a node.
//!
//! - `fsync` of a file makes its bytes and size durable, and so does `fdatasync`, and each write through a descriptor
//!   with `O_SYNC` or `O_DSYNC`. The *name* of a file becomes durable by `fsync` of its directory; with
//!   [`CrashModel::ordered_names`] by `fsync` of the file as well, together with all earlier operations on names, as in
//!   ext4, whose journal is in order.
//! - All changes of names by one call are one operation: a rename is atomic.
//! - Files that exist when the test begins are durable. Times of files are never lost.
//! - If a node crashes, only operations of its workers may be lost; those that survive are durable. All nodes have one
//!   tree, but each is expected to use files of its own.
//!
//! Source: the study of application-level crash vulnerabilities (Pillai et al., OSDI 2014) for what differs between
//! file systems, and CrashMonkey (Mohan et al., OSDI 2018) for where crashes matter. Deviations: of a torn write, a
//! beginning survives, never an end or a middle; sizes change with the bytes that are written, not before.

mod crash;
mod model;
mod node;
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

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Disk {
    pub model: CrashModel,
    /// The descriptors that are open when the program begins.
    begun: Arc<Table>,
    /// Files, directories and links as they are on the disk, reachable or not.
    nodes: BTreeMap<Ino, Node>,
    /// Operations that are not durable yet, in the order of the calls.
    pending: Vec<Pending>,
    /// The workers that opened descriptors, if nodes may crash: which worker did what then matters.
    pub(super) openers: Option<BTreeMap<u32, WorkerId>>,
}

/// The origins of operations are left out, unless nodes may crash.
impl Hash for Disk {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.nodes.hash(hasher);
        self.pending.iter().for_each(|pending| pending.change.hash(hasher));
        if let Some(openers) = &self.openers {
            openers.hash(hasher);
            self.pending.iter().for_each(|pending| pending.origin.worker.hash(hasher));
        }
    }
}

/// An operation that is not durable.
#[derive(Clone, Debug)]
struct Pending {
    change: Change,
    origin: Origin,
}

/// The call that made a pending operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// The worker; `None` if it was done before the test began.
    pub worker: Option<WorkerId>,
    /// Number of steps executed, including its own.
    pub step: u64,
    /// The stack of the call, innermost first; empty if nobody asked for it.
    pub stack: Arc<[Location]>,
}

/// The change that an operation makes.
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
    /// Entries that are created (with the number that they name) or removed, all at once.
    Names {
        entries: Vec<(Ino, Arc<str>, Option<Ino>)>,
        /// Whether a directory is moved.
        moves_directory: bool,
    },
}

impl Change {
    /// The creation of a name.
    pub fn named(directory: Ino, name: &str, what: Ino) -> Change {
        Change::Names { entries: vec![(directory, name.into(), Some(what))], moves_directory: false }
    }

    /// The removal of a name.
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
    /// A disk on which the whole tree is durable.
    fn of(tree: &Tree, begun: Arc<Table>, model: CrashModel) -> Disk {
        let nodes = tree.inodes.iter().map(|(number, inode)| (*number, inode.node.clone())).collect();
        Disk { model, begun, nodes, pending: Vec::new(), openers: None }
    }

    /// Adds a new file, directory or link, to which nothing on the disk refers yet.
    pub(super) fn made(&mut self, number: Ino, node: &Node) {
        self.nodes.insert(number, node.clone());
    }

    pub(super) fn changed(&mut self, change: Change, origin: Origin) {
        self.pending.push(Pending { change, origin });
    }

    /// Makes durable what an `fsync` of a file or a directory covers, or an `fdatasync` with `data_alone`. If operations on
    /// names are ordered, an `fsync` covers those up to the last one that gave a name to the file or took one from it.
    pub(super) fn sync(&mut self, number: Ino, data_alone: bool) {
        let file = |pending: &Pending| pending.change.file() == Some(number);
        let mut durable: BTreeSet<usize> = self.indices(file).collect();
        let queues = self.name_queues();
        let with_names = self.model.ordered_names && !data_alone;
        for queue in queues {
            let mut last = 0;
            let mut names: BTreeMap<(Ino, &str), Option<Ino>> = BTreeMap::new();
            for (nth, index) in queue.iter().enumerate() {
                for (directory, name, what) in self.pending[*index].change.entries() {
                    let had = names.insert((*directory, name), *what);
                    let had = had.unwrap_or_else(|| self.durable_entry(*directory, name));
                    let names_it = *what == Some(number) || had == Some(number);
                    if *directory == number || with_names && names_it {
                        last = nth + 1;
                    }
                }
            }
            durable.extend(queue.iter().take(last));
        }
        for (index, pending) in std::mem::take(&mut self.pending).into_iter().enumerate() {
            match durable.contains(&index) {
                true => apply(&mut self.nodes, &pending.change),
                false => self.pending.push(pending),
            }
        }
        self.forget_unreachable();
    }

    /// What a name on the disk stands for.
    fn durable_entry(&self, directory: Ino, name: &str) -> Option<Ino> {
        match self.nodes.get(&directory)? {
            Node::Directory { entries, .. } => entries.get(&super::key(name)).copied(),
            _ => None,
        }
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

    /// Forgets nodes to which no name on the disk leads, and no pending name will.
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
        // A file that is open but has no name does not survive a crash.
        self.nodes.retain(|number, _| reached.contains(number));
        self.pending.retain(|pending| pending.change.file().is_none_or(|file| reached.contains(&file)));
    }
}

/// Applies an operation to the nodes on the disk.
fn apply(nodes: &mut BTreeMap<Ino, Node>, change: &Change) {
    let content = |nodes: &mut BTreeMap<Ino, Node>, file: &Ino, change: &dyn Fn(&mut Content)| {
        if let Some(Node::File(content)) = nodes.get_mut(file) {
            change(content);
        }
    };
    match change {
        // The change cannot fail: it was possible when the call was made.
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
