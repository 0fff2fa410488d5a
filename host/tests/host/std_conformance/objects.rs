//! Objects that the model's workers share.

use super::action::Action::{self, *};
use super::program::Program;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// By number; objects that were not used have no entry. Workers are identified by their place in the program.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Objects {
    /// The holder.
    pub mutexes: BTreeMap<u8, usize>,
    pub locks: BTreeMap<u8, Lock>,
    /// The workers that wait.
    pub condvars: BTreeMap<u8, BTreeSet<usize>>,
    /// The workers that have arrived.
    pub barriers: BTreeMap<u8, BTreeSet<usize>>,
    pub onces: BTreeMap<u8, Once>,
    pub once_locks: BTreeMap<u8, u8>,
    pub lazy_locks: BTreeMap<u8, Once>,
    pub channels: Vec<Channel>,
    pub cells: [u8; 4],
}

#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lock {
    pub writer: Option<usize>,
    pub readers: BTreeSet<usize>,
    /// The flags that some worker waits to write, or to read.
    pub writers_wait: bool,
    pub readers_wait: bool,
}

impl Lock {
    pub fn is_free(&self) -> bool {
        self.writer.is_none() && self.readers.is_empty()
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Once {
    Running,
    Done(u8),
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Channel {
    pub bound: Option<usize>,
    pub queue: VecDeque<u8>,
    pub senders: BTreeSet<usize>,
    pub receiver: bool,
}

impl Channel {
    /// The channel that an action needs a sender of.
    pub fn sends(action: Action) -> Option<u8> {
        match action {
            Send(c, _) | TrySend(c, _) | DropSender(c) => Some(c),
            _ => None,
        }
    }

    /// The channel that an action needs the receiver of.
    pub fn receives(action: Action) -> Option<u8> {
        match action {
            Recv(c) | TryRecv(c) | RecvFor(c, _) | DropReceiver(c) => Some(c),
            _ => None,
        }
    }

    /// Whether all senders are dropped.
    pub fn is_disconnected(&self) -> bool {
        self.senders.is_empty()
    }
}

impl Objects {
    pub fn new(program: &Program) -> Objects {
        let users = |end: fn(Action) -> Option<u8>, channel: usize| -> BTreeSet<usize> {
            let uses =
                |actions: &Vec<Action>| actions.iter().any(|a| end(*a).map(usize::from) == Some(channel));
            program.workers.iter().enumerate().filter(|(_, actions)| uses(actions)).map(|(w, _)| w).collect()
        };
        let channel = |(number, bound): (usize, &Option<usize>)| Channel {
            bound: *bound,
            queue: VecDeque::new(),
            senders: users(Channel::sends, number),
            receiver: !users(Channel::receives, number).is_empty(),
        };
        Objects {
            mutexes: BTreeMap::new(),
            locks: BTreeMap::new(),
            condvars: BTreeMap::new(),
            barriers: BTreeMap::new(),
            onces: BTreeMap::new(),
            once_locks: BTreeMap::new(),
            lazy_locks: BTreeMap::new(),
            channels: program.channels.iter().enumerate().map(channel).collect(),
            cells: [0; 4],
        }
    }
}
