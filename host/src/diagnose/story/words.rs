//! The text of a row.

use super::moment::{Act, Got, Moment, SharedAccess};
use super::polls::{Lane, TaskId, Turn};
use super::recorder::RawAccess;
use super::rows::Group;
use crate::plural::amount;
use crate::runtime::other_order;
use crate::symbols::{Encoding, MemoryName, SourceFrame};
use coyote_strategies::{Class, OpKind, WorkerId};
use std::collections::BTreeMap;

/// The most pieces of memory without names whose values a row shows.
const PIECES_MAX: usize = 2;

/// The text for a null pointer.
const NULL: &str = "null";

/// The text for any other pointer.
pub const NOT_NULL: &str = "not null";

/// Numbers that no size can be.
const NICHES: std::ops::Range<u64> = 1 << 31..(1 << 31) + 256;

/// Names of objects, memory and workers. Addresses are not shown: the source describes what has no name.
pub struct Names<'a> {
    /// Names of sync objects.
    pub objects: &'a BTreeMap<u64, String>,
    /// The name of the memory of an access.
    pub memory: &'a dyn Fn(&RawAccess) -> Option<MemoryName>,
    pub workers: &'a dyn Fn(WorkerId) -> String,
    pub tasks: &'a dyn Fn(TaskId) -> String,
}

impl Names<'_> {
    pub fn lane(&self, lane: Lane) -> String {
        match lane {
            Lane::Worker(id) => (self.workers)(id),
            Lane::Task(id) => (self.tasks)(id),
        }
    }

    /// The name of the lock at an address.
    pub fn lock(&self, address: u64) -> String {
        self.objects.get(&address).map_or("a lock".into(), |name| format!("`{name}`"))
    }
}

/// `lib.rs:82`.
pub fn place(frame: &SourceFrame) -> String {
    frame.file_and_line().unwrap_or_else(|| super::short_name(&frame.function))
}

/// ` (lib.rs:82)`, or nothing.
pub fn in_brackets(frame: Option<&SourceFrame>) -> String {
    frame.map_or(String::new(), |frame| format!(" ({})", place(frame)))
}

