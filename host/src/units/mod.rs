//! Units: parts of an exploration that are executed separately, possibly on other machines, and their results
//! together.
//!
//! A *unit* of work is a range of iterations of the tests of a [`Campaign`]. Its result is a function of these two
//! alone: it does not depend on the machine, the time, or the number of cores. [`Results`] are the results of some
//! units, as a set: [`Results::unite`] is commutative, associative and idempotent, since it computes nothing. The
//! result of a set for a test is computed at the end ([`Results::total`]), and is that of one exploration of all these
//! iterations.
//!
//! - [`search`]: units of a search, which are not known beforehand.
//! - `file`: results on disk.
//! - [`Shard`]: one of several equal parts.

mod file;
pub mod search;
mod shard;
#[cfg(test)]
mod tests;

pub use file::FileError;
pub use search::SearchUnit;
pub use shard::Shard;

use crate::results::{Indices, MergeError, Stop, Subject, TestResult};
use crate::source_tests::SourceTests;
use crate::statistics::StepsMax;
use coyote_instrumenter::Options;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

/// The data that determines the iterations of all units. Equal for all results that are put together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Campaign {
    /// The build of this tool: another one may instrument the module differently.
    pub build: String,
    /// The blake3 of the whole module: bugs are compared by lines, which come from its debug information.
    pub module: String,
    /// The options with which it is instrumented.
    pub options: Options,
    /// The seed from which all choices follow.
    pub seed: u64,
    /// The strategy, as the user named it, for tests that have none of their own.
    pub strategy: String,
    /// The tests, in the order in which they are run.
    pub tests: Vec<CampaignTest>,
    /// Number of tests of the module that are not among them.
    pub filtered_out: usize,
    /// Whether a run in which there was nothing to explore is accepted.
    pub needs_no_choice: bool,
    /// For a test binary that cargo built: tests of its sources that the binary does not contain.
    pub not_on_target: Option<SourceTests>,
}

/// A test of a campaign, with the settings of its exploration that are not part of its results.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CampaignTest {
    /// The name that the user gives it.
    pub name: String,
    /// The reason why it is not to be run, if it is not.
    pub ignored: Option<String>,
    /// The strategy, as the user named it.
    pub strategy: String,
    /// Number of all iterations, if it is known.
    pub iterations: Option<u64>,
    /// The number of iterations after which the strategy begins anew, if it does.
    pub island: Option<u64>,
    /// Whether exploration goes on after a bug.
    pub explore: bool,
    /// Whether every iteration is executed twice more and compared.
    pub check_determinism: bool,
    /// Suppressions of known data races.
    pub suppressions: Vec<String>,
}

/// The result of a unit for one test.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The test.
    pub test: String,
    /// The first of the unit's iterations.
    pub first: u64,
    /// The first one behind the unit's iterations: more than `first`. The unit may have ended before, by its
    /// rules.
    pub end: u64,
    /// Wall-clock time: the only part that is not the same each time.
    pub elapsed: Duration,
    /// The result, without times and paths.
    pub result: TestResult,
}

/// See the module's documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The campaign of the results.
    pub campaign: Campaign,
    /// The module's path, as it was given to the execution of some unit: the least of these paths.
    pub path: PathBuf,
    /// Parts by test and range.
    parts: BTreeMap<(String, u64, u64), Part>,
}

/// Reasons why results cannot be put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UniteError {
    /// The results are of different campaigns.
    #[error("the results are of another {what}: {one} and {other}")]
    Campaign {
        /// The respect in which they differ.
        what: &'static str,
        /// The value of one.
        one: String,
        /// The value of the other.
        other: String,
    },
    /// The results are of different explorations of a test.
    #[error("test {test}: {error}")]
    Test {
        /// The test.
        test: String,
        /// The respect in which they differ.
        error: MergeError,
    },
    /// Different ranges that have iterations in common.
    #[error(
        "test {test}: iteration {both} is in two ranges, {} to {} and {} to {}: put results together that were cut in \
         one way",
        one.0, one.1 - 1, other.0, other.1 - 1
    )]
    Overlap {
        /// The test.
        test: String,
        /// The first iteration that is in both.
        both: u64,
        /// The first iteration of one range, and the first one behind it.
        one: (u64, u64),
        /// The same for the other range.
        other: (u64, u64),
    },
    /// Two different results of one unit, which is a bug in this tool.
    #[error("test {test}: iterations {first} to {last} have two different results")]
    Different {
        /// The test.
        test: String,
        /// The first iteration of the unit.
        first: u64,
        /// The last iteration of the unit.
        last: u64,
    },
}

