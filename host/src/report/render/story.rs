//! The story of a bug: a column for each worker, or a list if columns would be too narrow.

use super::style::Styles;
use crate::results::{Story, StoryRow};
use crate::symbols::SourceFrame;
use std::fmt::Write;

/// The width if there is no terminal.
const WIDTH: usize = 110;

/// The width of a worker's column. Its text may extend over the columns to the right, which are empty in that row.
const LANE_MIN: usize = 8;
const LANE_MAX: usize = 18;

/// The minimum width of a text.
const TEXT_MIN: usize = 36;

/// The width of the mark and the number of the step, which precede the columns.
const HEAD: usize = 9;

/// The rows, at most `width` wide if a text of [`TEXT_MIN`] fits, each ending in a line feed.
pub fn story(story: &Story, width: Option<usize>, styles: Styles) -> String {
    let width = width.unwrap_or(WIDTH);
    let place = story.rows.iter().map(|row| short_place(row).chars().count()).max().unwrap_or_default();
    let name = story.workers.iter().map(|worker| worker.name.chars().count()).max().unwrap_or_default();
    let lane = (name + 2).clamp(LANE_MIN, LANE_MAX);
    let lanes = lane * story.workers.len().saturating_sub(1);
    // A single column needs no header.
    match story.workers.len() > 1 && HEAD + lanes + TEXT_MIN + 2 + place <= width {
        true => table(story, lane, width - HEAD - 2 - place, styles),
        false => list(story, width, styles),
    }
}

/// The story with a column for each worker.
fn table(story: &Story, lane: usize, columns: usize, styles: Styles) -> String {
    let longest = story.rows.iter().map(|row| lane * row.worker + row.text.chars().count()).max();
    let names = lane * story.workers.len();
    let columns = columns.min(longest.unwrap_or_default().max(names));
    let mut text = String::new();
    let names = story.workers.iter().map(|worker| format!("{:<lane$}", cut(&worker.name, lane - 2)));
    let _ = writeln!(text, "  {:>5}  {}", "step", names.collect::<String>().trim_end());
    for row in &story.rows {
        gap(&mut text, row);
        let before: String = (0..row.worker).map(|_| format!("{:<lane$}", ".")).collect();
        let cell = cell(&row.text, columns - before.len());
        let line = format!("{}{:<columns$}  {}", head(row), before + &cell, short_place(row));
        let _ = writeln!(text, "{}", styled(line.trim_end(), row, styles));
        repeats(&mut text, row);
    }
    text
}

/// The story as a list: for each row the step, the worker, the action and the place.
fn list(story: &Story, width: usize, styles: Styles) -> String {
    let mut text = String::new();
    let name =
        story.workers.iter().map(|worker| worker.name.chars().count()).max().unwrap_or_default().min(20);
    let place = story.rows.iter().map(|row| short_place(row).chars().count()).max().unwrap_or_default();
    let longest = story.rows.iter().map(|row| row.text.chars().count()).max().unwrap_or_default();
    let rest = width.saturating_sub(HEAD + name + 2 + 2 + place).max(20).min(longest);
    for row in &story.rows {
        gap(&mut text, row);
        let worker = cut(&story.workers[row.worker].name, name);
        let line =
            format!("{}{worker:<name$}  {:<rest$}  {}", head(row), cell(&row.text, rest), short_place(row));
        let _ = writeln!(text, "{}", styled(line.trim_end(), row, styles));
        repeats(&mut text, row);
    }
    text
}

/// A row's line with styles; the line ends with its place.
fn styled(line: &str, row: &StoryRow, styles: Styles) -> String {
    let place = short_place(row);
    let before = line.strip_suffix(&place).unwrap_or(line);
    let place = &line[before.len()..];
    let before = if row.decisive { styles.bug(before) } else { before.into() };
    before + &styles.place(place, row.place.as_ref())
}

