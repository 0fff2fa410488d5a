//! The guest's files: a file system in memory that belongs to the state of the program.
//!
//! It is made for snapshots: a copy shares everything with the original until one of them writes, and hashes
//! of unchanged data are kept. The answer to a call follows from the state alone. Of a real directory that
//! the guest was given, only the descriptors are known here; [`crate::machine::wasi`] passes calls on to it.
//!
//! In the order of the data:
//! - `call`: a call and its answer as plain data.
//! - `session`: the state during one call, and the dispatch to its function.
//! - `path`: resolves a path to a place in the tree.
//! - `open`, `names`, `listing`: calls on paths.
//! - `descriptor`: calls on open descriptors.
//! - `stat`: information about files.
//! - `content`: the bytes of a file.
//! - [`sockets`]: sockets, which are descriptors too.
//! - [`disk`]: the state that a crash leaves, if there are crashes.
//! - `fixtures`: files that exist from the beginning.
//! - `errno`: error numbers.

mod call;
mod content;
mod descriptor;
pub mod disk;
mod errno;
mod fixtures;
mod listing;
mod names;
mod open;
mod path;
mod session;
pub mod sockets;
mod stat;

pub use call::{Answer, Call, Served};
pub use content::Content;
use disk::Disk;
pub use errno::Errno;
pub use fixtures::Fixture;
pub use session::Session;
use sockets::Sockets;

use crate::runtime::{REALTIME_NS, Stream};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::{Hash, Hasher};
use std::sync::{Arc, OnceLock};
use xxhash_rust::xxh3::Xxh3;

/// Number of a file or directory. 0 is none.
pub type Ino = u64;

/// The root directory's number.
pub const ROOT: Ino = 1;

/// The first descriptor that is not a standard stream.
pub const FIRST_DESCRIPTOR: u32 = 3;

/// Maximum number of open descriptors.
const DESCRIPTORS_MAX: usize = 4096;

/// The space that a file or directory takes beside its bytes.
const INODE_BYTES: u64 = 256;

/// Entries by the hash of their names, which is their place in listings: it does not change when other names
/// come and go.
type Entries = BTreeMap<(u64, Arc<str>), Ino>;

#[derive(Clone, Debug, Hash)]
enum Node {
    File(Content),
    Directory { entries: Entries, parent: Ino },
    Link(Arc<str>),
}

/// A file, directory or symbolic link.
#[derive(Clone, Debug)]
struct Inode {
    node: Node,
    /// Number of its names; 0 if it only exists because it is open.
    links: u64,
    /// Times of access, modification and creation, in nanoseconds of the real-time clock.
    times: [u64; 3],
    digest: OnceLock<u128>,
}

impl Inode {
    fn entries(&self) -> Result<&Entries, Errno> {
        match &self.node {
            Node::Directory { entries, .. } => Ok(entries),
            _ => Err(Errno::NOTDIR),
        }
    }

    fn digest(&self) -> u128 {
        *self.digest.get_or_init(|| {
            let mut hasher = Xxh3::new();
            (&self.node, self.links, self.times).hash(&mut hasher);
            hasher.digest128()
        })
    }
}

#[derive(Clone, Debug, Default)]
struct Tree {
    inodes: BTreeMap<Ino, Arc<Inode>>,
    next: Ino,
    /// Space that is taken, in bytes.
    taken: u64,
    digest: OnceLock<u128>,
}

/// The object that a descriptor stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Open {
    Stream(Standard),
    File {
        inode: Ino,
        position: u64,
        readable: bool,
        writable: bool,
        flags: u16,
    },
    Directory {
        inode: Ino,
        preopened: Option<Arc<str>>,
    },
    /// A listening socket, by its number.
    Listener {
        listener: u32,
        nonblocking: bool,
    },
    /// An end of a connection.
    Connection {
        connection: u32,
        end: usize,
        nonblocking: bool,
    },
    /// A descriptor of the host directories.
    Host {
        descriptor: u32,
        preopened: Option<Arc<str>>,
    },
}

/// The standard streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Standard {
    In,
    Out(Stream),
}

/// Open descriptors. A new one takes the greatest number that was closed, else the next: as in wasmtime.
#[derive(Clone, Debug, Default, Hash)]
struct Table {
    open: BTreeMap<u32, Open>,
    closed: BTreeSet<u32>,
}

impl Table {
    fn add(&mut self, open: Open) -> Result<u32, Errno> {
        if self.open.len() >= DESCRIPTORS_MAX {
            return Err(Errno::MFILE);
        }
        let next = self.open.last_key_value().map_or(0, |(last, _)| last.saturating_add(1));
        let number = self.closed.pop_last().unwrap_or(next);
        self.open.insert(number, open);
        Ok(number)
    }
}

