//! Names of sync objects from calls in the source: `changed` for `self.changed.notify_one()`.
//!
//! A name is used if every place that gives a name for the object gives the same one. Objects with the same name, such as a
//! field of several structures, have numbers in the order in which they are used: `lock#1`, `lock#2`. The text at a place is
//! read as a call only if it contains the called function at the column that debug information gives, so a file that was
//! edited later gives no names.

use super::cxx;
use super::moment::{Act, Moment};
use super::places::{Places, stack_of};
use super::recorder::{RawStep, Recording, is_object};
use crate::symbols::{SourceFrame, Sources, without_generics};
use coyote_instrumenter::Location;
use coyote_strategies::OpKind;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// An rwlock of Rust's std consists of two words: its state, and a counter at which writers wait. No other two objects are
/// so near to each other.
const WORD_BYTES: u64 = 4;

/// The most objects of one name that get numbers.
const NUMBERED_MAX: usize = 9;

/// Names by address.
pub fn names(
    recording: &Recording,
    moments: &[Moment],
    places: &mut Places<'_>,
    sources: &mut Sources,
) -> BTreeMap<u64, String> {
    let objects = moments.iter().filter_map(|moment| match moment.act {
        Act::Object { address, .. } => Some(address),
        _ => None,
    });
    let objects: BTreeSet<u64> = objects.collect();
    let mut said: BTreeMap<u64, BTreeSet<String>> = BTreeMap::new();
    let mut used: Vec<u64> = Vec::new();
    // The second half of a wait is called on the condvar, but its object is the mutex.
    let calls = |step: &&RawStep| is_object(step.operation.kind) && step.operation.kind != OpKind::Relock;
    let calls = recording.steps.iter().filter(calls).map(|step| {
        let of_futex = matches!(step.operation.kind, OpKind::FutexWait | OpKind::FutexNotify);
        (step.operation.object, Cow::from(&step.stack), of_futex)
    });
    let calls = calls.filter(|(address, ..)| objects.contains(address));
    let words = taken(recording, moments).map(|(address, stack)| (address, Cow::from(stack), true));
    for (address, stack, of_futex) in calls.chain(words) {
        let Some((inside, own)) = places.own(&stack) else { continue };
        let (Some(file), Some(line), Some(column)) = (&own.file, own.line, own.column) else { continue };
        let callee = match inside {
            0 => Callee::Unknown,
            n => (places.frames(&stack).get(n - 1))
                .map_or(Callee::Unknown, |frame| callee(&frame.function, of_futex)),
        };
        if of_futex && !is_of_receiver(&places.frames(&stack)[..inside], &callee) {
            continue;
        }
        let Some(at) = (column as usize).checked_sub(1) else { continue };
        let before = line_before(sources, file, line);
        let Some(text) = sources.line(file, line) else { continue };
        if let Some(name) = receiver(&before, text, at, &callee) {
            said.entry(address).or_default().insert(name);
            used.push(address);
        }
    }
    let with_counter = |address: &u64| said.contains_key(&(address + WORD_BYTES));
    for word in said.keys().copied().filter(with_counter).collect::<Vec<_>>() {
        let of_counter = said[&(word + WORD_BYTES)].clone();
        said.entry(word).or_default().extend(of_counter);
        let all = said[&word].clone();
        said.insert(word + WORD_BYTES, all);
    }
    let mut named: BTreeMap<&String, Vec<u64>> = BTreeMap::new();
    for (address, names) in &said {
        names.iter().for_each(|name| named.entry(name).or_default().push(*address));
    }
    let agreed = |(_, addresses): &(&&String, &Vec<u64>)| addresses.iter().all(|at| said[at].len() == 1);
    named.iter().filter(agreed).flat_map(|(name, addresses)| numbered(name, addresses, &used)).collect()
}

/// The names of all objects that places give this name, with numbers if they are several; none if they are many. `used`:
/// objects in the order in which they are used.
fn numbered(name: &str, addresses: &[u64], used: &[u64]) -> Vec<(u64, String)> {
    // The words of an rwlock are one object.
    let mut objects: Vec<&[u64]> = addresses.chunk_by(|a, b| *b <= a + WORD_BYTES).collect();
    if objects.len() > NUMBERED_MAX {
        return Vec::new();
    }
    objects.sort_by_key(|words| used.iter().position(|at| words.contains(at)));
    let several = objects.len() > 1;
    let names = objects.into_iter().enumerate().flat_map(|(at, words)| {
        let name = if several { format!("{name}#{}", at + 1) } else { name.to_string() };
        words.iter().map(move |word| (*word, name.clone()))
    });
    names.collect()
}

