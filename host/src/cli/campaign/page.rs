//! The status of a campaign as a page: one file of HTML without scripts, which a browser can show while the campaign works.
//!
//! It is made from the results that there are, in the order in which they were written: what was executed when, which bugs
//! there are and since when, and how many classes of executions were new lately.

#![expect(clippy::disallowed_types, reason = "the ages of results, which no guest sees")]

use super::look::{LATELY, Look, rough};
use crate::report::render::page::{escaped, filled};
use crate::results::Progress;
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::time::SystemTime;

const PAGE: &str = include_str!("page.html");
/// The size of a chart, without the texts around it.
const WIDTH: f64 = 900.0;
const HEIGHT: f64 = 160.0;
/// The space for texts at its left and below it.
const LEFT: f64 = 70.0;
const BELOW: f64 = 22.0;
/// The largest number of points of a line.
const POINTS_MAX: usize = 200;

/// What a page tells.
pub struct Told<'a> {
    pub title: &'a str,
    /// The command that the campaign executes.
    pub command: &'a str,
    /// The lines that `campaign status` prints.
    pub text: &'a str,
    pub of_search: bool,
    pub begun: SystemTime,
    pub now: SystemTime,
    /// After how many seconds it is written again, if it is.
    pub again: Option<u64>,
}

/// A bug that some unit has found.
struct Known<'a> {
    what: &'a str,
    times: u64,
    since: SystemTime,
}

/// The page. `looks`: the results so far, in any order.
pub fn page(told: &Told, looks: &[&Look]) -> String {
    let mut looks = looks.to_vec();
    looks.sort_by_key(|look| look.written);
    let bugs = bugs(&looks);
    let refresh = told.again.map(|seconds| format!("<meta http-equiv=\"refresh\" content=\"{seconds}\">\n"));
    let mut body = head(told);
    body += &tiles(told, &looks, bugs.len());
    body += &executions(told, &looks, &bugs);
    body += &novelty(told, &looks);
    body += &table(told, &bugs);
    let parts = [("REFRESH", refresh.unwrap_or_default()), ("TITLE", escaped(told.title)), ("BODY", body)];
    filled(PAGE, &parts)
}

fn bugs<'a>(looks: &[&'a Look]) -> BTreeMap<&'a str, Known<'a>> {
    let mut bugs = BTreeMap::<&str, Known>::new();
    for look in looks {
        for (identity, (what, times)) in &look.bugs {
            let known = bugs.entry(identity).or_insert(Known { what, times: 0, since: look.written });
            known.times += times;
        }
    }
    bugs
}

fn head(told: &Told) -> String {
    let lines = told.text.lines().map(|line| escaped(line.trim_start_matches(['.', ' '])));
    let lines: Vec<String> = lines.map(|line| format!("<p>{line}</p>\n")).collect();
    format!(
        "<h1>{}</h1>\n<p><code>{}</code></p>\n{}",
        escaped(told.title),
        escaped(told.command),
        lines.concat()
    )
}

fn tile(class: &str, value: &str, what: &str) -> String {
    format!("<div class=\"tile{class}\"><b>{value}</b>{}</div>\n", escaped(what))
}

fn tiles(told: &Told, looks: &[&Look], bugs: usize) -> String {
    let executions: u64 = looks.iter().map(|look| look.executions).sum();
    let buggy: u64 = looks.iter().map(|look| look.buggy).sum();
    let span = told.now.duration_since(told.begun).unwrap_or_default();
    let rate = executions as f64 / span.as_secs_f64().max(1.0);
    let noun = if told.of_search { "executions" } else { "iterations" };
    let class = if bugs > 0 { " bug" } else { "" };
    [
        "<div class=\"tiles\">\n".into(),
        tile("", &grouped(looks.len() as u64), "units with a result"),
        tile("", &grouped(executions), noun),
        tile("", &grouped(rate.round() as u64), &format!("{noun} a second since the beginning")),
        tile(class, &grouped(bugs as u64), "different bugs"),
        tile(class, &grouped(buggy), &format!("{noun} with a bug")),
        "</div>\n".into(),
    ]
    .concat()
}

/// The chart of what was executed, with the first result of each bug.
fn executions(told: &Told, looks: &[&Look], bugs: &BTreeMap<&str, Known>) -> String {
    let mut sum = 0;
    let counts: Vec<(SystemTime, u64)> = looks
        .iter()
        .map(|look| {
            sum += look.executions;
            (look.written, sum)
        })
        .collect();
    let chart = Chart { told, max: sum };
    let marks = bugs.values().map(|bug| {
        let count =
            counts.iter().take_while(|(at, _)| *at <= bug.since).last().map_or(0, |(_, count)| *count);
        let (x, y) = chart.place(bug.since, count);
        format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"><title>{}</title></circle>\n", escaped(bug.what))
    });
    let noun = if told.of_search { "Executions" } else { "Iterations" };
    let marks: String = marks.collect();
    format!("<h2>{noun}, and the first result of each bug</h2>\n{}", chart.of(&[("", &counts)], &marks))
}

