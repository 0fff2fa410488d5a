//! Crashes of nodes: operations of a node's workers may be lost, and those of other workers stay as they are.
//!
//! What survives of the node's operations is durable afterwards. The files of other workers do not change: their pending
//! operations stay pending, and what they have open without a name stays open.

use super::super::{Files, INODE_BYTES, Ino, Open, Table, Tree};
use super::crash::{Crash, Queue, apply_rest, rebuild};
use super::{Disk, Node, Pending};
use coyote_strategies::WorkerId;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

impl Disk {
    fn is_of(pending: &Pending, members: &BTreeSet<WorkerId>) -> bool {
        pending.origin.worker.is_some_and(|worker| members.contains(&worker))
    }

    /// The queues of operations by these workers.
    fn queues_of(&self, members: &BTreeSet<WorkerId>) -> Vec<Queue> {
        let own = |index: usize| Disk::is_of(&self.pending[index], members);
        self.queues().into_iter().map(|queue| queue.limited(own)).collect()
    }
}

impl Files {
    /// Records from now on which worker does what, for crashes of nodes.
    pub fn follow_workers(&mut self) {
        if let Some(disk) = &mut self.disk {
            Arc::make_mut(disk).openers = Some(BTreeMap::new());
        }
    }

    /// Number of ways in which a crash of a node with these workers can leave the files now; at least one.
    pub fn node_crash_ways(&self, members: &BTreeSet<WorkerId>) -> u32 {
        self.disk.as_ref().map_or(1, |disk| disk.ways_of(&disk.queues_of(members)))
    }

    /// Crashes the node with these workers in one of the ways.
    pub fn crash_node(&mut self, members: &BTreeSet<WorkerId>, way: u32, step: u64) -> Crash {
        let Some(before) = self.disk.clone() else { return Crash { step, ..Crash::default() } };
        let losses = before.losses(&before.queues_of(members), way);
        let lost = before.lost(&losses, &self.tree);
        let mut disk = Disk { pending: Vec::new(), ..Disk::clone(&before) };
        let mut now = before.nodes.clone();
        for (pending, loss) in before.pending.iter().zip(losses) {
            apply_rest(&mut now, pending, loss);
            match Disk::is_of(pending, members) {
                true => apply_rest(&mut disk.nodes, pending, loss),
                false => disk.pending.push(pending.clone()),
            }
        }
        disk.forget_unreachable();
        self.close_those_of(members, &mut disk);
        if !lost.is_empty() {
            self.tree = Arc::new(self.tree_of(now));
        }
        self.forget_unused();
        self.disk = Some(Arc::new(disk));
        Crash { step, lost, ..Crash::default() }
    }

    /// Closes the descriptors that these workers opened.
    fn close_those_of(&mut self, members: &BTreeSet<WorkerId>, disk: &mut Disk) {
        let openers = disk.openers.get_or_insert_default();
        let own = |opener: &WorkerId| members.contains(opener);
        for number in openers.extract_if(.., |_, opener| own(opener)).map(|(number, _)| number) {
            let table = Arc::make_mut(&mut self.table);
            let Some(open) = table.open.remove(&number) else { continue };
            table.closed.insert(number);
            if let Open::Connection { connection, end, .. } = open {
                self.break_connection(connection, end);
            }
        }
    }

    /// The tree with these nodes, and what is open without a name.
    fn tree_of(&self, nodes: BTreeMap<Ino, Node>) -> Tree {
        let mut tree = rebuild(nodes, &self.tree);
        for number in inodes(&self.table) {
            if let (false, Some(inode)) = (tree.inodes.contains_key(&number), self.tree.inodes.get(&number)) {
                let mut inode = inode.clone();
                let unnamed = Arc::make_mut(&mut inode);
                (unnamed.links, unnamed.digest) = (0, OnceLock::new());
                tree.taken += INODE_BYTES;
                if let Node::File(content) = &inode.node {
                    tree.taken += content.space();
                }
                tree.inodes.insert(number, inode);
            }
        }
        tree
    }

    /// Forgets files without a name that nobody has open any more.
    fn forget_unused(&mut self) {
        let open: BTreeSet<Ino> = inodes(&self.table).collect();
        let unused =
            self.tree.inodes.iter().filter(|(number, inode)| inode.links == 0 && !open.contains(number));
        let unused: Vec<Ino> = unused.map(|(number, _)| *number).collect();
        unused.into_iter().for_each(|number| self.tree_mut().remove(number));
    }
}

/// The files and directories that are open.
fn inodes(table: &Table) -> impl Iterator<Item = Ino> {
    table.open.values().filter_map(|open| match open {
        Open::File { inode, .. } | Open::Directory { inode, .. } => Some(*inode),
        _ => None,
    })
}
