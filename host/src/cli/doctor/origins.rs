//! The crate's own dependencies through which a package comes, and the code that uses these.

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Folders of a package in which cargo looks for sources.
const FOLDERS: [&str; 4] = ["src", "tests", "benches", "examples"];

/// The origin of a package.
pub struct Origin {
    /// A clause that names the workspace's dev-dependencies that bring the package, and the folders that use them.
    pub clause: String,
    /// Whether only benches and examples use them, which `cargo coyote test` leaves out.
    pub left_out: bool,
}

/// The origin of a package that comes through dev-dependencies alone; `None` if it comes through another kind, too.
pub fn brought_by(metadata: &Value, package: &Value) -> Option<Origin> {
    let mut clauses = Vec::new();
    let mut left_out = true;
    for member in list(&metadata["workspace_members"]) {
        let node = list(&metadata["resolve"]["nodes"]).iter().find(|node| node["id"] == *member)?;
        let own = list(&metadata["packages"]).iter().find(|own| own["id"] == *member)?;
        for dependency in list(&node["deps"]) {
            if !reaches(metadata, &dependency["pkg"], package) {
                continue;
            }
            if list(&dependency["dep_kinds"]).iter().any(|kind| kind["kind"] != "dev") {
                return None;
            }
            let name = dependency["name"].as_str()?;
            let root = Path::new(own["manifest_path"].as_str()?).parent()?;
            let users: Vec<&str> =
                FOLDERS.into_iter().filter(|folder| mentions(&root.join(folder), name)).collect();
            left_out &= !users.iter().any(|folder| ["src", "tests"].contains(folder));
            let users = match users.as_slice() {
                [] => "which nothing mentions".to_string(),
                users => format!("which is used in {}", users.join(", ")),
            };
            clauses.push(format!("it comes with the dev-dependency {name}, {users}"));
        }
    }
    (!clauses.is_empty()).then(|| Origin { clause: clauses.join(" and "), left_out })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Whether a package is another one, or depends on it.
fn reaches(metadata: &Value, from: &Value, to: &Value) -> bool {
    let nodes = list(&metadata["resolve"]["nodes"]);
    let (mut seen, mut open) = (BTreeSet::new(), vec![from]);
    while let Some(package) = open.pop() {
        if package == to {
            return true;
        }
        if package.as_str().is_some_and(|id| seen.insert(id)) {
            let node = nodes.iter().find(|node| node["id"] == *package);
            let built = |found: &&Value| list(&found["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
            let found = node.into_iter().flat_map(|node| list(&node["deps"])).filter(built);
            open.extend(found.map(|found| &found["pkg"]));
        }
    }
    false
}

/// Whether the sources below a directory name a crate, outside of comment lines.
pub fn mentions(directory: &Path, name: &str) -> bool {
    let names_it = |line: &str| {
        let between = |c: char| !c.is_alphanumeric() && c != '_';
        !line.trim_start().starts_with("//") && line.split(between).any(|word| word == name)
    };
    let mut files = sources(directory).into_iter();
    files.any(|file| std::fs::read_to_string(file).is_ok_and(|text| text.lines().any(names_it)))
}

/// Rust sources below a directory, in the order of their names.
pub fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            files.extend(sources(&path));
        } else if path.extension().is_some_and(|e| e == "rs") {
            files.push(path);
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_dev_dependency_is_named_with_its_users() {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("src/lib.rs", "// as proptest does\nfn proptest_like() {}");
        write("tests/a.rs", "use proptest::prelude::*;");
        let edge = |to: &str, kind: Value| json!({"name": to, "pkg": to, "dep_kinds": [{"kind": kind}]});
        let metadata = |kind: Value| {
            json!({
                "workspace_members": ["me"],
                "packages": [{"id": "me", "manifest_path": directory.path().join("Cargo.toml")}],
                "resolve": {"nodes": [
                    {"id": "me", "deps": [edge("proptest", kind), edge("other", Value::Null)]},
                    {"id": "proptest", "deps": [edge("wait-timeout", Value::Null), edge("checked", json!("dev"))]},
                    {"id": "wait-timeout", "deps": []},
                    {"id": "checked", "deps": []},
                    {"id": "other", "deps": []},
                ]},
            })
        };
        let dev = metadata(json!("dev"));
        assert_eq!(
            brought_by(&dev, &json!("wait-timeout")).map(|origin| (origin.clause, origin.left_out)),
            Some(("it comes with the dev-dependency proptest, which is used in tests".into(), false))
        );
        assert!(brought_by(&dev, &json!("other")).is_none());
        assert!(brought_by(&dev, &json!("checked")).is_none(), "dependencies' tests are not built");
        assert!(brought_by(&metadata(Value::Null), &json!("wait-timeout")).is_none());
        std::fs::rename(directory.path().join("tests"), directory.path().join("benches")).unwrap();
        assert!(brought_by(&dev, &json!("wait-timeout")).unwrap().left_out);
    }
}
