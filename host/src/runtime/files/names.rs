//! Calls that create, change and remove names.

use super::disk::Change;
use super::path::{Place, check, without_slash};
use super::{Answer, Call, Entries, Errno, Ino, Node, Session};
use std::sync::Arc;

impl Session<'_> {
    /// The place to which a path leads, without following a link at its end.
    fn place(&mut self, call: &Call) -> Result<Place, Errno> {
        let from = self.directory(call.small(0))?;
        self.resolve(from, call.text(0)?, false)
    }

    pub(super) fn create_directory(&mut self, call: &Call) -> Result<Answer, Errno> {
        let from = self.directory(call.small(0))?;
        let path = call.text(0)?;
        // A slash at its end does not follow a link here.
        let place = self.resolve(from, without_slash(path), false)?;
        match (place.inode, place.name) {
            (None, Some(name)) => {
                let node = Node::Directory { entries: Entries::new(), parent: place.directory };
                self.create(place.directory, &name, node)?;
                Ok(Answer::done())
            }
            _ => Err(Errno::EXIST),
        }
    }

    pub(super) fn remove_directory(&mut self, call: &Call) -> Result<Answer, Errno> {
        let place = self.place(call)?;
        let name = place.name.clone().ok_or(Errno::INVAL)?;
        let inode = place.existing()?;
        if !self.look(inode).entries()?.is_empty() {
            return Err(Errno::NOTEMPTY);
        }
        self.changed(|| Change::unnamed(place.directory, &name));
        self.unname(place.directory, &name);
        Ok(Answer::done())
    }

    pub(super) fn unlink(&mut self, call: &Call) -> Result<Answer, Errno> {
        let place = self.place(call)?;
        let inode = place.existing()?;
        match &place.name {
            Some(name) if !self.tree().is_directory(inode) => {
                if place.slash {
                    return Err(Errno::NOTDIR);
                }
                self.changed(|| Change::unnamed(place.directory, name));
                self.unname(place.directory, name);
                Ok(Answer::done())
            }
            _ => Err(Errno::ISDIR),
        }
    }

    /// Creates a link. Numbers of the call: the old directory, lookup flags, the new directory.
    pub(super) fn link(&mut self, call: &Call) -> Result<Answer, Errno> {
        let follow = call.follows();
        let (from, to) = (self.directory(call.small(0))?, self.directory(call.small(2))?);
        if follow {
            return Err(Errno::INVAL);
        }
        let old = self.resolve(from, call.text(0)?, false)?;
        let new = self.resolve(to, call.text(1)?, false)?;
        let inode = old.existing()?;
        match (new.inode, new.name) {
            _ if old.slash && !self.tree().is_directory(inode) => Err(Errno::NOTDIR),
            (None, Some(_)) if new.slash => Err(Errno::NOENT),
            (None, Some(_)) if self.tree().is_directory(inode) => Err(Errno::PERM),
            (None, Some(name)) => {
                self.name(new.directory, &name, inode);
                self.changed(|| Change::named(new.directory, &name, inode));
                Ok(Answer::done())
            }
            _ => Err(Errno::EXIST),
        }
    }

    /// Creates a symbolic link. Texts of the call: the link's target, and its own path.
    pub(super) fn symlink(&mut self, call: &Call) -> Result<Answer, Errno> {
        let target: Arc<str> = call.text(0)?.into();
        let from = self.directory(call.small(0))?;
        if !target.is_empty() {
            check(&target)?;
        }
        let place = self.resolve(from, call.text(1)?, false)?;
        match (place.inode, place.name) {
            _ if target.is_empty() => Err(Errno::NOENT),
            (None, Some(_)) if place.slash => Err(Errno::NOENT),
            (None, Some(name)) => {
                self.create(place.directory, &name, Node::Link(target))?;
                Ok(Answer::done())
            }
            _ => Err(Errno::EXIST),
        }
    }

    pub(super) fn read_link(&mut self, call: &Call) -> Result<Answer, Errno> {
        let place = self.place(call)?;
        let inode = place.existing()?;
        match &self.look(inode).node {
            Node::Link(target) => {
                let length = target.len().min(call.room as usize);
                Ok(Answer::data(target.as_bytes()[..length].to_vec()))
            }
            Node::File(_) if place.slash => Err(Errno::NOTDIR),
            _ => Err(Errno::INVAL),
        }
    }

    pub(super) fn rename(&mut self, call: &Call) -> Result<Answer, Errno> {
        let (from, to) = (self.directory(call.small(0))?, self.directory(call.small(1))?);
        let old = self.resolve(from, call.text(0)?, false)?;
        let new = self.resolve(to, call.text(1)?, false)?;
        let (Some(old_name), Some(new_name)) = (&old.name, &new.name) else { return Err(Errno::BUSY) };
        let inode = old.existing()?;
        let directory = self.tree().is_directory(inode);
        if (old.slash || new.slash) && !directory {
            return Err(Errno::NOTDIR);
        }
        if new.inode == Some(inode) {
            return Ok(Answer::done());
        }
        if directory && self.contains(inode, new.directory) {
            return Err(Errno::INVAL);
        }
        if let Some(replaced) = new.inode {
            match (directory, &self.look(replaced).node) {
                (true, Node::Directory { entries, .. }) if !entries.is_empty() => {
                    return Err(Errno::NOTEMPTY);
                }
                (true, Node::Directory { .. }) => {}
                (true, _) => return Err(Errno::NOTDIR),
                (false, Node::Directory { .. }) => return Err(Errno::ISDIR),
                (false, _) => {}
            }
            self.unname(new.directory, new_name);
        }
        self.changed(|| Change::Names {
            entries: vec![
                (old.directory, old_name.clone(), None),
                (new.directory, new_name.clone(), Some(inode)),
            ],
            moves_directory: directory,
        });
        self.name(new.directory, new_name, inode);
        self.unname(old.directory, old_name);
        Ok(Answer::done())
    }

    /// Whether a directory is another one or lies below it.
    fn contains(&mut self, outer: Ino, mut inner: Ino) -> bool {
        while inner != outer {
            match self.look(inner).node {
                Node::Directory { parent, .. } if parent != inner => inner = parent,
                _ => return false,
            }
        }
        true
    }
}