/// A respect in which campaigns can differ.
type Respect = (&'static str, fn(&Campaign) -> String);

/// The respects in the order in which they are compared: an error names the first that differs. The last one
/// is everything.
const RESPECTS: [Respect; 9] = [
    ("build of coyote-wasm", |campaign| campaign.build.clone()),
    ("module", |campaign| campaign.module.clone()),
    ("seed", |campaign| campaign.seed.to_string()),
    ("strategy", |campaign| campaign.strategy.clone()),
    ("set of tests", |campaign| each(campaign, |test| test.name.clone())),
    ("number of iterations", |campaign| {
        each(campaign, |test| match test.iterations {
            Some(iterations) => iterations.to_string(),
            None => "unknown, with --iterations-from".into(),
        })
    }),
    ("rule for what follows a bug (--explore)", |campaign| each(campaign, |test| test.explore.to_string())),
    ("instrumentation", |campaign| json(&campaign.options)),
    ("campaign", |campaign| json(campaign)),
];

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("its keys are texts")
}

/// A property of all tests as text, with equal consecutive values once.
fn each(campaign: &Campaign, of: impl Fn(&CampaignTest) -> String) -> String {
    let mut all: Vec<String> = campaign.tests.iter().map(of).collect();
    all.dedup();
    all.join(", ")
}

impl Results {
    /// An empty set of results.
    pub fn new(campaign: Campaign, path: PathBuf) -> Results {
        Results { campaign, path, parts: BTreeMap::new() }
    }

    /// All parts, by tests and ranges.
    pub fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.values()
    }

    /// Adds the result of a unit for a test, in the iterations from `first` to the one before `end`. Paths of bugs are
    /// removed, and the time is kept apart from the result.
    ///
    /// # Errors
    /// It cannot be put together with the present results, which are then unchanged.
    pub fn add(
        &mut self,
        test: &str,
        first: u64,
        end: u64,
        mut result: TestResult,
    ) -> Result<(), UniteError> {
        let elapsed = std::mem::take(&mut result.elapsed);
        result.bugs.iter_mut().for_each(|bug| bug.path = PathBuf::new());
        self.insert(Part { test: test.into(), first, end, elapsed, result })
    }

    /// Adds all results of another set.
    ///
    /// # Errors
    /// The results cannot be put together. Some may have been added.
    pub fn unite(&mut self, other: Results) -> Result<(), UniteError> {
        for (what, of) in RESPECTS {
            let (one, other) = (of(&self.campaign), of(&other.campaign));
            if one != other {
                return Err(UniteError::Campaign { what, one, other });
            }
        }
        other.parts.into_values().try_for_each(|part| self.insert(part))?;
        self.path = std::mem::take(&mut self.path).min(other.path);
        Ok(())
    }

    fn insert(&mut self, part: Part) -> Result<(), UniteError> {
        let test = part.test.clone();
        let key = (test.clone(), part.first, part.end);
        if let Some(known) = self.parts.get_mut(&key) {
            if known.result != part.result {
                return Err(UniteError::Different { test, first: part.first, last: part.end - 1 });
            }
            known.elapsed = known.elapsed.min(part.elapsed);
            return Ok(());
        }
        let of_test = || self.of(&test);
        if let Some(other) = of_test().find(|known| known.first < part.end && part.first < known.end) {
            return Err(UniteError::Overlap {
                test: test.clone(),
                both: part.first.max(other.first),
                one: (other.first, other.end),
                other: (part.first, part.end),
            });
        }
        if let Some(known) = of_test().next() {
            let fits = known.result.check(&part.result);
            fits.map_err(|error| UniteError::Test { test: test.clone(), error })?;
        }
        self.parts.insert(key, part);
        Ok(())
    }

    /// The parts of a test, in the order of their iterations.
    fn of(&self, test: &str) -> impl Iterator<Item = &Part> {
        let from = (test.to_string(), 0, 0);
        let test = test.to_string();
        self.parts.range(from..).map(|(_, part)| part).take_while(move |part| part.test == test)
    }

    /// The result of all parts of a test together: the same as that of one exploration that executed the iterations.
    /// Iterations behind the one with which that exploration would have ended do not count; those that it would have
    /// executed, and that have no result here, are [`TestResult::missing`]. Bugs have no paths.
    pub fn total(&self, test: &CampaignTest) -> TestResult {
        let mut total: Option<TestResult> = None;
        let mut missing = Indices::default();
        let (mut next, mut elapsed, mut ended) = (0, Duration::ZERO, None);
        for part in self.of(&test.name) {
            missing.add(next..part.first);
            next = part.end;
            elapsed += part.elapsed;
            match &mut total {
                None => total = Some(part.result.clone()),
                Some(total) => {
                    let merged = total.merge(part.result.clone());
                    merged.expect("this was checked when the part was inserted");
                }
            }
            // The exploration ends with its first bug, or if there is nothing to choose.
            if matches!(part.result.stop, Stop::Bug | Stop::Exhausted) {
                ended = Some(part.result.stop);
                break;
            }
        }
        if ended.is_none() {
            missing.add(next..test.iterations.unwrap_or(next));
        }
        let mut total = total.unwrap_or_else(|| {
            let subject =
                Subject { test: test.name.clone(), strategy: test.strategy.clone(), ..Subject::default() };
            TestResult::new(subject, StepsMax { unfair: 0, fair: 0 }, test.explore)
        });
        total.stop = ended.unwrap_or(total.stop);
        total.elapsed = elapsed;
        total.missing = missing;
        total
    }
}
