//! The state during one call. What the call touches is recorded, object by object.

use super::disk::{Change, Origin};
use super::{Answer, Call, Errno, Files, Ino, Inode, Node, Open, Served, Tree, content};
use crate::runtime::Stream;
use crate::runtime::clock::Clock;
use crate::runtime::footprint::Footprint;
use crate::runtime::internal::Internal;
use crate::runtime::polled::SocketFault;
use coyote_strategies::{Class, Effect, WorkerId};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Objects of [`Class::File`] beside inodes: how they are numbered, and the space that is left.
const NUMBERS: u64 = 0;
const SPACE: u64 = u64::MAX;

/// The object of [`Class::Descriptor`] that says which numbers are taken.
const TABLE: u64 = u64::MAX;

/// See the module's documentation.
pub struct Session<'a> {
    pub files: &'a mut Files,
    pub clock: &'a mut Clock,
    pub footprint: &'a mut Footprint,
    /// The worker that calls, and the step.
    pub origin: Origin,
    /// The fault that was chosen for the call, if its descriptor is a socket.
    pub socket_fault: Option<SocketFault>,
    /// The output of the call.
    pub printed: Option<(Stream, Vec<u8>)>,
}

impl Session<'_> {
    /// Executes a call, or returns the call with which the host directories must be asked.
    pub fn serve(&mut self, call: &Call) -> Served {
        match call.check_flags().and_then(|()| self.for_host(call)) {
            Ok(Some(call)) => Served::ByHost(call),
            Ok(None) => Served::Here(self.execute(call).into()),
            Err(error) => Served::Here(Answer::error(error)),
        }
    }

    fn execute(&mut self, call: &Call) -> Result<Answer, Errno> {
        match call.function.name {
            "fd_advise" => self.advise(call),
            "fd_allocate" => self.allocate(call),
            "fd_close" => self.close(call.small(0)),
            "fd_datasync" => self.sync(call.small(0), true),
            "fd_fdstat_get" => self.descriptor_stat(call.small(0)),
            "fd_fdstat_set_flags" => self.set_flags(call.small(0), call.small(1)),
            "fd_fdstat_set_rights" => self.set_rights(call.small(0)),
            "fd_filestat_get" => self.file_stat(call.small(0)),
            "fd_filestat_set_size" => self.set_size(call.small(0), call.number(1)),
            "fd_filestat_set_times" => self.set_times(call),
            "fd_pread" => self.read(call, Some(call.number(1))),
            "fd_prestat_dir_name" => self.preopened_name(call),
            "fd_prestat_get" => self.preopened(call.small(0)),
            "fd_pwrite" => self.write(call, Some(call.number(1))),
            "fd_read" => self.read(call, None),
            "fd_readdir" => self.list(call),
            "fd_renumber" => self.renumber(call.small(0), call.small(1)),
            "fd_seek" => self.seek(call),
            "fd_sync" => self.sync(call.small(0), false),
            "fd_tell" => self.tell(call.small(0)),
            "fd_write" => self.write(call, None),
            "path_create_directory" => self.create_directory(call),
            "path_filestat_get" => self.path_stat(call),
            "path_filestat_set_times" => self.path_set_times(call),
            "path_link" => self.link(call),
            "path_open" => self.open(call),
            "path_readlink" => self.read_link(call),
            "path_remove_directory" => self.remove_directory(call),
            "path_rename" => self.rename(call),
            "path_symlink" => self.symlink(call),
            "path_unlink_file" => self.unlink(call),
            "sock_accept" => self.accept(call.small(0), call.small(1)),
            "sock_recv" => self.receive(call.small(0), call.room, call.small(1)).map(|data| {
                // No flag is set: a stream is not truncated.
                let result = [&(data.len() as u32).to_le_bytes()[..], &[0; 2]].concat();
                Answer { data, ..Answer::result(result) }
            }),
            "sock_send" => self.send(call.small(0), &call.inputs[0], call.small(1)).map(Answer::size),
            "sock_shutdown" => self.shut_down(call.small(0), call.small(1)),
            other => unreachable!("this is a bug in coyote-wasm: nobody serves {other}"),
        }
    }

    /// The call with the host's descriptors, if it is a call on host directories.
    fn for_host(&mut self, call: &Call) -> Result<Option<Call>, Errno> {
        if matches!(call.function.name, "fd_renumber" | "fd_prestat_get" | "fd_prestat_dir_name") {
            return Ok(None);
        }
        let mut translated = call.clone();
        let (mut theirs, mut ours) = (false, false);
        for index in call.descriptors() {
            match self.descriptor(call.small(index))? {
                Open::Host { descriptor, .. } => {
                    translated.numbers[index] = descriptor.into();
                    theirs = true;
                }
                _ => ours = true,
            }
        }
        match (theirs, ours) {
            (true, true) => Err(Errno::XDEV),
            (true, false) => {
                self.footprint.touch(Class::Other, Effect::Write, 0);
                Ok(Some(translated))
            }
            _ => Ok(None),
        }
    }

    /// Takes over the answer of the host directories to a call of the guest.
    pub fn host_answered(&mut self, call: &Call, answer: Answer) -> Answer {
        if answer.error.is_some() {
            return answer;
        }
        match call.function.name {
            "fd_close" => self.close(call.small(0)).into(),
            "path_open" => {
                let descriptor = answer.first_number();
                self.add_descriptor(Open::Host { descriptor, preopened: None }).into()
            }
            _ => answer,
        }
    }

    pub(super) fn tree(&self) -> &Tree {
        &self.files.tree
    }

    /// Reads the descriptor.
    pub(super) fn descriptor(&mut self, number: u32) -> Result<Open, Errno> {
        self.footprint.touch(Class::Descriptor, Effect::Read, number.into());
        self.files.table.open.get(&number).cloned().ok_or(Errno::BADF)
    }

    /// Changes the descriptor, which exists.
    pub(super) fn descriptor_mut(&mut self, number: u32) -> &mut Open {
        self.footprint.touch(Class::Descriptor, Effect::Write, number.into());
        let table = Arc::make_mut(&mut self.files.table);
        table.open.get_mut(&number).expect("it was read before")
    }

    /// The file of a descriptor.
    pub(super) fn file(&mut self, number: u32) -> Result<Ino, Errno> {
        match self.descriptor(number)? {
            Open::File { inode, .. } => Ok(inode),
            _ => Err(Errno::BADF),
        }
    }

    /// The directory of a descriptor.
    pub(super) fn directory(&mut self, number: u32) -> Result<Ino, Errno> {
        match self.descriptor(number)? {
            Open::Directory { inode, .. } => Ok(inode),
            _ => Err(Errno::BADF),
        }
    }

    pub(super) fn add_descriptor(&mut self, open: Open) -> Result<Answer, Errno> {
        self.footprint.touch(Class::Descriptor, Effect::Write, TABLE);
        let number = Arc::make_mut(&mut self.files.table).add(open)?;
        let opener = self.origin.worker;
        self.change_openers(|openers| opener.and_then(|opener| openers.insert(number, opener)));
        self.footprint.touch(Class::Descriptor, Effect::Write, number.into());
        Ok(Answer::size(number as usize))
    }

    /// Removes a descriptor, and the inode that only it kept alive.
    pub(super) fn close(&mut self, number: u32) -> Result<Answer, Errno> {
        self.footprint.touch(Class::Descriptor, Effect::Write, TABLE);
        self.footprint.touch(Class::Descriptor, Effect::Write, number.into());
        let table = Arc::make_mut(&mut self.files.table);
        let open = table.open.remove(&number).ok_or(Errno::BADF)?;
        table.closed.insert(number);
        self.change_openers(|openers| openers.remove(&number));
        self.close_socket(&open);
        if let Open::File { inode, .. } | Open::Directory { inode, .. } = open {
            self.drop_unused(inode);
        }
        Ok(Answer::done())
    }

    pub(super) fn renumber(&mut self, from: u32, to: u32) -> Result<Answer, Errno> {
        let open = self.descriptor(from)?;
        if matches!(self.descriptor(to)?, Open::Host { .. }) && from != to {
            // The descriptor would stay open on the host.
            return Err(Errno::NOTSUP);
        }
        if from != to {
            self.close(to)?;
            self.footprint.touch(Class::Descriptor, Effect::Write, from.into());
            let table = Arc::make_mut(&mut self.files.table);
            table.open.remove(&from);
            table.closed.insert(from);
            table.closed.remove(&to);
            table.open.insert(to, open);
            self.change_openers(|openers| {
                let opener = openers.remove(&from)?;
                openers.insert(to, opener)
            });
        }
        Ok(Answer::done())
    }

    /// Changes which worker opened which descriptor, if that matters.
    fn change_openers(&mut self, change: impl FnOnce(&mut BTreeMap<u32, WorkerId>) -> Option<WorkerId>) {
        if let Some(disk) = self.files.disk.as_mut().filter(|disk| disk.openers.is_some()) {
            let _before = Arc::make_mut(disk).openers.as_mut().and_then(change);
        }
    }

    /// Reads an inode.
    pub(super) fn look(&mut self, number: Ino) -> &Inode {
        self.footprint.touch(Class::File, Effect::Read, number);
        self.tree().inode(number)
    }

    /// Changes an inode.
    pub(super) fn change(&mut self, number: Ino) -> &mut Inode {
        self.footprint.touch(Class::File, Effect::Write, number);
        self.files.tree_mut().inode_mut(number)
    }

    /// Changes the bytes of a file and stamps it. `change` gets the space that is left, and takes at most `wanted` bytes
    /// of it.
    pub(super) fn change_content<R>(
        &mut self,
        number: Ino,
        wanted: u64,
        change: impl FnOnce(&mut content::Content, u64) -> Result<R, Errno>,
    ) -> Result<R, Errno> {
        let left = self.space_left(wanted);
        let now = self.now();
        self.footprint.touch(Class::File, Effect::Write, number);
        let tree = self.files.tree_mut();
        let inode = tree.inode_mut(number);
        let Node::File(content) = &mut inode.node else { return Err(Errno::ISDIR) };
        let before = content.space();
        let result = change(content, left);
        let after = content.space();
        if result.is_ok() {
            inode.times[1] = now;
        }
        tree.taken = tree.taken - before + after;
        result
    }

    /// Returns the space that is left, for a call that takes at most `wanted` bytes of it, or returns some. Such calls
    /// commute as long as there is room for all that was ever wanted; beyond that, the order may decide which worker gets
    /// the rest.
    pub(super) fn space_left(&mut self, wanted: u64) -> u64 {
        self.files.wanted = self.files.wanted.saturating_add(wanted);
        let effect = if self.files.wanted > self.files.space { Effect::Write } else { Effect::Read };
        self.footprint.touch(Class::File, effect, SPACE);
        self.files.space.saturating_sub(self.tree().taken)
    }

    /// Creates an inode under a name that is free.
    pub(super) fn create(&mut self, directory: Ino, name: &str, node: Node) -> Result<Ino, Errno> {
        if self.space_left(super::INODE_BYTES) < super::INODE_BYTES {
            return Err(Errno::NOSPC);
        }
        let now = self.now();
        self.footprint.touch(Class::File, Effect::Write, NUMBERS);
        let number = self.files.tree_mut().add(node.clone(), now);
        if let Some(disk) = &mut self.files.disk {
            Arc::make_mut(disk).made(number, &node);
        }
        self.name(directory, name, number);
        self.changed(|| Change::named(directory, name, number));
        Ok(number)
    }

    /// Gives an inode a name that is free.
    pub(super) fn name(&mut self, directory: Ino, name: &str, number: Ino) {
        let now = self.now();
        self.change(directory).times[1] = now;
        let tree = self.files.tree_mut();
        tree.entries_mut(directory).insert(super::key(name), number);
        self.change(number).links += 1;
        if let Node::Directory { parent, .. } = &mut self.change(number).node {
            *parent = directory;
        }
    }

    /// Removes a name, and the inode that only it kept alive.
    pub(super) fn unname(&mut self, directory: Ino, name: &str) {
        let now = self.now();
        self.change(directory).times[1] = now;
        let number = self.files.tree_mut().entries_mut(directory).remove(&super::key(name));
        let number = number.expect("the name was found before");
        self.change(number).links -= 1;
        self.drop_unused(number);
    }

    fn drop_unused(&mut self, number: Ino) {
        let is_it = |open: &Open| matches!(open, Open::File { inode, .. } | Open::Directory { inode, .. } if *inode == number);
        let open = self.files.table.open.values().any(is_it);
        if !open && self.look(number).links == 0 {
            self.space_left(0);
            self.change(number);
            self.files.tree_mut().remove(number);
        }
    }

    /// Records a change that a crash may lose: changes of different queues commute, but not with a crash.
    pub(super) fn changed(&mut self, change: impl FnOnce() -> Change) {
        if let Some(disk) = &mut self.files.disk {
            self.footprint.touch_internal(Effect::Read, Internal::Disk);
            Arc::make_mut(disk).changed(change(), self.origin.clone());
        }
    }

    /// Makes the changes of a file or directory durable.
    pub(super) fn sync(&mut self, number: u32, data_alone: bool) -> Result<Answer, Errno> {
        match self.descriptor(number)? {
            Open::File { inode, .. } => self.sync_inode(inode, data_alone),
            // Directories can be synced, as on Linux.
            Open::Directory { inode, .. } => self.sync_inode(inode, data_alone),
            _ => return Err(Errno::BADF),
        }
        Ok(Answer::done())
    }

    pub(super) fn sync_inode(&mut self, inode: Ino, data_alone: bool) {
        if let Some(disk) = &mut self.files.disk {
            // The durable state depends on all earlier changes, by any worker.
            self.footprint.touch_internal(Effect::Write, Internal::Disk);
            Arc::make_mut(disk).sync(inode, data_alone);
        }
    }

    /// The real-time clock, for a file's times.
    pub(super) fn now(&mut self) -> u64 {
        self.footprint.touch(Class::Clock, Effect::Read, 0);
        self.clock.stamp_ns()
    }
}
