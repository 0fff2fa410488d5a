//! The options of a run that change what a decision means: one table, from which traces, frontiers, the
//! library and the command line know them.
//!
//! A trace names each of them ([`write()`]), so that a replay needs no options of its own ([`read`]). What a
//! run uses if it is told nothing stands in [`Options::default`] and [`Settings::default`]; what a trace
//! means that does not name an option, which may be older than that, in `RunOption::unnamed`.

use crate::detect::races::Suppression;
use crate::detect::{DETECTORS, DetectorEntry, Detectors, Switch};
use crate::record;
use crate::runtime::{AtExit, FaultClass, Timers};
use crate::settings::Settings;
use crate::world::{Mapping, World, parse_listener};
use clap::ValueEnum;
use coyote_instrumenter::{HeapPoints, Options, Points};
use std::str::FromStr;
use std::sync::Arc;

/// One option.
pub struct RunOption {
    /// As traces name it. Part of the trace format.
    pub name: &'static str,
    /// Its values as traces write them, none where the trace need not name it. A list has a line for each.
    write: fn(&Options, &Settings) -> Vec<String>,
    /// Takes one value; `None` if it is none.
    read: fn(&mut Options, &mut Settings, &str) -> Option<()>,
    /// The value that a trace means which does not name it: that of the time when there was no such
    /// option. `None`: the default of a run.
    unnamed: Option<&'static str>,
}

