//! `cargo xtask dist`: the release files of one platform: an archive of the programs, completions, manual
//! pages and licences. The archive is unpacked again and tried. `wheel`: the programs for Python's installers.

mod wheel;

use crate::command::cargo;
use crate::files;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Build the released programs by the profile `dist`, and pack them into target/dist-archives
#[derive(clap::Args)]
pub struct Arguments {
    /// The platform [default: this one]
    #[arg(long, value_name = "TRIPLE")]
    target: Option<String>,
    /// Pack what is built already
    #[arg(long)]
    no_build: bool,
    /// Make a Python wheel of the programs too: needs Python with its packages pip and wheel
    #[arg(long)]
    wheel: bool,
}

/// The programs of the archive.
const PROGRAMS: &[&str] = &["coyote-wasm", "cargo-coyote", "coyote-cc", "coyote-cxx"];
/// Files of the repository that are included.
const BESIDE: &[&str] = &["README.md", "CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT"];
/// Completions, by the names under which shells look for them.
const COMPLETIONS: &[(&str, &str)] = &[
    ("bash", "coyote-wasm.bash"),
    ("zsh", "_coyote-wasm"),
    ("fish", "coyote-wasm.fish"),
    ("powershell", "_coyote-wasm.ps1"),
];

/// The name of a platform's archive, without `.tar.gz` or `.zip`; also the name of the folder in it.
pub fn name(version: &str, target: &str) -> String {
    format!("coyote-wasm-v{version}-{target}")
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let host = host()?;
    let target = arguments.target.as_deref().unwrap_or(&host);
    if !arguments.no_build {
        let mut build =
            vec!["build", "--profile", "dist", "--locked", "-p", "coyote-wasm", "-p", "coyote-cc", "--bins"];
        build.extend(arguments.target.iter().flat_map(|target| ["--target", target]));
        // Cargo keeps the symbols of packages that have options of their own in the profile.
        cargo(&build, &[("RUSTFLAGS", "-C strip=symbols".into())])?;
    }
    let built = match &arguments.target {
        Some(target) => files::target().join(target).join("dist"),
        None => files::target().join("dist"),
    };
    let archives = files::target().join("dist-archives");
    let version = version()?;
    let name = name(&version, target);
    let folder = archives.join(&name);
    fill(&folder, &built)?;
    let mut files = vec![pack(&archives, &name)?];
    if arguments.wheel {
        files.push(wheel::make(&folder, &archives, &version, target)?);
    }
    std::fs::remove_dir_all(&folder)?;
    try_out(&files[0], &name)?;
    for file in files {
        let bytes = std::fs::metadata(&file)?.len();
        println!("{}: {:.1} MB", file.display(), bytes as f64 / 1e6);
    }
    for program in PROGRAMS {
        let bytes = std::fs::metadata(built.join(executable(program)))?.len();
        println!("  {program}: {:.1} MB", bytes as f64 / 1e6);
    }
    Ok(())
}

/// The platform of this compiler.
fn host() -> Result<String> {
    let output = Command::new("rustc").arg("-vV").output().context("rustc cannot be started")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc names its platform")?.to_string())
}

/// The version of all packages, which are released together.
fn version() -> Result<String> {
    let manifest = files::read_text(&files::root().join("Cargo.toml"))?;
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = \"")?.strip_suffix('"'));
    Ok(version.context("Cargo.toml has a version")?.to_string())
}

fn executable(program: &str) -> String {
    format!("{program}{}", std::env::consts::EXE_SUFFIX)
}

/// Copies everything that is packed into the folder.
fn fill(folder: &Path, built: &Path) -> Result<()> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder)?;
    let copy = |from: PathBuf, name: &str| -> Result<()> {
        std::fs::copy(&from, folder.join(name))
            .with_context(|| format!("{} cannot be copied", from.display()))?;
        Ok(())
    };
    for program in PROGRAMS {
        copy(built.join(executable(program)), &executable(program))?;
    }
    BESIDE.iter().try_for_each(|file| copy(files::root().join(file), file))?;
    let tool = folder.join(executable("coyote-wasm"));
    for (shell, file) in COMPLETIONS {
        files::write(&folder.join("completions").join(file), output(&tool, &["completions", shell])?)?;
    }
    let man = folder.join("man");
    output(&tool, &["man", man.to_str().context("a path is text")?])?;
    Ok(())
}

