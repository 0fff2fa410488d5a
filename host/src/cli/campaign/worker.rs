//! A process that executes units.

use super::place::{Ended, Place, Unit};
use super::units::Next;
use crate::exit::Exit;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Write;
use std::process;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

/// How often a worker checks units that other processes hold.
pub const WAIT: Duration = Duration::from_millis(200);

/// See the module's documentation.
pub struct Worker<'a> {
    place: &'a Place,
    /// The only unit that it executes.
    only: Option<Unit>,
    /// How many units it may still execute.
    left: AtomicU64,
    interrupted: &'a AtomicBool,
    /// Whether one of its threads has ended with an error.
    failed: AtomicBool,
}

/// How an attempt at some open units ended.
enum Attempt {
    /// So many have a result now.
    Executed(u64),
    /// Other processes execute them.
    Waiting,
    /// It may execute no more, or a thread has ended with an error.
    Over(u64),
    Interrupted(u64),
}

impl<'a> Worker<'a> {
    pub fn new(
        place: &'a Place,
        only: Option<Unit>,
        units_max: Option<u64>,
        interrupted: &'a AtomicBool,
    ) -> Worker<'a> {
        let left = AtomicU64::new(units_max.unwrap_or(u64::MAX));
        Worker { place, only, left, interrupted, failed: AtomicBool::new(false) }
    }

    /// Executes so many units at once, each with one job, as so many processes would.
    ///
    /// # Errors
    /// As [`Worker::run`].
    pub fn run_at_once(&self, threads: u64) -> Result<(Exit, u64)> {
        let run = |thread| {
            let ended = self.run(thread, Some(1));
            self.failed.fetch_or(ended.is_err(), Ordering::Relaxed);
            ended
        };
        let ended: Vec<Result<(Exit, u64)>> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
            threads.into_iter().map(|thread| thread.join().expect("a worker does not panic")).collect()
        });
        let ended: Vec<(Exit, u64)> = ended.into_iter().collect::<Result<_>>()?;
        let worst = ended.iter().map(|(exit, _)| *exit).max().unwrap_or(Exit::NoBug);
        Ok((worst, ended.iter().map(|(_, done)| done).sum()))
    }

    /// Executes open units until there are none. Returns how many. `number`: of the thread that does so.
    ///
    /// # Errors
    /// A unit was refused, or errors of the environment.
    pub fn run(&self, number: u64, jobs: Option<u64>) -> Result<(Exit, u64)> {
        let mut done = 0;
        loop {
            let open = match self.only {
                Some(unit) => vec![unit].into_iter().filter(|unit| self.place.is_open(*unit)).collect(),
                None => self.place.open_units()?,
            };
            let attempt = match (open.is_empty(), self.only) {
                (true, Some(_)) => break,
                (true, None) => match self.place.go_on()? {
                    Next::Nothing => break,
                    Next::Units => Attempt::Executed(0),
                    Next::Later => Attempt::Waiting,
                },
                (false, _) => self.attempt(&open, number, jobs)?,
            };
            match attempt {
                Attempt::Executed(more) => done += more,
                Attempt::Over(more) => return Ok((Exit::NoBug, done + more)),
                Attempt::Interrupted(more) => return Ok((Exit::Again, done + more)),
                Attempt::Waiting if self.interrupted.load(Ordering::Relaxed) => {
                    return Ok((Exit::Again, done));
                }
                Attempt::Waiting => std::thread::sleep(WAIT),
            }
        }
        let mut asked_for = self.only.map_or_else(|| self.place.units(), |unit| Ok(vec![unit]))?.into_iter();
        let given_up = asked_for.any(|unit| !self.place.is_done(unit));
        Ok((if given_up { Exit::InternalError } else { Exit::NoBug }, done))
    }

    /// Executes those of the units that no other process holds.
    fn attempt(&self, open: &[Unit], number: u64, jobs: Option<u64>) -> Result<Attempt> {
        // Workers that begin at the same time do not all start with the first unit.
        let from = (u64::from(process::id()) + number) as usize % open.len();
        let (mut done, mut attempts) = (0, 0);
        for unit in open[from..].iter().chain(&open[..from]) {
            if self.interrupted.load(Ordering::Relaxed) {
                return Ok(Attempt::Interrupted(done));
            }
            if self.left.load(Ordering::Relaxed) == 0 {
                return Ok(Attempt::Over(done));
            }
            if self.place.is_held(*unit) || self.place.is_done(*unit) {
                continue;
            }
            let one_less =
                self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
            if one_less.is_err() || self.failed.load(Ordering::Relaxed) {
                return Ok(Attempt::Over(done));
            }
            let ended = self.place.execute(*unit, self.place.selected(*unit)?, jobs, self.interrupted)?;
            if !matches!(ended, Ended::Done) {
                self.left.fetch_add(1, Ordering::Relaxed);
            }
            match ended {
                Ended::Done => (done, attempts) = (done + 1, attempts + 1),
                Ended::Busy => {}
                Ended::Interrupted => return Ok(Attempt::Interrupted(done)),
                Ended::Refused(said) => {
                    bail!("unit {unit}: {}", said.trim_end().trim_start_matches("error: "))
                }
                Ended::Failed(how) => {
                    attempts += 1;
                    eprintln!("note: unit {unit} failed: {how}");
                    let path = self.place.failed(*unit);
                    let file = File::options().create(true).append(true).open(&path);
                    let written = file.and_then(|mut file| writeln!(file, "{how}"));
                    written.with_context(|| format!("cannot write {}", path.display()))?;
                }
            }
        }
        // Otherwise other processes execute the units, and may die.
        Ok(if attempts > 0 { Attempt::Executed(done) } else { Attempt::Waiting })
    }
}
