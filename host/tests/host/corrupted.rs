//! A trace with one wrong decision: the replay stops at that decision, says so and exits with 4.
//!
//! Which decisions are wrong is derived from what was possible at each moment of the original execution, not
//! from the replay that is tested.

use super::examples::{artifact, module_path};
use super::{files, guest, process};
use coyote_wasm::artifact::Artifact;
use coyote_wasm::instrumenter::Location;
use coyote_wasm::outcome::Outcome;
use coyote_wasm::record::{self, Origin};
use coyote_wasm::replay::replay;
use coyote_wasm::strategies::rng::ChoiceRng;
use coyote_wasm::strategies::{
    Event, Iteration, OpKind, Operation, Pending, Pick, RandomWalk, Strategy, View, WorkerId, WorkerPath,
};
use coyote_wasm::trace::{Decision, Trace};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The possible decisions at one choice.
enum Moment {
    Pick { enabled: Vec<WorkerId>, timeouts: Vec<WorkerId>, workers: Vec<Pending> },
    Value { bound: u64 },
}

/// A random walk that records the choices that it was asked for.
struct Watched {
    walk: RandomWalk,
    moments: Arc<Mutex<Vec<Moment>>>,
}

impl Strategy for Watched {
    fn name(&self) -> String {
        self.walk.name()
    }
    fn fair(&self) -> bool {
        self.walk.fair()
    }
    fn begin(&mut self, iteration: Iteration) {
        self.moments.lock().unwrap().clear();
        self.walk.begin(iteration);
    }
    fn pick(&mut self, view: &View) -> Option<Pick> {
        self.moments.lock().unwrap().push(Moment::Pick {
            enabled: view.enabled.to_vec(),
            timeouts: view.timeouts.to_vec(),
            workers: view.workers.to_vec(),
        });
        self.walk.pick(view)
    }
    fn value(&mut self, bound: u64, view: &View) -> Option<u64> {
        self.moments.lock().unwrap().push(Moment::Value { bound });
        self.walk.value(bound, view)
    }
    fn observe(&mut self, event: Event) {
        self.walk.observe(event);
    }
}

/// An iteration that found a bug, with the possible decisions at each choice.
struct Original {
    artifact: Arc<Artifact>,
    trace: Trace,
    moments: Vec<Moment>,
    paths: Vec<WorkerPath>,
}

/// The first iteration of seed 0 that finds a bug.
fn original(artifact: &Arc<Artifact>, test: &str) -> Original {
    guest::with(artifact, test, &guest::settings(), |execution| {
        let moments = Arc::new(Mutex::new(Vec::new()));
        let mut strategy: Box<dyn Strategy> =
            Box::new(Watched { walk: RandomWalk::default(), moments: moments.clone() });
        for index in 0..10_000 {
            let iteration = Iteration { seed: 0, index };
            let (outcome, used) = execution.run(strategy, iteration).unwrap();
            strategy = used;
            if let Outcome::Bug(_) = outcome {
                let origin =
                    Origin { strategy: "random".into(), seed: 0, iteration: index, options: Vec::new() };
                return Original {
                    artifact: artifact.clone(),
                    trace: record::trace(execution, &outcome, origin),
                    moments: std::mem::take(&mut moments.lock().unwrap()),
                    paths: execution.runtime().workers().iter().map(|w| w.path.clone()).collect(),
                };
            }
        }
        panic!("no bug found in {test}");
    })
}

impl Original {
    fn place(&self, operation: &Operation) -> Option<Location> {
        self.artifact.table.sites.get(operation.site as usize).map(|s| s.location)
    }

    fn id(&self, path: &WorkerPath) -> Option<WorkerId> {
        self.paths.iter().position(|p| p == path).map(|i| WorkerId(i as u32))
    }

    /// Whether the original execution could have continued with this decision at its choice number `at`.
    fn possible(&self, at: usize, decision: &Decision) -> bool {
        match (&self.moments[at], decision) {
            (Moment::Pick { enabled, workers, .. }, Decision::Step { worker, kind, site }) => {
                self.id(worker).is_some_and(|id| {
                    enabled.contains(&id) && {
                        let operation = &workers[id.index()].operation;
                        operation.kind == *kind && self.place(operation) == *site
                    }
                })
            }
            (Moment::Pick { timeouts, .. }, Decision::Timeout { worker }) => {
                self.id(worker).is_some_and(|id| timeouts.contains(&id))
            }
            (Moment::Value { bound }, Decision::Value { value, bound: stated }) => {
                bound == stated && value < bound
            }
            _ => false,
        }
    }

