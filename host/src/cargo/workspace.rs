//! Cargo's metadata of the packages that it is about to build.

use crate::toolchain;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Cargo's description of a workspace; only the fields that are used here.
#[derive(Deserialize)]
pub struct Metadata {
    pub packages: Vec<Package>,
    pub workspace_members: BTreeSet<String>,
    pub workspace_root: PathBuf,
    pub target_directory: PathBuf,
    pub resolve: Resolve,
}

#[derive(Deserialize)]
pub struct Package {
    pub id: String,
    pub name: String,
    pub version: String,
    pub source: Option<String>,
    pub manifest_path: PathBuf,
    pub features: BTreeMap<String, Vec<String>>,
    pub targets: Vec<Target>,
}

#[derive(Deserialize)]
pub struct Target {
    pub kind: Vec<String>,
    pub src_path: PathBuf,
}

#[derive(Deserialize)]
pub struct Resolve {
    pub nodes: Vec<Node>,
}

#[derive(Deserialize)]
pub struct Node {
    pub id: String,
    pub features: BTreeSet<String>,
    pub deps: Vec<Edge>,
}

#[derive(Deserialize)]
pub struct Edge {
    /// The dependency's name in the sources.
    pub name: String,
    pub pkg: String,
    pub dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
pub struct Kind {
    pub kind: Option<String>,
}

impl Metadata {
    /// Cargo's metadata of the workspace, with these arguments. `None` if cargo fails: its build then fails as well,
    /// with the reason.
    pub fn of(arguments: &[&str], target: &str) -> Option<Metadata> {
        let mut cargo = toolchain::cargo();
        cargo.args(["metadata", "--format-version", "1", "--filter-platform", target]);
        let mut rest = arguments.iter();
        while let Some(argument) = rest.next() {
            match *argument {
                "--manifest-path" | "--config" => {
                    cargo.arg(argument).args(rest.next());
                }
                "--offline" => {
                    cargo.arg(argument);
                }
                text if text.starts_with("--manifest-path=") || text.starts_with("--config=") => {
                    cargo.arg(text);
                }
                _ => {}
            }
        }
        serde_json::from_slice(&cargo.output().ok()?.stdout).ok()
    }

    /// Whether a package of this name is built without a feature.
    pub fn has_without(&self, name: &str, feature: &str) -> bool {
        let named = |id: &str| self.packages.iter().any(|package| package.id == id && package.name == name);
        self.resolve.nodes.iter().any(|node| !node.features.contains(feature) && named(&node.id))
    }
}
