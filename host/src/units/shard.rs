//! Shards: equal parts of some iterations.

use std::fmt;
use std::ops::Range;
use std::str::FromStr;

/// A shard `K/N`: the K-th of N parts, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    number: u64,
    of: u64,
}

impl Shard {
    /// Its range of `iterations` iterations, which count from 0. Parts follow each other, and their lengths differ by
    /// one at most. `None` if there are fewer iterations than parts.
    pub fn range(self, iterations: u64) -> Option<Range<u64>> {
        let before = |parts: u64| {
            let product = u128::from(iterations) * u128::from(parts);
            (product / u128::from(self.of)) as u64
        };
        (iterations >= self.of).then(|| before(self.number - 1)..before(self.number))
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Shard, String> {
        let numbers = text.split_once('/').and_then(|(k, n)| Some((k.parse().ok()?, n.parse().ok()?)));
        match numbers {
            Some((number, of)) if (1..=of).contains(&number) => Ok(Shard { number, of }),
            _ => Err("it is K/N, the K-th of N parts, with K from 1 to N".into()),
        }
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{}/{}", self.number, self.of)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every iteration is in one part, and the sizes of parts differ by at most one iteration.
    #[test]
    fn parts_are_a_cover() {
        for (iterations, of) in (0..50).flat_map(|i| (1..20).map(move |n| (i, n))).chain([(u64::MAX, 7)]) {
            let shards: Vec<Shard> = (1..=of).map(|k| format!("{k}/{of}").parse().unwrap()).collect();
            let ranges: Option<Vec<Range<u64>>> = shards.iter().map(|s| s.range(iterations)).collect();
            let Some(ranges) = ranges else {
                assert!(iterations < of);
                continue;
            };
            assert_eq!((ranges[0].start, ranges[ranges.len() - 1].end), (0, iterations));
            assert!(ranges.windows(2).all(|two| two[0].end == two[1].start));
            let lengths = ranges.iter().map(|range| range.end - range.start);
            assert!(lengths.clone().max().unwrap() - lengths.min().unwrap() <= 1);
        }
    }

    #[test]
    fn what_is_no_part_is_refused() {
        for text in ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b"] {
            assert!(text.parse::<Shard>().is_err(), "{text}");
        }
    }
}
