//! Text to strategy. The grammar is in [`super`].

use super::nearest::nearest;
use super::{Context, Entry, SAMPLERS, SEARCHES, Sampler, Value};
use crate::sample::portfolio;
use crate::{ChessFair, Portfolio, RandomWalk, Sequence, Strategy};

type Made = Result<Box<dyn Strategy>, String>;

const FAIR: &str = "fair-";
const THEN: &str = ",then:";
const CHESS_FAIR: &str = "+chess-fair";

/// Parses the text: see [`super::by_name`].
///
/// # Errors
/// As [`super::by_name`].
pub fn parse(text: &str, context: &Context) -> Made {
    let mut parser = Parser { rest: text.trim(), context };
    let made = parser.spec()?;
    if parser.rest.is_empty() { Ok(made) } else { Err(parser.unexpected()) }
}

struct Parser<'a> {
    rest: &'a str,
    context: &'a Context,
}

impl<'a> Parser<'a> {
    fn spec(&mut self) -> Made {
        let mut prefixes = Vec::new();
        loop {
            let stage = self.stage()?;
            if !self.eat("@") {
                return Ok(match prefixes.is_empty() {
                    true => stage,
                    false => Box::new(Sequence::new(prefixes, stage)),
                });
            }
            let steps = self.word();
            let steps = steps.parse().map_err(|_| format!("{steps:?} is no number of steps"))?;
            prefixes.push((stage, steps));
            if !self.eat(THEN) {
                return Err(format!("after @{steps} comes \"{THEN}NAME\": who goes on?"));
            }
        }
    }

    fn stage(&mut self) -> Made {
        let mut stage = self.primary()?;
        while self.eat(CHESS_FAIR) {
            stage = Box::new(ChessFair::new(stage));
        }
        Ok(stage)
    }

    fn primary(&mut self) -> Made {
        if self.eat("[") {
            let inner = self.spec()?;
            self.expect("]")?;
            return Ok(inner);
        }
        if self.eat(FAIR) {
            let prefix = self.named()?;
            let steps = self.context.unfair_steps_max;
            return Ok(Box::new(Sequence::new(vec![(prefix, steps)], Box::new(RandomWalk::default()))));
        }
        self.named()
    }

    fn named(&mut self) -> Made {
        let name = self.word();
        if name == "portfolio" {
            return self.portfolio();
        }
        let sampler = SAMPLERS.iter().find(|s| s.entry.name == name || s.alias == Some(name));
        let Some(sampler) = sampler else { return Err(unknown(name)) };
        let Sampler { entry, make, .. } = sampler;
        let mut values = Vec::new();
        for parameter in entry.parameters {
            let Value::Number { default, min, max } = parameter.value else { continue };
            if !self.eat(":") {
                values.push(default);
                continue;
            }
            let text = self.word();
            let value = text.parse().ok().filter(|v| (min..=max).contains(v));
            let what = parameter.name.to_lowercase();
            let wrong = || format!("the {what} of {name} is a number from {min} to {max}, not {text:?}");
            values.push(value.ok_or_else(wrong)?);
        }
        if self.rest.starts_with(':') {
            return Err(format!("{name} has no more parameters: {}", entry.usage()));
        }
        Ok(make(&values))
    }

    fn portfolio(&mut self) -> Made {
        if !self.eat(":") {
            let members = |rest| Parser { rest, context: self.context }.members();
            let (usual, of_tasks) = (members(portfolio::DEFAULT)?, members(portfolio::OF_TASKS)?);
            return Ok(Box::new(Portfolio::of_default(usual, of_tasks)));
        }
        Ok(Box::new(Portfolio::new(self.members()?)))
    }

    fn members(&mut self) -> Result<Vec<Box<dyn Strategy>>, String> {
        self.expect("[")?;
        let mut members = vec![self.spec()?];
        while self.eat(",") {
            members.push(self.spec()?);
        }
        self.expect("]")?;
        Ok(members)
    }

    fn eat(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        if self.eat(token) { Ok(()) } else { Err(format!("{token:?} is missing: {}", self.unexpected())) }
    }

    /// A name or number, up to a character that can follow it.
    fn word(&mut self) -> &'a str {
        let end = self.rest.find([':', '@', '+', ',', '[', ']']).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        word
    }

    fn unexpected(&self) -> String {
        match self.rest {
            "" => "the text ends".into(),
            rest => format!("do not understand {rest:?}"),
        }
    }
}

fn unknown(name: &str) -> String {
    if SEARCHES.iter().any(|s| s.name == name) {
        return format!("{name} is a search, which stands alone and cannot be combined");
    }
    match nearest(name, super::entries().map(|e: &Entry| e.name)) {
        Some(near) => format!("there is no strategy {name:?}; did you mean {near}?"),
        None => format!("there is no strategy {name:?}; --strategy list shows what there is"),
    }
}