/// See the module's documentation.
#[derive(Clone, Debug)]
pub struct Files {
    tree: Arc<Tree>,
    table: Arc<Table>,
    /// Bound on [`Tree::taken`].
    space: u64,
    /// All space that was ever wanted, whether there was room or not: what is taken is never more.
    wanted: u64,
    /// The state of the disk, with faults of class `crash`.
    disk: Option<Arc<Disk>>,
    sockets: Arc<Sockets>,
    /// What the present call did to sockets.
    socket_events: sockets::Events,
}

/// Compares states by hash, as fingerprints do.
impl PartialEq for Files {
    fn eq(&self, other: &Files) -> bool {
        self.space == other.space && self.digest() == other.digest()
    }
}

impl Eq for Files {}

impl Default for Files {
    fn default() -> Files {
        Files::new(64 << 20)
    }
}

impl Files {
    /// An empty root directory, opened as descriptor 3, behind the standard streams. `space` is a bound
    /// in bytes on all that is written.
    pub fn new(space: u64) -> Files {
        let mut files = Files {
            tree: Arc::default(),
            table: Arc::default(),
            space,
            wanted: INODE_BYTES,
            disk: None,
            sockets: Arc::default(),
            socket_events: sockets::Events::default(),
        };
        let tree = files.tree_mut();
        tree.next = ROOT;
        let root = tree.add(Node::Directory { entries: Entries::new(), parent: ROOT }, REALTIME_NS);
        tree.inode_mut(root).links = 1;
        let table = Arc::make_mut(&mut files.table);
        let standard =
            [Standard::In, Standard::Out(Stream::Stdout), Standard::Out(Stream::Stderr)].map(Open::Stream);
        for open in standard.into_iter().chain([Open::Directory { inode: root, preopened: Some("/".into()) }])
        {
            table.add(open).expect("there is room for a few");
        }
        files
    }

    /// Adds a directory of the host, which the host knows by this descriptor.
    pub fn preopen_host(&mut self, descriptor: u32, name: &str) -> Result<u32, Errno> {
        Arc::make_mut(&mut self.table).add(Open::Host { descriptor, preopened: Some(name.into()) })
    }

    /// Whether this descriptor is that of a file or directory: not of a stream, nor of a socket, nor closed.
    pub fn is_file(&self, descriptor: u32) -> bool {
        let open = self.table.open.contains_key(&descriptor);
        open && !self.is_stream(descriptor) && !self.is_socket(descriptor)
    }

    /// Whether this descriptor is a standard stream: calls on it are no scheduling points.
    pub fn is_stream(&self, descriptor: u32) -> bool {
        matches!(self.table.open.get(&descriptor), Some(Open::Stream(_)))
    }

    /// A hash of the state, without the bound on space.
    pub fn digest(&self) -> u128 {
        let tree = self.tree.digest.get_or_init(|| {
            let mut hasher = Xxh3::with_seed(1);
            hasher.write(&self.tree.next.to_le_bytes());
            for (number, inode) in &self.tree.inodes {
                (number, inode.digest()).hash(&mut hasher);
            }
            hasher.digest128()
        });
        let mut hasher = Xxh3::with_seed(2);
        (&self.table, &self.sockets).hash(&mut hasher);
        if let Some(disk) = &self.disk {
            disk.hash(&mut hasher);
        }
        tree.wrapping_add(hasher.digest128())
    }

    fn tree_mut(&mut self) -> &mut Tree {
        let tree = Arc::make_mut(&mut self.tree);
        tree.digest = OnceLock::new();
        tree
    }
}

impl Tree {
    /// Adds a node, to which no name refers yet.
    fn add(&mut self, node: Node, now_ns: u64) -> Ino {
        let number = self.next;
        self.next += 1;
        self.taken += INODE_BYTES;
        let inode = Inode { node, links: 0, times: [now_ns; 3], digest: OnceLock::new() };
        self.inodes.insert(number, Arc::new(inode));
        number
    }

    fn inode(&self, number: Ino) -> &Inode {
        &self.inodes[&number]
    }

    fn inode_mut(&mut self, number: Ino) -> &mut Inode {
        let inode = self.inodes.get_mut(&number).expect("whoever has the number keeps it alive");
        let inode = Arc::make_mut(inode);
        inode.digest = OnceLock::new();
        inode
    }

    fn entries_mut(&mut self, directory: Ino) -> &mut Entries {
        match &mut self.inode_mut(directory).node {
            Node::Directory { entries, .. } => entries,
            _ => unreachable!("this is a bug in coyote-wasm: a file has no entries"),
        }
    }

    fn remove(&mut self, number: Ino) {
        if let Some(inode) = self.inodes.remove(&number) {
            self.taken -= INODE_BYTES;
            if let Node::File(content) = &inode.node {
                self.taken -= content.space();
            }
        }
    }

    fn is_directory(&self, number: Ino) -> bool {
        matches!(self.inode(number).node, Node::Directory { .. })
    }
}

/// The key of a name in a directory.
fn key(name: &str) -> (u64, Arc<str>) {
    // The numbers 1 and 2 are those of `.` and `..` in listings.
    (xxhash_rust::xxh3::xxh3_64(name.as_bytes()).max(3), name.into())
}
