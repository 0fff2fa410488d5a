//! The states that several searches share, so that dividing the work does not undo the reduction.
//!
//! A race that is found below a state can require a choice at the state (a *demand*). As long as one search has the
//! state and everything below it, it adds the choice itself. When it gives work away, the states from the start of its
//! work to the state in question become shared: every search below them sends its demands here, where each one is
//! compared with all picks that are tried at the state or asked for, whoever asked. So only what some race requires is
//! ever tried. A search that has nothing left at a shared state takes the next pick there, and a search without any
//! work takes the shallowest one that is available, below which there is most to do.
//!
//! A pick is available once every earlier one at its state is *known*: its step was executed, so that it can sleep
//! while the next ones are explored. The step of a pick is known only at its end if values are chosen in it, since
//! each value is a step of its own; and if it frees memory, since what wakes it is found below it
//! ([`super::Dpor::note_follower`]).
//!
//! The idea of demands is that of Simsa, Bryant, Gibson, Hickey: Scalable Dynamic Partial Order Reduction (RV 2012),
//! where a scheduler keeps the tree of the states that workers share. Here the searches do it themselves, and keep
//! snapshots of the states on their path.

use crate::Pick;
use crate::search::prefix::Prefix;
use crate::search::{Branch, Item, Tried};
use crate::system::Decision;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The part of a shared state's work that one search has: the number of the state, and of the pick there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    pub(super) state: u64,
    pub(super) part: usize,
}

/// The shared states of one exploration.
#[derive(Debug, Default)]
pub struct Shared(Mutex<Tree>);

/// The shared states, by number. A state is removed once everything below it is explored.
#[derive(Debug, Default)]
pub(super) struct Tree {
    states: BTreeMap<u64, State>,
    made: u64,
    /// States where something is available, by depth.
    available: BTreeSet<(usize, u64)>,
    /// The states below which other explorations work, too: see [`super::division`]. They decide later what comes next
    /// there.
    common: BTreeSet<u64>,
}

/// A shared state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct State {
    /// The decisions that lead to it. Not part of its stored form.
    #[serde(skip)]
    pub prefix: Prefix,
    /// The part of another shared state that it belongs to.
    pub(super) parent: Option<Place>,
    /// The sleep set with which it was reached.
    inherited: Vec<Tried>,
    /// Steps that were explored before it was shared.
    tried: Vec<Tried>,
    parts: Parts,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Parts {
    Picks(Vec<Part>),
    /// Values of a step: those left, and how many are being explored.
    Values {
        left: Range<u64>,
        busy: usize,
    },
}

/// A pick at a shared state, in the order in which they were asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Part {
    pick: Pick,
    progress: Progress,
    /// Its step, once for each combination of values that was explored.
    events: Vec<Tried>,
    /// What wakes its step whatever it touches, by the step's values.
    followers: Vec<(Vec<u64>, (u32, u32))>,
}

/// In the order in which it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
enum Progress {
    Asked,
    Busy {
        /// Whether its step is known.
        known: bool,
    },
    Done,
}

impl Part {
    fn asked(pick: Pick) -> Part {
        Part { pick, progress: Progress::Asked, events: Vec::new(), followers: Vec::new() }
    }

    fn is_known(&self) -> bool {
        matches!(self.progress, Progress::Done | Progress::Busy { known: true })
    }

    fn add(&mut self, event: Tried) {
        if !self.events.iter().any(|known| known.values == event.values) {
            self.events.push(event);
        }
    }

    fn note_follower(&mut self, values: Vec<u64>, follower: (u32, u32)) {
        if !self.followers.iter().any(|(v, f)| *f == follower && *v == values) {
            self.followers.push((values, follower));
        }
    }

    /// Adds what another copy of it knows.
    fn absorb(&mut self, other: Part) {
        self.progress = self.progress.max(other.progress);
        other.events.into_iter().for_each(|event| self.add(event));
        other.followers.into_iter().for_each(|(values, follower)| self.note_follower(values, follower));
    }

    /// Everything below it is explored, so everything about its steps is known.
    fn finish(&mut self) {
        self.progress = Progress::Done;
        for event in &mut self.events {
            event.whole = true;
            for (values, follower) in &self.followers {
                if *values == event.values && !event.followers.contains(follower) {
                    event.followers.push(*follower);
                }
            }
        }
    }
}

impl State {
    /// The steps that sleep while a part is explored, without those that slept when the state was reached.
    fn before(&self, part: usize) -> Vec<Tried> {
        let parts = match &self.parts {
            Parts::Picks(parts) => &parts[..part],
            Parts::Values { .. } => &[],
        };
        self.tried.iter().chain(parts.iter().flat_map(|part| &part.events)).cloned().collect()
    }