/// The locks of Rust's std that are taken: the addresses of their words, and the stacks.
fn taken<'a>(
    recording: &'a Recording,
    moments: &'a [Moment],
) -> impl Iterator<Item = (u64, Vec<Location>)> + 'a {
    let accesses =
        moments.iter().flat_map(|moment| moment.accesses.iter().map(move |access| (moment, access)));
    accesses.filter(|(_, access)| access.takes_lock().is_some()).filter_map(|(moment, access)| {
        let first = recording.steps.partition_point(|step| step.number < moment.step);
        let mut same = recording.steps[first..].iter().take_while(|step| step.number == moment.step);
        let step = same.find(|step| step.accesses.contains(&access.raw))?;
        Some((access.raw.address, stack_of(step, &access.raw)))
    })
}

/// Whether a futex is that of the object of Rust's std that is called, and not of another one that it uses, such as the
/// mutex with a condvar, or a thread's parker. `library`: the frames within the call.
fn is_of_receiver(library: &[SourceFrame], callee: &Callee) -> bool {
    if library.last().is_some_and(|frame| cxx::path(&frame.function).is_some()) {
        return *callee != Callee::Other;
    }
    let Callee::Named(callee) = callee else { return false };
    let within =
        |part: &str| library.iter().any(|frame| frame.file.as_ref().is_some_and(|file| file.contains(part)));
    match callee.as_str() {
        "lock" | "try_lock" => within("sync/mutex/"),
        "read" | "write" | "try_read" | "try_write" => within("sync/rwlock/"),
        "notify_one" | "notify_all" => within("sync/condvar/"),
        "wait" | "wait_while" | "wait_timeout" | "wait_timeout_while" | "wait_timeout_ms" => {
            within("sync/condvar/") && !within("sync/mutex/")
        }
        _ => false,
    }
}

/// The function that the program calls.
#[derive(Debug, PartialEq, Eq)]
enum Callee {
    Unknown,
    Named(String),
    /// A constructor of C++ that locks the mutex that is its argument: the name at its place is that of the new object.
    Locks,
    /// A function whose receiver is not the object.
    Other,
}

/// Classes of C++'s library whose objects hold a lock.
const GUARDS: [&str; 4] = ["lock_guard", "unique_lock", "scoped_lock", "shared_lock"];

/// Classes of C++'s library that are made of a futex.
const OF_FUTEX: [&str; 5] = ["latch", "barrier", "counting_semaphore", "atomic", "atomic_flag"];

/// `wait` of `<Condvar>::wait::<T>`, and `flockfile` of the C library's `__coyote_flockfile`, as programs call it.
/// `of_futex`: what it does is done to a futex.
fn callee(function: &str, of_futex: bool) -> Callee {
    if let Some(path) = cxx::path(function) {
        return match cxx::method(&path) {
            Some((class, method)) if GUARDS.contains(&class) && class == method => Callee::Locks,
            Some((class, _)) if GUARDS.contains(&class) || of_futex && !OF_FUTEX.contains(&class) => {
                Callee::Other
            }
            Some((_, method)) => Callee::Named(method.into()),
            None => Callee::Named(path),
        };
    }
    let plain = without_generics(function);
    let last = plain.rsplit("::").next().unwrap_or_default().trim_start_matches('.');
    Callee::Named(last.strip_prefix("__coyote_").unwrap_or(last).to_string())
}

/// The line before a line, where a chain of calls begins that the line continues.
fn line_before(sources: &mut Sources, file: &str, line: u32) -> String {
    let before = line.checked_sub(1).and_then(|before| sources.line(file, before));
    before.map(|text| text.trim().to_string()).unwrap_or_default()
}

