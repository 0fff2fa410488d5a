//! Creates the report model from results; no other code fills the model.

use super::model::{
    AccessReport, BlockReport, BugReport, ExplanationReport, FindabilityReport, LivelockReport, OutputReport,
    PassingReport, PastEventReport, RaceReport, RoundStepReport, SpinReport, SweepReport, SweptSiteReport,
    TestReport, Timeline, WorkerReport,
};
use super::note::{self, Note};
use super::progress::ProgressReport;
use super::{correlation, frames};
use crate::evidence::{RacingAccess, Side};
use crate::livelock::{Livelock, Spin};
use crate::results::{
    AccessHistory, Explanation, FoundBug, PastEvent, RaceHistory, RoundStep, SearchSummary, Sweep, Swept,
    TestResult,
};
use crate::symbols::{SourceFrame, Symbols};
use crate::trace::Decision;
use crate::verdict::Verdict;
use coyote_instrumenter::Location;
use std::collections::BTreeMap;
use std::path::Path;

/// What a report needs in addition to the results.
pub struct Builder<'a> {
    /// The module's path, as the user gave it.
    pub module: &'a Path,
    pub symbols: &'a Symbols,
    /// Whether tests work in directories of the host.
    pub host_directories: bool,
}

impl Builder<'_> {
    pub fn test(&self, name: &str, result: &TestResult) -> TestReport {
        let verdict = result.verdict();
        let progress = (verdict == Verdict::NotFound && result.search.is_none())
            .then(|| ProgressReport::of(name, result));
        let mut notes =
            note::of(result, self.host_directories, |access| self.racing(access), |side| self.side(side));
        notes.extend(progress.clone().map(|progress| Note::Progress(progress.into())));
        TestReport {
            name: name.into(),
            verdict,
            progress,
            unfinished: result.unfinished(),
            stopped_by: result.stop.name(),
            statistics: result.statistics,
            search: result.search.clone(),
            sweep: result.sweep.as_ref().map(|sweep| self.sweep(sweep)),
            faults: result.incidents.faults.clone(),
            sometimes: result.incidents.sometimes.clone(),
            notes,
            elapsed: result.elapsed,
            data: result.correlation.as_ref().and_then(|all| correlation::data(all, self.symbols)),
            bugs: result.bugs.iter().map(|bug| self.bug_of(bug, result)).collect(),
            any_choice: result.any_choice,
            workers_max: result.workers_max,
            memory: note::budgets(result).memory_model(),
            extent: result.extent(),
            missing: result.missing_results().is_some(),
            first_output: result.first_output.as_ref().map_or(String::new(), |output| output.text.clone()),
        }
    }

    /// A bug, with what the whole exploration contributes to it.
    fn bug_of(&self, found: &FoundBug, result: &TestResult) -> BugReport {
        let suspects = |all| correlation::suspects(all, &found.identity.short(), self.symbols);
        let suspects = result.correlation.as_ref().map(suspects).unwrap_or_default();
        let bug = self.bug(found);
        let mut before = result.search.iter().flat_map(SearchSummary::bugs_before);
        let before = before.find(|known| known.identity == bug.identity).map_or(0, |known| known.count);
        BugReport { suspects, count: bug.count + before, ..bug }
    }

    pub fn bug(&self, found: &FoundBug) -> BugReport {
        let post_mortem = &found.post_mortem;
        let workers = post_mortem.workers.iter().map(|worker| WorkerReport {
            title: worker.title.clone(),
            culprit: post_mortem.culprit == Some(worker.id),
            doing: worker.doing.clone(),
            stack: frames::of(&worker.stack, self.symbols),
        });
        let output = post_mortem.output.iter().map(|line| OutputReport {
            worker: line.worker.clone(),
            step: line.step,
            stream: line.stream,
            text: line.text.clone(),
        });
        BugReport {
            kind: found.bug.kind,
            identity: found.identity.short(),
            message: found.message(),
            iteration: found.iteration,
            found_by: found.by.clone(),
            count: found.count,
            suspects: Vec::new(),
            steps: found.trace.decisions.len(),
            trace: found.path.display().to_string(),
            log: None,
            files: BTreeMap::new(),
            replay_command: format!("coyote-wasm replay {} {}", shell(self.module), shell(&found.path)),
            place: self.place(found),
            story: found.story.clone(),
            workers: workers.collect(),
            block: post_mortem.block.as_ref().map(|block| BlockReport {
                address: block.address,
                bytes: block.bytes,
                allocated: block.allocated.as_ref().map(|event| self.call(event)),
                freed: block.freed.as_ref().map(|event| self.call(event)),
            }),
            first_access: post_mortem.first_access.as_ref().map(|event| self.call(event)),
            race: post_mortem.race.as_ref().map(|race| self.race(race)),
            notes: post_mortem.notes.clone(),
            livelock: post_mortem.livelock.as_ref().map(livelock),
            round: post_mortem.round.iter().map(|step| self.round_step(step)).collect(),
            output: output.collect(),
            explanation: ExplanationReport {
                decisive_place: self.decisive_place(found),
                ..explanation(&found.explanation)
            },
            timeline: self.timeline(&found.trace.decisions),
            history: found.history.clone(),
            lacks_lines: self.symbols.lacks_lines(),
        }
    }

    /// Merges sites that look the same to a reader.
    fn sweep(&self, sweep: &Sweep) -> SweepReport {
        let mut sites: Vec<SweptSiteReport> = Vec::new();
        for swept in &sweep.sites {
            let place = frames::path(&frames::of(&swept.stack, self.symbols));
            let known = sites.iter().position(|site| site.fault == swept.fault && site.place == place);
            let at = known.unwrap_or_else(|| {
                let (fault, swept) = (swept.fault.clone(), Swept::default());
                sites.push(SweptSiteReport { fault, place, opportunities: 0, planned: 0, swept });
                sites.len() - 1
            });
            let site = &mut sites[at];
            site.opportunities += swept.opportunities;
            site.planned += swept.planned;
            site.swept.merge(&swept.swept);
        }
        SweepReport {
            faults: sweep.faults.clone(),
            opportunities: sweep.opportunities(),
            samples: sweep.samples,
            planned: sweep.planned(),
            tried: sweep.tried(),
            unfinished: sweep.unfinished(),
            left_out: sweep.left_out,
            complete: sweep.is_complete(),
            baseline_passes: sweep.baseline_passes,
            sites,
        }
    }

    /// The place of the parties that caused the bug, or that all others wait for; for a leak, where the block was
    /// allocated. A function whose source is below the current directory is preferred to one of a library that it
    /// calls.
    fn place(&self, found: &FoundBug) -> Option<SourceFrame> {
        let post_mortem = &found.post_mortem;
        let waited_for =
            post_mortem.workers.iter().filter(|worker| post_mortem.waited_for.contains(&worker.id));
        let parties = found.trace.header.identity.iter().flat_map(|identity| &identity.parties);
        let allocated = found.post_mortem.block.iter().filter_map(|block| block.allocated.as_ref());
        let stacks = waited_for.map(|worker| &worker.stack).chain(parties.map(|party| &party.stack));
        let stacks = stacks.chain(allocated.map(|event| &event.stack));
        let mut stacks = stacks.chain(found.post_mortem.workers.iter().map(|worker| &worker.stack));
        stacks.find_map(|stack| {
            let stack = frames::of(stack, self.symbols);
            let known = || frames::own(&stack).filter(|frame| frame.file.is_some() && frame.line.is_some());
            let is_near = |file: &String| Path::new(file).is_relative();
            known().find(|frame| frame.file.as_ref().is_some_and(is_near)).or_else(|| known().next()).cloned()
        })
    }

    /// The place of the decisive choice; for a value, the place of the step in which it was chosen. For an operation
    /// within a library, the place of the story's row that contains the step.
    fn decisive_place(&self, found: &FoundBug) -> Option<SourceFrame> {
        let decisive = found.explanation.decisive.as_ref()?;
        let steps = found.trace.decisions.iter().take(decisive.decision + 1).rev();
        let mut steps = steps.skip_while(|decision| matches!(decision, Decision::Value { .. }));
        let Some(Decision::Step { site, .. }) = steps.next() else { return None };
        let has_line = |frame: &&SourceFrame| frame.file.is_some() && frame.line.is_some();
        let row = found.story.iter().flat_map(|story| &story.rows).find(|row| row.decisive);
        let told = row.and_then(|row| row.place.clone());
        let frames = site.map(|site| self.symbols.frames(site)).unwrap_or_default();
        frames::own(&frames).find(has_line).cloned().or(told)
    }

    /// A description of an access of a data race.
    fn racing(&self, access: &RacingAccess) -> String {
        let stack = frames::of(access.location.as_slice(), self.symbols);
        format!(
            "{} of {} by {} at {}",
            access.act.noun(),
            access.accessed(),
            access.title,
            frames::one_line(&stack)
        )
    }

    /// A description of a worker's part in an inversion of locks.
    fn side(&self, side: &Side) -> String {
        let at = |place: Option<Location>| frames::one_line(&frames::of(place.as_slice(), self.symbols));
        let Side { title, held, taken, wanted, wanted_at, .. } = side;
        format!(
            "{title} takes {} at {} and then {} at {}",
            held.title(),
            at(*taken),
            wanted.title(),
            at(*wanted_at)
        )
    }

    fn race(&self, race: &RaceHistory) -> RaceReport {
        let access = |access: &AccessHistory| AccessReport {
            worker: access.title.clone(),
            how: access.how.clone(),
            value: access.value,
            locks: access.locks.iter().map(|lock| lock.title.clone()).collect(),
            spawned: access.spawned.as_ref().map(|event| self.call(event)),
        };
        let place = |at: Location| frames::one_line(&frames::of(&[at], self.symbols));
        let edge = race.edge.as_ref().and_then(|edge| {
            let [release, acquire] = [edge.release, edge.acquire].map(|at| at.map(place));
            suggestion(release.as_deref(), acquire.as_deref())
        });
        RaceReport { first: access(&race.first), second: access(&race.second), edge }
    }

    fn round_step(&self, step: &RoundStep) -> RoundStepReport {
        let frames = step.location.map_or(Vec::new(), |location| self.symbols.frames(location));
        RoundStepReport {
            worker: step.title.clone(),
            what: step.what.clone(),
            place: frames.into_iter().next(),
        }
    }

    fn call(&self, event: &PastEvent) -> PastEventReport {
        let PastEvent { title, step, stack } = event;
        PastEventReport { worker: title.clone(), step: *step, stack: frames::of(stack, self.symbols) }
    }

    fn timeline(&self, decisions: &[Decision]) -> Timeline {
        let mut timeline = Timeline { decisions: decisions.to_vec(), ..Timeline::default() };
        for decision in decisions {
            if let Decision::Step { site: Some(site), .. } = decision {
                timeline.places.entry(*site).or_insert_with(|| self.symbols.frames(*site));
            }
        }
        timeline
    }
}

