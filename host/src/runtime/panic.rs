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

#[cfg(test)]
mod tests {
    use super::*;

    fn said(by: u32, stream: Stream, text: &str) -> Output {
        Output { worker: WorkerId(by), step: 0, stream, text: text.into() }
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
