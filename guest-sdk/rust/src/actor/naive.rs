//! A second way to execute a state machine, as plainly as its rules can be written down: the oracle of tests. It follows
//! Coyote's `StateMachine.cs`, with a map of what can be inherited, and shares nothing with the other way.
//!
//! A machine is data, and its actions are scripts, so that machines can be generated.

/// A kind of events.
pub type Kind = u8;
/// Stands for all kinds but [`DEFAULT`].
pub const ANY: Kind = 100;
/// There is no other event.
pub const DEFAULT: Kind = 101;
/// Halts what does not handle it.
pub const HALT: Kind = 102;
/// How many other kinds there are.
pub const KINDS: Kind = 4;

/// Events that do not come from outside have numbers above this one.
pub const OWN: u32 = 1000;

/// An event and its number, by which it can be told from others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    pub number: u32,
    pub kind: Kind,
}

/// What an action asks for at its end.
#[derive(Clone, Copy, Debug)]
pub enum Request {
    Raise(Kind),
    Goto(usize),
    Push(usize),
    Pop,
    Halt,
}

/// What an action does.
#[derive(Clone, Copy, Debug)]
pub struct Script {
    pub receives: Option<Kind>,
    /// As long as the machine has requests left.
    pub requests: Option<Request>,
}

/// A reaction to a kind of events. Scripts are numbers.
#[derive(Clone, Copy, Debug)]
pub enum Rule {
    Do(usize),
    Goto(usize, Option<usize>),
    Push(usize),
    Defer,
    Ignore,
}

/// A state.
#[derive(Clone, Debug, Default)]
pub struct State {
    pub entry: Option<usize>,
    pub exit: Option<usize>,
    pub rules: Vec<(Kind, Rule)>,
}

/// A machine, which starts in state 0, and what comes into its inbox.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    pub states: Vec<State>,
    pub everywhere: Vec<(Kind, Rule)>,
    pub scripts: Vec<Script>,
    /// What comes right before each look into the inbox. The machine ends with nothing to do after the last one.
    pub arrivals: Vec<Vec<Kind>>,
    /// How many requests actions make, all together.
    pub requests_max: u32,
}

/// Pseudo-random numbers, always the same.
pub struct Random(pub u64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) % bound as u64) as usize
    }

    fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    fn kind(&mut self) -> Kind {
        self.below(KINDS as usize) as Kind
    }
}

impl Spec {
    /// A machine made of a number.
    pub fn generate(seed: u64) -> Spec {
        let random = &mut Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let mut spec = Spec { requests_max: 12, ..Spec::default() };
        let states = 2 + random.below(3);
        for _ in 0..states {
            let mut state = State {
                entry: random.one_in(2).then(|| spec.script(random, states)),
                exit: random.one_in(2).then(|| spec.exit_script(random)),
                rules: Vec::new(),
            };
            for kind in (0..KINDS).chain([ANY, DEFAULT, HALT]) {
                let often = if kind < KINDS { 4 } else { 1 };
                if random.below(5) < often {
                    let rule = spec.rule(random, states, true);
                    state.rules.push((kind, rule));
                }
            }
            spec.states.push(state);
        }
        for kind in 0..KINDS {
            if random.one_in(2) {
                let rule = spec.rule(random, states, false);
                spec.everywhere.push((kind, rule));
            }
        }
        for _ in 0..8 + random.below(12) {
            let arrival = (0..random.below(3)).map(|_| if random.one_in(60) { HALT } else { random.kind() });
            spec.arrivals.push(arrival.collect());
        }
        spec
    }

    fn rule(&mut self, random: &mut Random, states: usize, leaves: bool) -> Rule {
        match random.below(if leaves { 9 } else { 5 }) {
            0..=2 => Rule::Do(self.script(random, states)),
            3 => Rule::Defer,
            4 => Rule::Ignore,
            5 | 6 => {
                let action = random.one_in(2).then(|| self.exit_script(random));
                Rule::Goto(random.below(states), action)
            }
            _ => Rule::Push(random.below(states)),
        }
    }

    fn script(&mut self, random: &mut Random, states: usize) -> usize {
        let requests = match random.below(14) {
            0 | 1 => Some(Request::Raise(random.kind())),
            2 | 3 => Some(Request::Goto(random.below(states))),
            4 | 5 => Some(Request::Push(random.below(states))),
            6 => Some(Request::Pop),
            7 if random.one_in(5) => Some(Request::Halt),
            _ => None,
        };
        let receives = random.one_in(12).then(|| random.kind());
        self.scripts.push(Script { receives, requests });
        self.scripts.len() - 1
    }

    /// Of an action on exit, which hardly ever asks for what it may not.
    fn exit_script(&mut self, random: &mut Random) -> usize {
        let requests = match random.below(40) {
            0 => Some(Request::Pop),
            1 => Some(Request::Halt),
            _ => None,
        };
        self.scripts.push(Script { receives: None, requests });
        self.scripts.len() - 1
    }
}

