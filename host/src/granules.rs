//! A set of granules of guest memory, and its representation in a trace.

use coyote_abi::rt::GRANULE;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt::{self, Write};
use std::str::FromStr;

/// Numbers of granules; granule `g` begins at address `64 g`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct Granules(pub BTreeSet<u32>);

/// The memory accesses of a guest that are scheduling points, for modules that ask at each access.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sharing {
    /// All accesses.
    #[default]
    All,
    /// Accesses of these granules, and of granules that turn out to be shared in the same iteration.
    Only(std::sync::Arc<Granules>),
}

/// Error: a text does not represent a set of granules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no ascending ranges of granules, such as 10-1f 40")]
pub struct NotGranules;

/// The number of the last granule of a 32-bit address space.
const LAST: u32 = u32::MAX / GRANULE;

impl FromIterator<u32> for Granules {
    fn from_iter<I: IntoIterator<Item = u32>>(granules: I) -> Granules {
        Granules(granules.into_iter().collect())
    }
}

/// Ranges in hexadecimal, ascending, with gaps between them: `10-1f 40`.
impl fmt::Display for Granules {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let mut granules = self.0.iter().copied().peekable();
        let mut first = true;
        while let Some(start) = granules.next() {
            let mut end = start;
            while let Some(next) = granules.next_if(|g| *g == end + 1) {
                end = next;
            }
            if !std::mem::take(&mut first) {
                f.write_char(' ')?;
            }
            write!(f, "{start:x}")?;
            if end > start {
                write!(f, "-{end:x}")?;
            }
        }
        Ok(())
    }
}

impl FromStr for Granules {
    type Err = NotGranules;

    fn from_str(text: &str) -> Result<Granules, NotGranules> {
        let mut granules = Granules::default();
        if text.is_empty() {
            return Ok(granules);
        }
        let mut least = 0;
        for range in text.split(' ') {
            let (start, end) = range.split_once('-').unwrap_or((range, range));
            let (start, end) = (number(start)?, number(end)?);
            // Each set has exactly one representation.
            if start < least || end < start || end > LAST || (range.contains('-') && start == end) {
                return Err(NotGranules);
            }
            granules.0.extend(start..=end);
            least = end + 2;
        }
        Ok(granules)
    }
}

impl From<Granules> for String {
    fn from(granules: Granules) -> String {
        granules.to_string()
    }
}

impl TryFrom<String> for Granules {
    type Error = NotGranules;

    fn try_from(text: String) -> Result<Granules, NotGranules> {
        text.parse()
    }
}

fn number(text: &str) -> Result<u32, NotGranules> {
    let plain = text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    let number = if plain { u32::from_str_radix(text, 16).ok() } else { None };
    number.filter(|_| text == "0" || !text.starts_with('0')).ok_or(NotGranules)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for (granules, text) in
            [(&[][..], ""), (&[0], "0"), (&[1, 2, 3, 5, LAST], "1-3 5 3ffffff"), (&[16, 18, 19], "10 12-13")]
        {
            let set = Granules(granules.iter().copied().collect());
            assert_eq!(set.to_string(), text);
            assert_eq!(text.parse(), Ok(set));
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        for text in
            [" ", "1 ", "1  2", "2 1", "1 1", "1 2", "1-1", "2-1", "01", "A", "+1", "4000000", "1-", "x"]
        {
            assert_eq!(text.parse::<Granules>(), Err(NotGranules), "{text:?}");
        }
    }
}