    /// The first pick that is available.
    fn available(&self) -> Option<usize> {
        match &self.parts {
            Parts::Picks(parts) => {
                let next = parts.iter().position(|part| !part.is_known())?;
                (parts[next].progress == Progress::Asked).then_some(next)
            }
            Parts::Values { left, .. } => (!left.is_empty()).then_some(0),
        }
    }

    pub(super) fn is_done(&self) -> bool {
        match &self.parts {
            Parts::Picks(parts) => parts.iter().all(|part| part.progress == Progress::Done),
            Parts::Values { left, busy } => left.is_empty() && *busy == 0,
        }
    }

    /// Adds what was done at another copy of it. `before`: the state when the copies were made.
    ///
    /// # Errors
    /// They are not copies of this state.
    pub(super) fn absorb(&mut self, other: State, before: &State) -> Result<(), String> {
        let fixed = |state: &State| (state.parent, state.inherited.clone(), state.tried.clone());
        if fixed(self) != fixed(before) || fixed(&other) != fixed(before) {
            return Err("copies of a shared state differ".into());
        }
        match (&mut self.parts, other.parts, &before.parts) {
            (
                Parts::Values { busy, .. },
                Parts::Values { busy: other, .. },
                Parts::Values { busy: before, .. },
            ) if other <= *before && before - other <= *busy => {
                *busy -= before - other;
            }
            (Parts::Picks(parts), Parts::Picks(others), Parts::Picks(_)) => {
                for other in others {
                    match parts.iter_mut().find(|part| part.pick == other.pick) {
                        Some(part) => part.absorb(other),
                        None => parts.push(other),
                    }
                }
            }
            _ => return Err("copies of a shared state are of different kinds".into()),
        }
        Ok(())
    }
}

/// A shared state on the way to a part, the part's own state last.
pub(super) struct Link {
    pub state: u64,
    pub depth: usize,
    /// The sleep set with which it was reached.
    pub inherited: Vec<Tried>,
    /// Steps that sleep on the way to the part, besides these.
    pub tried: Vec<Tried>,
    /// Picks that are tried here or asked for.
    pub picks: Vec<Pick>,
}

/// A part that a search has taken.
pub(super) struct Claim {
    pub place: Place,
    /// Its pick, or its value.
    pub decision: Decision,
    /// Steps that sleep while it is explored, besides those that slept when the state was reached.
    pub tried: Vec<Tried>,
}

/// A state that becomes shared; its first part stays with the search that has it.
pub(super) struct NewState {
    pub prefix: Prefix,
    pub parent: Option<Place>,
    pub inherited: Vec<Tried>,
    pub tried: Vec<Tried>,
    pub content: Content,
}

pub(super) enum Content {
    Picks {
        /// The pick with which the search continues.
        current: Pick,
        /// Its steps so far.
        events: Vec<Tried>,
        followers: Vec<(Vec<u64>, (u32, u32))>,
        /// Whether nothing more will be known of them.
        known: bool,
        asked: Vec<Pick>,
    },
    Values(Range<u64>),
}

impl Shared {
    pub(super) fn lock(&self) -> MutexGuard<'_, Tree> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A part that no search has, with all that is known there.
    pub(super) fn take(&self) -> Option<Item> {
        let (_, state) = *self.lock().available.first()?;
        self.take_at(state)
    }

    /// The same at this state.
    pub(super) fn take_at(&self, state: u64) -> Option<Item> {
        let mut tree = self.lock();
        let claim = tree.claim(state)?;
        let shared = &tree.states[&state];
        let mut branch = Branch { depth: shared.prefix.len() as u32, ..Branch::default() };
        branch.tried = shared.inherited.iter().cloned().chain(claim.tried).collect();
        match claim.decision {
            Decision::Pick(_) => branch.todo = vec![claim.decision],
            Decision::Value(value) => branch.values = value..value + 1,
        }
        Some(Item { prefix: shared.prefix.clone(), branches: vec![branch], place: Some(claim.place) })
    }

    /// All states, by number.
    pub(in crate::search) fn states(&self) -> Vec<(u64, State)> {
        self.lock().states.iter().map(|(number, state)| (*number, state.clone())).collect()
    }

    /// The states below which other explorations have work, too.
    pub fn common(&self) -> BTreeSet<u64> {
        self.lock().common.clone()
    }

    /// Whether no state is shared.
    pub fn is_empty(&self) -> bool {
        self.lock().states.is_empty()
    }

