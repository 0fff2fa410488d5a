//! The beginnings of executions, which share their common parts.
//!
//! Stored work consists of many paths with common beginnings: as separate lists, a thousand executions of a
//! bounding search need 50 MB; as a tree that branches only where paths differ, a hundredth of that.

use crate::system::Decision;
use std::fmt;
use std::sync::Arc;

/// Decisions from the start of a program. Cloning takes no memory, nor does the part that another prefix
/// contributed by [`Prefix::then`].
#[derive(Clone, Default)]
pub struct Prefix(Option<Arc<Segment>>);

struct Segment {
    before: Prefix,
    /// Never empty.
    decisions: Box<[Decision]>,
    /// Decisions up to the end of this segment.
    len: usize,
}

impl Prefix {
    /// How many decisions there are.
    pub fn len(&self) -> usize {
        self.0.as_ref().map_or(0, |segment| segment.len)
    }

    /// Whether it is the start of the program.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// This prefix followed by more decisions.
    #[must_use]
    pub fn then(&self, decisions: &[Decision]) -> Prefix {
        if decisions.is_empty() {
            return self.clone();
        }
        let len = self.len() + decisions.len();
        Prefix(Some(Arc::new(Segment { before: self.clone(), decisions: decisions.into(), len })))
    }

    /// The decisions in one list.
    pub fn to_vec(&self) -> Vec<Decision> {
        let mut all = Vec::with_capacity(self.len());
        self.chain().iter().for_each(|prefix| all.extend(prefix.last_segment()));
        all
    }

    /// The prefixes that this one was made from by [`Prefix::then`], the shortest first, including itself,
    /// but without the empty one.
    pub fn chain(&self) -> Vec<Prefix> {
        let mut chain: Vec<Prefix> = std::iter::successors(Some(self), |prefix| prefix.before())
            .take_while(|prefix| !prefix.is_empty())
            .cloned()
            .collect();
        chain.reverse();
        chain
    }

    /// The prefix that it was made from; `None` for the empty prefix.
    pub fn before(&self) -> Option<&Prefix> {
        self.0.as_deref().map(|segment| &segment.before)
    }

    /// The decisions that were added to that prefix.
    pub fn last_segment(&self) -> &[Decision] {
        self.0.as_deref().map_or(&[], |segment| &segment.decisions)
    }

    /// Equal for clones, and different from all other prefixes that exist; 0 for the empty one.
    pub fn id(&self) -> usize {
        self.0.as_ref().map_or(0, |segment| Arc::as_ptr(segment).addr())
    }
}

/// A prefix can have as many segments as decisions: dropping them recursively would need as much stack.
impl Drop for Segment {
    fn drop(&mut self) {
        let mut before = std::mem::take(&mut self.before.0);
        while let Some(mut segment) = before.and_then(Arc::into_inner) {
            before = std::mem::take(&mut segment.before.0);
        }
    }
}

impl PartialEq for Prefix {
    fn eq(&self, other: &Prefix) -> bool {
        self.id() == other.id() || self.len() == other.len() && self.to_vec() == other.to_vec()
    }
}

impl Eq for Prefix {}

impl fmt::Debug for Prefix {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_list().entries(self.to_vec()).finish()
    }
}

impl From<&[Decision]> for Prefix {
    fn from(decisions: &[Decision]) -> Prefix {
        Prefix::default().then(decisions)
    }
}

impl From<Vec<Decision>> for Prefix {
    fn from(decisions: Vec<Decision>) -> Prefix {
        Prefix::from(&decisions[..])
    }
}

/// Prefixes of a search's present path, so that the next prefix can share parts with them.
#[derive(Debug, Default)]
pub struct Prefixes(Vec<Prefix>);

impl Prefixes {
    /// Prefixes that share parts with this one.
    pub fn of_item(prefix: &Prefix) -> Prefixes {
        Prefixes(prefix.chain())
    }

    /// The path as a prefix.
    pub fn of(&mut self, path: &[Decision]) -> Prefix {
        let mut len = 0;
        let same = self.0.iter().take_while(|known| {
            let here = path.get(len..known.len());
            len = known.len();
            here == Some(known.last_segment())
        });
        let same = same.count();
        self.0.truncate(same);
        let known = self.0.last().cloned().unwrap_or_default();
        let prefix = known.then(&path[known.len()..]);
        if prefix.len() > known.len() {
            self.0.push(prefix.clone());
        }
        prefix
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Iteration;
    use crate::rng::ChoiceRng;

    fn values(values: &[u64]) -> Vec<Decision> {
        values.iter().map(|value| Decision::Value(*value)).collect()
    }

    #[test]
    fn paths_come_back_and_share() {
        let mut prefixes = Prefixes::default();
        let mut rng = ChoiceRng::new(Iteration { seed: 1, index: 0 });
        let mut path = Vec::new();
        let mut all = Vec::new();
        for _ in 0..1_000 {
            path.truncate(rng.below(path.len() as u64 + 1) as usize);
            path.extend((0..rng.below(5)).map(|_| Decision::Value(rng.below(3))));
            let prefix = prefixes.of(&path);
            assert_eq!((prefix.to_vec(), prefix.len()), (path.clone(), path.len()));
            assert_eq!(prefix, Prefix::from(&path[..]));
            all.push(prefix);
        }
        let segments: std::collections::BTreeSet<usize> =
            all.iter().flat_map(|prefix| prefix.chain()).map(|prefix| prefix.id()).collect();
        assert!(segments.len() <= all.len(), "no prefix adds more than one segment");
    }

    #[test]
    fn what_parts_is_different() {
        let mut prefixes = Prefixes::default();
        let (long, short) = (prefixes.of(&values(&[1, 2, 3])), prefixes.of(&values(&[1, 2])));
        let other = prefixes.of(&values(&[1, 2, 4]));
        assert!(long != short && long != other && short != other);
        assert_eq!(other.before().map(Prefix::id), Some(short.id()));
        assert_eq!(prefixes.of(&[]), Prefix::default());
    }

    /// One segment for each decision: dropped recursively, they would need 100 MB of stack.
    #[test]
    fn a_long_chain_is_dropped() {
        let mut prefix = Prefix::default();
        for value in 0..1_000_000 {
            prefix = prefix.then(&[Decision::Value(value)]);
        }
        drop(prefix);
    }
}
