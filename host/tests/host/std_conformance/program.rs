//! Small programs of std's calls, as arguments of the guest that interprets them.

use super::action::Action::{self, *};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The bound of each channel; `None` if it has none.
    pub channels: Vec<Option<usize>>,
    /// The first one starts the others.
    pub workers: Vec<Vec<Action>>,
}

impl Program {
    /// A program whose first worker starts all others and then makes its calls. No worker ends, because the
    /// ways in which threads end would multiply the states; they have separate programs.
    pub fn new(first: &[Action], others: &[&[Action]]) -> Program {
        let mut main: Vec<Action> = (1..=others.len()).map(|w| Spawn(w as u8)).collect();
        main.extend(first);
        let workers = std::iter::once(main).chain(others.iter().map(|other| other.to_vec()));
        let stays = |mut actions: Vec<Action>| {
            actions.push(Stay);
            actions
        };
        Program { channels: Vec::new(), workers: workers.map(stays).collect() }
    }

    pub fn with_channels(mut self, channels: &[Option<usize>]) -> Program {
        self.channels = channels.to_vec();
        self
    }

    /// A program whose workers end, except for the first.
    pub fn ending(first: &[Action], others: &[&[Action]]) -> Program {
        let mut main = first.to_vec();
        main.push(Stay);
        let workers = std::iter::once(main).chain(others.iter().map(|other| other.to_vec())).collect();
        Program { channels: Vec::new(), workers }
    }

    /// The arguments of the guest.
    pub fn arguments(&self) -> Vec<String> {
        let channel = |bound: &Option<usize>| bound.map_or("u".into(), |bound| bound.to_string());
        let channels: Vec<String> = self.channels.iter().map(channel).collect();
        let worker = |actions: &Vec<Action>| {
            let actions: Vec<String> = actions.iter().map(|action| format!("{action:?}")).collect();
            actions.join(";")
        };
        let workers = self.workers.iter().map(worker);
        ["std_conformance".into(), channels.join(",")].into_iter().chain(workers).collect()
    }
}
