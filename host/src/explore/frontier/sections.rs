//! The remaining items of one job, or of the pool with the states that searches share, in few bytes: shared prefixes
//! are written once.
//!
//! A section is a zstd frame of records in postcard, which writes small numbers in one byte. A prefix is represented by
//! a number: 0 is the empty prefix, others are the numbers of the segments in the order in which they were written.

use coyote_strategies::Decision;
use coyote_strategies::search::division::Work;
use coyote_strategies::search::dpor::{Place, Shared, SharedState};
use coyote_strategies::search::visited::{Visit, Visited};
use coyote_strategies::search::{Branch, Item, Prefix};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io;

/// zstd's level: a fast one suffices for such similar data.
const LEVEL: i32 = 1;

#[derive(Serialize, Deserialize)]
enum Record<'a> {
    /// A prefix: another prefix followed by more decisions.
    Segment {
        before: u64,
        decisions: Vec<Decision>,
    },
    Item {
        prefix: u64,
        branches: Cow<'a, [Branch]>,
    },
    /// The item that comes next belongs to this part of a shared state.
    Place(Place),
    State {
        number: u64,
        prefix: u64,
        state: Cow<'a, SharedState>,
    },
    /// Some of the visited states, in ascending order, each as the difference to the one before, of which the first is 0.
    Visited(Vec<(u128, Visit)>),
    /// A state from which no end was reached yet, and those that lead there.
    Open(u128, Vec<u128>),
    /// What else is known of the visited states.
    Facts {
        cut_off: bool,
        cyclic: bool,
    },
}

/// The number of visited states in a record, which fits into memory more than once.
const STATES_AT_ONCE: usize = 4096;

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Section {
    bytes: Vec<u8>,
    /// How many items and states it has.
    count: u64,
}

impl Section {
    /// Writes the items with which `each` calls its argument.
    pub fn of(each: impl FnOnce(&mut dyn FnMut(&Item))) -> Section {
        Section::with_states(&Shared::default(), each)
    }

    /// Writes work that is read already.
    pub fn of_work(work: &Work) -> Section {
        let states = |each: &mut dyn FnMut(u64, &SharedState)| {
            work.states.iter().for_each(|(number, state)| each(*number, state));
        };
        Section::new(states, |each| work.items.iter().for_each(each))
    }

    /// Writes shared states, and the items with which `each` calls its argument.
    pub fn with_states(shared: &Shared, each: impl FnOnce(&mut dyn FnMut(&Item))) -> Section {
        Section::new(|each| shared.each_state(each), each)
    }

    /// Writes visited states.
    pub fn of_visited(visited: &Visited) -> Section {
        let Visited { states, cut_off, cyclic, ending } = visited;
        let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL).expect("a level of zstd");
        let mut write = |record: &Record| put(record, &mut encoder).expect("a Vec takes all");
        let states: Vec<(u128, Visit)> = states.iter().map(|(state, visit)| (*state, *visit)).collect();
        for some in states.chunks(STATES_AT_ONCE) {
            let mut before = 0;
            let apart =
                some.iter().map(|(state, visit)| (state - std::mem::replace(&mut before, *state), *visit));
            write(&Record::Visited(apart.collect()));
        }
        ending.open.iter().for_each(|(to, from)| write(&Record::Open(*to, from.clone())));
        write(&Record::Facts { cut_off: *cut_off, cyclic: *cyclic });
        Section { bytes: encoder.finish().expect("a Vec takes all"), count: states.len() as u64 }
    }

    fn new(
        states: impl FnOnce(&mut dyn FnMut(u64, &SharedState)),
        each: impl FnOnce(&mut dyn FnMut(&Item)),
    ) -> Section {
        let mut writer = Writer::default();
        let mut encoder = zstd::Encoder::new(Vec::new(), LEVEL).expect("a level of zstd");
        states(&mut |number, state| {
            writer.state(number, state, &mut encoder).expect("a Vec takes all");
        });
        each(&mut |item| writer.item(item, &mut encoder).expect("a Vec takes all"));
        let bytes = encoder.finish().expect("a Vec takes all");
        Section { bytes, count: writer.count }
    }

    /// Whether there is nothing left to do in it.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

