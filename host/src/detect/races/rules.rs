//! Rules for data races that were found: a bug, a note, or nothing since the race is known.

use crate::evidence::{RaceRemark, RacingAccess};
use crate::observe::GuestState;
use coyote_instrumenter::Location;
use coyote_instrumenter::names::without_generics;
use std::collections::BTreeMap;
use std::fmt;

/// A suppression of known races, by the names of functions or files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Suppression {
    /// A pattern in which `*` stands for any characters.
    glob: String,
}

/// The beginning of the text of a suppression.
const KIND: &str = "race:";

impl Suppression {
    /// Reads `race:GLOB`.
    pub fn parse(text: &str) -> Option<Suppression> {
        let glob = text.strip_prefix(KIND)?.trim();
        (!glob.is_empty()).then(|| Suppression { glob: glob.into() })
    }

    /// Reads the suppressions of a file: one a line; lines that are empty or begin with `#` are skipped.
    ///
    /// # Errors
    /// The first line that is no suppression, and its number.
    pub fn parse_all(text: &str) -> Result<Vec<Suppression>, String> {
        let lines = text.lines().map(str::trim).enumerate();
        let lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
        let wrong =
            |number, line| format!("line {}: `{line}` is no suppression, such as `race:GLOB`", number + 1);
        lines.map(|(number, line)| Suppression::parse(line).ok_or_else(|| wrong(number, line))).collect()
    }
}

impl fmt::Display for Suppression {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{KIND}{}", self.glob)
    }
}

/// Whether a text matches a pattern, in which `*` stands for any characters. Goes back only to the last `*`, so its
/// time is at most the product of both lengths.
fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if pattern.get(p) == Some(&b'*') {
            star = Some((p + 1, t));
            p += 1;
        } else if pattern.get(p) == Some(&text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((after, from)) = star {
            star = Some((after, from + 1));
            (p, t) = (after, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|c| *c == b'*')
}

/// Functions with races that the authors of their crates know and state in the source: accesses of the buffer of a deque
/// that are volatile instead of atomic (Chase and Lev's algorithm; the crate's own CI suppresses them for
/// ThreadSanitizer), and optimistic reads of a cell, which are thrown away if a sequence lock shows a write. The blocks
/// that crossbeam-epoch collects are free by the release sequences of C++11, which C++20 shortened: a thread that pins
/// again hides that it has unpinned. Programs that depend on these crates, such as users of rayon, could not do anything
/// about them.
const KNOWN: [&str; 4] = [
    "*crossbeam_epoch::internal::Global::collect*",
    "*crossbeam_deque::deque::Buffer<*>::read*",
    "*crossbeam_deque::deque::Buffer<*>::write*",
    "*crossbeam_utils::atomic::atomic_cell::atomic_load*",
];

/// The executions that are watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watched {
    /// All.
    #[default]
    All,
    /// Iterations of samplers that [`crate::explore::watching::is_watched`] selects, if the detector can see anything
    /// in the module; no executions of searches.
    Some,
}

/// The treatment of races.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// The iterations in which races are searched for.
    pub watched: Watched,
    /// Whether races are notes and no bugs.
    pub warn: bool,
    /// Suppressions of known races, which are no bugs: the first one that matches counts.
    pub suppressions: Vec<Suppression>,
}

/// Races that are no bugs: each pair of locations once, whichever comes first.
#[derive(Clone, Debug, Default)]
pub struct Remarks(BTreeMap<[Option<Location>; 2], RaceRemark>);

impl Remarks {
    pub fn all(&self) -> Vec<RaceRemark> {
        self.0.values().cloned().collect()
    }

    /// Whether a race is no bug by these rules. It is then kept for the report. `callers`: where what the second access
    /// is a part of was called; a suppression may name it.
    pub fn take(
        &mut self,
        rules: &Rules,
        state: &GuestState<'_>,
        accesses: [&RacingAccess; 2],
        callers: &[Location],
    ) -> bool {
        let key = RaceRemark::key(accesses);
        if self.0.contains_key(&key) {
            return true;
        }
        let places = accesses.iter().filter_map(|access| access.location).chain(callers.iter().copied());
        let mut names: Vec<String> = places.flat_map(|place| state.names(place)).collect();
        // What one compiler calls `T::method` is `<T>::method` for another one.
        let plain: Vec<String> = names.iter().map(|name| without_generics(name)).collect();
        names.extend(plain);
        let matching = |glob: &str| names.iter().any(|name| matches(glob.as_bytes(), name.as_bytes()));
        let given = rules.suppressions.iter().find(|s| matching(&s.glob)).map(Suppression::to_string);
        let built_in =
            || KNOWN.iter().find(|glob| matching(glob)).map(|glob| format!("{KIND}{glob} (built in)"));
        let known = given.or_else(built_in);
        if known.is_none() && !rules.warn {
            return false;
        }
        let [first, second] = accesses.map(Clone::clone);
        self.0.insert(key, RaceRemark { first, second, suppressed_by: known });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars_stand_for_any_characters() {
        for (pattern, text) in
            [("*", ""), ("a*", "abc"), ("*c", "abc"), ("a*c*", "aXcY"), ("*ab*b", "aab_ab"), ("a::b", "a::b")]
        {
            assert!(matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
        for (pattern, text) in [("", "a"), ("a", "ab"), ("a*c", "acb"), ("*ab*ab", "ab"), ("b*", "ab")] {
            assert!(!matches(pattern.as_bytes(), text.as_bytes()), "{pattern} {text}");
        }
    }

    #[test]
    fn files_have_a_suppression_a_line() {
        let read = Suppression::parse_all("# known\n\n  race:a::*  \nrace:*/b.c\n").unwrap();
        assert_eq!(read.iter().map(Suppression::to_string).collect::<Vec<_>>(), ["race:a::*", "race:*/b.c"]);
        let error = Suppression::parse_all("race:a\nleak:b\n").unwrap_err();
        assert!(error.starts_with("line 2: `leak:b`"), "{error}");
        assert!(Suppression::parse("race:").is_none() && Suppression::parse("a").is_none());
    }
}
