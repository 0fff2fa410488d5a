//! Options that several subcommands share, and the way from a module's file to an artifact.

use super::progress::Stages;
use super::values::positive;
use crate::artifact::{self, Artifact};
use crate::cache::{Cache, Entry};
use crate::code::Demand;
use crate::detect::Detectors;
use crate::execution::Settings;
use crate::machine::scheduler::Limits;
use crate::runtime::files::disk::CrashModel;
use crate::runtime::{AtExit, FaultClass, Faults, Timers};
use crate::settings::{FAIR_FACTOR, MEMORY_MIB_MAX, STEPS_MAX};
use crate::uses::Random;
use crate::world::{Mapping, World, parse_listener};
use anyhow::{Context as _, Result, bail};
use clap::ValueEnum;
use coyote_instrumenter::{HeapPoints, Instrumented, Options, Points};
use coyote_strategies::Context;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Which operations are scheduling points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum PointsArg {
    /// Calls of sync functions alone. Unsound: misses races, and bugs in lock-free code and around locks of Rust's std
    Sync,
    /// Atomic memory accesses as well. Unsound: misses races on plain memory
    Atomic,
    /// Every memory access, or every access of shared memory: see --heap-points
    Heap,
}

/// Which memory accesses are scheduling points with `--points heap`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum HeapPointsArg {
    /// Accesses of memory that several workers access, which the tool learns while it explores
    Shared,
    /// All memory accesses
    All,
}

impl From<Points> for PointsArg {
    fn from(points: Points) -> PointsArg {
        match points {
            Points::Sync => PointsArg::Sync,
            Points::Atomic => PointsArg::Atomic,
            Points::Heap => PointsArg::Heap,
        }
    }
}

impl From<HeapPoints> for HeapPointsArg {
    fn from(points: HeapPoints) -> HeapPointsArg {
        match points {
            HeapPoints::Shared => HeapPointsArg::Shared,
            HeapPoints::All => HeapPointsArg::All,
        }
    }
}

/// How a module is instrumented.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Instrumentation")]
pub struct InstrumentArgs {
    /// Which operations are scheduling points
    #[arg(long, value_enum, default_value_t = Options::default().points.into(), value_name = "LEVEL")]
    pub points: PointsArg,
    /// Which memory accesses are scheduling points with --points heap
    #[arg(long, value_enum, default_value_t = Options::default().heap_points.into(), value_name = "WHICH")]
    pub heap_points: HeapPointsArg,
    /// Run these functions without scheduling points, and all they call. Unsound unless they really are
    /// atomic [glob; can be repeated]
    #[arg(long = "atomic-fn", value_name = "GLOB")]
    pub atomic_fns: Vec<String>,
    /// Do not look for use of freed memory, double frees and overflows of blocks of the heap
    #[arg(long)]
    pub no_memory_errors: bool,
    /// Treat allocators and stdio as any other function; no memory errors are found then
    #[arg(long)]
    pub no_default_atomics: bool,
    /// No scheduling points at memory accesses of these functions. Unsound [glob; can be repeated]
    #[arg(long, value_name = "GLOB")]
    pub no_points_in: Vec<String>,
    /// Scheduling points only at memory accesses of these functions. Unsound [glob; can be repeated]
    #[arg(long, value_name = "GLOB")]
    pub points_only_in: Vec<String>,
    /// Stub an import that the tool does not implement. Without an answer a call is a bug. ANSWER is a number, or
    /// nothing if the function returns none; of several numbers with commas, or of those below N with
    /// choose:N, the strategy chooses one [can be repeated]
    #[arg(long = "stub", value_name = "MODULE.NAME[=ANSWER]")]
    pub stubs: Vec<String>,
}

impl InstrumentArgs {
    pub fn options(&self) -> Options {
        Options {
            points: match self.points {
                PointsArg::Sync => Points::Sync,
                PointsArg::Atomic => Points::Atomic,
                PointsArg::Heap => Points::Heap,
            },
            heap_points: match self.heap_points {
                HeapPointsArg::Shared => HeapPoints::Shared,
                HeapPointsArg::All => HeapPoints::All,
            },
            atomic_fns: self.atomic_fns.clone(),
            atomic_defaults: !self.no_default_atomics,
            memory_errors: !self.no_memory_errors,
            no_points_in: self.no_points_in.clone(),
            points_only_in: self.points_only_in.clone(),
            stubs: self.stubs.clone(),
            ..Options::default()
        }
    }
}