/// All options, in the order in which traces name them.
pub static RUN_OPTIONS: &[RunOption] = &[
    RunOption {
        name: "points",
        write: |o, _| vec![points_name(o.points).into()],
        read: |o, _, text| {
            let all = [Points::Sync, Points::Atomic, Points::Heap];
            put(&mut o.points, all.into_iter().find(|p| points_name(*p) == text))
        },
        unnamed: Some("heap"),
    },
    RunOption {
        name: "heap-points",
        write: |o, _| {
            o.follows_owners().then(|| heap_points_name(o.heap_points).into()).into_iter().collect()
        },
        read: |o, _, text| {
            let all = [HeapPoints::Shared, HeapPoints::All];
            put(&mut o.heap_points, all.into_iter().find(|p| heap_points_name(*p) == text))
        },
        unnamed: Some("all"),
    },
    RunOption {
        name: "atomic-fn",
        write: |o, _| o.atomic_fns.clone(),
        read: |o, _, text| push(&mut o.atomic_fns, text.into()),
        unnamed: None,
    },
    RunOption {
        name: "no-points-in",
        write: |o, _| o.no_points_in.clone(),
        read: |o, _, text| push(&mut o.no_points_in, text.into()),
        unnamed: None,
    },
    RunOption {
        name: "points-only-in",
        write: |o, _| o.points_only_in.clone(),
        read: |o, _, text| push(&mut o.points_only_in, text.into()),
        unnamed: None,
    },
    RunOption {
        name: "stub",
        write: |o, _| o.stubs.clone(),
        read: |o, _, text| push(&mut o.stubs, text.into()),
        unnamed: None,
    },
    RunOption {
        name: "env",
        write: |_, s| s.world.environment.clone(),
        read: |_, s, text| push(&mut world(s).environment, text.into()),
        unnamed: None,
    },
    RunOption {
        name: "argument",
        write: |_, s| s.world.arguments.clone(),
        read: |_, s, text| push(&mut world(s).arguments, text.into()),
        unnamed: None,
    },
    RunOption {
        name: "restart-argument",
        write: |_, s| s.world.restart_arguments.clone(),
        read: |_, s, text| push(&mut world(s).restart_arguments, text.into()),
        unnamed: None,
    },
    RunOption {
        name: "preload",
        write: |_, s| s.world.preloads.iter().map(Mapping::to_string).collect(),
        read: |_, s, text| push(&mut world(s).preloads, Mapping::parse(text)),
        unnamed: None,
    },
    RunOption {
        name: "preload-hash",
        write: |_, s| s.world.preload_hash.iter().cloned().collect(),
        read: |_, s, text| put(&mut world(s).preload_hash, Some(Some(text.into()))),
        unnamed: None,
    },
    RunOption {
        name: "dir",
        write: |_, s| s.world.directories.iter().map(Mapping::to_string).collect(),
        read: |_, s, text| push(&mut world(s).directories, Mapping::parse(text)),
        unnamed: None,
    },
    RunOption {
        name: "listen",
        write: |_, s| s.world.listeners.iter().map(u32::to_string).collect(),
        read: |_, s, text| push(&mut world(s).listeners, parse_listener(text).ok()?),
        unnamed: None,
    },
    RunOption {
        name: "default-atomics",
        write: |o, _| vec![o.atomic_defaults.to_string()],
        read: |o, _, text| set(&mut o.atomic_defaults, text),
        unnamed: Some("true"),
    },
    RunOption {
        name: "clock-points",
        write: |o, _| o.clock_points.then(|| "true".into()).into_iter().collect(),
        read: |o, _, text| set(&mut o.clock_points, text),
        unnamed: Some("false"),
    },
    RunOption {
        name: "brief-spins",
        write: |o, _| o.brief_spins.then(|| "true".into()).into_iter().collect(),
        read: |o, _, text| set(&mut o.brief_spins, text),
        unnamed: Some("false"),
    },
    RunOption {
        name: "libc-locks",
        write: |o, _| o.libc_locks.then(|| "true".into()).into_iter().collect(),
        read: |o, _, text| set(&mut o.libc_locks, text),
        unnamed: Some("false"),
    },
    RunOption {
        name: "memory-errors",
        write: |o, _| vec![o.memory_errors.to_string()],
        read: |o, _, text| set(&mut o.memory_errors, text),
        unnamed: Some("false"),
    },
    RunOption {
        name: "max-steps",
        write: |_, s| vec![format!("{} {}", s.limits.unfair_steps_max, s.limits.fair_steps_max)],
        read: |_, s, text| {
            let (unfair, fair) = text.split_once(' ')?;
            set(&mut s.limits.unfair_steps_max, unfair)?;
            set(&mut s.limits.fair_steps_max, fair)
        },
        unnamed: Some("10000 100000"),
    },
    RunOption {
        name: "fail-on-max-steps",
        write: |_, s| vec![s.limits.fail_on_steps_max.to_string()],
        read: |_, s, text| set(&mut s.limits.fail_on_steps_max, text),
        unnamed: Some("false"),
    },
    RunOption {
        name: "at-exit",
        write: |_, s| {
            let value = s.at_exit.to_possible_value().expect("no value is skipped");
            vec![value.get_name().into()]
        },
        read: |_, s, text| put(&mut s.at_exit, AtExit::from_str(text, false).ok()),
        unnamed: Some("wait"),
    },
    RunOption {
        name: "timers",
        write: |_, s| (s.timers == Timers::Ordered).then(|| "ordered".into()).into_iter().collect(),
        read: |_, s, text| put(&mut s.timers, Timers::from_str(text, false).ok()),
        unnamed: Some("any"),
    },
    RunOption {
        name: "allow-foreign-unlocks",
        write: |_, s| s.foreign_unlocks.then(|| "true".into()).into_iter().collect(),
        read: |_, s, text| set(&mut s.foreign_unlocks, text),
        unnamed: Some("false"),
    },
    RunOption {
        name: "spurious-wakeups",
        write: |_, s| budget(s, FaultClass::Spurious),
        read: |_, s, text| set_budget(s, FaultClass::Spurious, text),
        unnamed: Some("0"),
    },
    RunOption {
        name: "failing-try-locks",
        write: |_, s| budget(s, FaultClass::TryLock),
        read: |_, s, text| set_budget(s, FaultClass::TryLock, text),
        unnamed: Some("0"),
    },
    RunOption {
        name: "memory",
        write: |_, s| s.faults.write_memory().into_iter().collect(),
        read: |_, s, text| s.faults.read_memory(text),
        unnamed: Some("sc"),
    },
    RunOption {
        // Those that have no option of their own, with their budgets.
        name: "faults",
        write: |_, s| s.faults.write(),
        read: |_, s, text| s.faults.read(text).ok(),
        unnamed: None,
    },
    RunOption {
        name: "crash-model",
        write: |_, s| {
            let crashes = s.faults.has(FaultClass::Crash) || s.faults.has(FaultClass::CrashNode);
            crashes.then(|| s.crash_model.to_string()).into_iter().collect()
        },
        read: |_, s, text| put(&mut s.crash_model, text.parse().ok()),
        unnamed: None,
    },
    RunOption {
        name: "leaks",
        write: |_, s| s.detectors.has("leaks").then(|| "true".into()).into_iter().collect(),
        read: |_, s, text| {
            let on = text.parse().ok()?;
            s.detectors.set("leaks", on).then_some(())
        },
        unnamed: Some("false"),
    },
    RunOption {
        name: "exact-addresses",
        write: |_, s| s.exact_addresses.then(|| "true".into()).into_iter().collect(),
        read: |_, s, text| set(&mut s.exact_addresses, text),
        unnamed: Some("false"),
    },
    RunOption {
        name: "random",
        write: |_, s| (s.random > 0).then(|| s.random.to_string()).into_iter().collect(),
        read: |_, s, text| set(&mut s.random, text),
        unnamed: Some("0"),
    },
    RunOption {
        // Those that have no option of their own.
        name: "detect",
        write: |_, s| {
            let others = DETECTORS.iter().filter(|entry| matches!(entry.switch, Switch::Set { .. }));
            // Races that are notes decide nothing.
            let warns = |name: &str| name == "races" && s.detectors.races.warn;
            let decides =
                |entry: &DetectorEntry| entry.name != "leaks" && !warns(entry.whole().unwrap_or(entry.name));
            let on = others.filter(|entry| decides(entry) && s.detectors.watches_all(entry.name));
            on.map(|entry| entry.name.into()).collect()
        },
        read: |_, s, text| s.detectors.set(text, true).then_some(()),
        unnamed: None,
    },
    RunOption {
        name: "max-hot-steps",
        write: |_, s| s.detectors.hot_steps_max.map(|steps| steps.to_string()).into_iter().collect(),
        read: |_, s, text| put(&mut s.detectors.hot_steps_max, text.parse().ok().map(Some)),
        unnamed: None,
    },
    RunOption {
        // Where a known race is met, the iteration goes on.
        name: "suppress",
        write: |_, s| match s.detectors.races.warn {
            true => Vec::new(),
            false if !s.detectors.watches_all("races") => Vec::new(),
            false => s.detectors.races.suppressions.iter().map(Suppression::to_string).collect(),
        },
        read: |_, s, text| push(&mut s.detectors.races.suppressions, Suppression::parse(text)?),
        unnamed: None,
    },
    RunOption {
        name: "max-memory",
        write: |_, s| vec![(s.memory_bytes_max >> 20).to_string()],
        read: |_, s, text| put(&mut s.memory_bytes_max, text.parse::<usize>().ok()?.checked_mul(1 << 20)),
        unnamed: Some("512"),
    },
];

