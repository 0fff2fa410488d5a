//! Progress while a test is explored: a bar on a terminal, a few plain lines elsewhere.

use crate::explore::Watch;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::sync::Mutex;

/// Shows progress on standard error.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// The next number of iterations that is worth a line.
    milestone: Mutex<u64>,
    quiet: bool,
}

impl Progress {
    /// For a test that runs at most so many iterations.
    pub fn new(test: &str, iterations_max: u64, quiet: bool) -> Progress {
        let terminal = std::io::stderr().is_terminal() && !quiet;
        let bar = terminal.then(|| {
            let bar = match iterations_max {
                u64::MAX => ProgressBar::no_length(),
                max => ProgressBar::new(max),
            };
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            let template = "{spinner} {prefix}: {pos} iterations, {per_sec}, {msg} [{elapsed}]";
            bar.set_style(ProgressStyle::with_template(template).expect("a constant template"));
            bar.set_prefix(test.to_string());
            bar
        });
        Progress { bar, milestone: Mutex::new(1), quiet }
    }

    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Watch for Progress {
    fn estimate(&self, executions: f64) {
        if let Some(bar) = &self.bar {
            bar.set_length(executions as u64);
        }
    }

    fn progress(&self, iterations: u64, bugs: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(iterations);
            bar.set_message(format!("{bugs} {}", if bugs == 1 { "bug" } else { "bugs" }));
            return;
        }
        let mut milestone = self.milestone.lock().expect("nobody panics with it");
        while !self.quiet && iterations >= *milestone {
            eprintln!("..... Iteration #{milestone}");
            *milestone *= 10;
        }
    }
}