/// Executes a machine and returns what happened, a line each. `mutant`: with which rule broken; 0 for none.
pub fn run(spec: &Spec, mutant: u32) -> Vec<String> {
    let mut naive = Naive {
        spec,
        mutant,
        stack: vec![0],
        inbox: Vec::new(),
        raised: None,
        halting: false,
        over: false,
        looks: 0,
        numbers: 0,
        own_numbers: OWN,
        requests: 0,
        trace: Vec::new(),
    };
    naive.run();
    naive.trace
}

/// How many mutants [`run`] knows.
pub const MUTANTS: u32 = 13;

enum Raised {
    Event(Event),
    Goto(usize),
    Push(usize),
}

struct Naive<'a> {
    spec: &'a Spec,
    mutant: u32,
    stack: Vec<usize>,
    inbox: Vec<Event>,
    raised: Option<Raised>,
    halting: bool,
    over: bool,
    looks: usize,
    numbers: u32,
    own_numbers: u32,
    requests: u32,
    trace: Vec<String>,
}

impl Naive<'_> {
    fn run(&mut self) {
        self.enter();
        let mut taken = None;
        while !self.over {
            if self.halting {
                let left: Vec<u32> = self.inbox.iter().map(|event| event.number).collect();
                self.end(&format!("halt, left {left:?}"));
                return;
            }
            match self.raised.take() {
                Some(Raised::Goto(state)) => self.goto(state, None),
                Some(Raised::Push(state)) => self.push(state),
                Some(Raised::Event(event)) => match self.nearest(event.kind) {
                    Some(Rule::Ignore) => {}
                    Some(Rule::Defer) => self.end("bug: a deferred event is raised"),
                    _ => self.handle(event),
                },
                None if taken.take().is_some() => {
                    self.trace.push("handled".into());
                }
                None => {
                    let Some(event) = self.dequeue() else { return };
                    taken = (event.kind != DEFAULT).then_some(event);
                    self.handle(event);
                }
            }
        }
    }

    fn end(&mut self, how: &str) {
        self.trace.push(format!("{how}; states {:?}", self.stack));
        self.over = true;
    }

    fn own(&mut self, kind: Kind) -> Event {
        self.own_numbers += 1;
        Event { number: self.own_numbers, kind }
    }

    /// What comes before a look into the inbox. Returns whether there is another look at all.
    fn arrive(&mut self) -> bool {
        let Some(kinds) = self.spec.arrivals.get(self.looks) else {
            let left: Vec<u32> = self.inbox.iter().map(|event| event.number).collect();
            self.end(&format!("idle, left {left:?}"));
            return false;
        };
        self.looks += 1;
        for kind in kinds {
            self.numbers += 1;
            self.inbox.push(Event { number: self.numbers, kind: *kind });
        }
        true
    }

    fn dequeue(&mut self) -> Option<Event> {
        loop {
            if !self.arrive() {
                return None;
            }
            let mut at = 0;
            if self.mutant == 8 && self.inbox.len() > 1 && self.is_deferred(self.inbox[0]) {
                self.inbox.rotate_left(1);
            }
            while at < self.inbox.len() {
                let event = self.inbox[at];
                match self.nearest(event.kind) {
                    Some(Rule::Ignore) => {
                        self.inbox.remove(at);
                        self.trace.push(format!("ignore {}", event.number));
                    }
                    Some(Rule::Defer) => at += 1,
                    _ => {
                        self.inbox.remove(at);
                        self.trace.push(format!("take {}", event.number));
                        return Some(event);
                    }
                }
            }
            if matches!(self.nearest(DEFAULT), Some(rule) if !matches!(rule, Rule::Defer | Rule::Ignore)) {
                let event = self.own(DEFAULT);
                self.trace.push("default".into());
                return Some(event);
            }
        }
    }

    fn is_deferred(&self, event: Event) -> bool {
        matches!(self.nearest(event.kind), Some(Rule::Defer))
    }

    fn rule(&self, rules: &[(Kind, Rule)], kind: Kind) -> Option<Rule> {
        rules.iter().find(|(of, _)| *of == kind).map(|(_, rule)| *rule)
    }

    fn inherited(&self, rule: Rule) -> bool {
        match rule {
            Rule::Do(_) | Rule::Ignore => true,
            Rule::Defer => self.mutant != 1,
            Rule::Goto(..) | Rule::Push(_) => self.mutant == 2,
        }
    }

    /// The highest state on the stack with a rule that is inherited, and its place.
    fn highest(&self, kind: Kind) -> Option<(usize, Rule)> {
        let mut found = None;
        for (depth, state) in self.stack.iter().enumerate() {
            let rule = self.rule(&self.spec.states[*state].rules, kind);
            if let Some(rule) = rule.filter(|rule| self.inherited(*rule)) {
                found = Some((depth, rule));
            }
        }
        found
    }

    /// What is done about a kind of events in the present states.
    fn nearest(&self, kind: Kind) -> Option<Rule> {
        let everywhere = || {
            let wild = self.rule(&self.spec.everywhere, ANY).filter(|_| kind != DEFAULT);
            self.rule(&self.spec.everywhere, kind).or(wild)
        };
        if self.mutant == 12 && everywhere().is_some() {
            return everywhere();
        }
        let top = &self.spec.states[*self.stack.last()?].rules;
        let own = self.rule(top, kind).filter(|rule| !self.inherited(*rule) && !matches!(rule, Rule::Defer));
        if own.is_some() {
            return own;
        }
        let specific = self.highest(kind);
        let mut wild = self.highest(ANY);
        if let Some(rule) = self.rule(top, ANY) {
            wild = Some((self.stack.len() - 1, rule));
        }
        let beats = |wild: usize, specific: usize| wild > specific || self.mutant == 7;
        match (specific, wild.filter(|_| kind != DEFAULT)) {
            (Some((specific, _)), Some((wild, rule))) if beats(wild, specific) => Some(rule),
            (Some((_, rule)), _) | (None, Some((_, rule))) => Some(rule),
            (None, None) => everywhere(),
        }
    }

    fn handle(&mut self, event: Event) {
        loop {
            match self.nearest(event.kind) {
                Some(Rule::Do(script)) => return self.act(script, Some(event), false),
                Some(Rule::Goto(state, script)) => {
                    return self.goto(state, script.map(|script| (script, event)));
                }
                Some(Rule::Push(state)) => return self.push(state),
                Some(Rule::Defer | Rule::Ignore) => return,
                None if self.stack.is_empty() && event.kind == HALT => return self.halting = true,
                None if self.stack.is_empty() => return self.end("bug: an event is not handled"),
                None => {
                    if self.mutant != 11 {
                        self.exit();
                    }
                    if self.halting || self.over {
                        return;
                    }
                    self.stack.pop();
                }
            }
        }
    }

    fn goto(&mut self, state: usize, script: Option<(usize, Event)>) {
        let act = |naive: &mut Self| {
            if let Some((script, event)) = script
                && !naive.halting
                && !naive.over
            {
                naive.act(script, Some(event), true);
            }
        };
        if self.mutant == 6 {
            act(self);
        }
        self.exit();
        if self.mutant != 6 {
            act(self);
        }
        if !self.halting && !self.over {
            self.stack.pop();
            self.stack.push(state);
            self.enter();
        }
    }

    fn push(&mut self, state: usize) {
        self.stack.push(state);
        self.enter();
    }

    fn enter(&mut self) {
        let state = self.stack.last().copied().unwrap_or_default();
        if let Some(script) = self.spec.states[state].entry {
            self.act(script, None, false);
        }
    }

    fn exit(&mut self) {
        let state = self.stack.last().copied().unwrap_or_default();
        if let Some(script) = self.spec.states[state].exit {
            self.act(script, None, true);
        }
    }

    fn act(&mut self, number: usize, event: Option<Event>, leaving: bool) {
        let script = self.spec.scripts[number];
        let event = event.map_or(0, |event| event.number);
        self.trace.push(format!("act {number} with {event} in {:?}", self.stack.last()));
        if let Some(kind) = script.receives {
            loop {
                if !self.arrive() {
                    return;
                }
                let wanted = |event: &Event| event.kind == kind;
                let at = match self.mutant {
                    9 => self.inbox.iter().rposition(wanted),
                    _ => self.inbox.iter().position(wanted),
                };
                if let Some(at) = at {
                    let event = self.inbox.remove(at);
                    self.trace.push(format!("receive {}", event.number));
                    break;
                }
            }
        }
        let Some(request) = script.requests.filter(|_| self.requests < self.spec.requests_max) else {
            return;
        };
        self.requests += 1;
        if leaving && !matches!(request, Request::Halt) {
            return self.end("bug: an exit asks");
        }
        match request {
            Request::Raise(kind) => {
                let event = self.own(kind);
                if self.mutant == 3 {
                    self.inbox.push(event);
                } else {
                    self.raised = Some(Raised::Event(event));
                }
            }
            Request::Goto(state) if self.mutant == 4 => self.raised = Some(Raised::Push(state)),
            Request::Goto(state) => self.raised = Some(Raised::Goto(state)),
            Request::Push(state) if self.mutant == 10 => self.raised = Some(Raised::Goto(state)),
            Request::Push(state) => self.raised = Some(Raised::Push(state)),
            Request::Pop => {
                if self.mutant != 5 {
                    self.exit();
                }
                if self.halting || self.over {
                    return;
                }
                self.stack.pop();
                if self.stack.is_empty() {
                    self.end("bug: the only state is popped");
                }
            }
            Request::Halt if self.mutant == 13 => {}
            Request::Halt => self.halting = true,
        }
    }
}
