//! Monitors: liveness properties. A monitor is hot until something happens that must eventually happen.
//!
//! It is a bug if a monitor is hot when the test ends, or for too many steps of a fair execution in which no
//! fault can happen any more, or during a round of steps that can be repeated for ever (`--detect lassos`).
//! Setting a monitor costs a call and is no scheduling point.
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

/// A monitor for something that must eventually happen. Cold at first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Monitor {
    name: &'static str,
    number: u32,
}

impl Monitor {
    /// The monitor with this name. Monitors with the same name are the same one.
    pub const fn new(name: &'static str) -> Monitor {
        Monitor { name, number: 0 }
    }

    /// The monitor with this name and number, for several monitors of one name.
    pub const fn numbered(name: &'static str, number: u32) -> Monitor {
        Monitor { name, number }
    }

    /// Makes the monitor hot: it waits for something that must eventually happen.
    pub fn hot(&self) {
        self.set(2);
    }

    /// Makes the monitor warm, between hot and cold: its temperature (the steps that it was hot) does not change.
    pub fn warm(&self) {
        self.set(1);
    }

    /// Makes the monitor cold: what it waited for has happened.
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

/// Makes the monitor with this name hot until [`Eventually::happened`] is called.
#[must_use = "call `happened` when it has"]
pub fn eventually(what: &'static str) -> Eventually {
    of(Monitor::new(what))
}

/// As [`eventually`], with a number: for several expectations of one name at the same time.
#[must_use = "call `happened` when it has"]
pub fn eventually_numbered(what: &'static str, number: u32) -> Eventually {
    of(Monitor::numbered(what, number))
}

fn of(monitor: Monitor) -> Eventually {
    monitor.hot();
    Eventually(monitor)
}

/// A hot monitor: see [`eventually`]. Dropping this does not change the monitor.
#[derive(Debug)]
pub struct Eventually(Monitor);

impl Eventually {
    /// Makes the monitor cold.
    pub fn happened(self) {
        self.0.cold();
    }
}