    /// The trace with one decision changed in the given way, and where it is wrong; `None` if the way does
    /// not fit the decision, or if the result is not wrong.
    fn corrupt(&self, way: u64, rng: &mut ChoiceRng) -> Option<(&'static str, Trace, usize)> {
        let mut trace = self.trace.clone();
        let decisions = &mut trace.decisions;
        let at = rng.below(decisions.len() as u64) as usize;
        let any_worker = |rng: &mut ChoiceRng| match rng.below(self.paths.len() as u64 + 1) as usize {
            i if i < self.paths.len() => self.paths[i].clone(),
            _ => WorkerPath(vec![9]),
        };
        let (how, wrong) = match (way, decisions[at].clone()) {
            (0, Decision::Step { kind, site, .. }) => {
                decisions[at] = Decision::Step { worker: any_worker(rng), kind, site };
                ("other worker", at)
            }
            (1, Decision::Step { worker, site, .. }) => {
                let kind = OpKind::ALL[rng.below(OpKind::ALL.len() as u64) as usize];
                decisions[at] = Decision::Step { worker, kind, site };
                ("other kind", at)
            }
            (2, Decision::Step { worker, kind, .. }) => {
                let sites = &self.artifact.table.sites;
                let site = sites[rng.below(sites.len() as u64) as usize].location;
                decisions[at] = Decision::Step { worker, kind, site: Some(site) };
                ("other site", at)
            }
            (3, Decision::Step { worker, kind, site: Some(mut site) }) => {
                site.offset += 1;
                decisions[at] = Decision::Step { worker, kind, site: Some(site) };
                ("no site", at)
            }
            (4, Decision::Step { worker, .. }) => {
                decisions[at] = Decision::Timeout { worker };
                ("timeout for step", at)
            }
            (5, Decision::Step { .. } | Decision::Timeout { .. }) => {
                decisions[at] = Decision::Value { value: 0, bound: 2 };
                ("value for pick", at)
            }
            (6, Decision::Value { value, bound }) => {
                decisions[at] = Decision::Value { value, bound: bound + 1 + rng.below(3) };
                ("other bound", at)
            }
            (7, Decision::Timeout { .. }) => {
                decisions[at] = Decision::Timeout { worker: any_worker(rng) };
                ("other timeout", at)
            }
            (8, _) => {
                decisions.remove(at);
                ("deleted", at)
            }
            (9, decision) => {
                decisions.insert(at, decision);
                ("duplicated", at + 1)
            }
            _ => return None,
        };
        // One decision more than in the original is wrong; one less is noticed where it is missing.
        let right =
            wrong < self.moments.len() && trace.decisions.get(wrong).is_some_and(|d| self.possible(wrong, d));
        (!right).then_some((how, trace, wrong))
    }
}

/// Ways to corrupt a trace: see [`Original::corrupt`].
const WAYS: u64 = 10;

/// A hundred or more corrupted traces for each of two bugs: one with notifications, one with timeouts and
/// values.
#[test]
fn a_wrong_decision_is_reported_at_its_step() {
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for original in [
        original(&artifact("bounded_buffer"), "random_config"),
        original(&guest::from_file("timeouts.wat"), "first"),
    ] {
        let mut rng = ChoiceRng::new(Iteration { seed: 1, index: 0 });
        let test = original.trace.header.test.clone();
        guest::with(&original.artifact, &test, &guest::settings(), |execution| {
            let whole = replay(execution, &original.trace, false).unwrap();
            assert!(whole.reproduces(&original.trace), "{whole:?}");
            // Some ways fit few decisions, and one of the traces has no timeouts.
            let drawn = (0..WAYS).flat_map(|way| {
                let mut draws = (0..2_000).filter_map(|_| original.corrupt(way, &mut rng));
                draws.by_ref().take(20).collect::<Vec<_>>()
            });
            let corrupted: Vec<_> = drawn.collect();
            assert!(corrupted.len() >= 100, "{test}: only {} corrupted traces", corrupted.len());
            for (how, trace, wrong) in corrupted {
                *seen.entry(how).or_default() += 1;
                // The trace is replayed as it would be in a file.
                let trace = Trace::parse(trace.to_text().as_bytes()).unwrap();
                let replayed = replay(execution, &trace, false).unwrap();
                let divergence = replayed.divergence.as_ref().map(|d| d.at);
                let (was, is) = (original.trace.decisions.get(wrong), trace.decisions.get(wrong));
                assert_eq!(divergence, Some(wrong), "{test}, {how}: {was:?} is {is:?}: {replayed:?}");
                assert!(!replayed.reproduces(&trace));
            }
        });
    }
    assert!(seen.len() == WAYS as usize && seen.values().all(|n| *n >= 10), "not every way: {seen:?}");
}

