//! Calls on open descriptors.

use super::call::NONBLOCK;
use super::content::BLOCK;
use super::disk::Change;
use super::{Answer, Call, Errno, Ino, Node, Open, Session, Standard};

/// Flags of a descriptor. Written bytes can be read at once, so `RSYNC` has no effect.
const APPEND: u16 = 1;
const DSYNC: u16 = 2;
const SYNC: u16 = 16;

impl Session<'_> {
    /// Reads at an offset, or at the descriptor's position, which moves.
    pub(super) fn read(&mut self, call: &Call, offset: Option<u64>) -> Result<Answer, Errno> {
        let number = call.small(0);
        let (inode, position) = match (self.descriptor(number)?, offset) {
            (Open::File { readable: false, .. }, _) => return Err(Errno::BADF),
            (Open::File { inode, position, .. }, offset) => (inode, offset.unwrap_or(position)),
            // Standard input is at its end.
            (Open::Stream(Standard::In), None) => return Ok(Answer::data(Vec::new())),
            (Open::Listener { .. } | Open::Connection { .. }, None) => {
                return self.receive(number, call.room, 0).map(Answer::data);
            }
            (Open::Stream(Standard::In) | Open::Listener { .. } | Open::Connection { .. }, Some(_)) => {
                return Err(Errno::SPIPE);
            }
            _ => return Err(Errno::BADF),
        };
        let Node::File(content) = &self.look(inode).node else { return Err(Errno::BADF) };
        let data = content.read(position, call.room.into());
        if offset.is_none() && !data.is_empty() {
            self.move_to(number, position + data.len() as u64);
        }
        Ok(Answer::data(data))
    }

    /// Writes at an offset, or at the descriptor's position, which moves; at the end if it appends.
    pub(super) fn write(&mut self, call: &Call, offset: Option<u64>) -> Result<Answer, Errno> {
        let (number, bytes) = (call.small(0), &call.inputs[0]);
        let (inode, position, flags) = match (self.descriptor(number)?, offset) {
            (Open::File { writable: false, .. }, _) => return Err(Errno::BADF),
            (Open::File { inode, position, flags, .. }, offset) => (inode, offset.unwrap_or(position), flags),
            (Open::Stream(Standard::Out(stream)), None) => {
                self.printed = Some((stream, bytes.clone()));
                return Ok(Answer::size(bytes.len()));
            }
            (Open::Listener { .. } | Open::Connection { .. }, None) => {
                return self.send(number, bytes, 0).map(Answer::size);
            }
            (Open::Stream(Standard::Out(_)) | Open::Listener { .. } | Open::Connection { .. }, Some(_)) => {
                return Err(Errno::SPIPE);
            }
            _ => return Err(Errno::BADF),
        };
        let mut at = position;
        if !bytes.is_empty() {
            let wanted = bytes.len() as u64 + 2 * BLOCK;
            at = self.change_content(inode, wanted, |content, space| {
                let at = if flags & APPEND != 0 { content.bytes() } else { position };
                content.write(at, bytes, space).map(|()| at)
            })?;
            self.changed(|| Change::Write { file: inode, offset: at, bytes: bytes[..].into() });
            if flags & (DSYNC | SYNC) != 0 {
                self.sync_inode(inode, flags & SYNC == 0);
            }
        }
        if offset.is_none() {
            self.move_to(number, at + bytes.len() as u64);
        }
        Ok(Answer::size(bytes.len()))
    }

    fn move_to(&mut self, number: u32, to: u64) {
        if let Open::File { position, .. } = self.descriptor_mut(number) {
            *position = to;
        }
    }

    pub(super) fn seek(&mut self, call: &Call) -> Result<Answer, Errno> {
        let (number, by, whence) = (call.small(0), call.number(1) as i64, call.small(2));
        let (inode, position) = self.seekable(number)?;
        let from = match whence {
            0 => 0,
            1 => position,
            _ => match &self.look(inode).node {
                Node::File(content) => content.bytes(),
                _ => 0,
            },
        };
        let to = from.checked_add_signed(by).ok_or(Errno::INVAL)?;
        if to != position {
            self.move_to(number, to);
        }
        Ok(Answer::result(to.to_le_bytes()))
    }

    pub(super) fn tell(&mut self, number: u32) -> Result<Answer, Errno> {
        Ok(Answer::result(self.seekable(number)?.1.to_le_bytes()))
    }

    /// The file of a descriptor and its position.
    fn seekable(&mut self, number: u32) -> Result<(Ino, u64), Errno> {
        match self.descriptor(number)? {
            Open::File { inode, position, .. } => Ok((inode, position)),
            Open::Stream(_) | Open::Listener { .. } | Open::Connection { .. } => Err(Errno::SPIPE),
            _ => Err(Errno::BADF),
        }
    }

    pub(super) fn advise(&mut self, call: &Call) -> Result<Answer, Errno> {
        self.file(call.small(0)).map(|_| Answer::done())
    }

    /// Lengthens the file if it is shorter.
    pub(super) fn allocate(&mut self, call: &Call) -> Result<Answer, Errno> {
        let end = call.number(1).checked_add(call.number(2)).ok_or(Errno::FBIG)?;
        let Open::File { inode, writable: true, .. } = self.descriptor(call.small(0))? else {
            return Err(Errno::BADF);
        };
        if call.number(2) == 0 {
            return Err(Errno::INVAL);
        }
        self.resize(inode, |bytes| bytes.max(end))?;
        Ok(Answer::done())
    }

    /// Sets a file's size, which `size` computes from the present one.
    pub(super) fn resize(&mut self, inode: Ino, size: impl FnOnce(u64) -> u64) -> Result<(), Errno> {
        let bytes = self.change_content(inode, 0, |content, _| {
            let bytes = size(content.bytes());
            content.resize(bytes).map(|()| bytes)
        })?;
        self.changed(|| Change::Resize { file: inode, bytes });
        Ok(())
    }

    pub(super) fn set_size(&mut self, number: u32, bytes: u64) -> Result<Answer, Errno> {
        match self.descriptor(number)? {
            Open::File { inode, writable: true, .. } => {
                self.resize(inode, |_| bytes)?;
                Ok(Answer::done())
            }
            Open::File { .. } => Err(Errno::INVAL),
            _ => Err(Errno::BADF),
        }
    }

    pub(super) fn set_flags(&mut self, number: u32, flags: u32) -> Result<Answer, Errno> {
        if self.files.is_socket(number) {
            self.descriptor(number)?;
            return self.set_socket_flags(number, flags);
        }
        self.file(number)?;
        if flags & !u32::from(APPEND | NONBLOCK) != 0 {
            return Err(Errno::INVAL);
        }
        if let Open::File { flags: now, .. } = self.descriptor_mut(number) {
            *now = flags as u16;
        }
        Ok(Answer::done())
    }

    /// Refuses the call: rights cannot be changed.
    pub(super) fn set_rights(&mut self, number: u32) -> Result<Answer, Errno> {
        match self.descriptor(number)? {
            Open::Stream(_) => Err(Errno::BADF),
            _ => Err(Errno::NOTSUP),
        }
    }

    /// The length of a preopened directory's name; a tag of 0 says that it is a directory.
    pub(super) fn preopened(&mut self, number: u32) -> Result<Answer, Errno> {
        match self.descriptor(number)? {
            Open::Directory { preopened: Some(name), .. } | Open::Host { preopened: Some(name), .. } => {
                Ok(Answer::result((u64::from(name.len() as u32) << 32).to_le_bytes()))
            }
            // Not a directory: C libraries go on to the next descriptor.
            Open::Listener { listener, .. } if listener == number => Ok(Answer::result(1u64.to_le_bytes())),
            _ => Err(Errno::BADF),
        }
    }

    pub(super) fn preopened_name(&mut self, call: &Call) -> Result<Answer, Errno> {
        match self.descriptor(call.small(0))? {
            Open::Directory { preopened: Some(name), .. } | Open::Host { preopened: Some(name), .. } => {
                if name.len() > call.room as usize {
                    return Err(Errno::NAMETOOLONG);
                }
                Ok(Answer { data: name.as_bytes().to_vec(), ..Answer::done() })
            }
            _ => Err(Errno::NOTDIR),
        }
    }
}
