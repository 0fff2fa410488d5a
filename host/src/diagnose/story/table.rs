//! The rows of a story with their columns and texts.

use super::moment::Act;
use super::polls::Lane;
use super::rows::Group;
use super::words::{self, Names};
use super::{short_name, source_text};
use crate::results::StoryRow;
use crate::symbols::Sources;
use coyote_strategies::WorkerId;
use std::collections::BTreeSet;

/// The workers and tasks that have rows, and the rows. `ends`: rows for what is never executed; `decisive`: the decisive step.
pub fn table(
    groups: &[Group],
    ends: Vec<(Lane, StoryRow)>,
    decisive: Option<u64>,
    names: &Names<'_>,
    sources: &mut Sources,
) -> (Vec<Lane>, Vec<StoryRow>) {
    let all = groups.iter().map(|group| group.lane).chain(ends.iter().map(|(lane, _)| *lane));
    let lanes: BTreeSet<Lane> = all.collect();
    let lanes: Vec<Lane> = lanes.into_iter().collect();
    let column = |lane: Lane| lanes.iter().position(|other| *other == lane);
    let of_group = |group: &Group| {
        let row = row(group, names, sources);
        let wakes = group.moments.iter().flat_map(|moment| &moment.wakes);
        StoryRow {
            worker: column(group.lane).expect("it is in a row"),
            wakes: wakes.filter_map(|id| column(Lane::Worker(*id))).collect(),
            decisive: decisive.is_some_and(|step| row.steps.is_some_and(|(a, b)| (a..=b).contains(&step))),
            ..row
        }
    };
    let mut rows: Vec<StoryRow> = groups.iter().map(of_group).collect();
    // What tasks do in the code after a step may be much.
    let of_task = |group: &Group| {
        group
            .moments
            .iter()
            .all(|moment| moment.is_after && !matches!(moment.act, Act::Allocates | Act::Frees))
    };
    let decisive = rows.iter().zip(groups).enumerate().filter(|(_, (row, _))| row.decisive).skip(1);
    let others: Vec<usize> = decisive.filter(|(_, (_, group))| of_task(group)).map(|(at, _)| at).collect();
    others.into_iter().for_each(|at| rows[at].decisive = false);
    drop_empty(&mut rows);
    let of_end = |(lane, row)| StoryRow { worker: column(lane).expect("it is in a row"), ..row };
    rows.extend(ends.into_iter().map(of_end));
    (lanes, rows)
}

/// Leaves out rows whose text says nothing, such as the end of a block at which nothing becomes of any value.
fn drop_empty(rows: &mut Vec<StoryRow>) {
    let says =
        |row: &StoryRow| row.decisive || row.repeats.is_some() || row.text.contains(char::is_alphanumeric);
    if !rows.iter().any(says) {
        return;
    }
    let mut skipped = 0;
    rows.retain_mut(|row| {
        if !says(row) {
            skipped += row.skipped;
            return false;
        }
        row.skipped += std::mem::take(&mut skipped);
        row.gap = row.skipped > 0;
        true
    });
}

fn row(group: &Group, names: &Names<'_>, sources: &mut Sources) -> StoryRow {
    let first = group.moments.first().expect("a group has moments");
    let last = group.moments.last().expect("a group has moments");
    let place = first.line.clone();
    let source = source_text(sources, place.as_ref());
    let function = place.as_ref().map(|frame| short_name(&frame.function));
    let spawns = group.moments.iter().any(|moment| matches!(moment.act, Act::Spawn(_)));
    let own = source.as_deref().map(|line| match &place {
        Some(frame) if !spawns && group.lane != Lane::Worker(WorkerId(0)) => own_part(line, &frame.function),
        _ => line,
    });
    StoryRow {
        steps: Some((first.step, last.step)),
        worker: 0,
        text: words::text(group, function.as_deref(), own, names),
        place,
        source,
        repeats: group.repeats,
        wakes: Vec::new(),
        decisive: false,
        gap: group.skipped > 0,
        skipped: group.skipped,
    }
}

/// The part of a line that is a closure's, in a line that creates a thread which executes it.
fn own_part<'a>(line: &'a str, function: &str) -> &'a str {
    let closure = match () {
        () if function.contains("{closure") => line.split_once("spawn(").map(|(_, closure)| closure),
        () if function.contains("::$_") || function.contains("'lambda") => {
            line.find("([").or(line.find("{[")).map(|at| &line[at + 1..])
        }
        () => None,
    };
    let Some(closure) = closure.map(str::trim).filter(|closure| !closure.is_empty()) else { return line };
    let closure = closure.trim_end_matches(';');
    let count = |sign| closure.matches(sign).count();
    let closes = if count(')') > count('(') { closure.strip_suffix(')') } else { None };
    closes.unwrap_or(closure)
}

#[cfg(test)]
mod tests {
    use super::own_part;

    #[test]
    fn a_closure_has_its_part_of_the_line_that_creates_a_thread() {
        let spawn = "thread::spawn(move || inv.reserve(i, 3))";
        assert_eq!(own_part(spawn, "app::main::{{closure}}"), "move || inv.reserve(i, 3)");
        assert_eq!(own_part(spawn, "app::main"), spawn);
        assert_eq!(own_part("s.spawn(|| {", "app::main::{closure#0}::{closure#1}"), "|| {");
        let thread = "std::thread t([&] { one.transfer(30); });";
        assert_eq!(own_part(thread, "main::$_0::operator()() const"), "[&] { one.transfer(30); }");
        assert_eq!(own_part(thread, "main"), thread);
        assert_eq!(own_part("total.fetch_add(1);", "app::main::{{closure}}"), "total.fetch_add(1);");
    }
}
