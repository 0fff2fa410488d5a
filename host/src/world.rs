//! The world outside of a test: its arguments, environment and files.
//!
//! Fixtures are copied into the guest's file system before anything is executed ([`World::open`]), so they are part of
//! the state in which every iteration starts. Traces name them with a hash of their content.

use crate::runtime::files::{Errno, FIRST_DESCRIPTOR, Files, Fixture};
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The descriptors below it can be listening sockets.
const LISTENERS_END: u32 = 1024;

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct World {
    /// Arguments, the program's name first.
    pub arguments: Vec<String>,
    /// Arguments with which a program starts again after a crash. If there are none, it gets the same arguments.
    pub restart_arguments: Vec<String>,
    /// Environment variables as `NAME=VALUE`.
    pub environment: Vec<String>,
    /// Directories whose content is copied.
    pub preloads: Vec<Mapping>,
    /// Directories of the host that the guest works in.
    pub directories: Vec<Mapping>,
    /// Descriptors that are listening sockets when tests begin.
    pub listeners: Vec<u32>,
    /// The files that exist when tests begin, once [`World::open`] has run.
    pub files: Files,
    /// A hash of the preloaded files in hexadecimal, if there are any.
    pub preload_hash: Option<String>,
}

/// A directory of the host, and its path in the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// The directory of the host.
    pub host: PathBuf,
    /// The directory's path in the guest.
    pub guest: String,
}

impl Mapping {
    /// Parses `HOST` or `HOST::GUEST`. Without a path of its own, the guest sees the directory under the host's path.
    pub fn parse(text: &str) -> Mapping {
        let (host, guest) = text.split_once("::").unwrap_or((text, text));
        Mapping { host: host.into(), guest: guest.into() }
    }
}

impl fmt::Display for Mapping {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}::{}", self.host.display(), self.guest)
    }
}

/// Why a directory cannot be given to the guest. This is no verdict on the guest.
#[derive(Debug, thiserror::Error)]
pub enum WorldError {
    /// The host cannot read a file or directory.
    #[error("cannot read {}", path.display())]
    Read {
        /// Its path.
        path: PathBuf,
        /// The host's error.
        source: io::Error,
    },
    /// There is no directory of this path.
    #[error("{} is no directory: give one that holds the files", .0.display())]
    NoDirectory(PathBuf),
    /// The guest's path of a directory leads above its root by too many `..`.
    #[error("the guest's path {0:?} leads above its root: give --preload HOST::GUEST")]
    Above(String),
    /// Something that cannot be copied, such as a socket.
    #[error("{} is {what}: remove it, or preload a copy without it", path.display())]
    Unsupported {
        /// Its path.
        path: PathBuf,
        /// What it is, such as `a socket`.
        what: &'static str,
    },
    /// The copies take more memory than the guest may have.
    #[error("{} does not fit into the {mib} MiB of --max-memory", path.display())]
    Space {
        /// The first file that does not fit.
        path: PathBuf,
        /// The limit in MiB.
        mib: u64,
    },
    /// Two directories put different files into the same place; the path is that of the second file.
    #[error("{} lies in the guest where another preloaded file is: preload them to different places", .0.display())]
    Twice(PathBuf),
    /// More directories than the guest can have file descriptors.
    #[error("too many directories")]
    Descriptors,
}

/// Parses the number of a descriptor for a listening socket.
///
/// # Errors
/// The text is no number of a descriptor, or that of a standard stream. The error says what to give.
pub fn parse_listener(text: &str) -> Result<u32, String> {
    let number = text.parse().ok().filter(|number| (FIRST_DESCRIPTOR..LISTENERS_END).contains(number));
    number.ok_or_else(|| {
        format!(
            "give the number of the descriptor that is to listen, {FIRST_DESCRIPTOR} to {}",
            LISTENERS_END - 1
        )
    })
}

impl World {
    /// Reads the preloaded directories and creates the files with which tests begin. These files and those that tests
    /// write may take `space` bytes together. Does not look at directories of the host.
    ///
    /// # Errors
    /// A directory cannot be copied completely, or its place in the guest is taken.
    pub fn open(&mut self, space: usize) -> Result<(), WorldError> {
        self.files = Files::new(space as u64);
        let mut reader =
            Reader { files: &mut self.files, hasher: blake3::Hasher::new(), space: space as u64 };
        for Mapping { host, guest } in &self.preloads {
            check_directory(host)?;
            reader.directory(host, &inside(guest)?, 0)?;
        }
        let hash = reader.hasher.finalize().to_hex().to_string();
        self.preload_hash = (!self.preloads.is_empty()).then_some(hash);
        for (number, Mapping { guest, .. }) in self.directories.iter().enumerate() {
            let descriptor = FIRST_DESCRIPTOR + number as u32;
            self.files.preopen_host(descriptor, guest).map_err(|_| WorldError::Descriptors)?;
        }
        self.files.listen(&self.listeners);
        Ok(())
    }

    /// Checks that the directories of the host exist.
    ///
    /// # Errors
    /// A path is not that of a directory.
    pub fn check_directories(&self) -> Result<(), WorldError> {
        self.directories.iter().try_for_each(|mapping| check_directory(&mapping.host))
    }
}

fn check_directory(path: &Path) -> Result<(), WorldError> {
    match fs::metadata(path).map_err(|source| read(path, source))?.is_dir() {
        true => Ok(()),
        false => Err(WorldError::NoDirectory(path.into())),
    }
}

fn read(path: &Path, source: io::Error) -> WorldError {
    WorldError::Read { path: path.to_path_buf(), source }
}

