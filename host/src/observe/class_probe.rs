//! The class of an execution: two executions are of one class if they have the same steps, and those that depend on
//! each other come in the same order (a Mazurkiewicz trace, over the relation that [`crate::runtime::Footprint`]
//! records and searches rely on). The probe also finds the pairs of sites of dependent steps of two workers, and the
//! sites that were reached.
//!
//! Executions of a class are the same up to the order of independent steps, so the rate of new classes shows how much
//! an exploration still sees for the first time.
//!
//! **The hash.** On one object, accesses that commute form groups: reads; awaits; shared acquisitions. Every other
//! access is a group by itself. The history of an object is the sequence of its groups, each a sum over its accesses,
//! so that their order does not count; the hash of an execution is the sum over the histories of all objects that
//! several workers access, and over the data values of each worker. The order of all dependent steps follows from these
//! histories (a trace is determined by its projections on dependent letters: Diekert and Rozenberg, The Book of Traces,
//! 1995), and what a worker does follows from what it has read. An object is not named by its address, which an
//! allocator may choose differently, but by the worker that writes to it first, and the number of objects that this
//! worker was the first to write to before.
//!
//! **Deviations.** A word of memory is one object, or each of its bytes is one if some access covers less than the
//! word. The size of memory, and each table, is one object. Steps that end the program do not depend on all others.
//! Each of these can split a class into two, or join two classes that only differ in when the program ends.

use super::{Ending, Event, GuestState, Interest, Observer, Step};
use crate::runtime::Runtime;
use coyote_strategies::{Access, Class, Effect, Operation, Pick, mix};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};

/// See the module's documentation. It reports what is new since it was created.
pub struct ClassProbe {
    objects: Objects,
    /// Accesses of many bytes, for which histories of all words would be too many. The history of a word that is
    /// accessed later begins with the ranges that contain it.
    ranges: Vec<Range>,
    /// The ranges and the histories of memory, by address.
    index: Index,
    /// For each worker its process, followed by that of its timeout.
    processes: Vec<Process>,
    /// The step whose accesses are not yet complete: its process and its site.
    open: Option<(usize, u32)>,
    /// Pairs that were reported before.
    pairs: BTreeSet<u64>,
    points: BTreeSet<u32>,
    /// A cache of the sites of the last iterations, at their numbers modulo the length: most sites come
    /// again.
    recent: Vec<u32>,
    found: Found,
}

/// The findings of the probe in the iteration that ended last.
#[derive(Clone, Default)]
pub struct Found(Arc<Mutex<FoundNew>>);

/// See [`Found`].
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FoundNew {
    /// The hash of its class; `None` if it has not ended.
    pub class: Option<u64>,
    /// Pairs of sites that were not reported before: the first in the upper 32 bits, the second in the lower
    /// ones.
    pub pairs: Vec<u64>,
    /// Sites that were not reported before.
    pub points: Vec<u32>,
}

/// A process that makes steps: a worker, or its timeout.
#[derive(Clone, Debug, Default)]
struct Process {
    /// A number that is the same in all executions.
    key: u64,
    /// A hash of the data values that it was given.
    values: u64,
    /// Number of objects that it was the first to write to.
    names: u64,
}

/// An access of many whole words.
#[derive(Clone, Copy, Debug)]
struct Range {
    first: u64,
    end: u64,
    process: usize,
    site: u32,
    effect: Effect,
    /// The name of the object at its beginning, if it writes.
    name: u64,
}

/// Number of bytes from which on an access is a range.
const RANGE_BYTES: u64 = 256;

/// A process and the site of its step.
type At = (u32, u32);

/// No worker.
const NONE: At = (u32::MAX, Operation::NO_SITE);

/// The history of an object.
#[derive(Clone, Copy, Debug)]
struct History {
    key: u64,
    /// The number of the word, for memory.
    word: u64,
    /// Whether its bytes have histories of their own.
    split: bool,
    /// Whether several processes have accessed it.
    shared: bool,
    only: u32,
    /// A hash of all groups except the last.
    groups: u64,
    /// The sum of the last group.
    sum: u64,
    commuting: Commuting,
    /// The name of the object; 0 until it is written to.
    name: u64,
    /// The last accesses of the last group by two processes, the later one first.
    last: [At; 2],
    /// The same for the group before.
    before: [At; 2],
}