/// A row's text. `source`: the text of its line, shown if names do not say enough.
pub fn text(group: &Group, function: Option<&str>, source: Option<&str>, names: &Names<'_>) -> String {
    let mut acts: Vec<(usize, Words)> = Vec::new();
    for (at, moment) in group.moments.iter().enumerate() {
        let words = act(moment, names);
        let news = words.filter(|words| acts.iter().all(|(_, other)| other.text != words.text));
        acts.extend(news.map(|words| (at, words)));
    }
    let spawned = group.moments.iter().filter_map(|moment| match moment.act {
        Act::SpawnTask(task) => Some((names.tasks)(task)),
        _ => None,
    });
    let spawned: Vec<String> = spawned.collect();
    if !spawned.is_empty() && spawned.len() == acts.len() {
        return format!("spawns {}", spawned.join(", "));
    }
    let mut accessed = accessed(group, names);
    let mut guarded = String::new();
    if accessed.iter().any(|piece| piece.of_lock) {
        // What else the line accesses says less than that it takes or releases a lock.
        let (named, others): (Vec<_>, Vec<_>) = accessed.into_iter().partition(|piece| piece.name.is_some());
        accessed = named;
        let others: Vec<Accessed> = others.into_iter().filter(|piece| !piece.of_library).collect();
        guarded = value_without_name(&others);
    }
    let is_named =
        acts.iter().all(|(_, words)| words.is_named) && accessed.iter().all(|piece| piece.name.is_some());
    if is_named && !(acts.is_empty() && accessed.is_empty()) {
        let reads_memory = accessed.iter().any(|piece| !piece.of_lock);
        // What a step does to a sync object comes before the accesses of the code behind it.
        let mut all: Vec<(usize, String)> = acts.into_iter().map(|(at, words)| (at, words.text)).collect();
        all.extend(accessed.iter().map(|piece| (piece.at, piece.text.clone())));
        let unlocks = unlock_before_wake(group, &all, names);
        all.splice(0..0, unlocks);
        all.sort_by_key(|(at, _)| *at);
        let mut texts: Vec<String> = Vec::new();
        for (_, text) in all {
            if texts.last() != Some(&text) {
                texts.push(text);
            }
        }
        // A line that locks often does more.
        let of_std = group.moments.iter().any(|moment| {
            moment.lock.is_some()
                || moment.on_std_condvar
                || matches!(moment.act, Act::Turn(Turn::Suspends | Turn::Dropped))
        });
        if let Some(source) = source
            && !reads_memory
            && (of_std || accessed.iter().any(|piece| piece.of_lock))
        {
            return format!("{}: {source}{guarded}", texts.join(", "));
        }
        let prefix =
            function.filter(|_| reads_memory).map_or(String::new(), |function| format!("{function}: "));
        return prefix + &texts.join(", ");
    }
    let is_turn = |(at, _): &(usize, Words)| matches!(group.moments[*at].act, Act::Turn(_));
    let (turns, acts): (Vec<_>, Vec<_>) = acts.into_iter().partition(is_turn);
    let turns: String = turns.into_iter().map(|(_, words)| words.text + ": ").collect();
    let (acts, effects): (Vec<String>, Vec<String>) =
        acts.into_iter().map(|(_, words)| (words.text, words.effect)).unzip();
    // If there are several pieces of memory, the reader could not tell which one a value belongs to.
    let (locks, accessed): (Vec<Accessed>, Vec<Accessed>) =
        accessed.into_iter().filter(|piece| !piece.of_library).partition(|piece| piece.of_lock);
    let value = match accessed.as_slice() {
        [] if !locks.is_empty() => {
            let locks: Vec<String> = locks.into_iter().map(|piece| piece.text).collect();
            format!("  [{}]", locks.join(", "))
        }
        [Accessed { name: Some(_), text, .. }] => format!("  [{text}]"),
        // A reader could not tell which is which.
        [_, _, ..] if source.is_none() => String::new(),
        pieces => value_without_name(pieces),
    };
    let known = source.or(function);
    let notes = if source.is_some() { effects } else { acts };
    let notes: Vec<String> = notes.into_iter().filter(|note| !note.is_empty()).collect();
    let notes = if notes.is_empty() { String::new() } else { format!("  ({})", notes.join(", ")) };
    format!("{turns}{}{value}{notes}", known.unwrap_or_default()).trim().to_string()
}

/// What becomes of pieces of memory without names: of the only one, which could be the value of the line's expression, or of
/// a few that are all read or all written, in the order in which that happens.
fn value_without_name(pieces: &[Accessed]) -> String {
    if pieces.iter().any(|piece| piece.name.is_some()) {
        return String::new();
    }
    let all = |prefix: &str, verb: &str| {
        let values: Option<Vec<&str>> = pieces.iter().map(|piece| piece.text.strip_prefix(prefix)).collect();
        values.map(|values| format!("  [{verb} {}]", values.join(", ")))
    };
    match pieces {
        [] => None,
        [piece] if piece.text.is_empty() => None,
        [piece] => {
            all("is ", "reads").or_else(|| all("= ", "writes")).or(Some(format!("  [{}]", piece.text)))
        }
        pieces if pieces.len() <= PIECES_MAX => all("is ", "reads").or_else(|| all("= ", "writes")),
        _ => None,
    }
    .unwrap_or_default()
}

/// The unlock of a lock of Rust's std that wakes a worker, if the group has only the wake-up: the release of the word came
/// in a step before.
fn unlock_before_wake(group: &Group, told: &[(usize, String)], names: &Names<'_>) -> Option<(usize, String)> {
    if told.iter().any(|(_, text)| text.starts_with("unlocks")) {
        return None;
    }
    group.moments.iter().enumerate().find_map(|(at, moment)| {
        let Act::Object { kind: OpKind::FutexNotify, address, .. } = moment.act else { return None };
        let lock = moment.lock.filter(|_| !moment.wakes.is_empty())?;
        let name = names.objects.get(&lock.word_of(address, names.objects))?;
        Some((at, format!("unlocks `{name}`")))
    })
}

/// The text of an action.
struct Words {
    text: String,
    /// Whether everything in the text has a name.
    is_named: bool,
    /// The effect that the source does not show.
    effect: String,
}