#[derive(Default)]
struct Writer {
    /// Numbers of the prefixes that were written, by [`Prefix::id`]. All of them are kept alive, so the ids are unique.
    known: BTreeMap<usize, u64>,
    count: u64,
    /// Keeps the prefixes of temporary items alive to the end, so that their addresses are not used again.
    alive: Vec<Prefix>,
}

impl Writer {
    fn item(&mut self, item: &Item, into: &mut impl io::Write) -> io::Result<()> {
        let prefix = self.prefix(&item.prefix, into)?;
        self.count += 1;
        if let Some(place) = item.place {
            put(&Record::Place(place), into)?;
        }
        put(&Record::Item { prefix, branches: (&item.branches[..]).into() }, into)
    }

    fn state(&mut self, number: u64, state: &SharedState, into: &mut impl io::Write) -> io::Result<()> {
        let prefix = self.prefix(&state.prefix, into)?;
        self.count += 1;
        put(&Record::State { number, prefix, state: Cow::Borrowed(state) }, into)
    }

    /// The number of a prefix, which is written now if it was not before.
    fn prefix(&mut self, prefix: &Prefix, into: &mut impl io::Write) -> io::Result<u64> {
        let mut new = Vec::new();
        let mut at = Some(prefix);
        let mut number = 0;
        while let Some(prefix) = at.filter(|prefix| !prefix.is_empty()) {
            if let Some(known) = self.known.get(&prefix.id()) {
                number = *known;
                break;
            }
            new.push(prefix);
            at = prefix.before();
        }
        if !new.is_empty() {
            self.alive.push(prefix.clone());
        }
        for prefix in new.into_iter().rev() {
            put(&Record::Segment { before: number, decisions: prefix.last_segment().to_vec() }, into)?;
            number = self.known.len() as u64 + 1;
            self.known.insert(prefix.id(), number);
        }
        Ok(number)
    }
}

/// Not with `postcard::to_io`: it flushes what it has written, so that zstd would compress each record alone.
fn put(record: &Record, into: &mut impl io::Write) -> io::Result<()> {
    into.write_all(&postcard::to_stdvec(record).map_err(io::Error::other)?)
}

/// What sections contain.
#[derive(Debug, Default)]
pub struct Content {
    pub items: Vec<Item>,
    /// The states that searches share, by number.
    pub states: Vec<(u64, SharedState)>,
    pub visited: Visited,
}

/// Appends the content of a section.
pub fn read(section: &[u8], content: &mut Content) -> Result<(), String> {
    let bytes = zstd::decode_all(section).map_err(|e| format!("a section cannot be decompressed: {e}"))?;
    let mut rest = &bytes[..];
    let mut prefixes = vec![Prefix::default()];
    let mut place = None;
    while !rest.is_empty() {
        let (record, more) =
            postcard::take_from_bytes::<Record>(rest).map_err(|e| format!("a record: {e}"))?;
        rest = more;
        let prefix = |number: u64| {
            let known = usize::try_from(number).ok().and_then(|number| prefixes.get(number));
            known.cloned().ok_or("a record refers to a prefix that is not there")
        };
        match record {
            Record::Segment { before, decisions } => {
                let prefix = prefix(before)?.then(&decisions);
                prefixes.push(prefix);
            }
            Record::Place(next) => place = Some(next),
            Record::Item { prefix: number, branches } => {
                let (prefix, branches) = (prefix(number)?, branches.into_owned());
                content.items.push(Item { prefix, branches, place: place.take() });
            }
            Record::State { number, prefix: known, state } => {
                let mut state = state.into_owned();
                state.prefix = prefix(known)?;
                content.states.push((number, state));
            }
            Record::Visited(some) => {
                let mut state = 0u128;
                for (apart, visit) in some {
                    state = state.checked_add(apart).ok_or("a state is none")?;
                    if content.visited.states.insert(state, visit).is_some() {
                        return Err("a state is there twice".into());
                    }
                }
            }
            Record::Open(to, from) => drop(content.visited.ending.open.insert(to, from)),
            Record::Facts { cut_off, cyclic } => {
                content.visited.cut_off |= cut_off;
                content.visited.cyclic |= cyclic;
            }
        }
    }
    Ok(())
}
