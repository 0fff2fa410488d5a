//! The tool's own passes, in the order in which they run.

mod atomic;
mod atomic_sections;
mod checks;
mod countdown;
mod counters;
mod drivers;
mod effects;
mod entry;
mod harness;
mod initialise;
mod libc_locks;
mod memory;
mod names;
mod orders;
mod own_names;
mod owners;
mod points;
mod policies;
mod polls;
mod private;
mod replacement;
mod rounds;
mod stubs;
mod table_calls;
mod tags;
mod thread_names;
mod threads;
mod throws;
mod virtual_size;
mod weak;

pub use counters::{COUNTER_BYTES, COUNTERS};
pub use initialise::RECOVER_PROGRAM;

use crate::analysis::Analyses;
use crate::pass::Pass;
use crate::{Draft, Error};

/// A pass of the tool.
#[derive(Clone, Copy, Debug)]
pub struct Own {
    name: &'static str,
    doc: &'static str,
    /// Whether calls among the guest's functions do not change.
    keeps_calls: bool,
    run: fn(&mut Draft, &mut Analyses) -> Result<(), Error>,
}

impl Pass for Own {
    fn name(&self) -> &str {
        self.name
    }

    fn doc(&self) -> &str {
        self.doc
    }

    fn keeps_calls(&self) -> bool {
        self.keeps_calls
    }

    fn run(&self, draft: &mut Draft, analyses: &mut Analyses) -> Result<(), Error> {
        (self.run)(draft, analyses)
    }
}

/// A row of [`OWN`].
const fn own(
    name: &'static str,
    run: fn(&mut Draft, &mut Analyses) -> Result<(), Error>,
    doc: &'static str,
) -> Own {
    Own { name, doc, keeps_calls: false, run }
}

/// The passes, in their order.
pub const OWN: &[Own] = &[
    own("names", names::run, "gives every function a name"),
    Own { keeps_calls: true, ..own("tags", tags::run, "makes imported tags of exceptions the module's own") },
    Own {
        keeps_calls: true,
        ..own("rounds", rounds::run, "lets counts of rounds that nothing can tell apart grow no further")
    },
    own("initialise", initialise::run, "lets tests and recoveries find libc as main does"),
    own("entry", entry::run, "calls entries of the table by their own types"),
    own("private", private::run, "makes memory private, sorts globals into shared and a worker's own"),
    own("orders", orders::run, "takes what C and C++ say of memory orders to their instructions"),
    Own { keeps_calls: true, ..own("counters", counters::run, "counts instructions, for coverage") },
    own("libc-locks", libc_locks::run, "makes sections of locks that wasi-libc has for itself atomic"),
    own("threads", threads::run, "turns blocking instructions and imports into runtime imports"),
    own("thread-names", thread_names::run, "passes on what Rust's std calls a thread"),
    own("atomic-sections", atomic_sections::run, "brackets functions that SV-COMP's rules make atomic"),
    Own { keeps_calls: true, ..own("throws", throws::run, "tells the host where exceptions begin") },
    own("policies", policies::run, "decides which functions' memory accesses are scheduling points"),
    Own { keeps_calls: true, ..own("points", points::run, "announces memory accesses") },
    Own { keeps_calls: true, ..own("effects", effects::run, "tells the host what steps touch besides") },
    own("countdown", countdown::run, "forces a scheduling point in loops and recursions"),
    own("atomic", atomic::run, "brackets atomic functions, announces operations of libraries"),
    own("polls", polls::run, "lets the host put off polls of tokio's tasks"),
    own("drivers", drivers::run, "tells the host when tokio's driver of sockets waits, and is woken"),
    own("harness", harness::run, "marks where Rust's test harness calls a test"),
    own("virtual-size", virtual_size::run, "makes the size of memory one that can go back"),
    own("memory", memory::run, "marks written chunks, keeps everything restorable"),
    own("table-calls", table_calls::run, "makes calls through tables that change resumable"),
];

/// Where a user's pass runs by default: memory is private, imports are runtime imports, and accesses that it
/// adds become scheduling points like any other.
pub const USUAL_PLACE: &str = "atomic-sections";
