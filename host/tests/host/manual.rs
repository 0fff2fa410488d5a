//! Completions of shells, and the manual: both are made from the command line's definition.

use super::process;

#[test]
fn shells_complete_every_subcommand_and_option() {
    let directory = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let ended = process::run(directory.path(), &["completions", shell]);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{shell}");
        for word in ["replay", "shrink", "doctor", "heap-points", "no-shrink"] {
            assert!(ended.stdout.contains(word), "{shell}: {word}");
        }
    }
    let unknown = process::run(directory.path(), &["completions", "tcsh"]);
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
    assert!(unknown.stderr.contains("[possible values: bash, elvish, fish, powershell, zsh]"), "{unknown:?}");
}

#[test]
fn every_subcommand_has_a_page() {
    let directory = tempfile::tempdir().unwrap();
    let ended = process::run(directory.path(), &["man", "pages/man1"]);
    assert_eq!((ended.code, ended.stdout.as_str(), ended.stderr.as_str()), (Some(0), "", ""));
    let read = |name: &str| {
        std::fs::read_to_string(directory.path().join("pages/man1").join(name)).unwrap_or_default()
    };
    for name in ["replay", "frontier", "dap", "shrink", "doctor", "instrument", "completions", "man"] {
        assert!(read("coyote-wasm.1").contains(&format!("coyote\\-wasm\\-{name}(1)")), "{name}");
        assert!(read(&format!("coyote-wasm-{name}.1")).contains(".SH SYNOPSIS"), "{name}");
    }
    assert!(read("coyote-wasm-test.1").contains("\\-\\-heap\\-points"));
    std::fs::write(directory.path().join("file"), "").unwrap();
    let refused = process::run(directory.path(), &["man", "file"]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.starts_with("error: cannot write the manual to file: "), "{refused:?}");
}