    /// Calls `each` with every state and its number, to be stored together with the items of all searches that share
    /// them.
    pub fn each_state(&self, each: &mut dyn FnMut(u64, &State)) {
        self.lock().states.iter().for_each(|(number, state)| each(*number, state));
    }

    /// Shared states that were stored, for searches that go on with these items. `common`: the states below which other
    /// explorations have work, too.
    ///
    /// # Errors
    /// The states do not fit together, or not with the items: some work would be lost, or done twice.
    pub fn restore(
        states: Vec<(u64, State)>,
        common: &BTreeSet<u64>,
        items: &[Item],
    ) -> Result<Shared, String> {
        let made = states.iter().map(|(number, _)| number + 1).max().unwrap_or(0);
        let mut tree = Tree { made, common: common.clone(), ..Tree::default() };
        for (number, state) in states {
            if tree.states.insert(number, state).is_some() {
                return Err(format!("the shared state {number} is there twice"));
            }
        }
        check(&tree.states, common, items)?;
        let numbers: Vec<u64> = tree.states.keys().copied().collect();
        numbers.into_iter().for_each(|number| tree.update(number));
        Ok(Shared(Mutex::new(tree)))
    }
}

impl Tree {
    /// States, of which some may be done.
    pub(super) fn of(states: BTreeMap<u64, State>) -> Tree {
        Tree { states, ..Tree::default() }
    }

    /// All states, without those that are done.
    pub(super) fn settled(mut self) -> Vec<(u64, State)> {
        let is_done =
            |(number, state): (&u64, &State)| state.is_done().then_some((state.prefix.len(), *number));
        let mut done: Vec<(usize, u64)> = self.states.iter().filter_map(is_done).collect();
        done.sort_unstable_by(|a, b| b.cmp(a));
        for (_, number) in done {
            if let Some(parent) = self.states.remove(&number).and_then(|state| state.parent) {
                self.finish(parent);
            }
        }
        self.states.into_iter().collect()
    }

    /// Makes a state shared, and returns the part of the search that had it.
    pub(super) fn add(&mut self, new: NewState) -> Place {
        let NewState { prefix, parent, inherited, tried, content } = new;
        let parts = match content {
            Content::Values(left) => Parts::Values { left, busy: 1 },
            Content::Picks { current, events, followers, known, asked } => {
                let current = Part { pick: current, progress: Progress::Busy { known }, events, followers };
                Parts::Picks(std::iter::once(current).chain(asked.into_iter().map(Part::asked)).collect())
            }
        };
        let state = self.made;
        self.made += 1;
        self.states.insert(state, State { prefix, parent, inherited, tried, parts });
        self.update(state);
        Place { state, part: 0 }
    }

    /// The shared states on the way to a part, and its decision if the part is a pick.
    pub(super) fn links(&self, place: Place) -> Option<Vec<Link>> {
        let mut links = Vec::new();
        let mut next = Some(place);
        while let Some(Place { state, part }) = next {
            let shared = self.states.get(&state)?;
            links.push(Link {
                state,
                depth: shared.prefix.len(),
                inherited: shared.inherited.clone(),
                tried: shared.before(part),
                picks: self.picks(state),
            });
            next = shared.parent;
        }
        links.reverse();
        Some(links)
    }

    /// Picks that are tried at a state or asked for.
    pub(super) fn picks(&self, state: u64) -> Vec<Pick> {
        match self.states.get(&state).map(|state| &state.parts) {
            Some(Parts::Picks(parts)) => parts.iter().map(|part| part.pick).collect(),
            _ => Vec::new(),
        }
    }

    /// Adds a pick that a race requires.
    pub(super) fn ask(&mut self, state: u64, pick: Pick) {
        let shared = self.states.get_mut(&state).expect("a search is still below it");
        if let Parts::Picks(parts) = &mut shared.parts
            && !parts.iter().any(|part| part.pick == pick)
        {
            parts.push(Part::asked(pick));
            self.update(state);
        }
    }

    /// Takes a part that is available at a state.
    pub(super) fn claim(&mut self, state: u64) -> Option<Claim> {
        let shared = self.states.get_mut(&state).filter(|_| !self.common.contains(&state))?;
        let part = shared.available()?;
        let decision = match &mut shared.parts {
            Parts::Picks(parts) => {
                parts[part].progress = Progress::Busy { known: false };
                Decision::Pick(parts[part].pick)
            }
            Parts::Values { left, busy } => {
                *busy += 1;
                left.start += 1;
                Decision::Value(left.start - 1)
            }
        };
        let claim = Claim { place: Place { state, part }, decision, tried: shared.before(part) };
        self.update(state);
        Some(claim)
    }

