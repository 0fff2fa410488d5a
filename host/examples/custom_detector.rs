//! A detector of one's own: no worker may write what another one has written, unless it holds a mutex.
//!
//!     cargo run --release -p coyote-wasm --example custom_detector

use coyote_wasm::evidence::Evidence;
use coyote_wasm::observe::{Detector, Event, Finding, GuestState, Interest, SavedState, SyncKind};
use coyote_wasm::outcome::{Bug, BugKind};
use coyote_wasm::strategies::WorkerId;
use coyote_wasm::tester::Tester;
use std::collections::BTreeMap;

#[derive(Clone, Default)]
struct UnlockedWrites {
    /// Who wrote to an address first.
    writers: BTreeMap<u64, WorkerId>,
    /// How many locks each worker holds.
    held: BTreeMap<WorkerId, i32>,
}

impl Detector for UnlockedWrites {
    /// What is not named here is not told, and costs nothing.
    fn interest(&self) -> Interest {
        Interest::ACCESSES | Interest::SYNC
    }

    fn begin(&mut self, _: &GuestState<'_>) {
        *self = UnlockedWrites::default();
    }

    fn event(&mut self, _: &GuestState<'_>, event: &Event<'_>) -> Option<Finding> {
        match event {
            Event::Sync(sync) => {
                let change = match sync.kind {
                    SyncKind::Acquire | SyncKind::AcquireShared => 1,
                    SyncKind::Release | SyncKind::ReleaseShared => -1,
                    SyncKind::AcquireRelease => 0,
                };
                if let coyote_wasm::observe::HbObject::Object(_) = sync.object {
                    *self.held.entry(sync.worker).or_default() += change;
                }
                None
            }
            Event::Access(access) if access.writes && !access.atomic && !access.in_section => {
                let first = *self.writers.entry(access.address).or_insert(access.worker);
                let locked = self.held.get(&access.worker).is_some_and(|held| *held > 0);
                if first == access.worker || locked {
                    return None;
                }
                let text =
                    format!("a write at {:#x} without a lock, where another worker wrote", access.address);
                let evidence = Evidence::Said(text);
                Some(Bug { kind: BugKind::Assertion, evidence, worker: Some(access.worker) }.into())
            }
            _ => None,
        }
    }

    /// Searches go back to snapshots: what is known of the execution goes with them.
    fn save(&self) -> SavedState {
        SavedState::new(self.clone())
    }

    fn restore(&mut self, saved: &SavedState) {
        if let Some(saved) = saved.get::<UnlockedWrites>() {
            self.clone_from(saved);
        }
    }
}

fn main() -> anyhow::Result<()> {
    let wasm = std::fs::read("examples/wasm/racy_counter.wasm")?;
    let mut tester = Tester::new(&wasm)?;
    tester.settings.detectors.add(|| Box::new(UnlockedWrites::default()));
    for test in tester.tests() {
        let result = tester.explore(&test.name, "random")?;
        for found in &result.bugs {
            println!("{}: {} in iteration {}", test.name, found.bug.message(), found.iteration);
            assert!(tester.replay(&found.trace)?.reproduces(&found.trace));
        }
    }
    Ok(())
}
