//! The options that a trace names, because they change what its decisions mean: written and read back,
//! so that a replay needs no options of its own.

use crate::execution::Settings;
use crate::machine::conductor::Limits;
use crate::runtime::{AtExit, Faults};
use crate::world::{Mapping, World};
use anyhow::{Context, Result, anyhow, bail};
use clap::ValueEnum;
use coyote_instrumenter::{HeapPoints, Options, Points};
use std::sync::Arc;

/// Names the options.
pub fn write(options: &Options, settings: &Settings) -> Vec<(String, String)> {
    let mut named = vec![("points".to_string(), points_name(options.points).to_string())];
    if options.follows_owners() {
        named.push(("heap-points".into(), heap_points_name(options.heap_points).into()));
    }
    let mut list = |name: &str, values: &[String]| {
        named.extend(values.iter().map(|v| (name.to_string(), v.clone())));
    };
    list("atomic-fn", &options.atomic_fns);
    list("no-points-in", &options.no_points_in);
    list("points-only-in", &options.points_only_in);
    list("stub", &options.stubs);
    list("env", &settings.world.environment);
    list("argument", &settings.world.arguments);
    let texts = |mappings: &[Mapping]| mappings.iter().map(Mapping::to_string).collect::<Vec<_>>();
    list("preload", &texts(&settings.world.preloads));
    list("preload-hash", settings.world.preload_hash.as_slice());
    list("dir", &texts(&settings.world.directories));
    let limits = &settings.limits;
    let steps = format!("{} {}", limits.unfair_steps_max, limits.fair_steps_max);
    let at_exit = settings.at_exit.to_possible_value().expect("no value is skipped");
    let mut one = |name: &str, value: String| named.push((name.to_string(), value));
    one("default-atomics", options.atomic_defaults.to_string());
    one("memory-errors", options.memory_errors.to_string());
    one("max-steps", steps);
    one("fail-on-max-steps", limits.fail_on_steps_max.to_string());
    one("at-exit", at_exit.get_name().into());
    let Faults { spurious_wakeups, failing_try_locks, .. } = settings.faults;
    for (name, value) in [("spurious-wakeups", spurious_wakeups), ("failing-try-locks", failing_try_locks)] {
        if value > 0 {
            one(name, value.to_string());
        }
    }
    if settings.leaks {
        one("leaks", "true".into());
    }
    one("max-memory", (settings.memory_bytes_max >> 20).to_string());
    named
}

/// The inverse of [`write`]. The world is still to be opened.
pub fn read(named: &[(String, String)]) -> Result<(Options, Settings)> {
    // Traces that do not say it are from when there was no other.
    let mut options = Options { heap_points: HeapPoints::All, memory_errors: false, ..Options::default() };
    let mut world = World::default();
    let mut limits = Limits { unfair_steps_max: 10_000, fair_steps_max: 100_000, fail_on_steps_max: false };
    let mut at_exit = AtExit::default();
    let mut faults = Faults::default();
    let mut leaks = false;
    let mut memory_bytes_max = 512 << 20;
    for (name, value) in named {
        let wrong = || format!("the trace's option {name} has the value {value:?}");
        match name.as_str() {
            "points" => {
                let all = [Points::Sync, Points::Atomic, Points::Heap];
                options.points = all.into_iter().find(|p| points_name(*p) == value).with_context(wrong)?;
            }
            "heap-points" => {
                let all = [HeapPoints::Shared, HeapPoints::All];
                let found = all.into_iter().find(|p| heap_points_name(*p) == value);
                options.heap_points = found.with_context(wrong)?;
            }
            "atomic-fn" => options.atomic_fns.push(value.clone()),
            "no-points-in" => options.no_points_in.push(value.clone()),
            "points-only-in" => options.points_only_in.push(value.clone()),
            "stub" => options.stubs.push(value.clone()),
            "env" => world.environment.push(value.clone()),
            "argument" => world.arguments.push(value.clone()),
            "preload" => world.preloads.push(Mapping::parse(value)),
            "preload-hash" => world.preload_hash = Some(value.clone()),
            "dir" => world.directories.push(Mapping::parse(value)),
            "default-atomics" => options.atomic_defaults = value.parse().with_context(wrong)?,
            "memory-errors" => options.memory_errors = value.parse().with_context(wrong)?,
            "leaks" => leaks = value.parse().with_context(wrong)?,
            "max-steps" => {
                let (unfair, fair) = value.split_once(' ').with_context(wrong)?;
                limits.unfair_steps_max = unfair.parse().with_context(wrong)?;
                limits.fair_steps_max = fair.parse().with_context(wrong)?;
            }
            "fail-on-max-steps" => limits.fail_on_steps_max = value.parse().with_context(wrong)?,
            "at-exit" => {
                at_exit = AtExit::from_str(value, false).map_err(|e| anyhow!(e)).with_context(wrong)?;
            }
            "spurious-wakeups" => faults.spurious_wakeups = value.parse().with_context(wrong)?,
            "failing-try-locks" => faults.failing_try_locks = value.parse().with_context(wrong)?,
            "max-memory" => {
                let mib: usize = value.parse().with_context(wrong)?;
                memory_bytes_max = mib.checked_mul(1 << 20).with_context(wrong)?;
            }
            _ => bail!(
                "the trace has the option {name}, which this version ({}) does not know; replay it with \
                 the version that wrote it",
                env!("CARGO_PKG_VERSION")
            ),
        }
    }
    Ok((options, Settings { limits, at_exit, faults, leaks, memory_bytes_max, world: Arc::new(world) }))
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

    #[test]
    fn what_is_written_is_read() {
        let options = Options {
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
        let settings = Settings {
            limits: Limits { unfair_steps_max: 7, fair_steps_max: 70, fail_on_steps_max: true },
            at_exit: AtExit::Kill,
            faults: Faults { spurious_wakeups: 2, failing_try_locks: 3, ..Faults::default() },
            leaks: true,
            memory_bytes_max: 3 << 20,
            world: Arc::new(World {
                arguments: vec!["p".into(), "q r".into()],
                environment: vec!["A=B".into()],
                preloads: vec![Mapping::parse("data"), Mapping::parse("/a b::/c")],
                directories: vec![Mapping::parse("out::.")],
                preload_hash: Some("12ab".into()),
                ..World::default()
            }),
        };
        assert_eq!(read(&write(&options, &settings)).unwrap(), (options, settings));
    }

    #[test]
    fn unknown_and_wrong_options_are_named() {
        let error = |name: &str, value: &str| read(&[(name.into(), value.into())]).unwrap_err().to_string();
        assert!(error("colour", "red").starts_with("the trace has the option colour"));
        assert_eq!(error("at-exit", "run"), "the trace's option at-exit has the value \"run\"");
        assert_eq!(error("max-steps", "5"), "the trace's option max-steps has the value \"5\"");
    }
}
