//! The options of Rust's test harness, which cargo and cargo-nextest pass. They share a namespace with the options of
//! this tool; no name has two meanings.

/// Options of Rust's test harness, which select tests.
#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Tests")]
pub struct HarnessArgs {
    /// Run only tests whose names contain one of these
    #[arg(value_name = "FILTERS", help_heading = None::<&str>)]
    pub filters: Vec<String>,
    /// FILTERS are whole names
    #[arg(long)]
    pub exact: bool,
    /// Leave out tests whose names contain this [can be repeated]
    #[arg(long, value_name = "FILTER")]
    pub skip: Vec<String>,
    /// Run only tests that are marked to be ignored
    #[arg(long)]
    pub ignored: bool,
    /// Run tests that are marked to be ignored as well
    #[arg(long, conflicts_with = "ignored")]
    pub include_ignored: bool,
    /// Start no further test after the first failure
    #[arg(long)]
    pub fail_fast: bool,
    /// As --format terse
    #[arg(short, long)]
    pub quiet: bool,
    /// As --jobs
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub test_threads: Option<u64>,
    /// Show what passing tests print in their first iteration
    #[arg(long, visible_aliases = ["no-capture", "show-output"])]
    pub nocapture: bool,
    #[command(flatten)]
    ignored_options: WithoutEffect,
    /// Not supported: time is virtual
    #[arg(long, hide = true)]
    pub bench: bool,
}

/// Options without effect: users of cargo have them in scripts.
#[derive(clap::Args, Clone, Debug, Default)]
struct WithoutEffect {
    #[arg(long, hide = true, value_name = "WHEN")]
    color: Option<String>,
    #[arg(short = 'Z', hide = true, value_name = "FLAG")]
    unstable: Vec<String>,
    #[arg(long, hide = true)]
    report_time: bool,
    #[arg(long, hide = true)]
    ensure_time: bool,
    #[arg(long, hide = true)]
    shuffle: bool,
    #[arg(long, hide = true, value_name = "SEED")]
    shuffle_seed: Option<u64>,
    #[arg(long, hide = true)]
    force_run_in_process: bool,
    #[arg(long, hide = true, value_name = "PATH")]
    logfile: Option<std::path::PathBuf>,
}

impl HarnessArgs {
    /// The options that select tests, in the harness's syntax.
    pub fn selection(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        let flags = [
            (self.exact, "--exact"),
            (self.ignored, "--ignored"),
            (self.include_ignored, "--include-ignored"),
        ];
        arguments.extend(flags.iter().filter(|(given, _)| *given).map(|(_, flag)| flag.to_string()));
        arguments.extend(self.skip.iter().map(|skip| format!("--skip={skip}")));
        arguments.extend(self.filters.iter().cloned());
        arguments
    }

    /// Whether all tests are selected.
    pub fn selects_all(&self) -> bool {
        self.filters.is_empty() && self.skip.is_empty() && !self.ignored
    }

    /// Whether a test that does not belong to the harness is selected.
    pub fn selects(&self, name: &str) -> bool {
        let found =
            |filter: &String| if self.exact { name == filter } else { name.contains(filter.as_str()) };
        (self.filters.is_empty() || self.filters.iter().any(found))
            && !self.skip.iter().any(found)
            && !self.ignored
    }
}
