//! The searches with delaying explorers, by name.

use super::explorers::{ByRank, Explorer, RoundRobin, RunToCompletion};
use super::ses::{Ses, Settings};
use super::ses_ss::SesSs;
use super::ss::{Samples, Ss};
use super::{Item, Search};
use crate::System;

/// The bound on delays of the exhaustive part of `ses-ss`, by default.
const EXHAUSTIVE_DELAYS: u32 = 2;
/// Number of samples with d delays: 10 * 3^d. The paper does not state its figures.
const FACTOR: u64 = 10;
const BASE: u64 = 3;

/// Whether this text selects one of these searches.
pub fn knows(spec: &str) -> bool {
    kind(spec).is_some()
}

fn kind(spec: &str) -> Option<Kind> {
    match spec.split(':').next()? {
        "ses" => Some(Kind::Ses),
        "ss" => Some(Kind::Ss),
        "ses-ss" => Some(Kind::SesSs),
        _ => None,
    }
}

/// `ses[:EXPLORER][:MAX_DELAYS]`, `ss[:EXPLORER][:MAX_DELAYS[:FACTOR:BASE]]` or
/// `ses-ss[:EXPLORER][:EXHAUSTIVE_DELAYS]`; from the start or from the remaining work of another search.
///
/// # Errors
/// A sentence for the user: the explorer does not exist, or a number is missing, wrong or too much.
pub fn by_name<S: System + 'static>(
    spec: &str,
    seed: u64,
    items: Option<Vec<Item>>,
) -> Result<Box<dyn Search<S>>, String> {
    let kind = kind(spec).ok_or_else(|| format!("{spec} is no search with a delaying explorer"))?;
    let mut parts: Vec<&str> = spec.split(':').skip(1).collect();
    let named = parts.first().is_some_and(|first| first.parse::<u64>().is_err());
    let explorer = if named { parts.remove(0) } else { "run-to-completion" };
    let plan = Plan { kind, numbers: numbers(&parts, kind)?, items, seed };
    match explorer {
        "round-robin" | "rr" => Ok(plan.search(RoundRobin::default())),
        "run-to-completion" | "rtc" => Ok(plan.search(RunToCompletion::default())),
        "probabilistic-round-robin" | "prr" => Ok(plan.search(RoundRobin::probabilistic(seed))),
        "by-rank" => Ok(plan.search(ByRank::default())),
        other => Err(format!("there is no explorer {other}; there are: {EXPLORERS}")),
    }
}

/// The explorers that can be selected.
pub const EXPLORERS: &str =
    "round-robin (rr), run-to-completion (rtc), probabilistic-round-robin (prr), by-rank";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Ses,
    Ss,
    SesSs,
}

fn numbers(parts: &[&str], kind: Kind) -> Result<Vec<u64>, String> {
    let most = if kind == Kind::Ss { 3 } else { 1 };
    if parts.len() > most {
        return Err(format!("{:?} is one parameter too many", parts[most]));
    }
    let number = |part: &&str| match part.parse::<u32>() {
        Ok(number) => Ok(u64::from(number)),
        Err(_) => Err(format!("{part:?} is not a number of delays or samples")),
    };
    parts.iter().map(number).collect()
}

struct Plan {
    kind: Kind,
    numbers: Vec<u64>,
    items: Option<Vec<Item>>,
    seed: u64,
}

impl Plan {
    fn search<S: System + 'static, E: Explorer + 'static>(self, explorer: E) -> Box<dyn Search<S>> {
        let delays_max = self.numbers.first().map(|max| *max as u32);
        let settings = Settings { delays_max, ..Settings::default() };
        let number = |at: usize, default| self.numbers.get(at).copied().unwrap_or(default);
        let samples =
            Samples { seed: self.seed, factor: number(1, FACTOR), base: number(2, BASE), delays_max };
        let items = self.items.unwrap_or_else(|| vec![Item::default()]);
        match self.kind {
            Kind::Ses => Box::new(Ses::resume(explorer, settings, items)),
            Kind::Ss => Box::new(Ss::resume(explorer, samples, &items)),
            Kind::SesSs => {
                let delays_max = Some(delays_max.unwrap_or(EXHAUSTIVE_DELAYS));
                let samples = Samples { delays_max: None, ..samples };
                Box::new(SesSs::resume(explorer, Settings { delays_max, ..settings }, samples, items))
            }
        }
    }
}
