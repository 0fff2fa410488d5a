//! The search for an order of the operations that the model explains.
//!
//! Operations are sorted by the time of their call. The candidates for the next operation are those that were called
//! before any remaining one returned; there are hardly more of them than workers. If none fits, the search backtracks.
//! The remaining operations and the state determine everything that follows, so a pair of them that was reached before
//! is not searched again (Lowe's cache). Of several candidates, the one whose span has the earliest middle is tried
//! first: it is the most likely one, which saves most of the search where a wrong order shows late, as in a queue.

use super::{Model, Operation, Violation};
use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// The operations that have been executed.
struct Taken {
    /// By position in the order of calls, of those that returned.
    done: Vec<bool>,
    /// The position of the first operation that has not been executed.
    first: usize,
    /// Those that never returned.
    pending: Vec<bool>,
}

impl Taken {
    /// The executed operations as a key of the cache: the first remaining one, bits for those after it, and
    /// bits for those that never returned. Trailing zeros are left out, so that equal sets have equal keys.
    fn key(&self, last: usize) -> (usize, Vec<u64>, Vec<u64>) {
        (self.first, bits(&self.done[self.first..last.max(self.first)]), bits(&self.pending))
    }

    fn set(&mut self, position: usize, done: bool) {
        self.done[position] = done;
        if done {
            while self.done.get(self.first) == Some(&true) {
                self.first += 1;
            }
        } else {
            self.first = self.first.min(position);
        }
    }
}

fn bits(all: &[bool]) -> Vec<u64> {
    let word = |bits: &[bool]| bits.iter().rev().fold(0, |word, bit| word << 1 | u64::from(*bit));
    let mut words: Vec<u64> = all.chunks(64).map(word).collect();
    while words.last() == Some(&0) {
        words.pop();
    }
    words
}

/// A candidate for the next operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// By position in the order of calls.
    Returned(usize),
    /// By number among those that never returned.
    Pending(usize),
}

/// A decision: the candidates, which of them were tried, and the state before.
struct Frame<S> {
    candidates: Vec<Next>,
    tried: usize,
    state: S,
}

/// A fast hasher without a random key: the same in every execution. Entries that collide are compared.
#[derive(Default)]
struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }
}

/// Pairs of an executed set and a state that the search has reached.
type Seen<S> = HashSet<((usize, Vec<u64>, Vec<u64>), S), BuildHasherDefault<Mixer>>;

/// The operations of a history by the time of their call.
struct Sorted<'h, C, R> {
    history: &'h [Operation<C, R>],
    returned: Vec<usize>,
    pending: Vec<usize>,
}

impl<'h, C, R> Sorted<'h, C, R> {
    fn of(history: &'h [Operation<C, R>]) -> Sorted<'h, C, R> {
        let (mut returned, mut pending): (Vec<usize>, Vec<usize>) =
            (0..history.len()).partition(|index| history[*index].returned.is_some());
        returned.sort_by_key(|index| history[*index].from);
        pending.sort_by_key(|index| history[*index].from);
        Sorted { history, returned, pending }
    }

    fn index(&self, next: Next) -> usize {
        match next {
            Next::Returned(position) => self.returned[position],
            Next::Pending(number) => self.pending[number],
        }
    }

    /// The candidates for the next operation, the likeliest first; the remaining operation that returns
    /// first; and the position behind the last operation that was called by then.
    fn candidates(&self, taken: &Taken) -> (Vec<Next>, usize, usize) {
        let mut earliest = usize::MAX;
        let mut return_at = u64::MAX;
        let mut candidates = Vec::new();
        let mut position = taken.first;
        while let Some(index) = self.returned.get(position) {
            let operation = &self.history[*index];
            if operation.from > return_at {
                break;
            }
            if !taken.done[position] {
                candidates.push(Next::Returned(position));
                if operation.to < return_at {
                    (return_at, earliest) = (operation.to, *index);
                }
            }
            position += 1;
        }
        // Operations found before an earlier return was found may have been called after it.
        candidates.retain(|next| self.history[self.index(*next)].from <= return_at);
        candidates.sort_by_key(|next| {
            let operation = &self.history[self.index(*next)];
            operation.from.saturating_add(operation.to)
        });
        let pending = (0..self.pending.len()).filter(|number| {
            !taken.pending[*number] && self.history[self.pending[*number]].from <= return_at
        });
        candidates.extend(pending.map(Next::Pending));
        (candidates, earliest, position)
    }
}

/// See [`super::check`]. The tool knows this function by its name and gives it no scheduling points: never inline it.
#[inline(never)]
pub fn search<M: Model>(
    model: &M,
    history: &[Operation<M::Call, M::Return>],
) -> Result<Vec<usize>, Violation> {
    let sorted = Sorted::of(history);
    let mut taken = Taken {
        done: vec![false; sorted.returned.len()],
        first: 0,
        pending: vec![false; sorted.pending.len()],
    };
    let mut seen: Seen<M::State> = HashSet::default();
    let mut longest: Option<Violation> = None;
    let mut frames: Vec<Frame<M::State>> = Vec::new();
    let mut order: Vec<Next> = Vec::new();
    let mut state = model.initial();
    loop {
        if taken.first == sorted.returned.len() {
            return Ok(order.into_iter().map(|next| sorted.index(next)).collect());
        }
        let (candidates, stuck, last) = sorted.candidates(&taken);
        let is_new = seen.insert((taken.key(last), state.clone()));
        let candidates = if is_new { candidates } else { Vec::new() };
        if is_new && longest.as_ref().is_none_or(|longest| longest.explained.len() < order.len()) {
            let explained = order.iter().map(|next| sorted.index(*next)).collect();
            longest = Some(Violation { explained, stuck });
        }
        frames.push(Frame { candidates, tried: 0, state });
        state = loop {
            let Some(frame) = frames.last_mut() else {
                return Err(longest.expect("the first state is new"));
            };
            let Some(next) = frame.candidates.get(frame.tried).copied() else {
                frames.pop();
                match order.pop() {
                    Some(Next::Returned(position)) => taken.set(position, false),
                    Some(Next::Pending(number)) => taken.pending[number] = false,
                    None => {}
                }
                continue;
            };
            frame.tried += 1;
            let operation = &history[sorted.index(next)];
            let Some(after) = model.step(&frame.state, &operation.call, operation.returned.as_ref()) else {
                continue;
            };
            order.push(next);
            match next {
                Next::Returned(position) => taken.set(position, true),
                Next::Pending(number) => taken.pending[number] = true,
            }
            break after;
        };
    }
}