/// Why the options of a trace cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// A later version wrote the trace.
    #[error(
        "the trace has the option {0}, which this version ({version}) does not know; replay it with the \
         version that wrote it",
        version = env!("CARGO_PKG_VERSION")
    )]
    Unknown(String),
    /// The option has no such value.
    #[error("the trace's option {name} has the value {value:?}")]
    Value {
        /// The option.
        name: String,
        /// What stands there.
        value: String,
    },
}

/// Names the options of a run.
pub fn write(options: &Options, settings: &Settings) -> Vec<(String, String)> {
    let lines = |row: &RunOption| {
        let values = (row.write)(options, settings).into_iter();
        values.map(|value| (row.name.to_string(), value)).collect::<Vec<_>>()
    };
    RUN_OPTIONS.iter().flat_map(lines).collect()
}

/// The inverse of [`write()`]. The world is still to be opened.
///
/// # Errors
/// A later version wrote the trace, or it was edited.
pub fn read(named: &[(String, String)]) -> Result<(Options, Settings), OptionError> {
    let mut options = Options::default();
    let world = Arc::new(World::default());
    let mut settings = Settings { world, detectors: Detectors::none(), ..Settings::default() };
    for row in RUN_OPTIONS {
        let unnamed = row.unnamed.filter(|_| !named.iter().any(|(name, _)| name == row.name));
        if let Some(value) = unnamed {
            (row.read)(&mut options, &mut settings, value).expect("the table has values that can be read");
        }
    }
    for (name, value) in named {
        if name == record::CYCLE {
            let wrong = || OptionError::Value { name: name.clone(), value: value.clone() };
            record::read_cycle(value).ok_or_else(wrong)?;
            continue;
        }
        if record::OF_TRACE.contains(&name.as_str()) {
            let wrong = || OptionError::Value { name: name.clone(), value: value.clone() };
            value.parse::<u64>().map_err(|_| wrong())?;
            continue;
        }
        let row = RUN_OPTIONS.iter().find(|row| row.name == name);
        let row = row.ok_or_else(|| OptionError::Unknown(name.clone()))?;
        let wrong = || OptionError::Value { name: name.clone(), value: value.clone() };
        (row.read)(&mut options, &mut settings, value).ok_or_else(wrong)?;
    }
    settings.faults.prepare(&mut options);
    // Whatever watched the iteration: most runs have such modules, compiled already.
    options.edges = options.points == Points::Heap;
    Ok((options, settings))
}

fn world(settings: &mut Settings) -> &mut World {
    Arc::make_mut(&mut settings.world)
}

fn put<T>(field: &mut T, value: Option<T>) -> Option<()> {
    *field = value?;
    Some(())
}

fn set<T: FromStr>(field: &mut T, text: &str) -> Option<()> {
    put(field, text.parse().ok())
}

fn push<T>(list: &mut Vec<T>, value: T) -> Option<()> {
    list.push(value);
    Some(())
}

/// A fault that is not allowed need not be named.
fn budget(settings: &Settings, class: FaultClass) -> Vec<String> {
    let budget = settings.faults.budget(class);
    (budget > 0).then(|| budget.to_string()).into_iter().collect()
}

