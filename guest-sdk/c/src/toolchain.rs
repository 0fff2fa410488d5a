//! Finds clang and its library for WASI.

use crate::{Error, Language};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Older linkers do not know what the library needs (`--start-lib`).
pub const VERSION_MIN: u32 = 18;

/// Versions of clang, in the order of search; the SDK is tested with 19.
const VERSIONS: &[u32] = &[19, 22, 21, 20, 18];

/// The usual directory of a wasi-sdk.
const WASI_SDK: &str = "/opt/wasi-sdk";

/// The path of a wasi-sdk's library, relative to the directory of its programs.
const OWN_SYSROOT: &str = "../share/wasi-sysroot";

/// The directory of the library's headers on Debian and Ubuntu.
const DISTRIBUTION: &str = "/usr/include/wasm32-wasi";

/// Instructions for installing what is missing.
pub const INSTALL: &str = "on Debian and Ubuntu `apt-get install clang-19 lld-19 wasi-libc libclang-rt-19-dev-wasm32`, \
     for C++ also libc++-19-dev-wasm32 libc++abi-19-dev-wasm32; elsewhere set WASI_SDK_PATH to a wasi-sdk, or \
     COYOTE_CLANG to a clang";

/// A clang that can compile for WASI.
#[derive(Clone, Debug)]
pub struct Toolchain {
    /// The C compiler; the C++ compiler of the same version is in the same directory.
    pub clang: PathBuf,
    /// First line of `--version`.
    pub version: String,
    /// The value of `WASI_SYSROOT`; without it, clang searches its own directories.
    pub sysroot: Option<PathBuf>,
}

impl Toolchain {
    /// The clang that the environment names, that of a wasi-sdk, or the first in the PATH that is new
    /// enough. The error says what to install.
    ///
    /// # Errors
    /// No clang is there, or none is new enough; the text says which were seen and what to install.
    pub fn find() -> Result<Toolchain, Error> {
        let sysroot = variable("WASI_SYSROOT");
        let mut refused = Vec::new();
        for clang in candidates() {
            let Some((version, number)) = version(&clang) else { continue };
            if number >= VERSION_MIN {
                return Ok(Toolchain { clang, version, sysroot });
            }
            refused.push(format!("{} is version {number}", clang.display()));
        }
        let found = match refused.is_empty() {
            true => "no clang was found".to_string(),
            false => format!("{}, but {VERSION_MIN} is needed", refused.join(", ")),
        };
        Err(Error::new(format!("{found}: {INSTALL}")))
    }

    /// The compiler for a language.
    pub fn clang(&self, language: Language) -> PathBuf {
        let name = self.clang.file_name().unwrap_or_default().to_string_lossy();
        match language {
            Language::C => self.clang.clone(),
            Language::Cpp => self.clang.with_file_name(name.replacen("clang", "clang++", 1)),
        }
    }
}

impl Toolchain {
    /// The directories of the library's headers if clang must be given them: one before its own, one after.
    ///
    /// A clang of a distribution uses the headers of this machine for those that its library for WASI lacks.
    pub fn headers(&self, language: Language) -> (Option<PathBuf>, Option<PathBuf>) {
        let own = self.clang.parent().is_some_and(|bin| bin.join(OWN_SYSROOT).is_dir());
        let last = PathBuf::from(DISTRIBUTION);
        if self.sysroot.is_some() || own || !last.is_dir() {
            return (None, None);
        }
        (matches!(language, Language::Cpp).then(|| last.join("c++/v1")), Some(last))
    }
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn candidates() -> Vec<PathBuf> {
    if let Some(clang) = variable("COYOTE_CLANG") {
        return vec![clang];
    }
    if let Some(sdk) = variable("WASI_SDK_PATH") {
        return vec![sdk.join("bin/clang")];
    }
    let mut all: Vec<PathBuf> = VERSIONS.iter().map(|v| format!("clang-{v}").into()).collect();
    all.push(Path::new(WASI_SDK).join("bin/clang"));
    all.push("clang".into());
    all
}

/// First line and major number of `--version`, if it is a clang.
fn version(clang: &Path) -> Option<(String, u32)> {
    let output = Command::new(clang).arg("--version").output().ok()?;
    let line = String::from_utf8_lossy(&output.stdout).lines().next()?.to_string();
    let number = line.split("clang version ").nth(1)?.split('.').next()?.parse().ok()?;
    Some((line, number))
}
