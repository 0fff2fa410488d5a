//! `coyote::net`: what each preset allows and forbids, with and without faults. The programs are those of
//! `examples/rust/outcomes_network`; searches must find exactly the outcomes that a naive model of each one
//! has.

use super::outcomes::all_outcomes;
use super::{examples, guest};
use coyote_wasm::artifact::Artifact;
use coyote_wasm::execution::Settings;
use coyote_wasm::instrumenter::{Options, Points};
use coyote_wasm::runtime::{Faults, Mutant};
use std::collections::BTreeSet;
use std::sync::{Arc, OnceLock};

pub type Outcomes = BTreeSet<String>;

/// Without points at plain accesses: workers share only the network.
pub fn artifact() -> Arc<Artifact> {
    static ARTIFACT: OnceLock<Arc<Artifact>> = OnceLock::new();
    let make = || {
        let wasm = std::fs::read(examples::module_path("outcomes_network")).unwrap();
        let options =
            Options { points: Points::Atomic, faults: vec!["crash".into()], ..guest::options_for("dpor") };
        guest::compile(&wasm, &options).unwrap()
    };
    ARTIFACT.get_or_init(make).clone()
}

/// The outcomes of a search that is exhausted: all words that a test logs, or the kind of its bug.
fn searched(test: &str, search: &str, budgets: &[&str]) -> Outcomes {
    let settings = settings(budgets, None);
    guest::with(&artifact(), test, &settings, |execution| {
        let (outcomes, executions) = all_outcomes(execution, search);
        println!("{test} {budgets:?}: {executions} executions, {outcomes:?}");
        outcomes
    })
}

/// Settings with these budgets, and a planted defect.
pub fn settings(budgets: &[&str], mutant: Option<Mutant>) -> Settings {
    let mut faults = Faults::default().with_mutant(mutant);
    budgets.iter().for_each(|budget| faults.read(budget).unwrap());
    Settings { faults, ..guest::settings() }
}