/// Each decision in turn is edited in the file: the process names the choice and exits with 4.
#[test]
fn the_command_line_names_the_choice() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    let module = module_path("racy_counter");
    let module = module.to_str().unwrap();
    let found = process::run(at, &["test", module, "--test", "racy", "--races", "off", "--seed", "0"]);
    assert_eq!(found.code, Some(2), "{found:?}");
    let trace = found.line("  trace:  ").trim_start_matches("  trace:  ").to_string();
    let text = std::fs::read_to_string(at.join(&trace)).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let first = lines.iter().position(|l| *l == "schedule").unwrap() + 1;
    let last = lines.len() - 1;
    let count = |line: &usize| lines[*line].split("; ").count();
    let decisions = (first..last).flat_map(|line| (0..count(&line)).map(move |part| (line, part)));
    assert!((first..last).map(|line| count(&line)).sum::<usize>() >= 10, "{text}");
    for (choice, (line, part)) in decisions.enumerate() {
        let mut edited: Vec<String> = lines.iter().map(|l| l.to_string()).collect();
        let mut parts: Vec<String> = lines[line].split("; ").map(str::to_string).collect();
        // In the first part, the worker precedes the kind.
        let kind = parts[part].split(' ').nth(usize::from(part == 0)).unwrap().to_string();
        let other = if kind == "fence" { "load" } else { "fence" };
        parts[part] = parts[part].replacen(&kind, other, 1);
        edited[line] = parts.join("; ");
        let write =
            |lines: &[String]| std::fs::write(at.join("edited.trace"), lines.join("\n") + "\n").unwrap();

        // With its checksum, it is a damaged file.
        write(&edited);
        let refused = process::run(at, &["replay", module, "edited.trace"]);
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.stderr.contains("the checksum does not match"), "{refused:?}");

        // Without its checksum, it is an edited file.
        let mut end: Vec<&str> = lines[last].split(' ').collect();
        assert_eq!((end[0], end.pop().unwrap().len()), ("end", 16));
        edited[last] = end.join(" ");
        write(&edited);
        let diverged = process::run(at, &["replay", module, "edited.trace"]);
        assert_eq!(diverged.code, Some(4), "line {line}: {diverged:?}");
        let left = format!("... The execution left the trace at choice {}: ", choice + 1);
        assert!(diverged.line(&left).ends_with(&format!("the trace says {other}")), "{diverged:?}");
        assert!(diverged.line(". Not reproduced").contains("assertion"), "{diverged:?}");
    }
}

/// Each answer of a directory of the host in turn is edited: the replay stops at the question that the answer
/// does not fit.
#[test]
fn a_wrong_answer_is_reported_at_its_question() {
    let directory = tempfile::tempdir().unwrap();
    let at = directory.path();
    files::in_directory(at);
    let arguments = ["test", "files.wat", "--test", "counter", "--dir", "data", "--seed", "0"];
    let found = process::run(at, &arguments);
    assert_eq!(found.code, Some(2), "{found:?}");
    let trace = found.line("  trace:  ").trim_start_matches("  trace:  ").to_string();
    let text = std::fs::read_to_string(at.join(&trace)).unwrap();
    let (lines, end) = text.trim_end().rsplit_once('\n').unwrap();
    let end = end.rsplit_once(' ').unwrap().0;
    let lines: Vec<String> = lines.lines().map(str::to_string).collect();
    let first = lines.iter().position(|l| l.starts_with("answer ")).unwrap();
    assert!(lines.len() - first >= 5, "{text}");
    let function = |line: usize| lines[line].split(' ').nth(1).unwrap();
    let replay = |edited: &[String]| {
        std::fs::write(at.join("edited.trace"), format!("{}\n{end}\n", edited.join("\n"))).unwrap();
        process::run(at, &["replay", "files.wat", "edited.trace"])
    };
    assert_eq!(replay(&lines).line(". Reproduced"), ". Reproduced: assertion");
    for line in first..lines.len() {
        let question = line - first + 1;
        let stops = |how: &str, edited: &[String], said: &str| {
            let ended = replay(edited);
            assert_eq!(ended.code, Some(4), "{how}, question {question}: {ended:?}");
            assert!(ended.stdout.contains(said), "{how}: {said}: {ended:?}");
        };
        let with = |from: &str, to: &str| {
            let mut edited = lines.clone();
            edited[line] = edited[line].replacen(from, to, 1);
            assert_ne!(edited, lines);
            edited
        };
        let name = function(line);
        let asks = format!("question {question} to the host is {name}");
        stops("function", &with(name, "fd_sync"), &format!("{asks}, the trace has fd_sync there"));
        let call = lines[line].split(' ').nth(2).unwrap();
        stops("call", &with(call, "0123456789abcdef"), &format!("{asks} with other arguments"));
        let less = [&lines[..line], &lines[line + 1..]].concat();
        match lines.get(line + 1) {
            Some(_) if function(line + 1) == name => {
                stops("deleted", &less, &format!("{asks} with other arguments"))
            }
            Some(_) => {
                stops("deleted", &less, &format!("{asks}, the trace has {} there", function(line + 1)))
            }
            None => stops("deleted", &less, &format!("{asks}, the trace has nothing more there")),
        }
        // An error that the host did not return: the guest says that a call failed, or does something else.
        let fields: Vec<&str> = lines[line].split(' ').collect();
        let mut failed = lines.clone();
        failed[line] = format!("{} 29 - -", fields[..3].join(" "));
        stops("error", &failed, ". Not reproduced");
        let cut = replay(&with(call, &call[1..]));
        assert_eq!(cut.code, Some(1), "{cut:?}");
        assert!(cut.stderr.contains("is not an answer"), "{cut:?}");
    }
}
