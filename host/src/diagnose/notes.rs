//! Notes that a reader of a report should know before believing it: circumstances that depend on this tool and may not
//! be the program's fault. What is certainly not the program's fault ends an iteration as [`BugKind::Limit`] instead.

use crate::evidence::{Evidence, Trap};
use crate::execution::Execution;
use crate::machine::MachineError;
use crate::outcome::{Bug, BugKind};
use crate::plural::counted;
use crate::replay::replay;
use crate::runtime::files::disk::Lost;
use crate::runtime::{Runtime, Timers};
use crate::symbols::{SourceFrame, Symbols, is_library};
use crate::trace::Trace;
use coyote_instrumenter::Location;
use coyote_strategies::{WorkerId, WorkerState};
use std::time::Duration;

/// The notes on the iteration that the execution has just ended with this bug, but for those on [`crashes`].
pub fn of(execution: &Execution, bug: &Bug) -> Vec<String> {
    let runtime = execution.runtime();
    let all = [
        lock_of_a_dead_node(runtime),
        early_timeout(execution, runtime),
        sleep_of_tokio(runtime),
        memory(runtime),
        panic(execution, bug),
        variable(bug),
        file(bug),
        unreachable(bug),
    ];
    all.into_iter().flatten().collect()
}

/// The number of lost operations that are listed for each crash.
const LOST_MAX: usize = 8;

/// The unsynced operations that each crash of the execution lost, which has just ended. Replays `trace`, its trace, for the
/// places of the calls that made them.
pub fn crashes(execution: &mut Execution, trace: &Trace) -> Result<Vec<String>, MachineError> {
    if execution.runtime().crashes.iter().any(|crash| !crash.lost.is_empty()) {
        execution.machine_mut().take_call_stacks(true);
        let replayed = super::unwatched(execution, |execution| replay(execution, trace, false));
        execution.machine_mut().take_call_stacks(false);
        replayed?;
    }
    let runtime = execution.runtime();
    let symbols = Symbols::new(&execution.machine().artifact().original);
    let lost = |lost: &Lost| {
        let what = match &lost.bytes {
            Some(bytes) => format!("bytes {} to {} of {}", bytes.start, bytes.end, lost.path),
            None => format!("{} of {}", lost.what, lost.path),
        };
        let who =
            lost.origin.worker.map_or_else(String::new, |worker| format!(" by {}", runtime.title(worker)));
        format!("{what}, of step {}{who}{}", lost.origin.step, place(&lost.origin.stack, &symbols))
    };
    let crash = |crash: &crate::runtime::files::disk::Crash| {
        let all: Vec<String> = crash.lost.iter().take(LOST_MAX).map(lost).collect();
        let more = crash.lost.len().saturating_sub(LOST_MAX);
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        match (&crash.node, all.is_empty()) {
            (Some(node), lost_nothing) => {
                let ended = runtime.titles(&crash.ended);
                let lost = match lost_nothing {
                    true => String::new(),
                    false => format!(", and lost what was not synced: {}{more}", all.join("; ")),
                };
                format!("the crash of node {node} in step {} ended {ended}{lost}", crash.step)
            }
            (None, true) => format!("the crash in step {} lost nothing: all was on the disk", crash.step),
            (None, false) => {
                format!("the crash in step {} lost what was not synced: {}{more}", crash.step, all.join("; "))
            }
        }
    };
    Ok(runtime.crashes.iter().map(crash).collect())
}

/// A wait for a lock that a worker of a node held when that crashed. The lock is part of the memory that nodes share here,
/// and would have been lost with a machine of its own.
fn lock_of_a_dead_node(runtime: &Runtime) -> Option<String> {
    runtime.view().workers.iter().zip(runtime.workers()).enumerate().find_map(|(id, (pending, worker))| {
        let wanted = worker.request.wants().filter(|_| pending.state == WorkerState::Blocked)?;
        let dead = |holder: &&WorkerId| runtime.crashes.iter().any(|crash| crash.ended.contains(holder));
        let holders = runtime.holders(wanted);
        let holder = holders.iter().find(dead)?;
        let (who, holder) = (runtime.title(WorkerId(id as u32)), runtime.title(*holder));
        Some(format!(
            "{who} waits for {} that {holder} held when its node crashed: nodes should share nothing but the network and \
             files (docs/network.md)",
            wanted.title()
        ))
    })
}