fn act(moment: &Moment, names: &Names<'_>) -> Option<Words> {
    use OpKind::*;
    let titles: Vec<String> = moment.wakes.iter().map(|id| (names.workers)(*id)).collect();
    let woken = if titles.is_empty() { String::new() } else { format!("wakes {}", titles.join(", ")) };
    let plain = |text: String| Words { effect: text.clone(), text, is_named: true };
    Some(match &moment.act {
        Act::Other(Clock) => plain("looks at the clock".into()),
        Act::Access | Act::Other(_) => return None,
        Act::Spawn(child) => plain(format!("starts {}", (names.workers)(*child))),
        Act::SpawnTask(task) => plain(format!("spawns {}", (names.tasks)(*task))),
        Act::Turn(Turn::Suspends) => plain("suspends".into()),
        Act::Turn(Turn::Ends) => plain("ends".into()),
        Act::Turn(Turn::Dropped) => plain("is dropped while it waits".into()),
        Act::Chooses(values) => {
            let values: Vec<String> = values.iter().map(u64::to_string).collect();
            if values.is_empty() {
                return None;
            }
            plain(format!("chooses {}", values.join(", ")))
        }
        Act::Timeout => plain("its time is up".into()),
        Act::Fault { name, how: None } => plain(match other_order(name) {
            Some([happens, _]) => happens.into(),
            None => format!("fault `{name}`"),
        }),
        Act::Fault { name, how: Some(how) } => plain(format!("fault `{name}`: {how}")),
        Act::Stale(stale) => plain(stale.to_string()),
        Act::End => plain("ends".into()),
        Act::Allocates => plain("allocates the block".into()),
        Act::Frees => plain("frees the block".into()),
        Act::Object { kind: Relock, .. } => plain("goes on".into()),
        // The change of its word tells that it is unlocked.
        Act::Object { kind: FutexNotify, .. } if moment.lock.is_some() => {
            return (!woken.is_empty()).then(|| plain(woken));
        }
        Act::Object { kind: FutexWait, got: Got::It, .. } if moment.lock.is_some() => plain("goes on".into()),
        Act::Object { kind: FutexWait, address, .. }
            if let Some(lock) = moment.lock
                && let Some(name) = names.objects.get(&lock.word_of(*address, names.objects)) =>
        {
            Words { text: format!("waits to lock `{name}`"), is_named: true, effect: "waits".into() }
        }
        Act::Object { kind, address, got } => {
            let name = names.objects.get(address).map(|name| format!("`{name}`"));
            // The source says more than that a library waits with a futex.
            let is_named = name.is_some() && !matches!(kind, FutexWait | FutexNotify);
            let thing = |noun: &str| name.clone().unwrap_or_else(|| noun.to_string());
            let attempt = |[infinitive, verb]: [&str; 2], noun: &str, how: &str| {
                let thing = thing(noun);
                match got {
                    Got::It => (format!("{verb} {thing}{how}"), ""),
                    Got::Again => (format!("{verb} {thing}{how} once more"), ""),
                    Got::Waits => (format!("waits to {infinitive} {thing}{how}"), "waits"),
                    Got::Nothing => (format!("cannot {infinitive} {thing}{how}"), "fails"),
                }
            };
            let unlock = |noun: &str| {
                let thing = thing(noun);
                match got {
                    Got::Again => (format!("unlocks {thing} once, and still holds it"), ""),
                    Got::Nothing => (format!("cannot unlock {thing}"), "fails"),
                    Got::It | Got::Waits => (format!("unlocks {thing}"), "unlocks"),
                }
            };
            const LOCKS: [&str; 2] = ["lock", "locks"];
            let (text, effect) = match kind {
                Lock | TryLock => attempt(LOCKS, "a mutex", ""),
                Unlock => unlock("a mutex"),
                Wait => (format!("waits for {}", thing("a condvar")), "waits"),
                Signal => (format!("notifies {}", thing("a condvar")), "no worker waits"),
                Broadcast => (format!("notifies all of {}", thing("a condvar")), "no worker waits"),
                ReadLock | TryReadLock => attempt(LOCKS, "a lock", " to read"),
                WriteLock | TryWriteLock => attempt(LOCKS, "a lock", " to write"),
                RwUnlock => unlock("a lock"),
                SemaphoreWait | SemaphoreTryWait => attempt(["take from", "takes from"], "a semaphore", ""),
                SemaphorePost => (format!("adds to {}", thing("a semaphore")), ""),
                BarrierWait => (format!("comes to {}", thing("a barrier")), ""),
                FutexWait if *got != Got::Waits => ("goes on".into(), "goes on"),
                FutexWait => (
                    format!("waits{}", name.as_ref().map_or(String::new(), |name| format!(" at {name}"))),
                    "waits",
                ),
                FutexNotify => ("notifies".into(), "no worker waits"),
                Destroy => (format!("destroys {}", thing("an object")), ""),
                Init => (format!("initialises {}", thing("an object")), ""),
                // A class without words of its own.
                kind => match Class::of_sync_object(*kind) {
                    Some(class) => {
                        (format!("{} of {}", kind.name(), thing(&format!("a {}", class.noun()))), "")
                    }
                    None => return None,
                },
            };
            let effect = if woken.is_empty() { effect.to_string() } else { woken };
            let text = match kind {
                Signal | Broadcast | FutexNotify => format!("{text}: {effect}"),
                _ => text,
            };
            Words { text, is_named, effect }
        }
    })
}

