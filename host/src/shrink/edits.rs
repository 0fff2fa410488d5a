//! The edits that may make a preference lighter: each creates one preference from another.

use coyote_strategies::{Preference, Segment, WorkerPath};
use std::collections::BTreeSet;

/// Removes some segments. Their workers execute the removed steps when they continue later, if at all.
pub fn without(preference: &Preference, from: usize, count: usize) -> Preference {
    let mut edited = preference.clone();
    edited.segments.drain(from..from + count);
    edited
}

/// Lets the worker of a segment continue to the end of one of its later segments, or as far as it can; its segments up
/// to there are removed. The nearest end is first, at most `max` ends.
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
        // The index is still valid, since nothing before it was removed.
        edited.segments[at] = Segment::Run { worker: worker.clone(), until: to };
        edited
    };
    ends.filter(|end| end > until).take(max).map(to).collect()
}

/// Lets a worker continue as long as it can; its later segments continue from there. `None`: it already does.
pub fn run_on(preference: &Preference, at: usize) -> Option<Preference> {
    let mut edited = preference.clone();
    match &mut edited.segments[at] {
        Segment::Run { until, .. } if *until != u64::MAX => *until = u64::MAX,
        _ => return None,
    }
    Some(edited)
}

/// Moves a segment to another place.
pub fn moved(preference: &Preference, from: usize, to: usize) -> Preference {
    let mut edited = preference.clone();
    let segment = edited.segments.remove(from);
    edited.segments.insert(to, segment);
    edited
}

/// Lets a worker's segment end `steps` steps earlier. `None`: the segment does not have more steps than that.
pub fn truncated(preference: &Preference, at: usize, steps: u64) -> Option<Preference> {
    if steps >= length(preference, at) {
        return None;
    }
    let mut edited = preference.clone();
    let Segment::Run { until, .. } = &mut edited.segments[at] else { return None };
    *until -= steps;
    Some(edited)
}

/// The maximum number of steps by which a segment is extended.
const LONGER_MAX: u64 = 1 << 10;

/// Lets a worker's segment end later, by 1, 2, 4, .. steps.
pub fn lengthened(preference: &Preference, at: usize) -> Vec<Preference> {
    let longer = |steps: u64| {
        let mut edited = preference.clone();
        let Segment::Run { until, .. } = &mut edited.segments[at] else { return None };
        *until = until.checked_add(steps)?;
        Some(edited)
    };
    (0..=LONGER_MAX.ilog2()).filter_map(|bit| longer(1 << bit)).collect()
}

/// Exchanges two workers.
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

/// Replaces a value of a worker.
pub fn with_value(preference: &Preference, worker: &WorkerPath, nth: usize, value: u64) -> Preference {
    let mut edited = preference.clone();
    if let Some(old) = edited.values.get_mut(worker).and_then(|values| values.get_mut(nth)) {
        *old = value;
    }
    edited
}

/// Instead of values up to this one, all smaller ones are tried; instead of larger ones only some.
pub const ALL_BELOW: u64 = 64;

/// The values that are tried instead of a value, the smallest first.
pub fn smaller(value: u64) -> Vec<u64> {
    match value {
        0..=ALL_BELOW => (0..value).collect(),
        _ => (0..8).chain((3..value.ilog2()).map(|bit| 1 << bit)).chain([value / 2, value - 1]).collect(),
    }
}

/// The values that are not 0: the worker, the index among its values, and the value.
pub fn values(preference: &Preference) -> Vec<(WorkerPath, usize, u64)> {
    let all = preference.values.iter().flat_map(|(worker, values)| {
        values.iter().enumerate().map(|(nth, value)| (worker.clone(), nth, *value))
    });
    all.filter(|(_, _, value)| *value > 0).collect()
}

/// Pairs of workers that may exchange their parts: each worker of the schedule with those that the same worker created
/// before it, the lowest first; at most `max` pairs.
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

/// The number of steps that a segment lets its worker execute.
pub fn length(preference: &Preference, at: usize) -> u64 {
    let Segment::Run { worker, until } = &preference.segments[at] else { return 0 };
    let before = preference.segments[..at].iter().rev().find_map(|segment| match segment {
        Segment::Run { worker: other, until } if other == worker => Some(*until),
        _ => None,
    });
    until.saturating_sub(before.unwrap_or(0))
}
