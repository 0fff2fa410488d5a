//! Units on the command line: the part of the iterations that `test` executes, and the result that it writes.

use super::error::InternalError;
use super::run::{self, Rules};
use super::select::Selected;
use super::session::{Session, TestOptions};
use crate::artifact;
use crate::execution::{Settings, Test};
use crate::explore::frontier::Frontier;
use crate::explore::{self, Budget, UnitBudget};
use crate::plural::counted;
use crate::results::{Stop, TestResult};
use crate::trace::replace_file;
use crate::units::search::UnitWork;
use crate::units::{Campaign, CampaignTest, Results, SearchUnit, Shard, UniteError};
use anyhow::{Context as _, Error, Result, anyhow, bail};
use coyote_strategies::search::{divisible, is_search};
use coyote_strategies::{Context, by_name};
use std::cell::{Cell, RefCell};
use std::fs::{File, TryLockError};
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Options that cannot be combined with a part of the iterations.
const OTHERS: [&str; 8] =
    ["iteration", "resume", "confirm", "timeout", "total_timeout", "max_bugs", "fault_sweep", "regressions"];

#[derive(clap::Args, Clone, Debug, Default)]
#[command(next_help_heading = "Parts of a run (docs/scale.md)")]
pub struct UnitArgs {
    /// Number of the first iteration; --iterations is the number of iterations from there
    #[arg(long, value_name = "A", conflicts_with_all = OTHERS)]
    iterations_from: Option<u64>,
    /// Execute the K-th of N equal parts of the iterations, K from 1
    #[arg(long, value_name = "K/N", conflicts_with_all = OTHERS, conflicts_with = "iterations_from")]
    shard: Option<Shard>,
    /// Write the result into this file, for `coyote-wasm merge`, which shrinks and explains the bugs
    #[arg(long, value_name = "FILE", conflicts_with_all = OTHERS, conflicts_with_all = ["bundle", "fail_fast", "coverage"])]
    result: Option<PathBuf>,
    /// Search a part of a campaign's search; with `whole`, everything
    #[arg(long, value_name = "FILE", requires_all = ["result", "unit_steps", "pieces"], hide = true,
          conflicts_with_all = OTHERS, conflicts_with_all = ["shard", "iterations_from", "iterations"])]
    part: Option<PathBuf>,
    /// End with the part after this number of steps
    #[arg(long, value_name = "N", requires = "part", hide = true)]
    unit_steps: Option<u64>,
    /// Cut what is left into this number of pieces, if possible
    #[arg(long, value_name = "N", requires = "part", hide = true)]
    pieces: Option<usize>,
    /// Lock this file while the unit is executed; end with exit code 75 if another process holds the lock
    #[arg(long, value_name = "FILE", requires = "result", hide = true)]
    claim: Option<PathBuf>,
}

/// Whether this process may execute a unit.
pub enum Claim {
    /// It may, as long as this value lives.
    Held(#[expect(dead_code, reason = "it is kept for its lock")] Option<File>),
    /// Another process executes the unit, or has executed it.
    Taken,
}

impl UnitArgs {
    /// Claims the unit, if that is requested. A lock ends with its process, however that ends.
    ///
    /// # Errors
    /// The file system has no locks.
    pub fn claim(&self) -> Result<Claim> {
        let (Some(path), Some(result)) = (&self.claim, &self.result) else { return Ok(Claim::Held(None)) };
        let cannot = || format!("cannot lock {}", path.display());
        let options = File::options().create(true).truncate(false).write(true).open(path);
        let file = options.with_context(cannot)?;
        match file.try_lock() {
            Ok(()) if result.is_file() => Ok(Claim::Taken),
            Ok(()) => Ok(Claim::Held(Some(file))),
            Err(TryLockError::WouldBlock) => Ok(Claim::Taken),
            Err(TryLockError::Error(error)) => Err(error).with_context(cannot),
        }
    }

    /// Whether the iterations are those of a unit.
    pub fn are_given(&self) -> bool {
        self.iterations_from.is_some() || self.shard.is_some() || self.is_part()
    }

    /// How much of a campaign's search this unit does, if it is one.
    pub fn budget(&self) -> Option<UnitBudget> {
        Some(UnitBudget { steps: self.unit_steps?, pieces: self.pieces? })
    }

    /// The part of a campaign's search that this unit searches, if it is not everything.
    ///
    /// # Errors
    /// The file cannot be read, or is none.
    pub fn part(&self) -> Result<Option<Frontier>> {
        let part = self.part.as_deref().filter(|part| *part != Path::new(WHOLE));
        Ok(part.map(Frontier::read_part).transpose()?)
    }

    /// Whether the result is written for `merge`, which combines it with others and reports it.
    pub fn is_part(&self) -> bool {
        self.result.is_some()
    }

