//! Files that exist when a test begins.

use super::{Content, Entries, Errno, Files, Node, ROOT};
use crate::runtime::REALTIME_NS;

/// A file, directory or link to put in place.
pub enum Fixture<'a> {
    Directory,
    File(&'a [u8]),
    Link(&'a str),
}

impl Files {
    /// Puts a fixture at a path from the root, whose names are no `.` or `..`. Directories on the way are
    /// created. A directory may already exist.
    pub fn add_fixture(&mut self, path: &str, fixture: Fixture) -> Result<(), Errno> {
        let mut names: Vec<&str> = path.split('/').filter(|n| !n.is_empty()).collect();
        let last = if matches!(fixture, Fixture::Directory) { None } else { names.pop() };
        let mut directory = ROOT;
        for name in names {
            directory = self.fixture_directory(directory, name)?;
        }
        let Some(name) = last else { return Ok(()) };
        let node = match fixture {
            Fixture::File(bytes) => {
                let mut content = Content::default();
                content.write(0, bytes, self.space.saturating_sub(self.tree.taken))?;
                Node::File(content)
            }
            Fixture::Link(target) => Node::Link(target.into()),
            Fixture::Directory => return Ok(()),
        };
        if self.tree.inode(directory).entries()?.contains_key(&super::key(name)) {
            return Err(Errno::EXIST);
        }
        self.put(directory, name, node)
    }

    fn fixture_directory(&mut self, parent: super::Ino, name: &str) -> Result<super::Ino, Errno> {
        if let Some(number) = self.tree.inode(parent).entries()?.get(&super::key(name)) {
            return Ok(*number);
        }
        self.put(parent, name, Node::Directory { entries: Entries::new(), parent })?;
        Ok(self.tree.inode(parent).entries()?[&super::key(name)])
    }

    fn put(&mut self, parent: super::Ino, name: &str, node: Node) -> Result<(), Errno> {
        let space = if let Node::File(content) = &node { content.space() } else { 0 };
        let bound = self.space;
        let tree = self.tree_mut();
        if tree.taken + space + super::INODE_BYTES > bound {
            return Err(Errno::NOSPC);
        }
        let number = tree.add(node, REALTIME_NS);
        tree.taken += space;
        tree.inode_mut(number).links = 1;
        tree.entries_mut(parent).insert(super::key(name), number);
        self.wanted += space + super::INODE_BYTES;
        Ok(())
    }
}
