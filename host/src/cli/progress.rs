//! Progress while a module is prepared and while a test is explored: a bar on a terminal, a few plain lines
//! elsewhere.

use crate::explore::Watch;
use crate::plural::counted;
use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::path::Path;
use std::sync::Mutex;
use std::time::Duration;

/// Shows what is done to a module before its tests can run.
pub struct Stages {
    bar: Option<ProgressBar>,
    /// The module's name in printed lines, if lines are printed.
    lines: Option<String>,
}

/// The size from which on a module takes long enough that lines are printed where there is no terminal.
const LARGE_BYTES: usize = 4 << 20;

impl Stages {
    pub fn new(module: &Path, bytes: usize, cached: bool) -> Stages {
        let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = format!("{name} ({:.1} MB)", bytes as f64 / 1e6);
        if !std::io::stderr().is_terminal() {
            return Stages { bar: None, lines: (bytes >= LARGE_BYTES && !cached).then_some(name) };
        }
        let bar = ProgressBar::no_length();
        bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
        let style = ProgressStyle::with_template("{spinner} {msg} {prefix} [{elapsed}]");
        bar.set_style(style.expect("a constant template"));
        bar.set_prefix(name);
        bar.enable_steady_tick(Duration::from_millis(100));
        Stages { bar: Some(bar), lines: None }
    }

    /// Shows that the next stage begins.
    pub fn enter(&self, stage: &'static str) {
        if let Some(bar) = &self.bar {
            bar.set_message(stage);
        }
        if let Some(name) = &self.lines {
            eprintln!("..... {stage} {name}");
        }
    }
}

impl Drop for Stages {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// Shows progress on standard error.
pub struct Progress {
    bar: Option<ProgressBar>,
    /// The test's time limit, counted from its start.
    timeout: Option<Duration>,
    /// The next number of iterations at which a line is printed.
    milestone: Mutex<u64>,
    quiet: bool,
}

impl Progress {
    /// Progress of a test that runs at most `iterations_max` iterations, and for at most `timeout`.
    pub fn new(test: &str, iterations_max: u64, timeout: Option<Duration>, quiet: bool) -> Progress {
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
        Progress { bar, timeout, milestone: Mutex::new(1), quiet }
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
            let left = left(bar, self.timeout).map_or(String::new(), |left| format!(", at most {left} left"));
            bar.set_message(format!("{}{left}", counted(bugs, "bug")));
            return;
        }
        let mut milestone = self.milestone.lock().expect("nobody panics with it");
        while !self.quiet && iterations >= *milestone {
            eprintln!("..... {}", counted(*milestone, "iteration"));
            *milestone *= 10;
        }
    }
}

/// The remaining time: according to the time limit, or to the number of iterations at the present speed.
fn left(bar: &ProgressBar, timeout: Option<Duration>) -> Option<HumanDuration> {
    let by_time = timeout.map(|timeout| timeout.saturating_sub(bar.elapsed()));
    let by_count = bar.length().map(|_| bar.eta());
    by_time.into_iter().chain(by_count).min().map(HumanDuration)
}
