//! What a reader of a report should know before believing it: what in it hinges on us and may not be the program's
//! fault. What certainly is not ends an iteration as [`BugKind::Limit`] instead.

use crate::evidence::{Evidence, Trap};
use crate::execution::Execution;
use crate::outcome::{Bug, BugKind};
use crate::plural::counted;
use crate::runtime::{Runtime, Timers};
use coyote_strategies::WorkerId;

/// Of the iteration that the execution has just ended with this bug.
pub fn of(execution: &Execution, bug: &Bug) -> Vec<String> {
    let runtime = execution.runtime();
    let all = [early_timeout(execution, runtime), panic(execution, bug), variable(bug), unreachable(bug)];
    all.into_iter().flatten().collect()
}

/// A timeout that fired before its time as programs see it.
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
            "a timeout of {who} fired at step {} while {others} could run, but had changed nothing for long \
             (docs/wasi.md, \"Time\")",
            early.step
        ),
    })
}

/// A panic of a thread whose end others may have reckoned with.
fn panic(execution: &Execution, bug: &Bug) -> Option<String> {
    let aborts = bug.kind == BugKind::Panic && !execution.machine().artifact().unwinds();
    let worker = bug.worker.filter(|w| aborts && *w != WorkerId(0))?;
    Some(format!(
        "where panics unwind, this one would end {} alone: whoever joins it gets an Err, and the locks that it holds \
         are poisoned. If the test counts on that, build it with unwinding (docs/unwinding.md)",
        execution.runtime().title(worker)
    ))
}

/// An environment variable that was to be there.
fn variable(bug: &Bug) -> Option<String> {
    let wanted = bug.kind == BugKind::Panic && bug.message().contains("NotPresent");
    wanted.then(|| "the guest has no environment variables but those given with --env".into())
}

/// A trap that can mean several things.
fn unreachable(bug: &Bug) -> Option<String> {
    let wanted = bug.evidence == Evidence::Trap(Trap::Unreachable);
    wanted.then(|| {
        "compilers put this trap behind a call of abort, where a C++ function ended without its return, where \
         -fsanitize=undefined finds something, and where nobody can come if the program keeps its language's rules"
            .into()
    })
}
