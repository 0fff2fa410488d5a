//! From counts of instructions to counts of lines and functions.

use super::{CodeCopy, Place};
use crate::results::ExecutionCounts;
use crate::symbols::{Symbols, without_generics};
use coyote_instrumenter::{Location, SiteTable};
use std::collections::BTreeMap;

/// Coverage of a module's own sources, by their paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    /// Files with code, whether it was executed or not.
    pub files: BTreeMap<String, FileCoverage>,
}

/// Coverage of a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FileCoverage {
    /// How often each line with code was executed.
    pub lines: BTreeMap<u32, u64>,
    /// How often each function was entered, by its first line with code and its name.
    pub functions: BTreeMap<(u32, String), u64>,
}

/// A copy of a function.
#[derive(Default)]
struct Executed {
    /// The function's own file, and its first line.
    begins: Option<(String, u32)>,
    entered: u64,
    lines: BTreeMap<(String, u32), LineCount>,
}

/// The counts of a line in a copy.
#[derive(Default)]
struct LineCount {
    /// The highest count of a piece of the line's own code.
    own: Option<u64>,
    /// The count of the first code that is inlined in the line.
    inlined: Option<u64>,
}

impl Executed {
    /// Adds executions of a place. Places of a copy must be counted in the order of the module.
    fn count(&mut self, place: Place, times: u64) {
        let Place { copy: _, file, line, own } = place;
        match &mut self.begins {
            None => (self.begins, self.entered) = (Some((file.clone(), line)), times),
            Some((first_file, first)) if *first_file == file => *first = line.min(*first),
            Some(_) => {}
        }
        let count = self.lines.entry((file, line)).or_default();
        if own {
            count.own = Some(count.own.map_or(times, |known| known.max(times)));
        } else {
            count.inlined.get_or_insert(times);
        }
    }
}

impl LineCount {
    fn times(&self) -> u64 {
        self.own.or(self.inlined).unwrap_or_default()
    }
}

impl Covered {
    /// Computes coverage. `table`: that of the module with counters; `executed`: the counts.
    pub fn of(table: &SiteTable, symbols: &Symbols, executed: &ExecutionCounts) -> Covered {
        let mut counters = table.counters.clone();
        counters.sort_unstable();
        let mut copies: BTreeMap<CodeCopy, Executed> = BTreeMap::new();
        for offset in counters {
            let next = table.functions.partition_point(|function| function.start <= offset);
            let Some(function) = next.checked_sub(1).map(|function| function as u32) else { continue };
            let times = executed.0.get(&offset).copied().unwrap_or_default();
            for place in Place::all(symbols, Location { function, offset }) {
                copies.entry(place.copy.clone()).or_default().count(place, times);
            }
        }
        let mut covered = Covered::default();
        copies.into_iter().for_each(|(copy, executed)| covered.add(&copy.name, executed));
        covered
    }

    fn add(&mut self, function: &str, executed: Executed) {
        let Some((file, first)) = executed.begins else { return };
        for ((file, line), count) in executed.lines {
            let known = self.files.entry(file).or_default().lines.entry(line).or_default();
            *known = known.saturating_add(count.times());
        }
        let functions = &mut self.files.entry(file).or_default().functions;
        let name = without_generics(function);
        // Copies of a function may begin with different lines if they are optimised. Different closures of a function
        // may have the same name.
        let same = functions.keys().find(|(_, known)| *known == name && !name.contains("closure"));
        let key = match same.cloned() {
            Some(known) if known.0 <= first => known,
            Some(known) => {
                let times = functions.remove(&known).unwrap_or_default();
                functions.insert((first, name.clone()), times);
                (first, name)
            }
            None => (first, name),
        };
        let known = functions.entry(key).or_default();
        *known = known.saturating_add(executed.entered);
    }

    /// The number of lines, and how many of them were executed.
    pub fn lines(&self) -> (usize, usize) {
        sum(self.files.values().map(FileCoverage::line_numbers))
    }

    /// The number of functions, and how many of them were executed.
    pub fn functions(&self) -> (usize, usize) {
        sum(self.files.values().map(FileCoverage::function_numbers))
    }
}

impl FileCoverage {
    /// As [`Covered::lines`].
    pub fn line_numbers(&self) -> (usize, usize) {
        (self.lines.len(), self.lines.values().filter(|times| **times > 0).count())
    }

    /// As [`Covered::functions`].
    pub fn function_numbers(&self) -> (usize, usize) {
        (self.functions.len(), self.functions.values().filter(|times| **times > 0).count())
    }
}

fn sum(numbers: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
    numbers.fold((0, 0), |(all, executed), (more, of_them)| (all + more, executed + of_them))
}