/// The object of the call at a column: the last part of the receiver, or the first argument of a function. `before`: the
/// line before it.
fn receiver(before: &str, text: &str, column: usize, callee: &Callee) -> Option<String> {
    let (left, here) = (text.get(..column)?, text.get(column..)?);
    let name: String = here.chars().take_while(|c| is_word(*c)).collect();
    let is_callee = match callee {
        Callee::Unknown | Callee::Locks => true,
        Callee::Named(callee) => *callee == name,
        Callee::Other => false,
    };
    if name.is_empty() || !is_callee {
        return None;
    }
    let arguments = here[name.len()..].strip_prefix(['(', '{'])?;
    if *callee != Callee::Locks
        && let Some(receiver) = left.strip_suffix('.').or_else(|| left.strip_suffix("->"))
    {
        let receiver = if receiver.trim().is_empty() { before } else { receiver };
        let word = receiver.rsplit(|c: char| !is_word(c)).next()?;
        return identifier(word);
    }
    let (argument, rest) = arguments.split_at(arguments.find([',', ')', '}'])?);
    // More than one mutex may be locked, or none until later.
    if *callee == Callee::Locks && rest.starts_with(',') {
        return None;
    }
    let argument = argument.trim();
    let argument = argument.strip_prefix("&mut ").or_else(|| argument.strip_prefix('&')).unwrap_or(argument);
    identifier(argument.rsplit(['.', '>']).next()?)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn identifier(word: &str) -> Option<String> {
    let first = word.chars().next()?;
    (word.chars().all(is_word) && !first.is_numeric() && word != "self" && word != "this")
        .then(|| word.into())
}

#[cfg(test)]
mod tests {
    use super::{Callee, callee, receiver};

    #[test]
    fn receivers() {
        for (text, column, callee, name) in [
            ("            state = self.changed.wait(state);", 33, Some("wait"), Some("changed")),
            ("    Wakeup::NotifyAll => self.changed.notify_all(),", 38, Some("notify_all"), Some("changed")),
            ("    let enough = *self.balance.lock() >= amount;", 31, Some("lock"), Some("balance")),
            ("    queue.lock();", 10, Some("lock"), Some("queue")),
            ("    queue().lock();", 12, Some("lock"), None),
            ("    self.lock();", 9, Some("lock"), None),
            // Not the line that was compiled.
            ("            state = self.changed.wait(state);", 33, Some("lock"), None),
            ("    pthread_mutex_lock(&left);", 4, None, Some("left")),
            ("    pthread_mutex_lock(&forks[i]);", 4, None, None),
            ("    pthread_mutex_lock(&table->left);", 4, None, Some("left")),
            ("    pthread_cond_wait(&changed, &lock);", 4, None, Some("changed")),
            ("    flockfile(stdout);", 4, Some("flockfile"), Some("stdout")),
            ("    x = 1;", 4, None, None),
            ("", 4, None, None),
        ] {
            let callee = callee.map_or(Callee::Unknown, |name| Callee::Named(name.into()));
            assert_eq!(receiver("", text, column, &callee).as_deref(), name, "{text}");
        }
        let wait = Callee::Named("wait_while".into());
        let of_line_before = |before| receiver(before, "    .wait_while(guard, |s| s.full)", 5, &wait);
        assert_eq!(of_line_before("self.not_full").as_deref(), Some("not_full"));
        assert_eq!(of_line_before("self.pairs[0]"), None);
    }

    #[test]
    fn receivers_in_cxx() {
        for (text, column, function, name) in [
            (
                "  lock_guard<mutex> held(door);",
                20,
                "std::__2::lock_guard<std::__2::mutex>::lock_guard(std::__2::mutex&)",
                Some("door"),
            ),
            (
                "  unique_lock held{self.door};",
                14,
                "std::__2::unique_lock<std::__2::mutex>::unique_lock(std::__2::mutex&)",
                Some("door"),
            ),
            (
                "  scoped_lock held(left, right);",
                14,
                "std::__2::scoped_lock<A, B>::scoped_lock(A&, B&)",
                None,
            ),
            ("  held.lock();", 7, "std::__2::unique_lock<std::__2::mutex>::lock()", None),
            ("  door.lock();", 7, "std::__2::mutex::lock()", Some("door")),
            (
                "  changed_.wait(held, [] { return x; });",
                11,
                "void std::__2::condition_variable::wait<take()::{lambda()#1}>(std::__2::unique_lock<std::__2::mutex>&, take()::{lambda()#1})",
                Some("changed_"),
            ),
        ] {
            assert_eq!(receiver("", text, column, &callee(function, false)).as_deref(), name, "{text}");
        }
    }

    #[test]
    fn callees() {
        let named = |name: &str| Callee::Named(name.into());
        let of = |function| callee(function, false);
        assert_eq!(of("<coyote::sync::Condvar>::wait::<State>"), named("wait"));
        assert_eq!(of("<std::sync::Mutex<fn(u32) -> u32>>::lock"), named("lock"));
        assert_eq!(of("__coyote_flockfile"), named("flockfile"));
        assert_eq!(callee("std::__2::latch::count_down(int)", true), named("count_down"));
        assert_eq!(callee("std::__2::thread::join()", true), Callee::Other);
    }
}
