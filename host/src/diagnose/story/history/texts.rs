//! The parts of source files to which a history refers.

use crate::results::{History, SourceText};
use crate::symbols::Sources;
use std::collections::{BTreeMap, BTreeSet};

/// The number of lines before and after each line that the history refers to.
const AROUND: u32 = 60;

/// The maximum total size of all parts. Later files, by name, are left out.
const BYTES_MAX: usize = 1 << 20;

/// The lines around all of the guest's own frames, of those files that exist.
pub fn texts(history: &History, sources: &mut Sources) -> Vec<SourceText> {
    let mut lines: BTreeMap<&str, BTreeSet<u32>> = BTreeMap::new();
    for frame in history.frames.iter().filter(|frame| !frame.library).map(|frame| &frame.frame) {
        if let (Some(file), Some(line)) = (&frame.file, frame.line) {
            lines.entry(file).or_default().insert(line);
        }
    }
    let mut texts = Vec::new();
    let mut bytes = 0;
    for (file, lines) in lines {
        let Some(source) = sources.file(file) else { continue };
        let mut text = SourceText { file: file.into(), changed: source.changed, parts: Vec::new() };
        for (first, last) in ranges(&lines, source.lines.len() as u32) {
            let part = source.lines[first as usize - 1..last as usize].to_vec();
            bytes += part.iter().map(|line| line.len() + 1).sum::<usize>();
            text.parts.push((first, part));
        }
        if bytes > BYTES_MAX {
            break;
        }
        texts.push(text);
    }
    texts
}

/// The ranges of lines around given lines of a file, both ends included.
fn ranges(lines: &BTreeSet<u32>, count: u32) -> Vec<(u32, u32)> {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for line in lines.iter().filter(|line| (1..=count).contains(*line)) {
        let (first, last) = (line.saturating_sub(AROUND).max(1), (line + AROUND).min(count));
        match ranges.last_mut() {
            Some((_, end)) if first <= *end + 1 => *end = last,
            _ => ranges.push((first, last)),
        }
    }
    ranges
}