/// A number with its digits in groups.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

/// The chart of different classes of executions, if they are counted: a search executes each once.
fn novelty(told: &Told, looks: &[&Look]) -> String {
    if told.of_search {
        return String::new();
    }
    let (mut known, mut classes, mut pairs) = (BTreeMap::<&str, Progress>::new(), Vec::new(), Vec::new());
    let every = looks.len().div_ceil(POINTS_MAX).max(1);
    for (number, look) in looks.iter().enumerate() {
        for (test, progress) in &look.progress {
            known.entry(test).or_default().merge(progress.clone());
        }
        if number % every == 0 || number + 1 == looks.len() {
            classes.push((look.written, known.values().map(Progress::classes_seen).sum()));
            pairs.push((look.written, known.values().map(|progress| progress.pairs.len() as u64).sum()));
        }
    }
    let Some((_, all)) = classes.last().copied().filter(|(_, all)| *all > 0) else { return String::new() };
    let lately = told.now - LATELY.min(told.now.duration_since(told.begun).unwrap_or_default());
    let before = classes.iter().take_while(|(at, _)| *at < lately).last().map_or(0, |(_, count)| *count);
    let max = pairs.last().map_or(0, |(_, count)| *count).max(all);
    let chart = Chart { told, max }.of(&[("", &classes), (" class=\"second\"", &pairs)], "");
    format!(
        "<h2>Different classes of executions (blue) and pairs of places (orange)</h2>\n<p>Classes: {}, {} of them new in \
         the last five minutes. Only some iterations are compared.</p>\n{chart}",
        grouped(all),
        grouped(all - before),
    )
}

fn table(told: &Told, bugs: &BTreeMap<&str, Known>) -> String {
    if bugs.is_empty() {
        return "<p class=\"muted\">No bug so far.</p>\n".into();
    }
    let mut text = "<h2>Bugs</h2>\n<div class=\"wide\"><table>\n<tr><th>id</th><th>bug</th><th>times</th><th>since</th></tr>\n"
        .to_string();
    let mut bugs: Vec<(&&str, &Known)> = bugs.iter().collect();
    bugs.sort_by_key(|(identity, bug)| (bug.since, **identity));
    for (identity, bug) in bugs {
        let since = rough(told.now.duration_since(bug.since).unwrap_or_default());
        let _ = writeln!(
            text,
            "<tr><td><code>{}</code></td><td>{}</td><td class=\"number\">{}</td><td class=\"number\">{since}</td></tr>",
            escaped(identity),
            escaped(bug.what),
            grouped(bug.times)
        );
    }
    text + "</table></div>\n<p class=\"muted\">`coyote-wasm campaign report` has their traces and stories.</p>\n"
}

/// A chart of counts over the time of the campaign.
struct Chart<'a> {
    told: &'a Told<'a>,
    max: u64,
}

impl Chart<'_> {
    fn place(&self, at: SystemTime, count: u64) -> (f64, f64) {
        let all = self.told.now.duration_since(self.told.begun).unwrap_or_default().as_secs_f64().max(1.0);
        let since = at.duration_since(self.told.begun).unwrap_or_default().as_secs_f64().min(all);
        let y = HEIGHT * (1.0 - count as f64 / self.max.max(1) as f64);
        (LEFT + WIDTH * since / all, y + 8.0)
    }

    /// Lines, each with an attribute, and marks above them.
    fn of(&self, lines: &[(&str, &[(SystemTime, u64)])], marks: &str) -> String {
        let (width, height, foot) = (LEFT + WIDTH + 12.0, HEIGHT + 8.0 + BELOW, HEIGHT + 8.0);
        let mut svg = format!(
            "<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{} at the end\">\n\
             <line x1=\"{LEFT}\" y1=\"{foot}\" x2=\"{}\" y2=\"{foot}\"/>\n\
             <text x=\"{}\" y=\"16\" text-anchor=\"end\">{}</text>\n\
             <text x=\"{}\" y=\"{foot}\" text-anchor=\"end\">0</text>\n\
             <text x=\"{LEFT}\" y=\"{}\">begun</text>\n\
             <text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
            grouped(self.max),
            LEFT + WIDTH,
            LEFT - 8.0,
            grouped(self.max),
            LEFT - 8.0,
            foot + 16.0,
            LEFT + WIDTH,
            foot + 16.0,
            rough(self.told.now.duration_since(self.told.begun).unwrap_or_default()),
        );
        for (attribute, counts) in lines {
            let every = counts.len().div_ceil(POINTS_MAX).max(1);
            let last = counts.len().saturating_sub(1);
            let shown = counts.iter().enumerate().filter(|(i, _)| i % every == 0 || *i == last);
            let mut points = vec![self.place(self.told.begun, 0)];
            points.extend(shown.map(|(_, (at, count))| self.place(*at, *count)));
            let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
            let _ = writeln!(svg, "<polyline{attribute} points=\"{}\"/>", points.join(" "));
        }
        svg + marks + "</svg>\n"
    }
}