/// The accesses of a piece of memory.
struct Accessed {
    name: Option<String>,
    /// The values, after the name if there is one.
    text: String,
    /// The index of the moment of the first write, or of the first access.
    at: usize,
    /// Whether the text tells what is done to a lock.
    of_lock: bool,
    /// Whether the values are a library's own, and have no name.
    of_library: bool,
}

/// The accesses of a group, by the pieces of memory.
fn accessed(group: &Group, names: &Names<'_>) -> Vec<Accessed> {
    let mut pieces: Vec<Vec<(usize, &SharedAccess)>> = Vec::new();
    for (at, moment) in group.moments.iter().enumerate() {
        for access in &moment.accesses {
            let is_same = |piece: &&mut Vec<(usize, &SharedAccess)>| {
                let first = &piece[0].1.raw;
                (first.address, first.bytes) == (access.raw.address, access.raw.bytes)
            };
            match pieces.iter_mut().find(is_same) {
                Some(piece) => piece.push((at, access)),
                None => pieces.push(vec![(at, access)]),
            }
        }
    }
    let of_piece = |piece: Vec<(usize, &SharedAccess)>| {
        if let Some(changes) = of_lock(&piece, names) {
            return changes;
        }
        let at = piece.iter().find(|(_, access)| access.raw.writes).unwrap_or(&piece[0]).0;
        let accesses: Vec<&SharedAccess> = piece.into_iter().map(|(_, access)| access).collect();
        let (name, text) = described(&accesses, names);
        let of_library = name.is_none() && accesses.iter().all(|access| access.of_library);
        vec![Accessed { name, text, at, of_lock: false, of_library }]
    };
    pieces.into_iter().flat_map(of_piece).collect()
}

/// What the accesses of the word of a lock with a name do to the lock. `None` if they do nothing to it, or also something
/// else.
fn of_lock(piece: &[(usize, &SharedAccess)], names: &Names<'_>) -> Option<Vec<Accessed>> {
    let name = names.objects.get(&piece[0].1.raw.address)?;
    // A compare-exchange that fails leaves the word as it is.
    let changed = |access: &SharedAccess| {
        let raw = &access.raw;
        raw.writes
            && raw.before != raw.after
            && !access.word.is_some_and(|word| word.same_holders(raw.before, raw.after))
    };
    let changes = piece.iter().filter(|(_, access)| changed(access)).map(|(at, access)| {
        let text = access.word?.change(access.raw.before?, access.raw.after?, name)?;
        Some(Accessed { name: Some(name.clone()), text, at: *at, of_lock: true, of_library: false })
    });
    let changes: Vec<Accessed> = changes.collect::<Option<_>>()?;
    (!changes.is_empty()).then_some(changes)
}

/// The name of a piece of memory, if it has one, and a text about its accesses.
fn described(piece: &[&SharedAccess], names: &Names<'_>) -> (Option<String>, String) {
    let known = (names.memory)(&piece[0].raw);
    let encoding = known.as_ref().map_or(Encoding::Unknown, |known| known.encoding.clone());
    let values = values(piece, &encoding);
    match known {
        None => (None, values),
        Some(MemoryName { name, .. }) => {
            let text = if values.is_empty() { verb(piece, &name) } else { format!("{name} {values}") };
            (Some(name), text)
        }
    }
}

