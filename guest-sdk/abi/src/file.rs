//! The functions of WASI preview 1 on descriptors, paths and sockets. A call is a scheduling point, unless it is about
//! a standard stream or only describes how the program was started.
//!
//! The instrumenter announces such a call ([`crate::rt::CALL`], [`crate::rt::SOCKET_CALL`]) and then makes it, of an
//! import of the same name and type in [`crate::rt::MODULE`]. The instrumenter and the host share the table of
//! arguments.

use crate::Type;

/// One argument, as preview 1 defines it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Param {
    /// A file descriptor.
    Descriptor,
    /// Flags or another small number.
    I32,
    /// An offset, a size, a time or rights.
    I64,
    /// Address and length of a text.
    Text,
    /// Address and length of a list of buffers that are read.
    Gather,
    /// Address and length of a list of buffers that are written.
    Scatter,
    /// Address and length of one buffer that is written.
    Buffer,
    /// Address of a result, with the size and the alignment of the result.
    Result {
        /// Size of the result.
        bytes: u32,
        /// Alignment of the address in bytes.
        align: u32,
    },
}

impl Param {
    /// The wasm parameters that stand for the argument.
    pub const fn types(self) -> &'static [Type] {
        match self {
            Param::Descriptor | Param::I32 | Param::Result { .. } => &[Type::I32],
            Param::I64 => &[Type::I64],
            Param::Text | Param::Gather | Param::Scatter | Param::Buffer => &[Type::I32; 2],
        }
    }
}

const SIZE: Param = Param::Result { bytes: 4, align: 4 };
const FLAGS: Param = Param::Result { bytes: 2, align: 2 };
const OFFSET: Param = Param::Result { bytes: 8, align: 8 };
const PRESTAT: Param = Param::Result { bytes: 8, align: 4 };
const FDSTAT: Param = Param::Result { bytes: 24, align: 8 };
const FILESTAT: Param = Param::Result { bytes: 64, align: 8 };

/// A function of WASI. Its result is an error number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileCall {
    /// The import's name in `wasi_snapshot_preview1`.
    pub name: &'static str,
    /// The arguments, in order.
    pub params: &'static [Param],
    /// Whether a call is a scheduling point. It is not if it only describes how the program was started.
    pub point: bool,
}

impl FileCall {
    /// The wasm parameters of the import.
    pub fn types(&self) -> impl Iterator<Item = Type> + '_ {
        self.params.iter().flat_map(|p| p.types().iter().copied())
    }

    /// The index of the wasm parameter that is the first descriptor.
    pub fn descriptor(&self) -> usize {
        let before = self.params.iter().take_while(|p| **p != Param::Descriptor);
        before.map(|p| p.types().len()).sum()
    }
}

/// Whether a fault of class `crash` can be injected before and after a call: before and after a sync, and after a
/// call that changes names or closes a file. A crash elsewhere leaves files that one of these crashes leaves, too.
pub fn crashes(name: &str) -> (bool, bool) {
    let syncs = matches!(name, "fd_sync" | "fd_datasync");
    let names = [
        "fd_close",
        "path_create_directory",
        "path_link",
        "path_remove_directory",
        "path_rename",
        "path_symlink",
        "path_unlink_file",
    ];
    (syncs, syncs || names.contains(&name))
}

/// Whether a call of the function may have to wait, if its descriptor is a socket; and whether the descriptor is
/// followed by a list of buffers.
pub fn waits(name: &str) -> Option<bool> {
    match name {
        "sock_accept" => Some(false),
        "fd_read" | "fd_write" | "sock_recv" | "sock_send" => Some(true),
        _ => None,
    }
}

/// Looks a function up by name.
pub fn call(name: &str) -> Option<&'static FileCall> {
    CALLS.iter().find(|c| c.name == name)
}

const fn file(name: &'static str, params: &'static [Param]) -> FileCall {
    FileCall { name, params, point: true }
}

const fn start(name: &'static str, params: &'static [Param]) -> FileCall {
    FileCall { name, params, point: false }
}

use Param::{Buffer, Descriptor, Gather, I32, I64, Scatter, Text};

/// All functions, sorted by name.
pub const CALLS: &[FileCall] = &[
    file("fd_advise", &[Descriptor, I64, I64, I32]),
    file("fd_allocate", &[Descriptor, I64, I64]),
    file("fd_close", &[Descriptor]),
    file("fd_datasync", &[Descriptor]),
    file("fd_fdstat_get", &[Descriptor, FDSTAT]),
    file("fd_fdstat_set_flags", &[Descriptor, I32]),
    file("fd_fdstat_set_rights", &[Descriptor, I64, I64]),
    file("fd_filestat_get", &[Descriptor, FILESTAT]),
    file("fd_filestat_set_size", &[Descriptor, I64]),
    file("fd_filestat_set_times", &[Descriptor, I64, I64, I32]),
    file("fd_pread", &[Descriptor, Scatter, I64, SIZE]),
    start("fd_prestat_dir_name", &[Descriptor, Buffer]),
    start("fd_prestat_get", &[Descriptor, PRESTAT]),
    file("fd_pwrite", &[Descriptor, Gather, I64, SIZE]),
    file("fd_read", &[Descriptor, Scatter, SIZE]),
    file("fd_readdir", &[Descriptor, Buffer, I64, SIZE]),
    file("fd_renumber", &[Descriptor, Descriptor]),
    file("fd_seek", &[Descriptor, I64, I32, OFFSET]),
    file("fd_sync", &[Descriptor]),
    file("fd_tell", &[Descriptor, OFFSET]),
    file("fd_write", &[Descriptor, Gather, SIZE]),
    file("path_create_directory", &[Descriptor, Text]),
    file("path_filestat_get", &[Descriptor, I32, Text, FILESTAT]),
    file("path_filestat_set_times", &[Descriptor, I32, Text, I64, I64, I32]),
    file("path_link", &[Descriptor, I32, Text, Descriptor, Text]),
    file("path_open", &[Descriptor, I32, Text, I32, I64, I64, I32, SIZE]),
    file("path_readlink", &[Descriptor, Text, Buffer, SIZE]),
    file("path_remove_directory", &[Descriptor, Text]),
    file("path_rename", &[Descriptor, Text, Descriptor, Text]),
    file("path_symlink", &[Text, Descriptor, Text]),
    file("path_unlink_file", &[Descriptor, Text]),
    file("sock_accept", &[Descriptor, I32, SIZE]),
    file("sock_recv", &[Descriptor, Scatter, I32, SIZE, FLAGS]),
    file("sock_send", &[Descriptor, Gather, I32, SIZE]),
    file("sock_shutdown", &[Descriptor, I32]),
];