/// The innermost line of the guest's own source on a stack.
fn place(stack: &[Location], symbols: &Symbols) -> String {
    let frames: Vec<SourceFrame> = stack.iter().flat_map(|location| symbols.frames(*location)).collect();
    let own = frames.iter().find(|frame| !is_library(frame) && frame.line.is_some());
    let at = own.or(frames.last()).map(|frame| match (&frame.file, frame.line) {
        (Some(file), Some(line)) => format!(" at {} ({file}:{line})", frame.function),
        _ => format!(" at {}", frame.function),
    });
    at.unwrap_or_default()
}

/// A timeout that fired earlier than programs expect.
fn early_timeout(execution: &Execution, runtime: &Runtime) -> Option<String> {
    let early = execution.machine().scheduler().early_timeout?;
    let who = runtime.title(early.worker);
    let others = counted(early.others as u64, "worker");
    Some(match runtime.timers {
        Timers::Any => format!(
            "a timeout of {who} fired at step {} while {others} could run: if its time cannot be up so soon, \
             --timers ordered rules that out",
            early.step
        ),
        Timers::Ordered => format!(
            "a timeout of {who} fired at step {} while {others} could run that may have polled for long \
             (docs/wasi.md, \"Time\")",
            early.step
        ),
    })
}

/// A runtime of tokio that may have slept longer than it would elsewhere: in an optimised build, not every function may be
/// known that wakes its driver of sockets (`passes/drivers.rs` of the instrumenter).
fn sleep_of_tokio(runtime: &Runtime) -> Option<String> {
    let slept = Duration::from_nanos(runtime.time_ns()) >= SLEPT;
    (slept && runtime.wakes_unknown).then(|| {
        "in this build with one of tokio's features net, process and signal (which full includes), a runtime that sleeps until \
         a time may not be woken by other threads. If the bug needs that, build with cargo coyote and without link-time \
         optimisation, or leave these features out (docs/tokio.md)"
            .into()
    })
}

/// More virtual time than passes without a timeout.
const SLEPT: Duration = Duration::from_millis(1);

/// Memory that the program requested and did not get.
fn memory(runtime: &Runtime) -> Option<String> {
    let what = "the program was refused memory before: if this caused the bug, raise --max-memory";
    runtime.memory_refused.then(|| what.into())
}

/// A panic of a thread whose end other threads may have expected.
fn panic(execution: &Execution, bug: &Bug) -> Option<String> {
    let aborts = bug.kind == BugKind::Panic && !execution.machine().artifact().unwinds();
    let worker = bug.worker.filter(|w| aborts && *w != execution.runtime().first())?;
    Some(format!(
        "where panics unwind, this one would end {} alone: whoever joins it gets an Err, and the locks that it holds \
         are poisoned. If the test counts on that, build it with unwinding (docs/unwinding.md)",
        execution.runtime().title(worker)
    ))
}

/// An environment variable that the program expected.
fn variable(bug: &Bug) -> Option<String> {
    let wanted = bug.kind == BugKind::Panic && bug.message().contains("NotPresent");
    wanted.then(|| "the guest has no environment variables but those given with --env".into())
}

/// A file that the program expected.
fn file(bug: &Bug) -> Option<String> {
    let wanted = bug.kind == BugKind::Panic && bug.message().contains("No such file or directory");
    wanted.then(|| "the guest has no files but those given with --preload, and those it makes itself".into())
}

/// A trap with several possible meanings.
fn unreachable(bug: &Bug) -> Option<String> {
    let wanted = bug.evidence == Evidence::Trap(Trap::Unreachable);
    wanted.then(|| {
        "compilers put this trap after a call of abort, where a C++ function ends without its return, where \
         -fsanitize=undefined finds an error, and at places that only undefined behaviour can reach"
            .into()
    })
}