/// The memory of one access, by its name or else by its address, and what the access does.
pub fn access(access: &SharedAccess, names: &Names<'_>) -> (String, String) {
    let raw = &access.raw;
    let place = || format!("{} at {:#x}", amount(raw.bytes), raw.address);
    match described(&[access], names) {
        (Some(name), text) => (name, text),
        (None, values) if values.is_empty() => (place(), verb(&[access], &place())),
        (None, values) => (place(), format!("{} {values}", place())),
    }
}

/// The value that an access reads, if it means something to a reader.
pub fn value(raw: &RawAccess, names: &Names<'_>) -> Option<String> {
    let encoding = (names.memory)(raw).map_or(Encoding::Unknown, |known| known.encoding);
    let is_address = encoding == Encoding::Unknown && raw.pointers;
    raw.before.filter(|_| !is_address).and_then(|value| number(value, raw.bytes, &encoding))
}

fn verb(piece: &[&SharedAccess], name: &str) -> String {
    let (reads, writes) = (piece.iter().any(|a| a.raw.reads), piece.iter().any(|a| a.raw.changes()));
    match (reads, writes) {
        _ if piece.iter().all(|a| !a.raw.writes || a.raw.may_fail && a.raw.after.is_none()) && writes => {
            format!("accesses {name}")
        }
        (true, true) => format!("changes {name}"),
        (false, true) => format!("writes {name}"),
        _ => format!("reads {name}"),
    }
}

/// `is 3`, `3 -> 4` or `= 4`; empty if the value is not known, or means nothing to a reader.
fn values(piece: &[&SharedAccess], encoding: &Encoding) -> String {
    let bytes = piece[0].raw.bytes;
    if *encoding == Encoding::Unknown && piece.iter().any(|access| access.raw.pointers) {
        return String::new();
    }
    let show = |value: u64| match piece[0].word {
        Some(word) => Some(word.text(value)),
        None => number(value, bytes, encoding),
    };
    let last = piece.iter().rev().find(|access| access.raw.changes());
    match last {
        None => {
            let first = piece[0].raw.before;
            let same = piece.iter().all(|access| access.raw.before == first);
            first.filter(|_| same).and_then(show).map_or(String::new(), |value| format!("is {value}"))
        }
        Some(last) => {
            let Some(after) = last.raw.after.and_then(show) else { return String::new() };
            match piece.iter().find(|access| access.raw.reads).and_then(|a| a.raw.before).and_then(show) {
                // Another pointer, about which nothing can be said.
                Some(before) if *encoding == Encoding::Pointer && before == after => String::new(),
                // A lock that is taken and given back.
                Some(before) if piece[0].word.is_some() && before == after => String::new(),
                Some(before) if piece[0].raw.reads => format!("{before} -> {after}"),
                _ if *encoding == Encoding::Pointer && after != NULL => String::new(),
                _ => format!("= {after}"),
            }
        }
    }
}

fn number(value: u64, bytes: u32, encoding: &Encoding) -> Option<String> {
    let unused = 64 - 8 * bytes.clamp(1, 8);
    let signed = (value << unused) as i64 >> unused;
    match encoding {
        Encoding::Unsigned => Some(value.to_string()),
        Encoding::Signed => Some(signed.to_string()),
        Encoding::Bool => Some(match value {
            0 => "false".into(),
            1 => "true".into(),
            n => n.to_string(),
        }),
        Encoding::Pointer => Some(if value == 0 { NULL.into() } else { NOT_NULL.into() }),
        Encoding::Enumeration(names) => names.get(&value).cloned(),
        Encoding::Other => None,
        // Most such numbers are small negative ones.
        Encoding::Unknown if (-1_000_000..0).contains(&signed) && bytes >= 4 => Some(signed.to_string()),
        // What Rust writes for a variant without data where another one has a size or a capacity.
        Encoding::Unknown if bytes == 4 && NICHES.contains(&value) => None,
        // Two numbers or pointers that are written at once are more likely than one that is so large.
        Encoding::Unknown if bytes == 8 && value > u32::MAX.into() => None,
        Encoding::Unknown => Some(value.to_string()),
    }
}