    /// Records an explored step of a part.
    pub(super) fn report(&mut self, state: u64, event: Tried) {
        if let Some(part) = self.part(state, event.pick) {
            part.add(event);
        }
    }

    /// Records the step of a part that has just been executed, and that is all there is to know of the part.
    pub(super) fn report_known(&mut self, state: u64, event: Tried) {
        if let Some(part) = self.part(state, event.pick)
            && part.progress == (Progress::Busy { known: false })
        {
            part.progress = Progress::Busy { known: true };
            part.add(event);
            self.update(state);
        }
    }

    /// Records a step that wakes a part's step with these values, whatever it touches.
    pub(super) fn note_follower(&mut self, state: u64, pick: Pick, values: Vec<u64>, follower: (u32, u32)) {
        if let Some(part) = self.part(state, pick) {
            part.note_follower(values, follower);
        }
    }

    /// Records that everything of a part is explored, and of all states for which it was the last part.
    pub(super) fn finish(&mut self, place: Place) {
        let mut next = Some(place);
        while let Some(Place { state, part }) = next {
            let shared = self.states.get_mut(&state).expect("this part is not done");
            match &mut shared.parts {
                Parts::Picks(parts) => parts[part].finish(),
                Parts::Values { busy, .. } => *busy -= 1,
            }
            next = None;
            if shared.is_done() {
                next = shared.parent;
                self.available.remove(&(shared.prefix.len(), state));
                self.states.remove(&state);
            } else {
                self.update(state);
            }
        }
    }

    fn part(&mut self, state: u64, pick: Pick) -> Option<&mut Part> {
        match &mut self.states.get_mut(&state)?.parts {
            Parts::Picks(parts) => parts.iter_mut().find(|part| part.pick == pick),
            Parts::Values { .. } => None,
        }
    }

    fn update(&mut self, state: u64) {
        let Some(shared) = self.states.get(&state) else { return };
        let key = (shared.prefix.len(), state);
        if shared.available().is_some() && !self.common.contains(&state) {
            self.available.insert(key);
        } else {
            self.available.remove(&key);
        }
    }
}

/// Whether stored states fit together and with the items: every part that a search has is one item, or divided at one
/// state further down. Of the parts of `common` states, other explorations may have some.
///
/// # Errors
/// Says what does not fit.
fn check(states: &BTreeMap<u64, State>, common: &BTreeSet<u64>, items: &[Item]) -> Result<(), String> {
    if let Some(number) = common.iter().find(|number| !states.contains_key(number)) {
        return Err(format!("the shared state {number} is not there"));
    }
    let mut holders: BTreeMap<Place, u32> = BTreeMap::new();
    let below = |place: Place, prefix: &Prefix| {
        let state =
            states.get(&place.state).ok_or_else(|| format!("there is no shared state {}", place.state))?;
        let (above, path) = (state.prefix.to_vec(), prefix.to_vec());
        let decision = path.get(above.len());
        let fits = path.starts_with(&above)
            && match &state.parts {
                Parts::Picks(parts) => parts.get(place.part).is_some_and(|part| {
                    matches!(part.progress, Progress::Busy { .. })
                        && decision.is_none_or(|decision| *decision == Decision::Pick(part.pick))
                }),
                Parts::Values { .. } => {
                    place.part == 0 && decision.is_none_or(|decision| matches!(decision, Decision::Value(_)))
                }
            };
        if fits {
            Ok(())
        } else {
            Err(format!("part {} of the shared state {} is elsewhere", place.part, place.state))
        }
    };
    for (number, state) in states {
        if let Some(parent) = state.parent {
            below(parent, &state.prefix)?;
            if states[&parent.state].prefix.len() >= state.prefix.len() {
                return Err(format!("the shared state {number} is not below that of which it is a part"));
            }
            *holders.entry(parent).or_default() += 1;
        }
    }
    for item in items {
        if let Some(place) = item.place {
            below(place, &item.prefix)?;
            *holders.entry(place).or_default() += 1;
        }
    }
    for (number, state) in states {
        let held = |part| holders.get(&Place { state: *number, part }).copied().unwrap_or(0) as usize;
        let fits = |held: usize, busy: usize| held == busy || held < busy && common.contains(number);
        let complete = match &state.parts {
            Parts::Values { busy, .. } => fits(held(0), *busy),
            Parts::Picks(parts) => parts
                .iter()
                .enumerate()
                .all(|(i, part)| fits(held(i), matches!(part.progress, Progress::Busy { .. }).into())),
        };
        if !complete || state.is_done() {
            return Err(format!("what is left below the shared state {number} is not there"));
        }
    }
    Ok(())
}