/// The mark of the decisive step, and the step's number.
fn head(row: &StoryRow) -> String {
    let mark = if row.decisive { '!' } else { ' ' };
    let step = row.steps.map_or(String::new(), |(first, _)| first.to_string());
    format!(" {mark}{step:>5}  ")
}

fn gap(text: &mut String, row: &StoryRow) {
    if row.gap {
        let rows = if row.skipped == 1 { "row" } else { "rows" };
        let _ = writeln!(text, "  {:>5}  {} more {rows}", "...", row.skipped);
    }
}

fn repeats(text: &mut String, row: &StoryRow) {
    match row.repeats {
        Some((1, times)) => {
            let _ = writeln!(text, "  {:>5}  {times} times", "");
        }
        Some((rows, times)) => {
            let _ = writeln!(text, "  {:>5}  these {rows} rows {times} times", "");
        }
        None => {}
    }
}

fn short_place(row: &StoryRow) -> String {
    row.place.as_ref().and_then(SourceFrame::file_and_line).unwrap_or_default()
}

/// A row's text in at most `columns` characters. The source is cut, and what the step did stays if half of the row is enough.
fn cell(text: &str, columns: usize) -> String {
    let result = ["  [", "  ("].iter().filter_map(|begins| text.find(begins)).min();
    match result.map(|at| text.split_at(at)) {
        Some((source, result)) if text.chars().count() > columns && result.chars().count() <= columns / 2 => {
            cut(source, columns - result.chars().count()) + result
        }
        _ => cut(text, columns),
    }
}

/// A text, cut to `columns` characters.
fn cut(text: &str, columns: usize) -> String {
    if text.chars().count() <= columns {
        return text.into();
    }
    let kept: String = text.chars().take(columns.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::StoryWorker;

    fn example(workers: usize) -> Story {
        let worker =
            |n| StoryWorker { title: format!("worker 0.{n} (reader {n})"), name: format!("reader {n}") };
        let row = |n: usize| StoryRow {
            steps: Some((10 * n as u64 + 9, 10 * n as u64 + 12)),
            worker: n,
            text: "let at = state.put_at % state.items.len();  [is 1]".into(),
            place: Some(SourceFrame {
                function: "put".into(),
                file: Some("src/lib.rs".into()),
                line: Some(54),
                column: Some(9),
            }),
            source: None,
            repeats: (n == 1).then_some((2, 5)),
            wakes: Vec::new(),
            decisive: n == 1,
            gap: n == 2,
            skipped: if n == 2 { 7 } else { 0 },
        };
        Story {
            workers: (0..workers).map(worker).collect(),
            rows: (0..workers).map(row).collect(),
            left_out: 7,
            ..Story::default()
        }
    }

    #[test]
    fn columns_and_lists() {
        let lines = |workers, width| {
            let text = story(&example(workers), Some(width), Styles::default());
            text.lines().map(str::to_string).collect::<Vec<_>>()
        };
        assert_eq!(
            lines(3, 80),
            [
                "   step  reader 0  reader 1  reader 2",
                "      9  let at = state.put_at % state.items.len();  [is 1]            lib.rs:54",
                " !   19  .         let at = state.put_at % state.items.len();  [is 1]  lib.rs:54",
                "         these 2 rows 5 times",
                "    ...  7 more rows",
                "     29  .         .         let at = state.put_at % state.i…  [is 1]  lib.rs:54",
            ]
        );
        assert_eq!(
            lines(2, 60),
            [
                "      9  reader 0  let at = state.put_at…  [is 1]  lib.rs:54",
                " !   19  reader 1  let at = state.put_at…  [is 1]  lib.rs:54",
                "         these 2 rows 5 times",
            ]
        );
    }

    #[test]
    fn no_line_is_wider_than_the_terminal() {
        for workers in 1..=8 {
            for width in 60..150 {
                for line in story(&example(workers), Some(width), Styles::default()).lines() {
                    assert!(line.chars().count() <= width, "{workers} {width}: {line}");
                }
            }
        }
    }
}