/// The output of a program.
fn output(program: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let output = Command::new(program).args(arguments).stderr(Stdio::inherit()).output();
    let output = output.with_context(|| format!("{} cannot be started", program.display()))?;
    ensure!(output.status.success(), "{} {} failed", program.display(), arguments.join(" "));
    Ok(output.stdout)
}

/// The tar of the system. The tar of Windows also writes zip files, but is not the first one on every PATH.
fn tar() -> PathBuf {
    match std::env::var_os("SystemRoot").filter(|_| cfg!(windows)) {
        Some(root) => PathBuf::from(root).join("System32").join("tar.exe"),
        None => "tar".into(),
    }
}

fn pack(archives: &Path, name: &str) -> Result<PathBuf> {
    let archive = format!("{name}{}", if cfg!(windows) { ".zip" } else { ".tar.gz" });
    // The format follows from the name of the file.
    let status = Command::new(tar()).args(["-a", "-cf", &archive, name]).current_dir(archives).status();
    ensure!(status.context("tar cannot be started")?.success(), "{archive} cannot be written");
    Ok(archives.join(archive))
}

/// Unpacks the archive in another directory, and finds a bug with the programs in it.
fn try_out(archive: &Path, name: &str) -> Result<()> {
    let directory = std::env::temp_dir().join(format!("coyote-dist-{}", std::process::id()));
    std::fs::create_dir_all(&directory)?;
    let result = find_bug(archive, name, &directory);
    std::fs::remove_dir_all(&directory)?;
    result
}

fn find_bug(archive: &Path, name: &str, directory: &Path) -> Result<()> {
    let archive = std::path::absolute(archive)?;
    let status = Command::new(tar()).arg("-xf").arg(&archive).current_dir(directory).status()?;
    ensure!(status.success(), "{} cannot be unpacked", archive.display());
    let unpacked = directory.join(name);
    for page in ["man/coyote-wasm.1", "man/coyote-wasm-test.1", "completions/_coyote-wasm", "LICENSE-MIT"] {
        ensure!(unpacked.join(page).is_file(), "{page} is missing in {}", archive.display());
    }
    output(&unpacked.join(executable("cargo-coyote")), &["coyote", "--help"])?;
    let module = files::root().join("examples/wasm/bounded_buffer.wasm");
    let mut test = Command::new(unpacked.join(executable("coyote-wasm")));
    test.arg("test").arg(module).args(["--test", "minimal", "--seed", "0", "--outdir"]).arg(directory);
    let output = test.stdout(Stdio::piped()).output()?;
    match output.status.code() {
        Some(2) => Ok(()),
        _ => bail!(
            "the packed program does not find the deadlock: {}",
            String::from_utf8_lossy(&output.stdout)
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::{name, version};
    use crate::files;

    /// The manifest, the action and this task agree about the names of archives.
    #[test]
    fn archives_are_found_by_their_names() {
        let manifest = files::read_text(&files::root().join("host/Cargo.toml")).unwrap();
        let url =
            manifest.lines().find_map(|line| line.strip_prefix("pkg-url = ")).expect("metadata of binstall");
        let file = url.trim_matches('"').rsplit('/').next().unwrap();
        let version = version().unwrap();
        let asked = file
            .replace("{ version }", &version)
            .replace("{ target }", "T")
            .replace("{ archive-suffix }", "");
        assert_eq!(asked, name(&version, "T"));
        let action = files::read_text(&files::root().join("action.yml")).unwrap();
        assert!(action.contains("--pattern \"coyote-wasm-*-$target.*\""), "the action asks for archives");
    }

    /// The action installs what the workflow releases.
    #[test]
    fn the_action_knows_released_platforms() {
        let workflow = files::read_text(&files::root().join(".github/workflows/release.yml")).unwrap();
        let action = files::read_text(&files::root().join("action.yml")).unwrap();
        let installed: Vec<&str> = action
            .lines()
            .filter_map(|line| line.trim().split_once(") target=")?.1.strip_suffix(" ;;"))
            .collect();
        assert!(installed.len() >= 5, "{installed:?}");
        for target in installed {
            assert!(workflow.contains(&format!("target: {target},")), "{target} is not released");
        }
    }
}