/// Which accesses of an object commute with each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commuting {
    Nothing,
    Reads,
    Awaits,
    Shares,
}

impl From<Effect> for Commuting {
    fn from(effect: Effect) -> Commuting {
        match effect {
            Effect::Read => Commuting::Reads,
            Effect::Await => Commuting::Awaits,
            Effect::Share | Effect::TryShare | Effect::Unshare => Commuting::Shares,
            _ => Commuting::Nothing,
        }
    }
}

impl Found {
    /// Takes the findings.
    pub fn take(&self) -> FoundNew {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl ClassProbe {
    /// A probe, and the place where it puts its findings.
    pub fn new() -> (ClassProbe, Found) {
        let found = Found::default();
        let probe = ClassProbe {
            objects: Objects::default(),
            ranges: Vec::new(),
            index: Index::default(),
            processes: Vec::new(),
            open: None,
            pairs: BTreeSet::new(),
            points: BTreeSet::new(),
            recent: vec![Operation::NO_SITE; 1 << 12],
            found: found.clone(),
        };
        (probe, found)
    }

    /// Closes the open step, which has made these accesses.
    fn close(&mut self, accesses: &[Access]) {
        let Some((process, site)) = self.open.take() else { return };
        for access in accesses {
            self.access(process, site, access);
        }
    }

    fn open(&mut self, runtime: &Runtime, step: &Step<'_>) {
        let (worker, timeout) = match step.pick {
            Pick::Step(worker) => (worker, 0),
            Pick::Timeout(worker) => (worker, 1),
        };
        let process = 2 * worker.index() + timeout;
        for known in self.processes.len()..=process {
            let of = runtime.workers().get(known / 2).map_or(0, |worker| worker.key);
            self.processes.push(Process { key: mix(of + (known % 2) as u64), ..Process::default() });
        }
        let site = step.operation.site;
        for value in step.values {
            let values = &mut self.processes[process].values;
            *values = mix(*values ^ mix(*value) ^ u64::from(site));
        }
        let recent = &mut self.recent[site as usize % (1 << 12)];
        if *recent != site && site != Operation::NO_SITE {
            *recent = site;
            if self.points.insert(site) {
                self.found.0.lock().unwrap_or_else(PoisonError::into_inner).points.push(site);
            }
        }
        self.open = Some((process, site));
    }

    fn access(&mut self, process: usize, site: u32, access: &Access) {
        let Access { class, effect, object, size } = *access;
        match class {
            Class::Memory => {
                let (mut at, end) = (object, object + u64::from(size));
                while at < end {
                    if at.is_multiple_of(4) && end - at >= RANGE_BYTES {
                        let range = Range { first: at / 4, end: end / 4, process, site, effect, name: 0 };
                        at = range.end * 4;
                        self.range(range);
                        continue;
                    }
                    let next = (at / 4 * 4 + 4).min(end);
                    self.word(process, site, effect, at, next);
                    at = next;
                }
            }
            Class::Size => self.object(process, site, effect, key(class, 0)),
            Class::Table => self.object(process, site, effect, key(class, object >> 32)),
            _ => self.object(process, site, effect, key(class, object)),
        }
    }

    fn range(&mut self, mut range: Range) {
        if Commuting::from(range.effect) == Commuting::Nothing {
            let who = &mut self.processes[range.process];
            who.names += 1;
            range.name = mix(who.key ^ mix(who.names << 3 | 7));
        }
        for at in self.index.histories(range.first..range.end) {
            let history = &self.objects.all[at];
            if (range.first..range.end).contains(&history.word) && !history.split {
                self.in_range(&range, at);
            }
        }
        self.index.add_range(range.first..range.end, self.ranges.len());
        self.ranges.push(range);
    }

    /// Adds the access of a range to the history of an object within it.
    fn in_range(&mut self, range: &Range, at: usize) {
        let history = &self.objects.all[at];
        let name = mix(range.name ^ (history.word - range.first) << 3);
        self.object_at(range.process, range.site, range.effect, at, name);
    }

    /// The history of a whole word.
    fn find_word(&mut self, word: u64) -> usize {
        let known = self.objects.all.len();
        let at = self.objects.find(key(Class::Memory, word));
        if at == known {
            self.objects.all[at].word = word;
            self.index.add_history(word, at);
            for number in self.index.ranges(word) {
                let range = self.ranges[number];
                if (range.first..range.end).contains(&word) {
                    self.in_range(&range, at);
                }
            }
        }
        at
    }

    /// Adds an access of bytes of one word of memory.
    fn word(&mut self, process: usize, site: u32, effect: Effect, from: u64, to: u64) {
        let word = from / 4;
        let at = self.find_word(word);
        let history = &mut self.objects.all[at];
        if to - from == 4 && !history.split {
            let name = self.name(process, effect, at);
            return self.object_at(process, site, effect, at, name);
        }
        if !std::mem::replace(&mut history.split, true) {
            let known = History { split: false, ..*history };
            for byte in 0..4 {
                let at = self.objects.find(byte_key(word, byte));
                self.index.add_history(word, at);
                // The bytes of a word have different names.
                let name = if known.name == 0 { 0 } else { known.name.wrapping_add(byte + 1) };
                self.objects.all[at] = History { key: byte_key(word, byte), name, ..known };
            }
        }
        for byte in from % 4..from % 4 + (to - from) {
            self.object(process, site, effect, byte_key(word, byte));
        }
    }

    fn object(&mut self, process: usize, site: u32, effect: Effect, key: u64) {
        let at = self.objects.find(key);
        let name = self.name(process, effect, at);
        self.object_at(process, site, effect, at, name);
    }

    /// A name for an object that has none, if the access writes; else 0.
    fn name(&mut self, process: usize, effect: Effect, at: usize) -> u64 {
        if self.objects.all[at].name != 0 || Commuting::from(effect) != Commuting::Nothing {
            return 0;
        }
        let who = &mut self.processes[process];
        who.names += 1;
        mix(who.key ^ mix(who.names << 3))
    }

    fn object_at(&mut self, process: usize, site: u32, effect: Effect, at: usize, name: u64) {
        let who = &self.processes[process];
        let history = &mut self.objects.all[at];
        let number = process as u32;
        history.shared |= history.only != number && history.only != u32::MAX;
        history.only = number;
        let commuting = Commuting::from(effect);
        if commuting == Commuting::Nothing && history.name == 0 {
            history.name = name;
        }
        if commuting == Commuting::Nothing || commuting != history.commuting {
            history.groups = mix(history.groups ^ mix(history.sum));
            history.sum = 0;
            history.commuting = commuting;
            history.before = std::mem::replace(&mut history.last, [NONE; 2]);
        }
        let label = mix(who.key ^ u64::from(site) << 8 ^ effect as u64);
        history.sum = history.sum.wrapping_add(label);
        if history.last[0].0 != number {
            history.last[1] = history.last[0];
        }
        history.last[0] = (number, site);
        // The last conflicting access by another worker.
        let other = history.before.iter().find(|(other, _)| other / 2 != number / 2);
        if let Some((_, other)) = other.filter(|(other, _)| *other != u32::MAX)
            && (*other, site) != (Operation::NO_SITE, Operation::NO_SITE)
        {
            let pair = u64::from(*other) << 32 | u64::from(site);
            if self.objects.is_new(pair) && self.pairs.insert(pair) {
                self.found.0.lock().unwrap_or_else(PoisonError::into_inner).pairs.push(pair);
            }
        }
    }

    fn hash(&self) -> u64 {
        let of_objects = self.objects.all.iter().filter(|history| history.shared && !history.split);
        let of_objects = of_objects.filter(|history| history.name != 0).map(|history| {
            let groups = mix(history.groups ^ mix(history.sum));
            mix(history.name ^ groups.rotate_left(32))
        });
        let of_values =
            self.processes.iter().map(|process| mix(process.key ^ process.values.rotate_left(16)));
        of_objects.chain(of_values).fold(0, u64::wrapping_add)
    }
}

impl Observer for ClassProbe {
    fn interest(&self) -> Interest {
        Interest::STEPS | Interest::ENDS
    }

    fn begin(&mut self, _: &GuestState<'_>) {
        self.objects.clear();
        self.ranges.clear();
        self.index.clear();
        self.processes.clear();
        self.open = None;
    }

    fn event(&mut self, state: &GuestState<'_>, event: &Event<'_>) {
        let Event::Step(step) = event else { return };
        self.close(state.runtime.footprint.before());
        self.open(state.runtime, step);
    }

    fn end(&mut self, ending: &Ending<'_>) {
        self.close(ending.state.runtime.footprint.accesses());
        let class = self.hash();
        self.found.0.lock().unwrap_or_else(PoisonError::into_inner).class = Some(class);
    }
}

/// Numbers of histories and of ranges by the parts of memory in which they lie: a program that starts thousands of
/// workers has as many ranges, their stacks.
#[derive(Default)]
struct Index {
    parts: BTreeMap<u64, Part>,
}

/// Both in the order in which they were added.
#[derive(Default)]
struct Part {
    histories: Vec<usize>,
    ranges: Vec<usize>,
}

/// Number of words of a part of memory: 16 KiB.
const PART_WORDS: u64 = 1 << 12;

impl Index {
    fn clear(&mut self) {
        self.parts.clear();
    }

    fn add_history(&mut self, word: u64, at: usize) {
        self.parts.entry(word / PART_WORDS).or_default().histories.push(at);
    }

    fn add_range(&mut self, words: std::ops::Range<u64>, number: usize) {
        for part in words.start / PART_WORDS..=(words.end - 1) / PART_WORDS {
            self.parts.entry(part).or_default().ranges.push(number);
        }
    }

    /// Histories that may lie in a range, in the order in which they were added.
    fn histories(&self, words: std::ops::Range<u64>) -> Vec<usize> {
        let parts = self.parts.range(words.start / PART_WORDS..=(words.end - 1) / PART_WORDS);
        let mut histories: Vec<usize> = parts.flat_map(|(_, part)| part.histories.iter().copied()).collect();
        histories.sort_unstable();
        histories
    }

    /// Ranges in which a word may lie, in the order in which they were added.
    fn ranges(&self, word: u64) -> Vec<usize> {
        self.parts.get(&(word / PART_WORDS)).map_or(Vec::new(), |part| part.ranges.clone())
    }
}

/// Histories by the hashes of their objects: a table with open addressing, which can be cleared at once.
#[derive(Default)]
struct Objects {
    all: Vec<History>,
    /// For each slot, the round in which it was taken, and the index in `all`.
    slots: Vec<(u32, u32)>,
    round: u32,
    /// A cache of pairs, by their hashes: most pairs come again.
    asked: Vec<u64>,
}

impl Objects {
    fn clear(&mut self) {
        self.all.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.slots.fill((0, 0));
            self.round = 1;
        }
    }

    fn find(&mut self, key: u64) -> usize {
        if self.slots.len() < 2 * (self.all.len() + 1) {
            self.grow();
        }
        let slot = self.slot(key);
        let (round, at) = self.slots[slot];
        if round == self.round {
            return at as usize;
        }
        self.slots[slot] = (self.round, self.all.len() as u32);
        self.all.push(History {
            key,
            word: u64::MAX,
            split: false,
            shared: false,
            only: u32::MAX,
            groups: 0,
            sum: 0,
            commuting: Commuting::Nothing,
            name: 0,
            last: [NONE; 2],
            before: [NONE; 2],
        });
        self.all.len() - 1
    }

    /// The slot of a key, or the free slot where it belongs.
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = key as usize & mask;
        while let (round, at) = self.slots[slot]
            && round == self.round
            && self.all[at as usize].key != key
        {
            slot = (slot + 1) & mask;
        }
        slot
    }

    fn grow(&mut self) {
        self.slots = vec![(0, 0); (2 * self.slots.len()).max(1 << 10)];
        self.round = 1;
        for at in 0..self.all.len() {
            let slot = self.slot(self.all[at].key);
            self.slots[slot] = (1, at as u32);
        }
    }

    /// Whether a pair may be new: it is not in the cache.
    fn is_new(&mut self, pair: u64) -> bool {
        if self.asked.is_empty() {
            self.asked = vec![u64::MAX; 1 << 10];
        }
        let slot = (mix(pair) & 0x3ff) as usize;
        std::mem::replace(&mut self.asked[slot], pair) != pair
    }
}

fn key(class: Class, object: u64) -> u64 {
    mix(object ^ (class as u64) << 56)
}

/// The key of a byte, distinct from those of words.
fn byte_key(word: u64, byte: u64) -> u64 {
    key(Class::Memory, 1 << 40 | word << 2 | byte)
}
