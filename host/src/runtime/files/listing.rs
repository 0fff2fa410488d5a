//! `fd_readdir`.
//!
//! Entries come in the order of the hashes of their names, and the hash is the cookie: a listing that is read
//! in several calls has every name exactly once that existed all the time, whatever other names came and
//! went.

use super::{Answer, Call, Errno, Session, stat};

/// Cookies of `.` and `..`, which come first.
const SELF: u64 = 1;
const PARENT: u64 = 2;

impl Session<'_> {
    /// Fills the buffer, cutting the last entry off if it does not fit: a full buffer says that there
    /// may be more.
    pub(super) fn list(&mut self, call: &Call) -> Result<Answer, Errno> {
        let directory = self.directory(call.small(0))?;
        let (room, after) = (call.room as usize, call.number(1));
        self.look(directory);
        let tree = self.tree();
        let super::Node::Directory { parent, entries } = &tree.inode(directory).node else {
            return Err(Errno::BADF);
        };
        let special = [(SELF, ".", directory), (PARENT, "..", *parent)];
        let names = entries_after(entries, after).map(|((hash, name), inode)| (*hash, &**name, *inode));
        let mut data = Vec::new();
        for (cookie, name, inode) in special.into_iter().filter(|(c, ..)| *c > after).chain(names) {
            if data.len() >= room {
                break;
            }
            let kind = if cookie <= PARENT { stat::DIRECTORY } else { tree.kind(inode) };
            data.extend_from_slice(&cookie.to_le_bytes());
            data.extend_from_slice(&inode.to_le_bytes());
            data.extend_from_slice(&(name.len() as u32).to_le_bytes());
            data.extend_from_slice(&u32::from(kind).to_le_bytes());
            data.extend_from_slice(name.as_bytes());
        }
        data.truncate(room);
        Ok(Answer::data(data))
    }
}

fn entries_after(
    entries: &super::Entries,
    cookie: u64,
) -> impl Iterator<Item = (&(u64, std::sync::Arc<str>), &super::Ino)> {
    let from = cookie.checked_add(1).map(|from| (from, std::sync::Arc::from("")));
    let found = from.map(|from| entries.range(from..));
    found.into_iter().flatten()
}
