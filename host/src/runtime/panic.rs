//! Messages of Rust panics, which tell more than the trap or exit code that follows.
//!
//! std prints the message to standard error and then, where panics abort, executes `unreachable`:
//!
//! ```text
//! thread 'main' (1) panicked at src/lib.rs:3:5:
//! assertion `left == right` failed
//!   left: 1
//!  right: 2
//! note: run with `RUST_BACKTRACE=1` environment variable to display a backtrace
//! ```

use super::{Output, Stream};
use coyote_strategies::WorkerId;

/// The longest message that a verdict in one line shows.
const CHARACTERS_MAX: usize = 400;

/// The last panic's message and place, if a worker reported one, in one line.
pub fn last_words(output: &[Output], worker: Option<WorkerId>) -> Option<String> {
    let mine = output.iter().filter(|o| Some(o.worker) == worker && o.stream == Stream::Stderr);
    let said: Vec<u8> = mine.flat_map(|o| &o.text).copied().collect();
    let said = String::from_utf8_lossy(&said);
    let (_, last) = said.rsplit_once(" panicked at ")?;
    let mut lines = last.lines();
    let place = lines.next()?.trim_end_matches(':');
    let ends = |line: &&str| !line.starts_with("note: ") && *line != "stack backtrace:";
    let message: Vec<&str> = lines.take_while(ends).map(str::trim).filter(|line| !line.is_empty()).collect();
    let message: String = message.join(", ").chars().take(CHARACTERS_MAX).collect();
    Some(match message.is_empty() {
        true => format!("panicked at {place}"),
        false => format!("{message} ({place})"),
    })
}

/// What Rust's test harness says of a test with `#[should_panic]` that did not panic, or not with the expected message.
pub fn unmet_expectation(report: &[u8]) -> Option<String> {
    const NOTES: [&str; 3] = [
        "note: test did not panic as expected",
        "note: panic did not contain expected string",
        "note: expected panic with string value",
    ];
    let report = String::from_utf8_lossy(report);
    let begin = NOTES.iter().find_map(|note| report.find(note))?;
    let lines =
        report[begin + "note: ".len()..].lines().map(str::trim).take_while(|line| !line.is_empty()).take(3);
    Some(lines.collect::<Vec<_>>().join(", ").chars().take(CHARACTERS_MAX).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(by: u32, stream: Stream, text: &str) -> Output {
        Output { worker: WorkerId(by), step: 0, stream, text: text.into() }
    }

    #[test]
    fn expectations_of_panics() {
        let report = |note: &str| {
            format!(
                "\nfailures:\n\n---- t::a stdout ----\nnote: {note}\n\nfailures:\n    t::a\n\ntest result: FAILED. 0 passed"
            )
        };
        let said = |note: &str| unmet_expectation(report(note).as_bytes());
        let none = "test did not panic as expected at src/lib.rs:5:4";
        assert_eq!(said(none).as_deref(), Some(none));
        let other = "panic did not contain expected string\n      panic message: \"bang\"\n expected substring: \"boom\"";
        let told =
            "panic did not contain expected string, panic message: \"bang\", expected substring: \"boom\"";
        assert_eq!(said(other).as_deref(), Some(told));
        assert_eq!(said("run with `RUST_BACKTRACE=1`"), None);
    }

    #[test]
    fn message_and_place() {
        let one = WorkerId(1);
        let output = [
            said(1, Stream::Stderr, "\nthread 'main' (1) panicked at a.rs:1:2:\nfirst\n"),
            said(0, Stream::Stderr, "\nthread 'other' panicked at b.rs:1:2:\nanother's\n"),
            said(1, Stream::Stderr, "\nthread 'main' (1) panicked at src/lib.rs:3:5"),
            said(
                1,
                Stream::Stderr,
                ":\nassertion `left == right` failed\n  left: 1\n right: 2\nnote: run with",
            ),
            said(1, Stream::Stdout, " panicked at nothing:\n"),
        ];
        let message = "assertion `left == right` failed, left: 1, right: 2 (src/lib.rs:3:5)";
        assert_eq!(last_words(&output, Some(one)).unwrap(), message);
        assert_eq!(last_words(&output[..1], Some(one)).unwrap(), "first (a.rs:1:2)");
        assert_eq!(last_words(&output[4..], Some(one)), None);
        assert_eq!(last_words(&output, None), None);
        let silent = [said(1, Stream::Stderr, "thread 'x' panicked at c.rs:1:2:\n")];
        assert_eq!(last_words(&silent, Some(one)).unwrap(), "panicked at c.rs:1:2");
    }
}
