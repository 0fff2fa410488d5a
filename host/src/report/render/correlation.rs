//! Correlation with bugs, for readers.

use crate::plural::counted;
use crate::report::correlation::DataReport;
use crate::results::{SourceLine, Suspect};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The maximum numbers of lines and configurations that are shown; JSON contains more.
const SUSPECTS_MAX: usize = 5;
const CONFIGURATIONS_MAX: usize = 10;

/// The lines that correlate with a bug, with a heading; empty if there are none.
pub fn suspects(suspects: &[Suspect]) -> String {
    let Some(first) = suspects.first() else { return String::new() };
    let mut text = format!(
        "  lines of which executions with it are more likely ({} with it, {} without a bug):\n",
        first.of_failing, first.of_passing
    );
    for Suspect { at, failing, of_failing, passing, of_passing, .. } in suspects.iter().take(SUSPECTS_MAX) {
        let percent = |part: u64, of: u64| format!("{:.0} %", part as f64 * 100.0 / of.max(1) as f64);
        let _ = writeln!(
            text,
            "    {}:{}  in {} of those with it, in {} of the others",
            at.file,
            at.line,
            percent(*failing, *of_failing),
            percent(*passing, *of_passing)
        );
    }
    text
}

/// The table of failing data. Every line ends in a line feed.
pub fn data(data: &DataReport) -> String {
    let shown = &data.failing[..data.failing.len().min(CONFIGURATIONS_MAX)];
    // A line that chooses several times has a column for each time.
    let mut columns: Vec<(SourceLine, usize)> = Vec::new();
    let mut rows = Vec::new();
    for failing in shown {
        let mut times: BTreeMap<&SourceLine, usize> = BTreeMap::new();
        let mut cells = BTreeMap::new();
        for chosen in &failing.values {
            let time = times.entry(&chosen.at).or_default();
            let column = (chosen.at.clone(), *time);
            *time += 1;
            let at = columns.iter().position(|known| *known == column).unwrap_or_else(|| {
                columns.push(column);
                columns.len() - 1
            });
            cells.insert(at, chosen.value.to_string());
        }
        rows.push((cells, format!("{} of {}", failing.failing, counted(failing.of, "iteration"))));
    }
    let titles: Vec<String> = columns.iter().map(|(at, time)| title(at, *time)).collect();
    let width = |at: usize| {
        let cells = rows.iter().filter_map(|(cells, _)| cells.get(&at)).map(String::len);
        cells.chain([titles[at].len()]).max().unwrap_or(0)
    };
    let line = |cell: &dyn Fn(usize) -> String| -> String {
        (0..columns.len()).map(|at| format!("{:>width$}  ", cell(at), width = width(at))).collect()
    };
    let all = data.failing.len() as u64 + data.more;
    let mut text = format!(
        "... Data with which iterations failed, {all} of {} tried, the smallest first (0 is the lowest value):\n",
        data.of
    );
    let _ = writeln!(text, "..... {}failed", line(&|at| titles[at].clone()));
    for (cells, failed) in &rows {
        let _ = writeln!(text, "..... {}{failed}", line(&|at| cells.get(&at).cloned().unwrap_or("-".into())));
    }
    if all > shown.len() as u64 {
        let _ = writeln!(text, "..... and {} more", all - shown.len() as u64);
    }
    if data.left_out > 0 {
        let _ = writeln!(text, "..... {} with other data not counted", counted(data.left_out, "iteration"));
    }
    text
}

/// The line, and which of its choices it is.
fn title(at: &SourceLine, time: usize) -> String {
    let file = at.file.rsplit('/').next().unwrap_or(&at.file);
    match time {
        0 => format!("{file}:{}", at.line),
        time => format!("{file}:{} ({})", at.line, time + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::correlation::{ChosenValue, FailingData};

    #[test]
    fn each_choice_of_a_line_has_a_column() {
        let at = |line| SourceLine { file: "src/a.rs".into(), line };
        let chosen = |line, value| ChosenValue { at: at(line), value };
        let failing = vec![
            FailingData { values: vec![chosen(3, 0), chosen(9, 1)], failing: 2, of: 3 },
            FailingData { values: vec![chosen(3, 1), chosen(9, 1), chosen(9, 12)], failing: 1, of: 1 },
        ];
        let report = DataReport { failing, more: 0, of: 7, left_out: 0 };
        let expected = "\
... Data with which iterations failed, 2 of 7 tried, the smallest first (0 is the lowest value):
..... a.rs:3  a.rs:9  a.rs:9 (2)  failed
.....      0       1           -  2 of 3 iterations
.....      1       1          12  1 of 1 iteration
";
        assert_eq!(data(&report), expected);
    }
}
