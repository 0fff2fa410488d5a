//! The classes of faults: one table, which the command line (`--faults`), traces, reports and docs/faults.md read.
//!
//! A new class is a row here and the place where it may happen, which calls [`super::super::Runtime::fault`]. It is the
//! last row, since numbers of classes are seeds of random streams.

/// The object of an operation that may fail, by the number of its class or fault point; it differs from all addresses.
pub fn of_site(number: u32) -> u64 {
    1 << 32 | u64::from(number)
}

macro_rules! classes {
    ($($(#[$doc:meta])* $variant:ident { $($field:ident: $value:expr,)* })*) => {
        /// A class of faults, which share one budget.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum FaultClass { $($(#[$doc])* $variant,)* }

        /// All classes, in the order of their numbers.
        pub static FAULTS: &[FaultRow] = &[$(FaultRow { class: FaultClass::$variant, $($field: $value,)* },)*];

        /// Number of classes.
        pub(super) const CLASSES: usize = [$(FaultClass::$variant,)*].len();
    };
}

/// What readers are told of a class, by its name, that is no failure but another order: what happens, and what does not.
pub fn other_order(name: &str) -> Option<[&'static str; 2]> {
    Some(match name {
        "poll" => [
            "tokio puts a task back into its queue instead of polling it (`poll`)",
            "tokio polls a task that it could have put back into its queue (`poll`)",
        ],
        "seed" => [
            "hash maps and `select!` take another order from there on (`seed`)",
            "hash maps and `select!` keep their order (`seed`)",
        ],
        _ => return None,
    })
}

/// A row of [`FAULTS`]. The budget of every class is 0 by default. Another budget changes the meaning of a trace's
/// decisions, so a trace names all budgets that are not 0.
#[derive(Debug)]
pub struct FaultRow {
    pub class: FaultClass,
    /// The name on the command line, in traces and in reports. Part of the trace format.
    pub name: &'static str,
    /// The effect, as a clause.
    pub does: &'static str,
    /// The places where it may happen.
    pub at: &'static str,
    /// The budget if the class is named without one.
    pub usual: u32,
    /// The class's own option on the command line and in traces, if it is older than this table.
    pub option: Option<&'static str>,
    /// The entry of `Options::faults` for which the module must be instrumented, if any. Its opportunities are
    /// additional scheduling points.
    pub hook: Option<&'static str>,
    /// Whether a chosen fault is kept for the call that follows, which then fails in this way
    /// ([`super::super::Runtime::take_failure`]).
    pub fails_next_call: bool,
}

classes! {
    /// A try-lock fails though no worker has the lock.
    TryLock {
        name: "try-lock",
        does: "a try-lock fails though the lock is free",
        at: "try-locks of mutexes, rwlocks and semaphores",
        usual: 2,
        option: Some("failing-try-locks"),
        hook: None,
        fails_next_call: false,
    }
    /// A wait for a notification returns without one.
    Spurious {
        name: "spurious",
        does: "a wait returns without a notification",
        at: "waits for condition variables and futexes",
        usual: 2,
        option: Some("spurious-wakeups"),
        hook: None,
        fails_next_call: false,
    }
    /// A fault point of the guest reports that something goes wrong.
    Point {
        name: "point",
        does: "a fault point of the guest says that something goes wrong; `point.NAME` has a budget of its own",
        at: "`coyote::fault`, `coyote_fault_*`",
        usual: 1,
        option: None,
        hook: None,
        fails_next_call: false,
    }
    /// A call of WASI on a file fails or does less than it was asked for.
    Io {
        name: "io",
        does: "EIO, ENOSPC, EINTR, EMFILE, or fewer bytes than asked for",
        at: "calls on files and directories, but not on standard streams",
        usual: 1,
        option: None,
        hook: Some("io"),
        fails_next_call: true,
    }
    /// A thread cannot be created.
    Thread {
        name: "thread",
        does: "a thread cannot be created: EAGAIN",
        at: "`pthread_create`, `thrd_create`, `wasi.thread-spawn`, so `Builder::spawn` of Rust's std",
        usual: 1,
        option: None,
        hook: None,
        fails_next_call: false,
    }
    /// There is no memory.
    Alloc {
        name: "alloc",
        does: "an allocation fails: NULL and ENOMEM",
        at: "`malloc` and its kin, in programs without Rust code",
        usual: 1,
        option: None,
        hook: Some("alloc"),
        fails_next_call: false,
    }
    /// There is no memory, in a program with Rust code.
    AllocRust {
        name: "alloc-rust",
        does: "as `alloc`; Rust aborts then, unless it was called for `try_reserve`",
        at: "`malloc` and its kin, in programs with Rust code",
        usual: 1,
        option: None,
        hook: Some("alloc"),
        fails_next_call: false,
    }
    /// A clock jumps.
    Clock {
        name: "clock",
        does: "the clock is an hour further on; that of the day may also be an hour back",
        at: "`clock_time_get`, so reads of clocks by libraries",
        usual: 1,
        option: None,
        hook: Some("clock"),
        fails_next_call: true,
    }
    /// Random bytes are all 0 or all 255.
    Random {
        name: "random",
        does: "random bytes are all 0, or all 255",
        at: "`random_get`",
        usual: 1,
        option: None,
        hook: Some("random"),
        fails_next_call: true,
    }
    /// An atomic access does not take the newest store: weak memory.
    Stale {
        name: "stale",
        does: "a load reads an older value, or a store comes before newer ones, as RC11 allows: weak-memory.md",
        at: "atomic accesses, by their memory orderings",
        usual: 4,
        option: Some("memory"),
        hook: Some("weak"),
        fails_next_call: false,
    }
    /// A worker's random bytes come from another stream from here on.
    Seed {
        name: "seed",
        does: "random bytes come from another stream from there on, so that a `HashMap` or a `select!` has another order",
        at: "`random_get`",
        usual: 2,
        option: None,
        hook: Some("random"),
        fails_next_call: false,
    }
    /// A task is scheduled again instead of being polled.
    Poll {
        name: "poll",
        does: "a task that is about to be polled goes back into its runtime's queue",
        at: "polls of tasks of tokio's, but not of `spawn_blocking`: tokio.md",
        usual: 3,
        option: None,
        hook: Some("poll"),
        fails_next_call: false,
    }
    /// The program dies and starts again.
    Crash {
        name: "crash",
        does: "the program dies, and starts again with what was on the disk: crashes.md",
        at: "syncs of files, before and after; closing, and what makes, renames or removes names, after",
        usual: 1,
        option: None,
        hook: Some("crash"),
        fails_next_call: false,
    }
    /// Something goes wrong in the SDK's network.
    Net {
        name: "net",
        does: "datagrams, streams and links fail: network.md; `net.NAME` has a budget of its own",
        at: "`coyote::net`",
        usual: 3,
        option: None,
        hook: None,
        fails_next_call: false,
    }
    /// A node of the SDK's network dies and starts again.
    CrashNode {
        name: "crash.node",
        does: "a node that was started dies, and starts again: network.md",
        at: "operations of `coyote::net` by the node's workers, before; at their calls on files, as `crash`",
        usual: 1,
        option: None,
        hook: Some("crash"),
        fails_next_call: false,
    }
    /// A call on a socket transfers fewer bytes than it could.
    Split {
        name: "split",
        does: "fewer bytes are received or sent than there are, so that a message arrives in pieces",
        at: "calls on WASI's sockets: wasi.md",
        usual: 2,
        option: None,
        hook: None,
        fails_next_call: false,
    }
}

impl FaultClass {
    /// Classes that are no failures: they choose among behaviours that platforms and runtimes leave open.
    pub const OPEN: [FaultClass; 3] = [FaultClass::Seed, FaultClass::Poll, FaultClass::Split];

    /// Classes of fault points. A point can have a budget of its own, whose name is the class, a dot and the
    /// point's name.
    pub const NAMED: [FaultClass; 2] = [FaultClass::Point, FaultClass::Net];

    /// The kind of fault ([`coyote_strategies::View::fault`]) of a store that comes before newer ones: there may be far
    /// fewer stores than loads.
    pub const STALE_STORE: u64 = 6;

    /// The kind of fault that strategies see. Random streams depend on it, so classes that are older than this table
    /// keep their numbers.
    pub fn kind(self) -> u64 {
        match self {
            FaultClass::TryLock => 1,
            FaultClass::Spurious => 2,
            FaultClass::Io => 3,
            FaultClass::Thread => 4,
            FaultClass::Stale => 5,
            other => of_site(other as u32),
        }
    }

    /// The class that a kind of fault belongs to, unless that is a fault point.
    pub fn of_kind(kind: u64) -> Option<FaultClass> {
        match kind {
            FaultClass::STALE_STORE => Some(FaultClass::Stale),
            _ => FAULTS.iter().map(|row| row.class).find(|class| class.kind() == kind),
        }
    }

    /// The row of the class.
    pub fn row(self) -> &'static FaultRow {
        &FAULTS[self as usize]
    }

    /// The class of this name.
    pub fn by_name(name: &str) -> Option<FaultClass> {
        FAULTS.iter().find(|row| row.name == name).map(|row| row.class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The document lists what the table has, word for word.
    #[test]
    fn the_document_has_the_table() {
        let document = include_str!("../../../../docs/faults.md");
        let document = document.split("\n## ").next().unwrap();
        for row in FAULTS {
            let own = row.option.map_or(String::new(), |option| format!(", `--{option}`"));
            let line = format!("| `{}`{own} | {} | {} | {} |", row.name, row.does, row.at, row.usual);
            assert!(document.lines().any(|l| l == line), "docs/faults.md lacks the line\n{line}");
        }
        let lines = document.lines().filter(|l| l.starts_with("| `")).count();
        assert_eq!(lines, FAULTS.len(), "docs/faults.md has lines of classes that there are not");
    }

    #[test]
    fn names_are_found() {
        for (number, row) in FAULTS.iter().enumerate() {
            assert_eq!((row.class as usize, FaultClass::by_name(row.name)), (number, Some(row.class)));
            assert!(row.usual > 0 && !row.name.contains(['=', ',']), "{row:?}");
            // A name with a dot must not look like a fault point's.
            let of_point = |class: &FaultClass| row.name.starts_with(&format!("{}.", class.row().name));
            assert!(!FaultClass::NAMED.iter().any(of_point), "{row:?}");
        }
        assert_eq!(FaultClass::by_name("colour"), None);
    }
}
