//! Workers that wait within a library, at something that is the library's own.

use super::cxx;
use crate::runtime::{Request, Runtime};
use crate::symbols::{SourceFrame, is_library, without_generics};
use coyote_strategies::{WorkerId, WorkerState};
use std::collections::BTreeMap;

/// The part of a library in which a worker waits, outside of any function of the guest that the library calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Within {
    /// A runtime of tasks.
    Tasks,
    /// `std::thread::scope`, at its end.
    Scope,
    /// A channel of std, to receive from it.
    Receive,
    /// The same to send.
    Send,
    /// `std::thread::park`.
    Park,
    /// A `Once` of std, or what is made of it.
    Once,
    /// A barrier of std.
    Barrier,
    /// A future of C++.
    Future,
    /// A latch of C++.
    Latch,
    /// A semaphore of C++.
    Semaphore,
}

/// The functions of Rust's std in which workers wait, by the beginnings of their names without generics.
const OF_STD: [(&str, Within); 9] = [
    ("std::thread::scoped::scope", Within::Scope),
    ("std::sync::mpsc::Receiver", Within::Receive),
    ("std::sync::mpmc::Receiver", Within::Receive),
    ("std::sync::mpsc::SyncSender", Within::Send),
    ("std::sync::mpmc::Sender", Within::Send),
    ("std::sys::sync::once", Within::Once),
    ("std::sync::barrier::Barrier", Within::Barrier),
    // The others park, too, and come after it on the stack.
    ("std::thread::park", Within::Park),
    ("std::thread::functions::park", Within::Park),
];

/// The same of C++, by [`cxx::path`].
const OF_CXX: [(&str, Within); 7] = [
    ("std::future", Within::Future),
    ("std::shared_future", Within::Future),
    ("std::latch", Within::Latch),
    ("std::barrier", Within::Barrier),
    ("std::counting_semaphore", Within::Semaphore),
    ("std::call_once", Within::Once),
    ("std::__call_once", Within::Once),
];

impl Within {
    /// What the worker waits for.
    pub fn awaited(self) -> &'static str {
        match self {
            Within::Tasks => "a task that is ready",
            Within::Scope => "the threads of its scope",
            Within::Receive => "a message of a channel",
            Within::Send => "room in a channel",
            Within::Park => "somebody to unpark it",
            Within::Once => "an initialisation that has begun",
            Within::Barrier => "others at a barrier",
            Within::Future => "the result of a future",
            Within::Latch => "a latch",
            Within::Semaphore => "a unit of a semaphore",
        }
    }

    /// Why it waits for ever, if all workers that are left wait.
    pub fn in_vain(self) -> Option<&'static str> {
        match self {
            Within::Tasks | Within::Scope => None,
            Within::Receive => Some("nobody is left to send one, though a sender still exists"),
            Within::Send => Some("nobody is left to receive, though a receiver still exists"),
            Within::Park => Some("nobody is left to do so"),
            Within::Once => Some("who began it waits, too"),
            Within::Barrier => Some("too few come"),
            Within::Future => Some("nobody that can give it goes on"),
            Within::Latch => Some("too few count it down"),
            Within::Semaphore => Some("nobody is left to release one"),
        }
    }

    fn of(stack: &[SourceFrame]) -> Option<Within> {
        if runs_tasks(stack) {
            return Some(Within::Tasks);
        }
        let library = stack.iter().take_while(|frame| is_library(frame));
        let known = library.filter_map(|frame| {
            let path = cxx::path(&frame.function);
            let known = if path.is_some() { &OF_CXX[..] } else { &OF_STD[..] };
            let name = path.unwrap_or_else(|| without_generics(frame.function.trim_start_matches('<')));
            let is_in = |function: &str| {
                let rest = name.strip_prefix(function);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with([':', '<', '>']))
            };
            known.iter().find(|(function, _)| is_in(function)).map(|(_, within)| *within)
        });
        known.last()
    }
}

/// The workers that wait so, by their stacks.
pub fn libraries(
    runtime: &Runtime,
    mut stack: impl FnMut(WorkerId) -> Vec<SourceFrame>,
) -> BTreeMap<WorkerId, Within> {
    let waits = |id: &WorkerId| {
        let worker = runtime.worker(*id);
        let sleeps = match worker.request {
            Request::FutexWait { .. } => true,
            Request::Relock { .. } => worker.wake.is_none(),
            _ => false,
        };
        sleeps && runtime.pending(*id).state == WorkerState::Blocked
    };
    let ids = (0..runtime.workers().len() as u32).map(WorkerId).filter(waits);
    ids.filter_map(|id| Some((id, Within::of(&stack(id))?))).collect()
}