    /// The iterations of a unit, if this is one. `iterations`, `island`: the values of these options. An island is part of
    /// one unit.
    ///
    /// # Errors
    /// The unit has no iterations, or begins within an island.
    pub fn range(&self, iterations: Option<u64>, island: Option<u64>) -> Result<Option<Range<u64>>> {
        if !self.are_given() || self.part.is_some() {
            return Ok(None);
        }
        let iterations = iterations.unwrap_or(explore::ITERATIONS);
        if let Some(shard) = self.shard {
            let length = island.unwrap_or(1);
            let range = shard.range(iterations.div_ceil(length));
            let range = range
                .map(|islands| islands.start * length..iterations.min(islands.end.saturating_mul(length)));
            return range.map(Some).ok_or_else(|| {
                anyhow!(
                    "--shard {shard}: {iterations} iterations{} are too few for this number of parts; give \
                     fewer parts, or more --iterations",
                    island.map_or(String::new(), |length| format!(" in islands of {length}"))
                )
            });
        }
        let first = self.iterations_from.unwrap_or(0);
        if let Some(length) = island.filter(|length| !first.is_multiple_of(*length)) {
            bail!("--iterations-from {first}: islands of {length} iterations begin at multiples of {length}");
        }
        match first.checked_add(iterations) {
            Some(end) => Ok(Some(first..end)),
            None => bail!("--iterations-from {first}: there are no {iterations} iterations from there"),
        }
    }

    /// The number of iterations of all units, if it is known: not if `--iterations-from` is given, nor of a search.
    pub fn all(&self, iterations: Option<u64>) -> Option<u64> {
        (self.iterations_from.is_none() && self.part.is_none())
            .then(|| iterations.unwrap_or(explore::ITERATIONS))
    }

    /// Checks that a test that is explored in this way can be divided by iterations.
    ///
    /// # Errors
    /// Why it cannot be divided.
    pub fn check(
        &self,
        strategy: &str,
        context: &Context,
        island: Option<u64>,
        settings: &Settings,
    ) -> Result<()> {
        if !self.are_given() {
            return Ok(());
        }
        if !settings.world.directories.is_empty() {
            bail!(
                "--dir: what an iteration finds in a directory of the host depends on those before it, so that \
                 they cannot be divided; give --preload instead"
            );
        }
        if self.part.is_some() {
            if divisible(strategy) {
                return Ok(());
            }
            bail!(
                "{strategy} cannot be divided into units, since {}; search by dfs, dpor, stateful, \
                 preemption-bounding or delay-bounding, or choose a sampler from --strategy list",
                match is_search(strategy) {
                    true => "it remembers what it has seen within a bound, or samples",
                    false => "it is no search",
                }
            );
        }
        if is_search(strategy) {
            bail!(
                "{strategy} is a search, whose executions have no numbers by which they could be divided \
                 into parts beforehand; `coyote-wasm campaign` divides a search, --resume continues one"
            );
        }
        if island.is_none() && !by_name(strategy, context).map_err(Error::msg)?.independent() {
            bail!(
                "{strategy} learns from one iteration for the next, so that its iterations cannot be divided \
                 into parts; give --island N, and it begins anew every N iterations"
            );
        }
        Ok(())
    }

    /// Refuses several tests, or one that is ignored, if the unit is of a search. `open`: how many of the tests are run.
    ///
    /// # Errors
    /// The user's mistake.
    pub fn check_tests(&self, tests: usize, open: usize) -> Result<()> {
        if self.part.is_some() && (tests, open) != (1, 1) {
            bail!(
                "a campaign of a search is of one test, and these are {}: select one with --test",
                counted(tests as u64, "test")
            );
        }
        Ok(())
    }