/// How many faults may happen: of each kind by its name, or in total.
#[derive(Clone)]
struct Budgets {
    of: Vec<(&'static str, u32)>,
    together: u32,
}

impl Budgets {
    fn read(texts: &[&'static str]) -> Budgets {
        let mut budgets = Budgets { of: Vec::new(), together: 0 };
        for text in texts {
            let (name, count) = text.split_once('=').unwrap();
            match name.strip_prefix("net.") {
                Some(kind) => budgets.of.push((kind, count.parse().unwrap())),
                None => budgets.together = count.parse().unwrap(),
            }
        }
        budgets
    }

    /// The budgets left after a fault of this kind, if it may happen.
    fn take(&self, kind: &str) -> Option<Budgets> {
        let mut left = self.clone();
        let budget = match left.of.iter_mut().find(|(name, _)| *name == kind) {
            Some((_, count)) => count,
            None => &mut left.together,
        };
        *budget = budget.checked_sub(1)?;
        Some(left)
    }

    /// Without a fault of this kind, and with one if that may happen.
    fn with_and_without(&self, kind: &str) -> Vec<(bool, Budgets)> {
        let with = self.take(kind).map(|left| (true, left));
        [(false, self.clone())].into_iter().chain(with).collect()
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Preset {
    Ordered,
    Unordered,
    Duplicating,
}

/// A datagram that was sent and has not arrived.
#[derive(Clone)]
struct Letter {
    link: u32,
    message: u32,
    late: bool,
}

/// The state of the program, and the faults of its links.
#[derive(Clone, Default)]
struct State {
    cut: Vec<u32>,
    jammed: Vec<u32>,
    slow: Vec<u32>,
    letters: Vec<Letter>,
}

/// 1 and 2 are sent over one link, 3 over the other; arrived datagrams are received, then late ones.
fn datagrams(preset: Preset, budgets: &[&'static str]) -> Outcomes {
    let mut outcomes = Outcomes::new();
    let sends = [(0, 1), (0, 2), (1, 3)];
    send(preset, &sends, State::default(), &Budgets::read(budgets), &mut outcomes);
    outcomes
}

fn send(preset: Preset, sends: &[(u32, u32)], state: State, budgets: &Budgets, outcomes: &mut Outcomes) {
    let [(link, message), rest @ ..] = sends else {
        return receive(preset, state, false, String::new(), budgets, outcomes);
    };
    let (link, message) = (*link, *message);
    for (cuts, budgets) in budgets.with_and_without("partition") {
        let mut state = state.clone();
        state.cut.extend(cuts.then_some(link));
        if state.cut.contains(&link) {
            send(preset, rest, state, &budgets, outcomes);
            continue;
        }
        for (jams, budgets) in budgets.with_and_without("jam") {
            for (slows, budgets) in budgets.with_and_without("slow") {
                for (delays, budgets) in budgets.with_and_without("delay") {
                    let mut state = state.clone();
                    state.jammed.extend(jams.then_some(link));
                    state.slow.extend(slows.then_some(link));
                    for (loses, budgets) in budgets.with_and_without("loss") {
                        if loses {
                            send(preset, rest, state.clone(), &budgets, outcomes);
                            continue;
                        }
                        let copies = match preset {
                            Preset::Duplicating => vec![(false, budgets.clone()), (true, budgets)],
                            _ => budgets.with_and_without("duplicate"),
                        };
                        for (twice, budgets) in copies {
                            let mut state = state.clone();
                            let late = delays || state.slow.contains(&link);
                            let letter = Letter { link, message, late };
                            state.letters.extend(twice.then(|| letter.clone()));
                            state.letters.push(letter);
                            send(preset, rest, state, &budgets, outcomes);
                        }
                    }
                }
            }
        }
    }
}

fn receive(
    preset: Preset,
    state: State,
    later: bool,
    said: String,
    budgets: &Budgets,
    outcomes: &mut Outcomes,
) {
    let mut may_end = true;
    for (index, letter) in state.letters.iter().enumerate() {
        if !later && (letter.late || state.jammed.contains(&letter.link)) {
            continue;
        }
        let behind = state.letters[..index].iter().any(|before| before.link == letter.link);
        let budgets = match preset == Preset::Ordered && behind {
            true => budgets.take("reorder"),
            false => {
                may_end = false;
                Some(budgets.clone())
            }
        };
        if let Some(budgets) = budgets {
            let mut state = state.clone();
            state.letters.remove(index);
            receive(preset, state, later, format!("{said}{} ", letter.message), &budgets, outcomes);
        }
    }
    match (may_end, later) {
        (false, _) => {}
        (true, false) => receive(preset, state, true, said + "| ", budgets, outcomes),
        (true, true) => _ = outcomes.insert(said + "|"),
    }
}

const PRESETS: &[(Preset, &str)] =
    &[(Preset::Ordered, "ordered"), (Preset::Unordered, "unordered"), (Preset::Duplicating, "duplicating")];

fn check_datagrams(preset: Preset, name: &str, search: &str, budgets: &[&'static str]) -> Outcomes {
    let expected = datagrams(preset, budgets);
    assert_eq!(searched(&format!("alone_{name}"), search, budgets), expected, "{name} {search} {budgets:?}");
    expected
}

/// Without faults, and one of each kind at a time.
#[test]
fn datagrams_arrive_as_the_preset_says() {
    let kinds = ["loss", "duplicate", "reorder", "delay", "jam", "slow", "partition", "reset", "half-open"];
    for (preset, name) in PRESETS {
        let usual = check_datagrams(*preset, name, "dfs", &[]);
        assert_eq!(check_datagrams(*preset, name, "dpor", &[]), usual);
        if *preset == Preset::Duplicating {
            continue;
        }
        for kind in kinds {
            let budget = &*format!("net.{kind}=1").leak();
            let outcomes = check_datagrams(*preset, name, "dpor", &[budget]);
            // Otherwise nothing is tested.
            let matters = match kind {
                "reset" | "half-open" => false,
                "reorder" => *preset == Preset::Ordered,
                _ => true,
            };
            assert_eq!(outcomes != usual, matters, "{name} {kind}");
        }
    }
    // Presets differ.
    let [ordered, unordered, duplicating] =
        [Preset::Ordered, Preset::Unordered, Preset::Duplicating].map(|preset| datagrams(preset, &[]));
    assert!(ordered.is_subset(&unordered) && unordered.is_subset(&duplicating));
    assert_eq!((ordered.len(), unordered.len()), (3, 6));
}

/// Several faults, with one budget and with several.
#[test]
fn faults_go_together_as_budgets_allow() {
    for (preset, name) in &PRESETS[..2] {
        let one = check_datagrams(*preset, name, "dpor", &["net=1"]);
        for budgets in [
            &["net.loss=2"][..],
            &["net.reorder=2", "net.duplicate=1"],
            &["net.delay=1", "net.loss=1"],
            &["net=1", "net.loss=0"],
            &["net=1", "net.partition=1"],
        ] {
            assert_ne!(check_datagrams(*preset, name, "dpor", budgets), one);
        }
    }
    check_datagrams(Preset::Duplicating, "duplicating", "dpor", &["net.loss=1"]);
}

/// Senders and the receiver at once: a receiver that waits sees the same as one that receives later, without
/// faults.
#[test]
fn threads_and_tasks_see_the_same() {
    for (preset, name) in &PRESETS[..2] {
        // Nothing is late, and all datagrams arrive.
        let expected: Outcomes = datagrams(*preset, &[]).iter().map(|o| o.replace(" | |", "")).collect();
        for who in ["threads", "tasks"] {
            assert_eq!(searched(&format!("{who}_{name}"), "dpor", &[]), expected, "{who} {name}");
        }
    }
}

/// All ways to read these bytes, at most three at a time.
fn pieces(bytes: &str) -> Vec<String> {
    if bytes.is_empty() {
        return vec![String::new()];
    }
    let piece = |length: usize| {
        let (first, rest) = bytes.split_at(length);
        pieces(rest).into_iter().map(move |rest| format!("{first} {rest}"))
    };
    (1..=bytes.len().min(3)).flat_map(piece).collect()
}

/// Bytes come in order, in pieces of any length.
#[test]
fn streams_are_split_anywhere() {
    let read = |bytes: &str, end: &str| -> Outcomes {
        pieces(bytes).into_iter().map(|pieces| pieces + end).collect()
    };
    let usual = read("abcd", "end");
    let one = |outcomes: &[&str]| -> Outcomes { outcomes.iter().map(|o| o.to_string()).collect() };
    assert_eq!(searched("stream", "dfs", &[]), usual);
    // For a receiver that waits, late bytes are the same as others; and bytes of streams are neither lost nor
    // overtaken.
    for kind in ["delay", "jam", "slow", "loss", "duplicate", "reorder"] {
        assert_eq!(searched("stream", "dpor", &[&format!("net.{kind}=1")]), usual, "{kind}");
    }
    // Connecting fails; or the first write fails, or the second one, which may be reported or not.
    let reset =
        one(&["connect:reset", "write:reset write:reset read:reset", "write:reset read:reset", "read:reset"]);
    assert_eq!(searched("stream", "dpor", &["net.reset=1"]), &usual | &reset);
    // Nothing arrives from the first write on, or from the second one, and a reader waits for ever.
    assert_eq!(searched("stream", "dpor", &["net.half-open=1"]), &usual | &one(&["deadlock"]));
    // If a link is cut before the connection is made, connecting fails after a while. If it is cut later, the
    // bytes written before the cut are read when it is mended at the latest, or not at all.
    let cut = searched("stream", "dpor", &["net.partition=1"]);
    let broken = one(&["connect:timeout", "read:timeout"]);
    assert_eq!(cut, &usual | &broken);
}

/// Changes that the program itself makes to links have one outcome.
#[test]
fn links_obey_the_program() {
    for test in [
        "cut_held_and_slow",
        "healed_while_waited_for",
        "streams_over_links",
        "answers_over_links",
        "connections_over_links",
    ] {
        assert_eq!(searched(test, "dpor", &[]), Outcomes::from([String::new()]), "{test}");
    }
}