/// Whether a stack is that of a runtime which runs tasks, with no function of the guest within.
pub fn runs_tasks(stack: &[SourceFrame]) -> bool {
    let runs = |frame: &SourceFrame| {
        ["tokio::runtime::scheduler::", "futures_executor::", "async_executor::"]
            .iter()
            .any(|runtime| frame.function.trim_start_matches('<').starts_with(runtime))
    };
    stack.iter().take_while(|frame| is_library(frame)).any(runs)
}

/// Whether a function makes, runs or ends a runtime of tasks. What it does says nothing about the program, and the code that
/// `#[tokio::test]` generates for it has the line of the test's last statement.
pub fn keeps_runtime(frame: &SourceFrame) -> bool {
    const RUNTIMES: [&str; 6] =
        ["tokio::runtime", "futures_executor", "async_executor", "async_io", "async_std", "smol"];
    const DROPS: [&str; 2] = [
        "drop_in_place<tokio::runtime::runtime::Runtime>",
        "drop_in_place::<tokio::runtime::runtime::Runtime>",
    ];
    if DROPS.iter().any(|drop| frame.function.ends_with(drop)) {
        return true;
    }
    let path = frame.function.trim_start_matches('<');
    if path.starts_with("tokio::task::local::") && !path.contains("::spawn") {
        return true;
    }
    let name = without_generics(&frame.function);
    let is = |method: &str| name.ends_with(method);
    RUNTIMES.iter().any(|runtime| name.starts_with(runtime)) && (is("::block_on") || is("::Builder::build"))
}

#[cfg(test)]
mod tests {
    use super::{Within, keeps_runtime};
    use crate::symbols::SourceFrame;

    fn frame(function: &str) -> SourceFrame {
        SourceFrame { function: function.into(), file: None, line: None, column: None }
    }

    #[test]
    fn who_waits_in_a_function_of_the_guest_waits_for_that() {
        let scope = "std::thread::scoped::scope<app::main::{{closure}}, ()>";
        let of =
            |functions: &[&str]| Within::of(&functions.iter().map(|name| frame(name)).collect::<Vec<_>>());
        let (wait, park) = ("std::sys::pal::unix::futex::futex_wait", "std::thread::park");
        let receives = ["<std::sync::mpmc::list::Channel<T>>::recv", "<std::sync::mpsc::Receiver<T>>::recv"];
        for (stack, within) in [
            (&[wait, park, scope, "app::main"][..], Some(Within::Scope)),
            (&[wait, "app::main::{{closure}}", scope, "app::main"], None),
            (&[wait, "std::thread::scoped::scoped_thread", "app::main"], None),
            (&[wait, park, "app::main"], Some(Within::Park)),
            (&[wait, park, receives[0], receives[1], "app::main"], Some(Within::Receive)),
            (&[wait, "std::sys::sync::once::futex::Once::call", "app::main"], Some(Within::Once)),
            (&[wait, "std::sys::sync::condvar::futex::Condvar::wait", "app::main"], None),
            (
                &["std::__2::__assoc_state<int>::move()", "std::__2::future<int>::get()", "main"],
                Some(Within::Future),
            ),
            (&["std::__2::latch::wait[abi:se190107]() const", "main"], Some(Within::Latch)),
            (&["std::__2::condition_variable::wait(std::__2::unique_lock&)", "main"], None),
        ] {
            assert_eq!(of(stack), within, "{stack:?}");
        }
    }

    /// What keeps a runtime, in each notation of Rust's compiler, and what a task asks of it.
    #[test]
    fn functions_that_keep_a_runtime_are_known() {
        let keeps = |function: &str| keeps_runtime(&frame(function));
        for function in [
            "tokio::runtime::runtime::Runtime::block_on",
            "<tokio::runtime::runtime::Runtime>::block_on::<app::test::{async_block#0}>",
            "<tokio::runtime::builder::Builder>::build",
            "tokio::runtime::builder::Builder::build",
            "core::ptr::drop_in_place<tokio::runtime::runtime::Runtime>",
            "futures_executor::local_pool::block_on::<app::run>",
            "<tokio::task::local::RunUntil<app::test::{async_block#0}> as core::future::Future>::poll",
            "tokio::task::local::LocalSet::tick",
        ] {
            assert!(keeps(function), "{function}");
        }
        for function in [
            "tokio::task::spawn::spawn",
            "tokio::task::local::spawn_local",
            "<tokio::task::local::LocalSet>::spawn_local::<app::test::{async_block#0}>",
            "tokio::runtime::scheduler::multi_thread::handle::Handle::spawn",
            "app::block_on",
            "core::ptr::drop_in_place<tokio::runtime::task::join::JoinHandle<()>>",
        ] {
            assert!(!keeps(function), "{function}");
        }
    }
}