    /// The result to be written, if one is requested.
    ///
    /// # Errors
    /// The file's directory does not exist. This is checked early, before hours of exploration.
    pub fn draft(&self, session: &Session, selected: &Selected, rules: &Rules) -> Result<Option<Draft>> {
        let Some(path) = &self.result else { return Ok(None) };
        check_directory(path)?;
        let campaign = campaign(session, selected, rules)?;
        let open = campaign.tests.iter().filter(|test| test.ignored.is_none()).count();
        self.check_tests(campaign.tests.len(), open)?;
        let part = self.part.as_deref().filter(|part| *part != Path::new(WHOLE)).map(hash_of).transpose()?;
        let part = self.part.is_some().then_some(part);
        let results = RefCell::new(Results::new(campaign, session.module.to_owned()));
        Ok(Some(Draft {
            path: path.clone(),
            part,
            results,
            of_search: RefCell::default(),
            open: Cell::new(open),
        }))
    }
}

/// Refuses a file whose directory does not exist.
///
/// # Errors
/// The directory does not exist.
pub fn check_directory(result: &Path) -> Result<()> {
    let directory = result.parent().filter(|parent| !parent.as_os_str().is_empty());
    if let Some(directory) = directory.filter(|directory| !directory.is_dir()) {
        bail!("--result: there is no directory {}", directory.display());
    }
    Ok(())
}

/// The data that all units of a run share.
fn campaign(session: &Session, selected: &Selected, rules: &Rules) -> Result<Campaign> {
    let tests = selected.tests.iter().map(|to_run| -> Result<CampaignTest> {
        let TestOptions { strategy, budget, settings, all, .. } = session.options_of(&to_run.test);
        Ok(CampaignTest {
            name: to_run.test.name.clone(),
            ignored: run::refused(session, to_run)?,
            strategy: strategy.clone(),
            iterations: *all,
            island: budget.island,
            explore: budget.explore,
            check_determinism: budget.check_determinism,
            suppressions: settings.detectors.races.suppressions.iter().map(ToString::to_string).collect(),
        })
    });
    Ok(Campaign {
        build: artifact::build(),
        module: hash(&session.artifact.original),
        options: session.artifact.options.clone(),
        seed: session.seed,
        strategy: session.options.strategy.clone(),
        tests: tests.collect::<Result<_>>()?,
        filtered_out: selected.filtered_out,
        needs_no_choice: rules.needs_no_choice,
        not_on_target: session.not_on_target.clone(),
    })
}

/// What `--part` says if it is everything.
pub const WHOLE: &str = "whole";

/// The extension of what a unit of a search leaves, beside its result.
pub const LEFT: &str = "frontier";

/// The BLAKE3 hash of these bytes, in hexadecimal.
pub fn hash(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}

/// The same of a file.
///
/// # Errors
/// It cannot be read.
pub fn hash_of(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(hash(&bytes))
}

/// The result of a unit whose run has not ended yet.
pub struct Draft {
    path: PathBuf,
    /// Of a unit of a search: the hash of its part, if that is not everything.
    part: Option<Option<String>>,
    results: RefCell<Results>,
    of_search: RefCell<Option<SearchUnit>>,
    /// The number of tests without a result.
    open: Cell<usize>,
}

impl Draft {
    /// Adds the result of a test.
    ///
    /// # Errors
    /// Internal errors.
    pub fn add(&self, test: &Test, budget: &Budget, result: &TestResult) -> Result<()> {
        if result.stop == Stop::Interrupted {
            return Ok(());
        }
        self.open.set(self.open.get().saturating_sub(1));
        if let Some(part) = &self.part {
            let unit = self.search_unit(part.clone(), result.clone())?;
            *self.of_search.borrow_mut() = Some(unit);
            return Ok(());
        }
        let end = budget.first + budget.iterations_max;
        let mut results = self.results.borrow_mut();
        results.add(&test.name, budget.first, end, result.clone()).map_err(error_of)
    }

    /// The result of a unit of a search. What it left is copied beside the result, which names it by its hash.
    fn search_unit(&self, part: Option<String>, mut result: TestResult) -> Result<SearchUnit> {
        let left = result.search.as_mut().and_then(|search| search.frontier.take());
        let left = left.map(|from| -> Result<String> {
            let to = self.path.with_extension(LEFT);
            let bytes = std::fs::read(&from).with_context(|| format!("cannot read {}", from.display()))?;
            replace_file(&to, &bytes).with_context(|| format!("cannot write {}", to.display()))?;
            Ok(hash(&bytes))
        });
        let work = UnitWork { part, left: left.transpose()? };
        let elapsed = std::mem::take(&mut result.elapsed);
        result.bugs.iter_mut().for_each(|bug| bug.path = PathBuf::new());
        let results = self.results.borrow();
        let (campaign, path) = (results.campaign.clone(), results.path.clone());
        Ok(SearchUnit { campaign, path, work, elapsed, result })
    }

    /// Writes the result. A unit that was interrupted in the middle has no result, and must be executed again.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(self, interrupted: bool) -> Result<()> {
        if interrupted && self.open.get() > 0 {
            eprintln!("note: {} was not written, since the run was interrupted", self.path.display());
            return Ok(());
        }
        match self.of_search.into_inner() {
            Some(unit) => unit.write(&self.path)?,
            None => self.results.into_inner().write(&self.path)?,
        }
        Ok(())
    }
}

/// Converts an error of merging results: to a bug of this tool, or a mistake of the user.
pub fn error_of(error: UniteError) -> Error {
    match error {
        UniteError::Different { .. } => InternalError(error.to_string()).into(),
        error => error.into(),
    }
}
