//! What must eventually come about: monitors that are hot until it does.
//!
//! A monitor that is hot when the test ends, or for too many steps of a fair execution in which no fault can happen any
//! more, is a bug; so is a round of steps that can be repeated for ever while it is hot (`--detect lassos`). Monitors cost a
//! call and are no scheduling points.
//!
//! ```no_run
//! use coyote::monitor::{self, Monitor};
//!
//! static REPAIRED: Monitor = Monitor::new("enough replicas");
//!
//! fn a_replica_fails() {
//!     REPAIRED.hot();
//! }
//! fn a_replica_has_caught_up(replicas: usize) {
//!     if replicas >= 3 {
//!         REPAIRED.cold();
//!     }
//! }
//!
//! let answered = monitor::eventually("the request is answered");
//! // ...
//! answered.happened();
//! ```

use crate::sys;

/// Something that the program must not wait for for ever. Cold at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monitor {
    name: &'static str,
    number: u32,
}

impl Monitor {
    /// Monitors of the same name are the same one.
    pub const fn new(name: &'static str) -> Monitor {
        Monitor { name, number: 0 }
    }

    /// One of many monitors of this name.
    pub const fn numbered(name: &'static str, number: u32) -> Monitor {
        Monitor { name, number }
    }

    /// From now on it waits for something that must come about.
    pub fn hot(&self) {
        self.set(2);
    }

    /// It waits no more, and what it waited for has not come about either: its temperature stays what it is.
    pub fn warm(&self) {
        self.set(1);
    }

    /// What it waited for is there.
    pub fn cold(&self) {
        self.set(0);
    }

    fn set(&self, heat: i32) {
        // SAFETY: address and length of a `str`.
        #[allow(unsafe_code)]
        sys::with_text(self.name, |text, length| unsafe {
            sys::monitor(text, length, self.number as i32, heat);
        });
    }
}

/// This must happen from now on: a monitor is hot until [`Eventually::happened`] is called.
#[must_use = "call `happened` when it has"]
pub fn eventually(what: &'static str) -> Eventually {
    of(Monitor::new(what))
}

/// As [`eventually`], where the same is expected several times at once.
#[must_use = "call `happened` when it has"]
pub fn eventually_numbered(what: &'static str, number: u32) -> Eventually {
    of(Monitor::numbered(what, number))
}

fn of(monitor: Monitor) -> Eventually {
    monitor.hot();
    Eventually(monitor)
}

/// What must happen. To drop it makes no difference: it still must.
#[derive(Debug)]
pub struct Eventually(Monitor);

impl Eventually {
    /// It has happened.
    pub fn happened(self) {
        self.0.cold();
    }
}
