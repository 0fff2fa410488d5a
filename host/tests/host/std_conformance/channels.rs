//! Channels of `mpsc`.

use super::action::Action::{self, *};
use super::model::{Mistake, Model, NOTHING, Stage::*, State};
use super::objects::Channel;

impl Model<'_> {
    /// The workers that wait at a channel without a buffer.
    pub fn rendezvous(
        &self,
        state: &State,
        c: u8,
        is: fn(Action) -> Option<u8>,
    ) -> impl Iterator<Item = usize> + use<'_> {
        let waits = |w: &usize| {
            let action = self.action(state, *w);
            state.workers[*w].stage == Waiting && action.and_then(is) == Some(c)
        };
        let unbuffered = state.objects.channels[usize::from(c)].bound == Some(0);
        let found: Vec<usize> = (0..state.workers.len()).filter(|_| unbuffered).filter(waits).collect();
        found.into_iter()
    }

    pub fn send(&self, mut state: State, w: usize, c: u8, value: u8, action: Action) -> Vec<State> {
        if let Woken(result) = state.workers[w].stage {
            return state.done(w, result);
        }
        let receiver = self.rendezvous(&state, c, Channel::receives).next();
        let channel = &mut state.objects.channels[usize::from(c)];
        let room = channel.queue.len() < channel.bound.unwrap_or(usize::MAX);
        if !channel.receiver {
            return state.done(w, 0);
        }
        if let Some(receiver) = receiver {
            state.wake(receiver, value);
            return state.done(w, 1);
        }
        if room || self.is(Mistake::SendsAlone) && channel.queue.is_empty() {
            channel.queue.push_back(value);
            return state.done(w, 1);
        }
        match (action, channel.bound) {
            (TrySend(..), _) => state.done(w, 2),
            (_, Some(0)) if state.workers[w].stage == Ready => state.at(w, Waiting),
            _ => Vec::new(),
        }
    }

    pub fn receive(&self, mut state: State, w: usize, c: u8, action: Action) -> Vec<State> {
        let stage = state.workers[w].stage;
        let channel = &mut state.objects.channels[usize::from(c)];
        let unbuffered = channel.bound == Some(0);
        match stage {
            Woken(result) if unbuffered => return state.done(w, result),
            Waiting if unbuffered => return Vec::new(),
            _ => {}
        }
        if let Some(value) = channel.queue.pop_front() {
            return state.done(w, value);
        }
        let disconnected = channel.is_disconnected();
        // Any of several senders: which one began to wait first cannot be observed.
        let mut next = Vec::new();
        for sender in self.rendezvous(&state, c, Channel::sends) {
            let Some(Send(_, value)) = self.action(&state, sender) else { unreachable!("it sends") };
            let mut state = state.clone();
            state.wake(sender, 1);
            next.extend(state.done(w, value));
        }
        if !next.is_empty() {
            return next;
        }
        match (action, stage) {
            _ if disconnected => state.done(w, 0),
            (TryRecv(_), _) => state.done(w, NOTHING),
            (RecvFor(..), Woken(nothing)) => state.done(w, nothing),
            (RecvFor(_, ms), Ready) => state.wait_for(w, ms),
            (Recv(_), Ready) if unbuffered => state.at(w, Waiting),
            _ => Vec::new(),
        }
    }
}
