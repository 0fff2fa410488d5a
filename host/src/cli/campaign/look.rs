//! What a result says at a glance, for the status of a campaign.

#![expect(clippy::disallowed_types, reason = "the ages of results, which no guest sees")]

use crate::results::{Progress, TestResult};
use crate::units::{FileError, Results, SearchUnit};
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// The period over which rates are measured.
pub const LATELY: Duration = Duration::from_secs(300);

/// What a result says.
pub struct Look {
    pub written: SystemTime,
    pub executions: u64,
    pub buggy: u64,
    /// Its bugs by their identities: what they are, and how often they were found.
    pub bugs: BTreeMap<String, (String, u64)>,
    /// What was new, for each test, if a page shows it.
    pub progress: Vec<(String, Progress)>,
}

impl Look {
    pub fn at(path: &Path, of_search: bool, for_page: bool) -> Result<Look, FileError> {
        let written = fs::metadata(path).and_then(|about| about.modified());
        let written = written.map_err(|error| FileError::Read(path.into(), error))?;
        let mut look = Look { written, executions: 0, buggy: 0, bugs: BTreeMap::new(), progress: Vec::new() };
        match of_search {
            true => look.add(&SearchUnit::read(path)?.result, false),
            false => Results::read(path)?.parts().for_each(|part| look.add(&part.result, for_page)),
        }
        Ok(look)
    }

    fn add(&mut self, result: &TestResult, for_page: bool) {
        self.executions += result.iterations();
        self.buggy += result.statistics.buggy;
        for found in result.bugs.iter().filter(|found| !found.is_limit()) {
            let what = format!("{}: {}", found.bug.kind.name(), found.bug.message());
            self.bugs.entry(found.identity.short()).or_insert((what, 0)).1 += found.count;
        }
        if for_page {
            self.progress.push((result.subject.test.clone(), result.progress.clone()));
        }
    }
}

/// A duration in one unit.
pub fn rough(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..120 => format!("{seconds} s"),
        120..7200 => format!("{} min", seconds / 60),
        _ => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_one_unit() {
        let rough = |seconds| rough(Duration::from_secs(seconds));
        assert_eq!(
            [rough(0), rough(119), rough(120), rough(7199), rough(7200)],
            ["0 s", "119 s", "2 min", "119 min", "2 h"]
        );
    }
}
