//! `path_open`.

use super::path::without_slash;
use super::{Answer, Call, Content, Errno, Ino, Node, Open, Session};

const CREATE: u32 = 1;
const DIRECTORY: u32 = 2;
const EXCLUSIVE: u32 = 4;
const TRUNCATE: u32 = 8;

/// Rights that say how the file will be used.
const READ: u64 = 1 << 1;
const WRITE: u64 = 1 << 6;

impl Session<'_> {
    /// Opens a file or directory. Numbers of the call: descriptor, lookup flags, open flags, rights,
    /// inherited rights, descriptor flags.
    pub(super) fn open(&mut self, call: &Call) -> Result<Answer, Errno> {
        let follow = call.follows();
        let (flags, rights, modes) = (call.small(2), call.number(3), call.small(5));
        let path = call.text(0)?;
        let from = match self.descriptor(call.small(0))? {
            Open::Directory { inode, .. } => inode,
            Open::File { .. } => return Err(Errno::NOTDIR),
            _ => return Err(Errno::BADF),
        };
        let creates = flags & CREATE != 0;
        if flags & DIRECTORY != 0 && flags != DIRECTORY {
            return Err(Errno::INVAL);
        }
        // As in wasmtime: a descriptor that creates or truncates is writable, and one without the right to
        // write is readable.
        let writable = rights & WRITE != 0 || flags & (CREATE | TRUNCATE) != 0;
        let readable = rights & READ != 0 || rights & WRITE == 0;
        let exclusive = creates && flags & EXCLUSIVE != 0;
        if creates && path.ends_with('/') {
            self.resolve(from, without_slash(path), false)?;
            return Err(Errno::ISDIR);
        }
        let place = self.resolve(from, path, follow && !exclusive)?;
        let inode = match (place.inode, &place.name) {
            (Some(_), _) if exclusive => return Err(Errno::EXIST),
            (Some(inode), _) => inode,
            // The link that led here ends in a slash.
            (None, Some(_)) if creates && place.slash => return Err(Errno::ISDIR),
            (None, Some(name)) if creates => {
                self.create(place.directory, name, Node::File(Content::default()))?
            }
            (None, _) => return Err(Errno::NOENT),
        };
        let open = match self.look(inode).node {
            Node::Link(_) => return Err(Errno::LOOP),
            Node::Directory { .. } if writable => return Err(Errno::ISDIR),
            Node::Directory { .. } => Open::Directory { inode, preopened: None },
            Node::File(_) if flags & DIRECTORY != 0 || place.slash => return Err(Errno::NOTDIR),
            Node::File(_) => self.file_opened(inode, flags, readable, writable, modes)?,
        };
        self.add_descriptor(open)
    }

    fn file_opened(
        &mut self,
        inode: Ino,
        flags: u32,
        readable: bool,
        writable: bool,
        modes: u32,
    ) -> Result<Open, Errno> {
        if flags & TRUNCATE != 0 {
            self.resize(inode, |_| 0)?;
        }
        Ok(Open::File { inode, position: 0, readable, writable, flags: modes as u16 })
    }
}
