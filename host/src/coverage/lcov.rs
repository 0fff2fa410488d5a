//! Coverage as a tracefile of lcov (geninfo(1), "Files").

use super::{Covered, FileCoverage};
use std::fmt::Write;
use std::path::Path;

/// The text of the tracefile. `name`: the name of the run; paths are made absolute from `base`.
pub fn lcov(covered: &Covered, name: &str, base: &Path) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let mut text = String::new();
    for (file, coverage) in &covered.files {
        let _ = writeln!(text, "TN:{name}\nSF:{}", base.join(file).display());
        functions(&mut text, coverage);
        for (line, times) in &coverage.lines {
            let _ = writeln!(text, "DA:{line},{times}");
        }
        let (all, executed) = coverage.line_numbers();
        let _ = writeln!(text, "LF:{all}\nLH:{executed}\nend_of_record");
    }
    text
}

fn functions(text: &mut String, coverage: &FileCoverage) {
    let named = |line: u32, name: &str| {
        let same = coverage.functions.keys().filter(|(_, other)| other == name).count();
        // In one file, a name identifies one function.
        if same > 1 { format!("{name}:{line}") } else { name.to_string() }
    };
    for (line, name) in coverage.functions.keys() {
        let _ = writeln!(text, "FN:{line},{}", named(*line, name));
    }
    for ((line, name), times) in &coverage.functions {
        let _ = writeln!(text, "FNDA:{times},{}", named(*line, name));
    }
    let (all, executed) = coverage.function_numbers();
    let _ = writeln!(text, "FNF:{all}\nFNH:{executed}");
}