fn explanation(explanation: &Explanation) -> ExplanationReport {
    let Explanation { shrinking, decisive, passing, findability, out_of_time, unavoidable } = explanation;
    let passing = passing.as_ref().map(|p| PassingReport {
        instead: p.instead.clone(),
        step: p.step,
        place: p.place.clone(),
        certain: p.certain,
        after: p.after,
        read: p.read.clone(),
    });
    let findability =
        findability.map(|measured| FindabilityReport { measured, iterations: measured.iterations() });
    ExplanationReport {
        shrinking: *shrinking,
        decisive: decisive.clone(),
        decisive_place: None,
        passing,
        findability,
        out_of_time: *out_of_time,
        unavoidable: *unavoidable,
    }
}

fn livelock(livelock: &Livelock) -> LivelockReport {
    let spin =
        |spin: &Spin| SpinReport { title: spin.title.clone(), steps: spin.steps, looks: spin.looks.clone() };
    let (states, waiting) = (livelock.states, livelock.waiting);
    LivelockReport { states, spinning: livelock.spinning.iter().map(spin).collect(), waiting }
}

/// A path, quoted for a shell if necessary.
pub(super) fn shell(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        text
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

/// What would order the accesses of a data race, with the places as in reports.
fn suggestion(release: Option<&str>, acquire: Option<&str>) -> Option<String> {
    Some(match (release, acquire) {
        (Some(write), Some(read)) => {
            format!("Release at {write} and Acquire at {read} would: tried, no race then")
        }
        (Some(write), None) => format!("Release at {write} would: tried, no race then"),
        (None, Some(read)) => format!("Acquire at {read} would: tried, no race then"),
        (None, None) => return None,
    })
}
