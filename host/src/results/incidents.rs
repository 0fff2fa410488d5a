//! What happened in some iteration and is no bug, but limits what a verdict says.

use crate::runtime::{FaultCounts, Sometimes};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// What happened in at least one iteration or execution. Names and sentences are sets, since it does not matter how
/// often; faults and conditions are counted.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Incidents {
    /// Whether the guest requested memory and did not get it.
    pub memory_refused: bool,
    /// Whether the guest asked for random bytes, which are the same in every iteration.
    #[serde(default)]
    pub asked_random: bool,
    /// Whether some worker waited that could not wake up without a notification, because there is no budget for it.
    #[serde(default)]
    pub spurious_left_out: bool,
    /// Whether one of several workers looked at the clock in a step that also does something else: traces of older
    /// versions have no scheduling points at such looks.
    #[serde(default)]
    pub clock_looked_at: bool,
    /// Sentences about what was needed and this tool does not support, with advice: no verdict on the test.
    pub limits: BTreeSet<String>,
    /// Functions that the guest called and that are not implemented.
    pub refused_calls: BTreeSet<String>,
    /// Workers that a passing iteration left blocked for ever.
    pub left_blocked: BTreeSet<String>,
    /// Workers that a passing iteration of a program has neither joined nor detached.
    #[serde(default)]
    pub never_joined: BTreeSet<String>,
    /// How often faults could happen, and did.
    #[serde(default, skip_serializing_if = "FaultCounts::is_empty")]
    pub faults: FaultCounts,
    /// Conditions that the test expects to hold sometimes.
    #[serde(default, skip_serializing_if = "Sometimes::is_empty")]
    pub sometimes: Sometimes,
}

impl Incidents {
    /// Adds what happened in others.
    pub fn merge(&mut self, other: Incidents) {
        let Incidents {
            memory_refused,
            asked_random,
            spurious_left_out,
            clock_looked_at,
            limits,
            refused_calls,
            left_blocked,
            never_joined,
            faults,
            sometimes,
        } = other;
        self.memory_refused |= memory_refused;
        self.asked_random |= asked_random;
        self.spurious_left_out |= spurious_left_out;
        self.clock_looked_at |= clock_looked_at;
        self.limits.extend(limits);
        self.refused_calls.extend(refused_calls);
        self.left_blocked.extend(left_blocked);
        self.never_joined.extend(never_joined);
        self.faults.merge(&faults);
        self.sometimes.merge(&sometimes);
    }

    /// What others do not have, of incidents in executions that were cut off. Counts of what others have as well are
    /// left out: how many executions are cut off depends on the number of jobs.
    #[must_use]
    pub fn missing_in(self, others: &Incidents) -> Incidents {
        Incidents {
            faults: self.faults.missing_in(&others.faults),
            sometimes: self.sometimes.missing_in(&others.sometimes),
            ..self
        }
    }
}
