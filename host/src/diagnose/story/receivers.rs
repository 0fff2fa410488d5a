//! Names of sync objects from calls in the source: `changed` for `self.changed.notify_one()`.
//!
//! A name is used if every place that gives a name for the object gives the same one, and no other object has it. The
//! text at a place is read as a call only if it contains the called function at the column that debug information
//! gives, so a file that was edited later gives no names.

use super::moment::{Act, Moment};
use super::moments::is_object;
use super::places::{Places, stack_of};
use super::recorder::{RawStep, Recording};
use crate::symbols::{SourceFrame, Sources, without_generics};
use coyote_instrumenter::Location;
use coyote_strategies::OpKind;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// An rwlock of Rust's std consists of two words: its state, and a counter at which writers wait. No other two objects are
/// so near to each other.
const WORD_BYTES: u64 = 4;

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
            0 => None,
            n => places.frames(&stack).get(n - 1).map(|frame| last_segment(&frame.function)),
        };
        if of_futex && !is_of_receiver(&places.frames(&stack)[..inside], callee.as_deref()) {
            continue;
        }
        let Some(text) = sources.line(file, line) else { continue };
        let Some(at) = (column as usize).checked_sub(1) else { continue };
        if let Some(name) = receiver(text, at, callee.as_deref()) {
            said.entry(address).or_default().insert(name);
        }
    }
    let with_counter = |address: &u64| said.contains_key(&(address + WORD_BYTES));
    for word in said.keys().copied().filter(with_counter).collect::<Vec<_>>() {
        let of_counter = said[&(word + WORD_BYTES)].clone();
        said.entry(word).or_default().extend(of_counter);
        let all = said[&word].clone();
        said.insert(word + WORD_BYTES, all);
    }
    let only = said.iter().filter(|(_, names)| names.len() == 1);
    let named: BTreeMap<u64, String> =
        only.filter_map(|(address, names)| Some((*address, names.first()?.clone()))).collect();
    let is_only = |name: &String| {
        let mut named = said.iter().filter(|(_, names)| names.contains(name)).map(|(address, _)| *address);
        let first = named.next();
        first.is_some_and(|first| named.all(|other| other <= first + WORD_BYTES))
    };
    named.into_iter().filter(|(_, name)| is_only(name)).collect()
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
fn is_of_receiver(library: &[SourceFrame], callee: Option<&str>) -> bool {
    let within =
        |part: &str| library.iter().any(|frame| frame.file.as_ref().is_some_and(|file| file.contains(part)));
    match callee {
        Some("lock" | "try_lock") => within("sync/mutex/"),
        Some("read" | "write" | "try_read" | "try_write") => within("sync/rwlock/"),
        Some("notify_one" | "notify_all") => within("sync/condvar/"),
        Some("wait" | "wait_while" | "wait_timeout" | "wait_timeout_while" | "wait_timeout_ms") => {
            within("sync/condvar/") && !within("sync/mutex/")
        }
        _ => false,
    }
}

/// `wait` of `<Condvar>::wait::<T>`, and `flockfile` of the C library's `__coyote_flockfile`, as programs call it.
fn last_segment(function: &str) -> String {
    let plain = without_generics(function);
    let last = plain.rsplit("::").next().unwrap_or_default().trim_start_matches('.');
    last.strip_prefix("__coyote_").unwrap_or(last).to_string()
}

/// The object of the call at a column: the last part of the receiver, or the first argument of a function. `callee`:
/// the function, if it is known.
fn receiver(text: &str, column: usize, callee: Option<&str>) -> Option<String> {
    let (before, here) = (text.get(..column)?, text.get(column..)?);
    let name: String = here.chars().take_while(|c| is_word(*c)).collect();
    if name.is_empty() || callee.is_some_and(|callee| callee != name) {
        return None;
    }
    let arguments = here[name.len()..].strip_prefix('(')?;
    if let Some(receiver) = before.strip_suffix('.').or_else(|| before.strip_suffix("->")) {
        let word = receiver.rsplit(|c: char| !is_word(c)).next()?;
        return identifier(word);
    }
    let argument = arguments.split([',', ')']).next()?.trim();
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
    use super::{last_segment, receiver};

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
            assert_eq!(receiver(text, column, callee).as_deref(), name, "{text}");
        }
        assert_eq!(last_segment("<coyote::sync::Condvar>::wait::<State>"), "wait");
        assert_eq!(last_segment("__coyote_flockfile"), "flockfile");
    }
}
