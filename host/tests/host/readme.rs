//! The README's first example is true.

use super::{guest, process};

/// The command is run as written, with the seed of CI, and its output contains every line that the README
/// shows, in that order.
#[test]
fn the_first_example_does_what_it_says() {
    let readme = std::fs::read_to_string(guest::root().join("README.md")).unwrap();
    let lines: Vec<&str> = readme.lines().collect();
    let code = |line: &str| line.strip_prefix("    ").map(str::to_string);
    let command = lines.iter().position(|l| l.starts_with("    cargo run --release -- test ")).unwrap();
    let arguments = code(lines[command]).unwrap();
    let arguments: Vec<&str> = arguments.split(' ').skip_while(|word| *word != "--").skip(1).collect();

    let shown = lines[command + 1..].iter().skip_while(|l| code(l).is_none());
    let shown: Vec<String> = shown.map_while(|l| code(l)).filter(|l| l.trim() != "...").collect();
    assert!(shown.len() >= 5 && shown[0].starts_with("bug in test"), "{shown:?}");

    let outdir = tempfile::tempdir().unwrap();
    let mut all = arguments.clone();
    all.extend(["--seed", "0", "--outdir", outdir.path().to_str().unwrap()]);
    let ended = process::run(guest::root(), &all);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let default = ended.stdout.replace(outdir.path().to_str().unwrap(), "coyote-output");
    let mut left = default.lines();
    for line in shown {
        assert!(
            left.any(|l| l == line),
            "the README shows a line that does not come, or not there: {line}\n{default}"
        );
    }
}