fn set_budget(settings: &mut Settings, class: FaultClass, text: &str) -> Option<()> {
    settings.faults.set(class, text.parse().ok()?);
    Some(())
}

fn points_name(points: Points) -> &'static str {
    match points {
        Points::Sync => "sync",
        Points::Atomic => "atomic",
        Points::Heap => "heap",
    }
}

fn heap_points_name(points: HeapPoints) -> &'static str {
    match points {
        HeapPoints::Shared => "shared",
        HeapPoints::All => "all",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::scheduler::Limits;
    use crate::runtime::{FAULTS, Faults};

    /// Every option that differs from the default is written, and read again.
    #[test]
    fn what_is_written_is_read() {
        let mut options = Options {
            points: Points::Heap,
            heap_points: HeapPoints::Shared,
            atomic_fns: vec!["a*".into(), "b".into()],
            atomic_defaults: false,
            memory_errors: false,
            no_points_in: vec!["c".into()],
            points_only_in: vec!["d".into()],
            stubs: vec!["env.e".into()],
            ..Options::default()
        };
        let mut detectors = Detectors::none();
        assert!(detectors.set("leaks", true) && !detectors.set("deadlock", false));
        assert!(detectors.set("block-races", true) && detectors.watches_all("races"));
        detectors.hot_steps_max = Some(70);
        detectors.races.suppressions =
            ["race:a*", "race:b"].into_iter().filter_map(Suppression::parse).collect();
        let settings = Settings {
            limits: Limits { unfair_steps_max: 7, fair_steps_max: 70, fail_on_steps_max: true },
            at_exit: AtExit::Kill,
            timers: Timers::Ordered,
            foreign_unlocks: true,
            faults: FAULTS
                .iter()
                .fold(Faults::default(), |all, row| all.with(row.class, 2 + row.class as u32)),
            crash_model: "torn:4096+ext4".parse().unwrap(),
            detectors,
            exact_addresses: true,
            random: 5,
            memory_bytes_max: 3 << 20,
            world: Arc::new(World {
                arguments: vec!["p".into(), "q r".into()],
                restart_arguments: vec!["p".into(), "again".into()],
                environment: vec!["A=B".into()],
                preloads: vec![Mapping::parse("data"), Mapping::parse("/a b::/c")],
                directories: vec![Mapping::parse("out::.")],
                listeners: vec![4, 3],
                preload_hash: Some("12ab".into()),
                ..World::default()
            }),
        };
        settings.faults.prepare(&mut options);
        settings.detectors.prepare(&mut options);
        let written = write(&options, &settings);
        assert_eq!(read(&written).unwrap(), (options, settings));
        for row in RUN_OPTIONS {
            assert!(written.iter().any(|(name, _)| name == row.name), "{} is not written", row.name);
        }
        // A detector that watches some iterations alone is none of those that a trace says nothing of.
        let sampled = Settings { detectors: Detectors::none().in_some(), ..Settings::default() };
        let written = write(&Options::default(), &sampled);
        let settings = Settings { detectors: Detectors::none(), ..Settings::default() };
        let options = Options { edges: true, ..Options::default() };
        assert_eq!(read(&written).unwrap(), (options, settings));
        for points in [Points::Sync, Points::Atomic] {
            let options = Options { points, ..Options::default() };
            assert_eq!(read(&write(&options, &Settings::default())).unwrap().0, options);
        }
    }

    /// What a trace that names nothing means does not change with the defaults of a run.
    #[test]
    fn what_is_not_named_is_as_it_was() {
        let (options, settings) = read(&[]).unwrap();
        assert!(!options.memory_errors && options.heap_points == HeapPoints::All);
        assert!(options.atomic_defaults && options.points == Points::Heap);
        assert!(!options.clock_points && !options.brief_spins && !options.libc_locks);
        let Limits { unfair_steps_max, fair_steps_max, fail_on_steps_max } = settings.limits;
        assert_eq!((unfair_steps_max, fair_steps_max, fail_on_steps_max), (10_000, 100_000, false));
        assert_eq!((settings.memory_bytes_max, settings.at_exit), (512 << 20, AtExit::Wait));
        assert!(settings.world.arguments.is_empty() && settings.detectors == Detectors::none());
    }

    #[test]
    fn unknown_and_wrong_options_are_named() {
        let error = |name: &str, value: &str| read(&[(name.into(), value.into())]).unwrap_err().to_string();
        assert!(error("colour", "red").starts_with("the trace has the option colour"));
        assert_eq!(error("at-exit", "run"), "the trace's option at-exit has the value \"run\"");
        assert_eq!(error("max-steps", "5"), "the trace's option max-steps has the value \"5\"");
    }
}
