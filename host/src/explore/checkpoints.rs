//! Frontiers that are written while a search runs.

use super::Plan;
use super::frontier;
use super::pool::Pool;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The frontier that is written now and then, so that not everything is lost if the process of a search is killed.
///
/// Writing takes at most a hundredth of the time: the interval to the next checkpoint is at least a hundred times the
/// duration of the last one. The interval also doubles each time, up to a minute.
pub struct Checkpoints {
    pub path: PathBuf,
    due: Instant,
    interval: Duration,
    begun: Instant,
    written: bool,
}

const INTERVAL_FIRST: Duration = Duration::from_millis(100);
const INTERVAL_MAX: Duration = Duration::from_secs(60);
const SHARE: u32 = 100;

impl Checkpoints {
    pub fn new(plan: &Plan, started: Instant) -> Checkpoints {
        let mut path = plan.trace_stem.as_os_str().to_owned();
        path.push(".frontier");
        let due = started + INTERVAL_FIRST;
        Checkpoints { path: path.into(), due, interval: INTERVAL_FIRST, begun: started, written: false }
    }

    /// Requests the remaining work of the jobs when a checkpoint is due, and writes it once all of them have deposited
    /// it.
    pub fn go_on(&mut self, plan: &Plan, name: &str, pool: &Pool) {
        if pool.stop.load(Ordering::Relaxed) {
            return;
        }
        let mut state = pool.lock();
        let busy = state.busy;
        match &mut state.checkpoint {
            None if Instant::now() < self.due => {}
            None => {
                self.begun = Instant::now();
                state.checkpoint = Some(Vec::new());
                pool.pause.store(true, Ordering::Relaxed);
            }
            Some(sections) if sections.len() < busy => {}
            Some(sections) => {
                let mut left = std::mem::take(sections);
                left.push(state.waiting(&pool.shared));
                let done = state.done(&pool.shared);
                state.checkpoint = None;
                state.checkpoints += 1;
                pool.pause.store(false, Ordering::Relaxed);
                pool.changed.notify_all();
                drop(state);
                // An error is ignored, since it may not persist; otherwise it is reported at the end.
                self.written |= frontier::write(&self.path, plan, name, done, &left).is_ok();
                self.interval = (self.interval * 2).min(INTERVAL_MAX).max(self.begun.elapsed() * SHARE);
                self.due = Instant::now() + self.interval;
            }
        }
    }

    /// Removes the file after a search that has nothing left.
    pub fn remove(&self, resumed: Option<&Path>) {
        let place = |path: &Path| std::fs::canonicalize(path).ok();
        let same = resumed.and_then(place).is_some_and(|resumed| place(&self.path) == Some(resumed));
        if self.written || same {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}