/// How tests are executed.
#[derive(clap::Args, Clone, Debug)]
#[command(next_help_heading = "Execution")]
pub struct ExecuteArgs {
    /// Bound on the steps of an iteration: N for unfair strategies, M (default 10 N) for fair ones
    /// [default: 10000, or what the profiling run of the default strategy shows to be enough]
    #[arg(long, visible_alias = "ms", num_args = 1..=2, value_names = ["N", "M"],
          value_parser = positive)]
    pub max_steps: Vec<u64>,
    /// Reaching the bound on steps is a bug
    #[arg(long)]
    pub fail_on_max_steps: bool,
    /// What happens to other workers when the first one has ended [default: kill under cargo, else wait]
    #[arg(long, value_enum, value_name = "RULE")]
    pub at_exit: Option<AtExit>,
    /// When a pending timeout may fire: whenever it is the earliest, or only when no worker can do anything
    /// else [default: ordered under cargo, else any]
    #[arg(long, value_enum, value_name = "WHEN")]
    pub timers: Option<Timers>,
    /// Let a thread unlock a normal mutex that another one holds, instead of reporting a bug
    #[arg(long)]
    pub allow_foreign_unlocks: bool,
    /// Searches that rest on what steps touch (dpor, ..+hb) also explore orders of allocations that only lead to other
    /// addresses
    #[arg(long)]
    pub exact_addresses: bool,
    /// Random bytes of the guest, which decide the order of a HashMap or a select!. vary: each iteration chooses among
    /// several streams (as --faults seed); N: all iterations use stream N [default: vary, in a search 0]
    #[arg(long, value_name = "vary|N")]
    pub random: Option<Random>,
    /// Inject faults: classes with the number of faults that an execution may have at most, as in io=1,spurious=2, or
    /// without a number for the class' usual one; `list` prints the classes [can be repeated]
    #[arg(long, value_name = "CLASS[=N],..", value_delimiter = ',')]
    pub faults: Vec<String>,
    /// Which unsynced writes may survive a crash (--faults crash): none, prefix, subset, torn or torn:4096; with the suffix
    /// +ext4, changes of names survive in order (docs/crashes.md)
    #[arg(long, value_name = "MODEL", default_value = "prefix")]
    pub crash_model: CrashModel,
    /// Argument of a program that starts again after a crash; these replace the arguments after -- [can be repeated]
    #[arg(long, value_name = "ARGUMENT", allow_hyphen_values = true)]
    pub restart_arg: Vec<String>,
    /// Inject up to N spurious wake-ups per execution: as --faults spurious=N
    #[arg(long, num_args = 0..=1, require_equals = true, value_name = "N", default_value = "0",
          default_missing_value = "1")]
    pub spurious_wakeups: u32,
    /// Inject up to N failures of try-locks per execution, though the lock is free: as --faults try-lock=N
    #[arg(long, num_args = 0..=1, require_equals = true, value_name = "N", default_value = "0",
          default_missing_value = "1")]
    pub failing_try_locks: u32,
    /// What atomic accesses may read: sc: the newest store; weak: what their memory orderings allow, with at most N stale
    /// choices in an execution (docs/weak-memory.md) [N: 4 unless given]
    #[arg(long, value_name = "sc|weak[:N]", default_value = "sc")]
    pub memory: String,
    /// Report a heap block as a bug if it is not freed and nothing points to it when the test has passed
    #[arg(long)]
    pub leaks: bool,
    /// Memory that a guest may have, in MiB
    #[arg(long, value_name = "MIB", default_value_t = MEMORY_MIB_MAX,
          value_parser = clap::value_parser!(u64).range(1..=4096))]
    pub max_memory: u64,
    /// Environment variable of the guest [can be repeated]
    #[arg(long, value_name = "NAME=VALUE")]
    pub env: Vec<String>,
    /// Copy a directory into the guest's file system before the test begins [can be repeated]
    #[arg(long, value_name = "HOST[::GUEST]")]
    pub preload: Vec<String>,
    /// Let the guest work in a directory of the host: what it writes there stays. Needs one job; not for
    /// searches [can be repeated]
    #[arg(long, value_name = "HOST[::GUEST]")]
    pub dir: Vec<String>,
    /// Begin with a listening socket at this descriptor, to which the test connects as a simulated peer; the root directory
    /// is 3 otherwise, so 4 is the first that is free [can be repeated]
    #[arg(long, value_name = "DESCRIPTOR", value_parser = parse_listener)]
    pub listen: Vec<u32>,
    /// Do not use the artifact cache
    #[arg(long)]
    pub no_cache: bool,
}

impl ExecuteArgs {
    /// What strategies need to know of these options.
    pub fn strategy_context(&self) -> Context {
        Context { unfair_steps_max: self.unfair_steps_max() }
    }

    fn unfair_steps_max(&self) -> u64 {
        self.max_steps.first().copied().unwrap_or(STEPS_MAX)
    }

    /// How often each fault may happen in an execution. `usual`: the budgets of faults that the user does not mention.
    pub fn budgets(&self, usual: Faults) -> Result<Faults> {
        let mut faults = usual
            .with(FaultClass::Spurious, self.spurious_wakeups)
            .with(FaultClass::TryLock, self.failing_try_locks);
        faults.read_memory(&self.memory).with_context(|| {
            format!("--memory {}: give sc, weak, or weak:N with the number of stale choices", self.memory)
        })?;
        self.faults.iter().try_for_each(|text| faults.read(text)).context("--faults")?;
        Ok(faults)
    }

