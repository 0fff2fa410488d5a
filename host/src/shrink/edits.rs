//! What is tried to make a preference lighter: each edit makes one of another.

use coyote_strategies::{Preference, Segment, WorkerPath};
use std::collections::BTreeSet;

/// Without some segments: their workers do what was to be done there when they go on, if at all.
pub fn without(preference: &Preference, from: usize, count: usize) -> Preference {
    let mut edited = preference.clone();
    edited.segments.drain(from..from + count);
    edited
}

/// A worker is not left here: it goes on to where one of its later segments ends, or as far as it can, and is not started
/// in between. The nearest end first, at most `max`.
pub fn going_on(preference: &Preference, at: usize, max: usize) -> Vec<Preference> {
    let Segment::Run { worker, until } = &preference.segments[at] else { return Vec::new() };
    let end = |segment: &Segment| match segment {
        Segment::Run { worker: other, until } if other == worker => Some(*until),
        _ => None,
    };
    let ends = preference.segments[at + 1..].iter().filter_map(end).chain([u64::MAX]);
    let to = |to: u64| {
        let skipped = |segment: &Segment| end(segment).is_some_and(|end| *until < end && end <= to);
        let mut edited = preference.clone();
        edited.segments.retain(|segment| !skipped(segment));
        // Nothing before it was taken out.
        edited.segments[at] = Segment::Run { worker: worker.clone(), until: to };
        edited
    };
    ends.filter(|end| end > until).take(max).map(to).collect()
}

/// A worker goes on as long as it can, and later from there. `None`: it does so already.
pub fn run_on(preference: &Preference, at: usize) -> Option<Preference> {
    let mut edited = preference.clone();
    match &mut edited.segments[at] {
        Segment::Run { until, .. } if *until != u64::MAX => *until = u64::MAX,
        _ => return None,
    }
    Some(edited)
}

/// A segment in another place.
pub fn moved(preference: &Preference, from: usize, to: usize) -> Preference {
    let mut edited = preference.clone();
    let segment = edited.segments.remove(from);
    edited.segments.insert(to, segment);
    edited
}

/// A worker's segment ends `steps` steps earlier. `None`: it does not have that many.
pub fn truncated(preference: &Preference, at: usize, steps: u64) -> Option<Preference> {
    if steps >= length(preference, at) {
        return None;
    }
    let mut edited = preference.clone();
    let Segment::Run { until, .. } = &mut edited.segments[at] else { return None };
    *until -= steps;
    Some(edited)
}

/// Most steps by which a segment is made longer.
const LONGER_MAX: u64 = 1 << 10;

/// A worker's segment ends later, by 1 step, 2, 4, ..
pub fn lengthened(preference: &Preference, at: usize) -> Vec<Preference> {
    let longer = |steps: u64| {
        let mut edited = preference.clone();
        let Segment::Run { until, .. } = &mut edited.segments[at] else { return None };
        *until = until.checked_add(steps)?;
        Some(edited)
    };
    (0..=LONGER_MAX.ilog2()).filter_map(|bit| longer(1 << bit)).collect()
}

/// Two workers change places.
pub fn exchanged(preference: &Preference, one: &WorkerPath, other: &WorkerPath) -> Preference {
    let mut edited = preference.clone();
    for segment in &mut edited.segments {
        let (Segment::Run { worker, .. } | Segment::Timeout { worker, .. }) = segment;
        if worker == one {
            worker.clone_from(other);
        } else if worker == other {
            worker.clone_from(one);
        }
    }
    let values = (edited.values.remove(one), edited.values.remove(other));
    edited.values.extend(values.0.map(|values| (other.clone(), values)));
    edited.values.extend(values.1.map(|values| (one.clone(), values)));
    edited
}

/// A worker's value is another one.
pub fn with_value(preference: &Preference, worker: &WorkerPath, nth: usize, value: u64) -> Preference {
    let mut edited = preference.clone();
    if let Some(old) = edited.values.get_mut(worker).and_then(|values| values.get_mut(nth)) {
        *old = value;
    }
    edited
}

/// Values below which all are tried; of larger ones some.
pub const ALL_BELOW: u64 = 64;

/// What is tried instead of a value, the smallest first.
pub fn smaller(value: u64) -> Vec<u64> {
    match value {
        0..=ALL_BELOW => (0..value).collect(),
        _ => (0..8).chain((3..value.ilog2()).map(|bit| 1 << bit)).chain([value / 2, value - 1]).collect(),
    }
}

/// The values that are not 0: worker, which one of its values, and what it is.
pub fn values(preference: &Preference) -> Vec<(WorkerPath, usize, u64)> {
    let all = preference.values.iter().flat_map(|(worker, values)| {
        values.iter().enumerate().map(|(nth, value)| (worker.clone(), nth, *value))
    });
    all.filter(|(_, _, value)| *value > 0).collect()
}

/// Workers that may change parts: each one of the schedule with those that the same worker created before it, the
/// lowest first; at most `max` pairs.
pub fn siblings(preference: &Preference, max: usize) -> Vec<(WorkerPath, WorkerPath)> {
    let workers: BTreeSet<&WorkerPath> = preference.segments.iter().map(Segment::worker).collect();
    let pairs = workers.into_iter().filter_map(|path| Some((path, path.0.split_last()?)));
    let pairs = pairs.flat_map(|(path, (last, parent))| {
        (0..*last).map(move |lower| {
            let lower = parent.iter().copied().chain([lower]).collect();
            (WorkerPath(lower), path.clone())
        })
    });
    pairs.take(max).collect()
}

/// How many steps of its worker a segment is for.
pub fn length(preference: &Preference, at: usize) -> u64 {
    let Segment::Run { worker, until } = &preference.segments[at] else { return 0 };
    let before = preference.segments[..at].iter().rev().find_map(|segment| match segment {
        Segment::Run { worker: other, until } if other == worker => Some(*until),
        _ => None,
    });
    until.saturating_sub(before.unwrap_or(0))
}