/// The guest's path from its root, without `.` and `..`.
fn inside(guest: &str) -> Result<String, WorldError> {
    let mut names = Vec::new();
    for name in guest.split('/').filter(|n| !matches!(*n, "" | ".")) {
        if name == ".." {
            names.pop().ok_or_else(|| WorldError::Above(guest.into()))?;
        } else {
            names.push(name);
        }
    }
    Ok(names.join("/"))
}

/// Copies directories, in the order of the names in them.
struct Reader<'a> {
    files: &'a mut Files,
    hasher: blake3::Hasher,
    space: u64,
}

impl Reader<'_> {
    /// `depth` is how far below the preloaded directory this one is.
    fn directory(&mut self, host: &Path, guest: &str, depth: usize) -> Result<(), WorldError> {
        self.add(host, guest, Fixture::Directory)?;
        let entries = fs::read_dir(host).map_err(|source| read(host, source))?;
        let names: Result<Vec<_>, _> = entries.map(|e| e.map(|e| e.file_name())).collect();
        let mut names = names.map_err(|source| read(host, source))?;
        names.sort();
        for name in names {
            let path = host.join(&name);
            let unsupported = |what| WorldError::Unsupported { path: path.clone(), what };
            let name = name.to_str().ok_or_else(|| unsupported("a name that is not UTF-8"))?;
            let guest = if guest.is_empty() { name.to_string() } else { format!("{guest}/{name}") };
            let kind = fs::symlink_metadata(&path).map_err(|source| read(&path, source))?.file_type();
            if kind.is_dir() {
                self.directory(&path, &guest, depth + 1)?;
            } else if kind.is_file() {
                let bytes = fs::read(&path).map_err(|source| read(&path, source))?;
                self.add(&path, &guest, Fixture::File(&bytes))?;
            } else if kind.is_symlink() {
                let target = fs::read_link(&path).map_err(|source| read(&path, source))?;
                let target = target.to_str().ok_or_else(|| unsupported("a link that is not UTF-8"))?;
                if leads_out(target, depth) {
                    return Err(unsupported("a link that leads out of the preloaded directory"));
                }
                self.add(&path, &guest, Fixture::Link(target))?;
            } else {
                return Err(unsupported("neither a file nor a directory"));
            }
        }
        Ok(())
    }

    fn add(&mut self, host: &Path, guest: &str, fixture: Fixture) -> Result<(), WorldError> {
        let (tag, bytes): (&[u8], &[u8]) = match &fixture {
            Fixture::Directory => (b"directory", b""),
            Fixture::File(bytes) => (b"file", bytes),
            Fixture::Link(target) => (b"link", target.as_bytes()),
        };
        for part in [guest.as_bytes(), tag, bytes] {
            self.hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        self.files.add_fixture(guest, fixture).map_err(|error| match error {
            Errno::NOSPC | Errno::FBIG => WorldError::Space { path: host.into(), mib: self.space >> 20 },
            _ => WorldError::Twice(host.into()),
        })
    }
}

/// Whether the target of a link that lies `depth` directories below the preloaded one is outside of it.
fn leads_out(target: &str, mut depth: usize) -> bool {
    for name in target.split('/').filter(|n| !matches!(*n, "" | ".")) {
        if name != ".." {
            depth += 1;
        } else if depth == 0 {
            return true;
        } else {
            depth -= 1;
        }
    }
    target.starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(host: &Path, guest: &str, space: usize) -> Result<(World, String), String> {
        let preload = Mapping { host: host.into(), guest: guest.into() };
        let mut world = World { preloads: vec![preload], ..World::default() };
        world.open(space).map_err(|e| e.to_string())?;
        let hash = world.preload_hash.clone();
        Ok((world, hash.expect("there is something to read")))
    }

    #[test]
    fn what_is_read_has_a_hash() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for dir in [one.path(), two.path()] {
            fs::create_dir(dir.join("sub")).unwrap();
            fs::write(dir.join("sub/b"), "B").unwrap();
            fs::write(dir.join("a"), "A").unwrap();
        }
        let (world, hash) = open(one.path(), "/data", 1 << 20).unwrap();
        assert_eq!((world.files, hash.clone()), {
            let (world, hash) = open(two.path(), "data/./x/..", 1 << 20).unwrap();
            (world.files, hash)
        });
        fs::write(two.path().join("sub/b"), "C").unwrap();
        assert_ne!(open(two.path(), "/data", 1 << 20).unwrap().1, hash);
        assert_ne!(open(one.path(), "/other", 1 << 20).unwrap().1, hash);
    }

    #[test]
    fn what_cannot_be_preloaded_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let error = |guest: &str, space| open(dir.path(), guest, space).unwrap_err();
        assert!(error("../x", 1 << 20).contains("leads above its root"));
        fs::write(dir.path().join("big"), vec![1; 9000]).unwrap();
        assert!(error("/", 8192).ends_with("big does not fit into the 0 MiB of --max-memory"));
        #[cfg(unix)]
        for target in ["/etc", "../x", "a/../../x"] {
            let link = dir.path().join("link");
            std::os::unix::fs::symlink(target, &link).unwrap();
            assert!(error("/", 1 << 20).contains("link that leads out"), "{target}");
            fs::remove_file(link).unwrap();
        }
        let file = open(&dir.path().join("big"), "/", 1 << 20).unwrap_err();
        assert!(file.contains("is no directory"), "{file}");
        let missing = open(&dir.path().join("missing"), "/", 1 << 20).unwrap_err();
        assert!(missing.starts_with("cannot read"), "{missing}");
    }
}
