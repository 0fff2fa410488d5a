//! Resolves a path to a place in the tree.
//!
//! As in wasmtime, a path is relative to an open directory, and must not lead out of it, neither by `..` nor
//! by a link, nor begin with a slash (`EPERM`).

use super::{Errno, Ino, Node, Session, key};
use std::collections::VecDeque;
use std::sync::Arc;

/// Maximum number of links that a path may lead through, as in Linux.
const LINKS_MAX: u32 = 40;
/// The longest path and the longest name, in bytes, as in Linux.
const PATH_MAX: usize = 4095;
const NAME_MAX: usize = 255;

/// The place to which a path leads.
#[derive(Debug)]
pub struct Place {
    /// The directory with the last name.
    pub directory: Ino,
    /// The last name; `None` if the path ends in `.` or `..`, and then leads to `directory` itself.
    pub name: Option<Arc<str>>,
    /// The file, directory or link with that name, if there is one.
    pub inode: Option<Ino>,
    /// The path ends in a slash, so it means a directory.
    pub slash: bool,
}

impl Place {
    /// The inode of a place that must exist.
    pub fn existing(&self) -> Result<Ino, Errno> {
        self.inode.ok_or(Errno::NOENT)
    }
}

impl Session<'_> {
    /// Follows a path from a directory. A link at its end is followed only if `follow` is set or the path
    /// ends in a slash.
    pub(super) fn resolve(&mut self, from: Ino, path: &str, follow: bool) -> Result<Place, Errno> {
        check(path)?;
        let mut above = vec![from];
        let mut names: VecDeque<Arc<str>> = split(path).collect();
        let mut slash = path.ends_with('/');
        let mut links = 0;
        while let Some(name) = names.pop_front() {
            let directory = *above.last().expect("the directory we began in stays");
            if &*name == ".." {
                above.pop();
                if above.is_empty() {
                    return Err(Errno::PERM);
                }
            }
            if matches!(&*name, "." | "..") {
                continue;
            }
            if name.len() > NAME_MAX {
                return Err(Errno::NAMETOOLONG);
            }
            let inode = self.look(directory);
            let removed = inode.links == 0;
            let found = inode.entries()?.get(&key(&name)).copied();
            let last = names.is_empty();
            let target = match found.map(|number| (&self.look(number).node, last)) {
                Some((Node::Link(target), false)) => Some(target.clone()),
                Some((Node::Link(target), true)) if follow || slash => Some(target.clone()),
                Some((Node::Directory { .. }, false)) => {
                    above.extend(found);
                    continue;
                }
                Some((_, false)) => return Err(Errno::NOTDIR),
                None if !last || removed => return Err(Errno::NOENT),
                _ => None,
            };
            let Some(target) = target else {
                return Ok(Place { directory, name: Some(name), inode: found, slash });
            };
            links += 1;
            if links > LINKS_MAX {
                return Err(Errno::LOOP);
            }
            check(&target)?;
            slash |= last && target.ends_with('/');
            for name in split(&target).collect::<Vec<_>>().into_iter().rev() {
                names.push_front(name);
            }
        }
        let directory = *above.last().expect("checked above");
        Ok(Place { directory, name: None, inode: Some(directory), slash })
    }
}

/// Checks that a path, or the target of a link, can lead anywhere.
pub(super) fn check(path: &str) -> Result<(), Errno> {
    match path {
        "" => Err(Errno::NOENT),
        _ if path.contains('\0') => Err(Errno::INVAL),
        _ if path.len() > PATH_MAX => Err(Errno::NAMETOOLONG),
        _ if path.starts_with('/') => Err(Errno::PERM),
        _ => Ok(()),
    }
}

/// The path without slashes at its end, unless it is nothing else.
pub(super) fn without_slash(path: &str) -> &str {
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() { path } else { trimmed }
}

/// The names of a path. A slash at its end says that the last one is a directory, but is no name.
fn split(path: &str) -> impl Iterator<Item = Arc<str>> + '_ {
    path.split('/').filter(|name| !name.is_empty()).map(Arc::from)
}
