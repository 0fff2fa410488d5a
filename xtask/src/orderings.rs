//! `cargo xtask orderings`: the lines of Rust's `atomic.rs` for each installed release.
//!
//! A release is added by installing it: `rustup toolchain install 1.95.0 --profile minimal --component rust-src`.
//! Releases that are committed but not installed are kept.

use crate::files;
use anyhow::{Result, bail};
use coyote_orderings::releases::{self, Release};
use coyote_orderings::toolchain;
use std::cmp::Reverse;

const PATH: &str = "orderings/src/releases.txt";

/// Adds the memory orderings of installed Rust releases to orderings/src/releases.txt
#[derive(clap::Args)]
pub struct Arguments {
    /// Change nothing; fail if an installed release differs from what is committed
    #[arg(long)]
    check: bool,
}

pub fn run(arguments: &Arguments) -> Result<()> {
    let mut known: Vec<Release> = releases::committed().to_vec();
    for sysroot in toolchain::installed() {
        // Nightlies are not committed: they are read where they are installed.
        let Some(release) = toolchain::release(&sysroot)?.filter(|r| version(&r.version).is_some()) else {
            continue;
        };
        println!("rustc {}: {} arms", release.version, release.table.arms.len());
        let committed = known.iter().find(|other| other.commit == release.commit);
        if arguments.check && committed.is_some_and(|other| other.table != release.table) {
            bail!("{PATH} differs from the source of rustc {}", release.version);
        }
        known.retain(|other| other.commit != release.commit);
        known.push(release);
    }
    known.sort_by_key(|release| Reverse(version(&release.version)));
    if !arguments.check {
        files::write(&files::root().join(PATH), releases::write(&known))?;
    }
    Ok(())
}

/// The three numbers of a stable release.
fn version(text: &str) -> Option<[u32; 3]> {
    let numbers: Option<Vec<u32>> = text.split('.').map(|number| number.parse().ok()).collect();
    numbers?.try_into().ok()
}
