//! Moments as rows: the important ones, one row for the actions of a worker in one line, with folded loops.

use super::moment::{Act, Got, Moment, Weight, in_line_of, is_same_line, wants_lock};
use super::polls::Lane;
use coyote_strategies::OpKind;
use std::collections::BTreeMap;

/// The maximum number of rows of a story.
const ROWS_MAX: usize = 15;

/// The number of rows that are kept at the beginning of a longer story.
const HEAD_ROWS: usize = 3;

/// The maximum number of rows in a loop's body.
const BODY_ROWS_MAX: usize = 4;

/// The minimum number of rounds of a loop.
const TIMES_MIN: u32 = 3;

/// Moments of one worker or task in one line, with none of another one in between.
#[derive(Clone, Debug)]
pub struct Group {
    pub lane: Lane,
    pub moments: Vec<Moment>,
    /// See [`StoryRow::repeats`](crate::results::StoryRow::repeats).
    pub repeats: Option<(usize, u32)>,
    /// The number of rows before it that were left out.
    pub skipped: usize,
}

impl Group {
    fn weight(&self) -> Weight {
        self.moments.iter().map(|moment| moment.weight).max().unwrap_or_default()
    }

    /// Whether a moment continues the group, and does not repeat it.
    fn takes(&self, moment: &Moment) -> bool {
        let Some(last) = self.moments.last() else { return true };
        let same = |other: &Moment| other.site == moment.site && other.act == moment.act;
        // A library that spins says the same in each round.
        let again = !moment.looks_in_library() && !moment.is_after && self.moments.iter().any(same);
        let of_task = [last, moment].iter().any(|moment| moment.is_after);
        if [last, moment].iter().all(|moment| matches!(moment.act, Act::Turn(_))) {
            return false;
        }
        let same_line = match (&last.line, &moment.line) {
            _ if of_task => in_line_of(last, moment),
            (Some(a), Some(b)) => is_same_line(a, b),
            _ => false,
        };
        last.lane() == moment.lane() && same_line && !again
    }

    /// Whether two groups have the same actions, with any values.
    fn is_like(&self, other: &Group) -> bool {
        let alike = |(a, b): (&Moment, &Moment)| a.site == b.site && a.act == b.act && a.wakes == b.wakes;
        self.lane == other.lane
            && self.moments.len() == other.moments.len()
            && self.moments.iter().zip(&other.moments).all(alike)
    }
}

/// The rows of a story, and the number of rows that were left out. `reserved`: the number of rows that are added later.
pub fn rows(moments: &[Moment], reserved: usize) -> (Vec<Group>, usize) {
    let max = ROWS_MAX.saturating_sub(reserved);
    let mut least = Weight::Library;
    let mut groups = grouped(moments, least);
    if groups.is_empty() {
        least = Weight::Background;
        groups = grouped(moments, least);
    }
    for more in [Weight::Lock, Weight::Shared, Weight::Waiting] {
        if groups.len() > max {
            let fewer = grouped(moments, more);
            // A story that consists only of waits explains nothing.
            let enough = if more == Weight::Waiting { 5.min(max / 2 + 1) } else { 1 };
            if fewer.len() >= enough {
                (groups, least) = (fewer, more);
            }
        }
    }
    let releases = hidden_releases(moments, least);
    if !releases.is_empty() {
        let mut moments = moments.to_vec();
        releases.into_iter().for_each(|at| moments[at].weight = least);
        let with_them = grouped(&moments, least);
        if with_them.len() <= max {
            groups = with_them;
        }
    }
    let left_out = groups.len().saturating_sub(max);
    if left_out > 0 {
        let important = |group: &Group| group.weight() == Weight::Subject;
        let dropped = HEAD_ROWS..HEAD_ROWS + left_out;
        let mut kept = Vec::new();
        let mut skipped = 0;
        for (at, mut group) in groups.into_iter().enumerate() {
            if dropped.contains(&at) && !(important(&group) && kept.len() < max) {
                skipped += 1;
                continue;
            }
            group.skipped = std::mem::take(&mut skipped);
            kept.push(group);
        }
        groups = kept;
    }
    (groups, left_out)
}

/// The indices of moments that are not shown and give back what another worker or task takes next: without them, a lock
/// would seem to be held by two. `least`: the weight of moments that are shown.
fn hidden_releases(moments: &[Moment], least: Weight) -> Vec<usize> {
    let mut releases = Vec::new();
    // Who was last seen to take each lock, and the moment in which he gives it back, if that is not shown.
    let mut taken: BTreeMap<u64, (Lane, Option<usize>)> = BTreeMap::new();
    for (at, moment) in moments.iter().enumerate() {
        let (lane, shown) = (moment.lane(), moment.weight >= least);
        let Act::Object { kind, address, got } = moment.act else { continue };
        match kind {
            // It gives back its mutex.
            OpKind::Wait if shown => taken.retain(|_, (by, _)| *by != lane),
            OpKind::Unlock | OpKind::RwUnlock => match taken.get_mut(&address) {
                Some((by, _)) if *by == lane && shown => drop(taken.remove(&address)),
                Some((by, release)) if *by == lane => *release = Some(at),
                _ => {}
            },
            _ if shown && (wants_lock(kind) || kind == OpKind::Relock) && got == Got::It => {
                if let Some((by, Some(release))) = taken.insert(address, (lane, None))
                    && by != lane
                {
                    releases.push(release);
                }
            }
            _ => {}
        }
    }
    releases
}

fn grouped(moments: &[Moment], least: Weight) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for moment in moments.iter().filter(|moment| moment.weight >= least) {
        match groups.last_mut() {
            Some(group) if group.takes(moment) => group.moments.push(moment.clone()),
            _ => groups.push(Group {
                lane: moment.lane(),
                moments: vec![moment.clone()],
                repeats: None,
                skipped: 0,
            }),
        }
    }
    folded(groups)
}

/// Folds loops into one round of their body.
fn folded(groups: Vec<Group>) -> Vec<Group> {
    let mut rows: Vec<Group> = Vec::new();
    let mut at = 0;
    while at < groups.len() {
        let times = |body: usize| {
            let round = |n: usize| groups.get(at + n * body..at + (n + 1) * body);
            let first = round(0)?;
            let alike =
                |n: &usize| round(*n).is_some_and(|other| first.iter().zip(other).all(|(a, b)| a.is_like(b)));
            Some(1 + (1..).take_while(alike).count() as u32)
        };
        let bodies = (1..=BODY_ROWS_MAX).filter_map(|body| Some((body, times(body)?)));
        match bodies
            .filter(|(_, times)| *times >= TIMES_MIN)
            .max_by_key(|(body, times)| body * *times as usize)
        {
            Some((body, times)) => {
                let last = at + body * (times as usize - 1);
                for n in 0..body {
                    let mut row = groups[at + n].clone();
                    // The results of the last round.
                    row.moments.extend(groups[last + n].moments.iter().cloned());
                    row.repeats = (n + 1 == body).then_some((body, times));
                    rows.push(row);
                }
                at += body * times as usize;
            }
            None => {
                rows.push(groups[at].clone());
                at += 1;
            }
        }
    }
    rows
}
