//! When an iteration is interrupted to look for livelocks and lassos, and when it has reached its bound.

use super::{Choice, Context, LOOK_STEPS, Looks, SUSPICIOUS_FROM, Scheduler};
use crate::evidence::Evidence;
use crate::observe::Event;
use crate::outcome::{Bound, Bug, BugKind, Outcome};
use coyote_strategies::OpKind;

impl Scheduler {
    /// Continues an iteration that was interrupted to be looked at, unless it has reached its bound.
    pub fn go_on(&mut self) {
        self.looking = false;
        self.suspicious_at = self.next_look();
        self.look_up_at = 0;
        let once = matches!(self.looks, Looks::After(_) | Looks::AfterRound(_));
        self.looks = if once { Looks::Never } else { self.looks };
        if self.runtime.steps() >= self.steps_max {
            self.reach_bound();
        }
    }

    /// Checks whether the bound on steps is reached, or the state is to be looked at.
    #[cold]
    pub(super) fn look_up(&mut self) {
        let steps = self.runtime.steps();
        self.looking = match self.looks {
            Looks::Never => false,
            Looks::After(choices) | Looks::AfterRound(choices) => self.choices.len() == choices,
            Looks::WhenSuspicious => {
                steps >= self.steps_max
                    || self.lasso_at.is_some_and(|step| steps >= step)
                    || steps >= self.suspicious_at && self.only_looked()
            }
        };
        if self.looking {
            return;
        }
        if steps >= self.steps_max {
            return self.reach_bound();
        }
        let next = self.steps_max.min(steps.saturating_add(LOOK_STEPS));
        self.look_up_at = match self.looks {
            Looks::Never => next,
            Looks::After(_) | Looks::AfterRound(_) => 0,
            Looks::WhenSuspicious => {
                if steps >= self.suspicious_at {
                    self.suspicious_at = self.next_look();
                }
                next.min(self.suspicious_at).min(self.lasso_at.unwrap_or(u64::MAX))
            }
        };
    }

    /// Whether the last half of all choices changed nothing, as far as the kinds of their operations tell.
    pub(super) fn only_looked(&self) -> bool {
        let looks = |choice: &Choice| match choice {
            Choice::Step { kind, .. } => matches!(
                kind,
                OpKind::Load
                    | OpKind::AtomicLoad
                    | OpKind::CompareExchange
                    | OpKind::Rmw
                    | OpKind::Loop
                    | OpKind::Yield
                    | OpKind::Interleave
                    | OpKind::ReadPoint
            ),
            Choice::Timeout { .. } | Choice::Value { .. } => false,
        };
        self.choices[self.choices.len() / 2..].iter().all(looks)
    }

    /// Reports a hot monitor at the step `deadline`, when it has been hot for too long.
    #[cold]
    pub(super) fn overheat(&mut self, deadline: u64, context: Option<&mut Context>) {
        if self.runtime.steps() < deadline {
            // Plain accesses check nothing but `look_up_at`.
            self.look_up_at = self.look_up_at.min(deadline);
        } else if self.outcome.is_none() {
            self.runtime.stream.push(Event::Overheated);
            match context {
                Some(context) => self.deliver(context),
                None => self.overheating = true,
            }
        }
    }

    pub(super) fn reach_bound(&mut self) {
        let steps_max = self.steps_max;
        self.outcome = Some(if self.limits.fail_on_steps_max {
            let evidence = Evidence::StepsMax(steps_max);
            Outcome::Bug(Bug { kind: BugKind::MaxSteps, evidence, worker: None })
        } else {
            Outcome::Bound(Bound::Steps(steps_max))
        });
    }

    pub(super) fn next_look(&self) -> u64 {
        (self.runtime.steps() + 1).next_power_of_two().max(SUSPICIOUS_FROM)
    }
}
