//! Output that is compared word for word with a file.

use super::process::Ended;
use std::path::Path;

/// Compares with `golden/NAME.txt`, or rewrites the file under `COYOTE_BLESS=1`.
pub fn check(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host/golden").join(format!("{name}.txt"));
    if std::env::var_os("COYOTE_BLESS").is_some_and(|v| v == "1") {
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        actual == expected,
        "{name} differs from {}; COYOTE_BLESS=1 accepts what is now:\n{actual}",
        path.display()
    );
}

/// A process's end as text, without times.
pub fn text(ended: &Ended) -> String {
    let code = ended.code.map_or("none".into(), |c| c.to_string());
    format!("exit code {code}\n--- stdout\n{}--- stderr\n{}", ended.timeless(), ended.stderr)
}