    /// `under_cargo`: unless the user says otherwise, the test ends as a process does, and its threads may rely on
    /// sleeping for their order. Faults are not yet set: see [`ExecuteArgs::budgets`].
    pub fn settings(&self, arguments: Vec<String>, under_cargo: bool) -> Result<Settings> {
        let (at_exit, timers) = match under_cargo {
            true => (AtExit::Kill, Timers::Ordered),
            false => (AtExit::Wait, Timers::Any),
        };
        if let Some(wrong) = self.env.iter().find(|e| !e.contains('=')) {
            bail!("--env {wrong}: give NAME=VALUE");
        }
        let unfair = self.unfair_steps_max();
        let fair = self.max_steps.get(1).copied().unwrap_or(unfair.saturating_mul(FAIR_FACTOR));
        if fair < unfair {
            bail!("--max-steps {unfair} {fair}: the bound of fair strategies must not be the smaller one");
        }
        if let Some(twice) = (1..self.listen.len()).find(|at| self.listen[..*at].contains(&self.listen[*at]))
        {
            bail!("--listen {}: given twice", self.listen[twice]);
        }
        let memory_bytes_max = (self.max_memory as usize) << 20;
        let mappings = |texts: &[String]| texts.iter().map(|t| Mapping::parse(t)).collect();
        let mut world = World {
            restart_arguments: match self.restart_arg.is_empty() {
                true => Vec::new(),
                false => arguments.iter().take(1).chain(&self.restart_arg).cloned().collect(),
            },
            arguments,
            environment: self.env.clone(),
            preloads: mappings(&self.preload),
            directories: mappings(&self.dir),
            listeners: self.listen.clone(),
            ..World::default()
        };
        world.open(memory_bytes_max).context("--preload")?;
        world.check_directories().context("--dir")?;
        let mut detectors = Detectors::default();
        detectors.set("leaks", self.leaks);
        Ok(Settings {
            limits: Limits {
                unfair_steps_max: unfair,
                fair_steps_max: fair,
                fail_on_steps_max: self.fail_on_max_steps,
            },
            at_exit: self.at_exit.unwrap_or(at_exit),
            timers: self.timers.unwrap_or(timers),
            foreign_unlocks: self.allow_foreign_unlocks,
            faults: Faults::default(),
            crash_model: self.crash_model,
            detectors,
            exact_addresses: self.exact_addresses,
            random: match self.random {
                Some(Random::Stream(number)) => number,
                Some(Random::Vary) | None => 0,
            },
            memory_bytes_max,
            world: Arc::new(world),
        })
    }
}

/// Reads, instruments and compiles a module, and shows progress if that may take long.
pub fn artifact(path: &Path, options: &Options, cache: bool) -> Result<Arc<Artifact>> {
    let original: Arc<[u8]> = read(path)?.into();
    let cache = if cache { Cache::of_user() } else { None };
    let executed = cache.as_ref().map(Cache::executed);
    let entry = cache.map(|cache| cache.entry(&original, options));
    let native = entry.as_ref().map(Entry::native).transpose()?;
    let engine = artifact::engine(native.as_ref().map(|native| native.cache.clone()))?;
    let cached = entry.as_ref().and_then(Entry::get);
    let stages = Stages::new(path, original.len(), cached.is_some());
    let instrumented = match cached {
        Some(instrumented) => instrumented,
        None => {
            stages.enter("instrumenting");
            let instrumented = instrument(path, &original, options)?;
            if let Some(entry) = &entry {
                entry.put(&instrumented);
            }
            instrumented
        }
    };
    stages.enter("compiling");
    let demand = Demand::of_user(executed, native);
    let artifact = Artifact::compile_on_demand(&engine, original, instrumented, options.clone(), demand)
        .with_context(|| path.display().to_string())?;
    Ok(Arc::new(artifact))
}

/// Reads a module; a text module is translated to binary.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    if path.extension().is_some_and(|e| e == "wat") {
        let parsed = wat::parse_bytes(&bytes);
        return Ok(parsed.with_context(|| path.display().to_string())?.into_owned());
    }
    Ok(bytes)
}

/// Whether the options of Rust's test harness select a module's tests: if the module runs the harness, or if the
/// arguments are those with which cargo-nextest requests the list of tests of any test binary, or one test.
pub fn understands_harness_options(path: &Path, arguments: &[OsString]) -> bool {
    let list = ["--list", "--format", "terse"].map(OsString::from);
    let one = ["--exact", "--nocapture"].map(OsString::from);
    arguments.starts_with(&list)
        || arguments.get(1..).is_some_and(|rest| rest.starts_with(&one))
        || read(path).is_ok_and(|wasm| coyote_instrumenter::runs_libtest(&wasm))
}

/// Instruments a module. An output that does not validate is kept in a file for a bug report.
pub fn instrument(path: &Path, original: &[u8], options: &Options) -> Result<Instrumented> {
    let result = coyote_instrumenter::instrument(original, options);
    if let Err(coyote_instrumenter::Error::Output { wasm, .. }) = &result {
        let kept = PathBuf::from(format!("{}.invalid.wasm", path.display()));
        let _ = std::fs::write(&kept, wasm);
        return result
            .with_context(|| format!("{} (please report it with {})", path.display(), kept.display()));
    }
    result.with_context(|| path.display().to_string())
}
