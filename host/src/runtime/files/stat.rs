//! Information about files and descriptors, in preview 1's layouts.

use super::{Answer, Call, Errno, Ino, Node, Open, Session, Tree};

/// Types of files.
pub(super) const DIRECTORY: u8 = 3;
const REGULAR: u8 = 4;
const LINK: u8 = 7;
/// The type that wasmtime reports for a standard stream that is no terminal.
const UNKNOWN: u8 = 0;
const SOCKET: u8 = 6;

/// Rights, from which libc derives how a descriptor can be used.
mod rights {
    pub const READ: u64 = 1 << 1;
    pub const SEEK: u64 = 1 << 2;
    pub const WRITE: u64 = 1 << 6;
    pub const READDIR: u64 = 1 << 14;
    pub const PATH_SET_SIZE: u64 = 1 << 19;
    pub const SET_SIZE: u64 = 1 << 22;
    pub const POLL: u64 = 1 << 27;
    pub const SHUT_DOWN: u64 = 1 << 28;
    pub const ACCEPT: u64 = 1 << 29;
    pub const ALL: u64 = super::super::call::RIGHTS;
    /// The rights that wasmtime grants on a directory that the program was started with: everything on paths,
    /// the listing, and its own status.
    pub const PREOPENED: u64 = 0x7b7_fe00;
}

const ATIM: u32 = 1;
const ATIM_NOW: u32 = 2;
const MTIM: u32 = 4;
const MTIM_NOW: u32 = 8;

impl Session<'_> {
    pub(super) fn descriptor_stat(&mut self, number: u32) -> Result<Answer, Errno> {
        use rights::*;
        let (kind, flags, base, inheriting) = match self.descriptor(number)? {
            Open::Stream(super::Standard::In) => (UNKNOWN, 0, READ, READ),
            Open::Stream(super::Standard::Out(_)) => (UNKNOWN, 0, WRITE, WRITE),
            Open::Directory { preopened: Some(_), .. } => (DIRECTORY, 0, PREOPENED, ALL),
            Open::Directory { .. } => (DIRECTORY, 0, ALL & !(SEEK | SET_SIZE | PATH_SET_SIZE | WRITE), ALL),
            Open::File { readable, writable, flags, .. } => {
                let refused = [(readable, READ | READDIR), (writable, WRITE)];
                let refused = refused.iter().filter(|(has, _)| !has).fold(0, |sum, (_, bits)| sum | bits);
                (REGULAR, flags, ALL & !refused, ALL & !refused)
            }
            Open::Listener { nonblocking, .. } => (SOCKET, nonblock(nonblocking), READ | POLL | ACCEPT, ALL),
            Open::Connection { nonblocking, .. } => {
                (SOCKET, nonblock(nonblocking), READ | WRITE | POLL | SHUT_DOWN, 0)
            }
            Open::Host { .. } => unreachable!("this is a bug in coyote-wasm: the host answers this"),
        };
        let mut stat = [0; 24];
        stat[0] = kind;
        stat[2..4].copy_from_slice(&flags.to_le_bytes());
        stat[8..16].copy_from_slice(&base.to_le_bytes());
        stat[16..].copy_from_slice(&inheriting.to_le_bytes());
        Ok(Answer::result(stat))
    }

    pub(super) fn file_stat(&mut self, number: u32) -> Result<Answer, Errno> {
        match self.descriptor(number)? {
            Open::Stream(_) => Ok(Answer::result([0; 64])),
            Open::Listener { .. } | Open::Connection { .. } => {
                let mut stat = [0; 64];
                stat[16] = SOCKET;
                Ok(Answer::result(stat))
            }
            Open::File { inode, .. } | Open::Directory { inode, .. } => Ok(self.stat(inode)),
            Open::Host { .. } => Err(Errno::BADF),
        }
    }

    pub(super) fn path_stat(&mut self, call: &Call) -> Result<Answer, Errno> {
        let inode = self.named(call)?;
        Ok(self.stat(inode))
    }

    /// The inode of the path that is the first of a call's texts.
    fn named(&mut self, call: &Call) -> Result<Ino, Errno> {
        let follow = call.follows();
        let directory = self.directory(call.small(0))?;
        let place = self.resolve(directory, call.text(0)?, follow)?;
        let inode = place.existing()?;
        if place.slash && !self.tree().is_directory(inode) {
            return Err(Errno::NOTDIR);
        }
        Ok(inode)
    }

    fn stat(&mut self, number: Ino) -> Answer {
        self.look(number);
        let tree = self.tree();
        let inode = tree.inode(number);
        let (links, size) = match &inode.node {
            Node::File(content) => (inode.links, content.bytes()),
            Node::Link(target) => (inode.links, target.len() as u64),
            // `.` is a link too, and so is the `..` of each directory in it.
            Node::Directory { entries, .. } => {
                let inner = entries.values().filter(|i| tree.is_directory(**i)).count() as u64;
                (if inode.links == 0 { 0 } else { 2 + inner }, 4096)
            }
        };
        let kind = tree.kind(number);
        let numbers = [1, number, kind.into(), links, size];
        let stat: Vec<u8> = numbers.iter().chain(&inode.times).flat_map(|n| n.to_le_bytes()).collect();
        Answer::result(stat)
    }

    pub(super) fn set_times(&mut self, call: &Call) -> Result<Answer, Errno> {
        let wanted = times(call, 1);
        match self.descriptor(call.small(0))? {
            Open::File { inode, .. } | Open::Directory { inode, .. } => Ok(self.stamp(inode, wanted)),
            _ => Err(Errno::BADF),
        }
    }

    pub(super) fn path_set_times(&mut self, call: &Call) -> Result<Answer, Errno> {
        let wanted = times(call, 2);
        let inode = self.named(call)?;
        Ok(self.stamp(inode, wanted))
    }

    fn stamp(&mut self, number: Ino, wanted: [Time; 2]) -> Answer {
        for (index, time) in wanted.into_iter().enumerate() {
            match time {
                Time::Keep => {}
                Time::Now => self.change(number).times[index] = self.now(),
                Time::Is(time) => self.change(number).times[index] = time,
            }
        }
        Answer::done()
    }
}

impl Tree {
    pub(super) fn kind(&self, number: Ino) -> u8 {
        match self.inode(number).node {
            Node::File(_) => REGULAR,
            Node::Directory { .. } => DIRECTORY,
            Node::Link(_) => LINK,
        }
    }
}

/// The flags of a socket.
fn nonblock(nonblocking: bool) -> u16 {
    if nonblocking { super::call::NONBLOCK } else { 0 }
}

#[derive(Clone, Copy)]
enum Time {
    Keep,
    Now,
    Is(u64),
}

/// The times of access and modification that a call sets, given by its numbers from index `from` on.
fn times(call: &Call, from: usize) -> [Time; 2] {
    let flags = call.small(from + 2);
    let time = |given: u32, now: u32, time: u64| match () {
        () if flags & given != 0 => Time::Is(time),
        () if flags & now != 0 => Time::Now,
        () => Time::Keep,
    };
    [time(ATIM, ATIM_NOW, call.number(from)), time(MTIM, MTIM_NOW, call.number(from + 1))]
}
