//! Options for how many iterations are executed, and which.

use super::values::positive;
use crate::execution::Execution;
use anyhow::{Result, bail};
use coyote_strategies::{Context, by_name, search};
use std::path::PathBuf;

/// Default of `--strategy`.
pub const DEFAULT_STRATEGY: &str = "portfolio";

#[derive(clap::Args)]
#[command(next_help_heading = "Exploration")]
pub struct ExplorationArgs {
    /// Iterations of each test [default: 10000, or no bound if --timeout is given]
    #[arg(short, long, value_name = "N", value_parser = positive)]
    pub iterations: Option<u64>,
    /// Seconds for each test [default: 10, or no bound if --iterations is given]
    #[arg(short, long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub timeout: Option<f64>,
    /// Seconds for all tests together, shared by the tests with more than one schedule
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    pub total_timeout: Option<f64>,
    /// How schedules are chosen: NAME[:PARAMETER]..., `list` shows all
    #[arg(short, long, default_value = DEFAULT_STRATEGY, value_name = "NAME")]
    pub strategy: String,
    /// Seed of all choices [default: random, or 0 if the environment says CI=true, and for a part of the iterations]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Run this iteration alone: reproduces it without a trace
    #[arg(long, value_name = "K", conflicts_with = "iterations")]
    pub iteration: Option<u64>,
    /// Parallel jobs; verdicts and counts do not depend on their number
    /// [default: all cores]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub jobs: Option<u64>,
    /// A strategy that learns begins anew every N iterations: such islands are explored by several jobs, and by parts of a
    /// run
    #[arg(long, value_name = "N", value_parser = positive, conflicts_with_all = ["fault_sweep", "resume", "confirm"])]
    pub island: Option<u64>,
    /// Go on after a bug, group equal bugs and keep the trace of each with the fewest switches
    #[arg(long)]
    pub explore: bool,
    /// As --explore, until there are N different bugs
    #[arg(long, value_name = "N", value_parser = positive)]
    pub max_bugs: Option<u64>,
    /// Try every fault of these classes in turn: at each opportunity of the default schedule, first a single fault, then
    /// a fault at this and every later opportunity, at most N [default of N: 100, of crashes 2; classes: --faults list]
    #[arg(long, value_name = "CLASS[=N]", value_delimiter = ',',
          conflicts_with_all = ["faults", "spurious_wakeups", "failing_try_locks", "resume", "confirm"])]
    pub fault_sweep: Vec<String>,
    /// Schedules of the strategy after each fault of a sweep, beside the default one [default: 4]
    #[arg(long, value_name = "S", requires = "fault_sweep")]
    pub sweep_samples: Option<u64>,
    /// Keep the traces of found bugs in this directory, and try them first on each later run of their tests; `off` for none
    /// [default: coyote-regressions, if there is such a directory]
    #[arg(long, value_name = "DIR|off")]
    pub regressions: Option<PathBuf>,
    /// Check whether a fixed module still has the bug of this trace: execute its schedule, and as many iterations as find
    /// a bug of its frequency with a probability of 95 %. Test, strategy and options are those of the trace, which may be
    /// in a bundle: FILE or FILE/NAME
    #[arg(long, value_name = "TRACE", conflicts_with_all = ["strategy", "test", "resume", "iteration", "explore"])]
    pub confirm: Option<PathBuf>,
    /// Continue a search from this frontier [a search that stops early writes one to the output directory]
    #[arg(long, value_name = "FILE")]
    pub resume: Option<PathBuf>,
    /// Memory in MiB at which a search stops and writes its frontier [default: half of the machine's memory; only on
    /// Linux]
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u64).range(1..=1 << 40))]
    pub search_memory: Option<u64>,
    /// Execute every iteration twice more and compare all states, which takes some 5 times as long: a
    /// difference is an internal error
    #[arg(long)]
    pub check_determinism: bool,
}

impl ExplorationArgs {
    /// Whether every fault is tried in turn.
    pub fn sweeps(&self) -> bool {
        !self.fault_sweep.is_empty()
    }

    /// Whether the strategy is a search.
    ///
    /// # Errors
    /// There is no strategy of this name, or an option is not for strategies of its kind.
    pub fn searches(&self, context: &Context) -> Result<bool> {
        let searching = search::is_search(&self.strategy);
        let learns = || by_name(&self.strategy, context).is_ok_and(|strategy| !strategy.independent());
        if self.island.is_some() && (searching || !learns()) {
            bail!(
                "--island is for strategies that learn from one iteration for the next; {} does not",
                self.strategy
            );
        }
        if searching {
            search::by_name::<Execution>(&self.strategy, 0, None).map_err(anyhow::Error::msg)?;
            if self.iteration.is_some() {
                bail!(
                    "--iteration is for strategies that choose at random; a search has no numbered iterations"
                );
            }
            if self.sweeps() {
                bail!(
                    "--fault-sweep follows the default schedule; {} tries all faults with all schedules by itself: give \
                     --faults instead",
                    self.strategy
                );
            }
            if self.check_determinism {
                bail!(
                    "--check-determinism is for strategies that choose at random, such as --strategy random; a \
                     search executes the path of every bug again, and no others"
                );
            }
        } else {
            by_name(&self.strategy, context).map_err(anyhow::Error::msg)?;
            if self.resume.is_some() {
                bail!("--resume continues a search, and {} is none: give a search", self.strategy);
            }
        }
        Ok(searching)
    }
}
