//! Headers, library and a stand-in for wasm-opt, written to a cache directory whose name is the hash of its contents.
//!
//! Several compilers may run at once: everything is first written under a temporary name, and then renamed.

use crate::toolchain::{INSTALL, Toolchain};
use crate::{Error, Language};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Path below the directory, and text.
type File = (&'static str, &'static str);

macro_rules! files {
    ($($path:literal),* $(,)?) => { &[$(($path, include_str!(concat!("../", $path)))),*] };
}

const FILES: &[File] = files![
    "include/__errno.h",
    "include/coyote.h",
    "include/coyote_linearize.h",
    "include/coyote_order.h",
    "include/coyote_raw.h",
    "include/coyote_shim.h",
    "include/coyote_task.h",
    "include/coyote_verifier.h",
    "include/malloc.h",
    "include/netdb.h",
    "include/pthread.h",
    "include/sched.h",
    "include/semaphore.h",
    "include/setjmp.h",
    "include/stdio.h",
    "include/stdlib.h",
    "include/threads.h",
    "include/unistd.h",
    "include/c++/__config_site",
    "include/c++/__coyote_span.h",
    "include/c++/barrier",
    "include/c++/iostream",
    "include/c++/latch",
    "include/c++/locale",
    "include/c++/mutex",
    "include/c++/semaphore",
    "include/c++/shared_mutex",
    "include/c++/__atomic/atomic_base.h",
    "include/c++/__atomic/atomic_sync.h",
    "bin/wasm-opt",
    "lib/library.h",
    "lib/atomic.c",
    "lib/attributes.c",
    "lib/exit.c",
    "lib/files.c",
    "lib/functions.c",
    "lib/guard.c",
    "lib/memory.c",
    "lib/objects.c",
    "lib/processors.c",
    "lib/report.c",
    "lib/rest.c",
    "lib/start.c",
    "lib/system.c",
    "lib/temporary.c",
    "lib/thread.c",
    "lib/values.c",
    "lib/verifier.c",
    "lib/aborts.cpp",
    "lib/exceptions.cpp",
    "lib/libcxx.cpp",
    "lib/libcxx_atomic.cpp",
    "lib/libcxx_exit.cpp",
    "lib/libcxx_streams.cpp",
    "cmake/coyote-wasm.cmake",
    "cmake/Platform/WASI.cmake",
];

/// The name that debug information gives the directory.
pub const NAME: &str = "/coyote-sdk";

/// The directory of programs.
const PROGRAMS: &str = "bin";

/// Headers, library and CMake files on disk.
pub struct Sdk {
    directory: PathBuf,
}

impl Sdk {
    /// Writes the files below the directory `cache`, unless they are there.
    ///
    /// # Errors
    /// A file cannot be written; the text names the variable that moves the cache.
    pub fn unpack(cache: &Path) -> Result<Sdk, Error> {
        let contents: Vec<&str> = FILES.iter().flat_map(|(path, text)| [*path, *text]).collect();
        let directory = cache.join(hash(&contents));
        once(&directory, |scratch| {
            for (path, text) in FILES {
                let path = scratch.join(path);
                write(&path, text).map_err(|e| {
                    Error::new(format!(
                        "{} cannot be written: {e}; COYOTE_CC_CACHE names another place",
                        path.display()
                    ))
                })?;
            }
            Ok(())
        })?;
        Ok(Sdk { directory })
    }

    /// The directory of the files: a folder of the cache, named by the hash of their contents.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The option that hides the path of the cache in debug information.
    pub fn renamed(&self) -> String {
        format!("-ffile-prefix-map={}={NAME}", self.directory.display())
    }

    /// The option by which clang finds the SDK's programs before any others.
    pub fn programs(&self) -> String {
        format!("-B{}", self.directory.join(PROGRAMS).display())
    }

    /// CMake's toolchain file.
    pub fn cmake(&self) -> PathBuf {
        self.directory.join("cmake/coyote-wasm.cmake")
    }

