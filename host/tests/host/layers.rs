//! What finds, what was found and what is told of it are layers: none knows those above it.

use std::path::{Path, PathBuf};

/// Folders of the host, from below, each with modules that it must not import.
const LAYERS: [(&str, &[&str]); 4] = [
    ("results", &["execution", "diagnose", "explore", "report", "tester", "cli"]),
    ("diagnose", &["explore", "report", "tester", "cli"]),
    ("explore", &["report", "tester", "cli"]),
    ("report", &["execution", "diagnose", "explore", "tester", "cli"]),
];

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn no_layer_knows_those_above() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut wrong = Vec::new();
    for (folder, forbidden) in LAYERS {
        let files = files(&source.join(folder));
        assert!(files.len() > 2, "{folder} has moved");
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let imports = forbidden.iter().filter(|module| {
                let path = format!("crate::{module}");
                // A link in documentation is no import.
                text.lines().any(|line| line.contains(&path) && !line.trim_start().starts_with("//"))
            });
            wrong.extend(imports.map(|module| format!("{} uses {module}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