    /// The part of the library that is written in a language, as objects: compiled with those options,
    /// unless that was done before. Each is to be linked if something in it is needed.
    ///
    /// # Errors
    /// Clang did not start or rejected a source, with its words; or an object cannot be written.
    pub fn library(
        &self,
        toolchain: &Toolchain,
        language: Language,
        options: &[OsString],
    ) -> Result<Vec<PathBuf>, Error> {
        let (extension, flags) = match language {
            Language::C => (".c", C_FLAGS),
            Language::Cpp => (".cpp", CPP_FLAGS),
        };
        let sources = || FILES.iter().map(|(path, _)| *path).filter(|path| path.ends_with(extension));
        let clang = toolchain.clang(language);
        let mut key = vec![clang.to_string_lossy().into_owned(), toolchain.version.clone()];
        key.extend(options.iter().map(|o| o.to_string_lossy().into_owned()));
        key.extend(flags.iter().map(|flag| flag.to_string()));
        let directory = self.directory.join(hash(&key));
        let object = |directory: &Path, source: &str| {
            directory.join(Path::new(source).file_name().expect("it is a file")).with_extension("o")
        };
        once(&directory, |scratch| {
            std::fs::create_dir_all(scratch)
                .map_err(|e| Error::new(format!("{} cannot be made: {e}", scratch.display())))?;
            for source in sources() {
                let output = Command::new(&clang)
                    .args(options)
                    .arg(self.renamed())
                    .args(flags)
                    .args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-c"])
                    .arg(self.directory.join(source))
                    .arg("-o")
                    .arg(object(scratch, source))
                    .output()
                    .map_err(|e| Error::new(format!("{} cannot be run: {e}", clang.display())))?;
                if !output.status.success() {
                    return Err(Error::new(format!(
                        "{} cannot build for wasm32-wasi; is everything installed? {INSTALL}\n{}",
                        clang.display(),
                        String::from_utf8_lossy(&output.stderr).trim_end()
                    )));
                }
            }
            Ok(())
        })?;
        Ok(sources().map(|source| object(&directory, source)).collect())
    }
}

/// Calls of strlen would call the C library, whose accesses are scheduling points.
const C_FLAGS: &[&str] = &["-std=gnu17", "-fno-builtin-strlen"];
const CPP_FLAGS: &[&str] = &["-std=gnu++20"];

/// Writes a file in a directory that may not be there. Programs can be executed.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let parent = path.parent().expect("a file of the SDK lies in a directory");
    std::fs::create_dir_all(parent)?;
    std::fs::write(path, text)?;
    #[cfg(unix)]
    if parent.ends_with(PROGRAMS) {
        use std::os::unix::fs::PermissionsExt;
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755))?;
    }
    Ok(())
}

/// Makes a directory by filling another one and renaming it, unless it is there.
fn once(directory: &Path, fill: impl FnOnce(&Path) -> Result<(), Error>) -> Result<(), Error> {
    if directory.exists() {
        return Ok(());
    }
    // One for each compiler, also where several are in one process.
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let scratch = directory.with_extension(format!("{}-{number}.new", std::process::id()));
    let result = fill(&scratch).and_then(|()| match std::fs::rename(&scratch, directory) {
        // Another compiler was faster.
        Err(_) if directory.exists() => Ok(()),
        renamed => renamed.map_err(|e| Error::new(format!("{} cannot be made: {e}", directory.display()))),
    });
    if scratch.exists() {
        let _ = std::fs::remove_dir_all(&scratch);
    }
    result
}

/// The cache directory of this user's compilers.
pub fn cache() -> PathBuf {
    let variable = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    variable("COYOTE_CC_CACHE").unwrap_or_else(|| {
        variable("XDG_CACHE_HOME")
            .or_else(|| variable("LOCALAPPDATA"))
            .or_else(|| variable("HOME").map(|home| home.join(".cache")))
            .unwrap_or_else(std::env::temp_dir)
            .join("coyote-wasm/cc")
    })
}

/// FNV-1a of texts, with their lengths: names the SDK's own files, and offers no protection against others.
fn hash(texts: &[impl AsRef<str>]) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    for text in texts {
        let text = text.as_ref();
        for byte in (text.len() as u64).to_le_bytes().iter().chain(text.as_bytes()) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compilers_that_run_at_once_write_the_same() {
        let cache = tempfile::tempdir().unwrap();
        let directories: Vec<PathBuf> = std::thread::scope(|scope| {
            let unpack = || Sdk::unpack(cache.path()).unwrap().directory;
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(unpack)).collect();
            threads.into_iter().map(|t| t.join().unwrap()).collect()
        });
        assert!(directories.iter().all(|d| *d == directories[0]));
        for (path, text) in FILES {
            assert_eq!(std::fs::read_to_string(directories[0].join(path)).unwrap(), *text);
        }
        let left: Vec<_> = std::fs::read_dir(cache.path()).unwrap().collect();
        assert_eq!(left.len(), 1, "{left:?}");
    }

    /// A file that is not listed would be missing where the compiler is installed.
    #[test]
    fn every_file_is_part_of_the_compiler() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        for directory in
            ["bin", "include", "include/c++", "include/c++/__atomic", "lib", "cmake", "cmake/Platform"]
        {
            for entry in std::fs::read_dir(root.join(directory)).unwrap() {
                let path = entry.unwrap().path();
                let name = path.strip_prefix(root).unwrap().to_string_lossy().replace('\\', "/");
                let source = path.is_file() && !name.ends_with(".in");
                assert!(!source || FILES.iter().any(|(listed, _)| *listed == name), "{name} is not listed");
            }
        }
    }

    #[test]
    fn a_place_that_cannot_be_written_is_named() {
        let cache = tempfile::NamedTempFile::new().unwrap();
        let error = Sdk::unpack(cache.path()).err().unwrap().to_string();
        assert!(error.contains("COYOTE_CC_CACHE names another place"), "{error}");
    }
}
