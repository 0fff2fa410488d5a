//! Programs drawn from one class of effect or two.

use super::classes::{CLASSES, Class, FAULTS, by_name};
use super::ends::KEPT;
use super::program::{Program, Statement, start};
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;

/// The program of this number in its class.
pub fn program(class: &'static Class, seed: u64, index: u64) -> Program {
    let position = CLASSES.iter().position(|c| std::ptr::eq(c, class)).unwrap() as u64;
    let mut rng = ChoiceRng::new(Iteration { seed: seed ^ (position << 32), index });
    let mut classes = vec![class];
    // Half of the programs mix; those that the model knows, among each other.
    if !class.alone && rng.one_in(2) {
        let fits = |c: &&Class| !c.alone && c.actions.is_some() == class.actions.is_some();
        let others: Vec<&Class> = CLASSES.iter().filter(fits).collect();
        let other = others[rng.below(others.len() as u64) as usize];
        if other.name != class.name {
            classes.push(by_name(other.name));
        }
    }
    let others = 1 + usize::from(rng.one_in(2)) + usize::from(rng.one_in(6));
    let mut left = 3 + rng.below(5) as usize;
    let mut threads: Vec<Vec<Statement>> = Vec::new();
    for number in 0..=others {
        let most = if number == 0 { rng.below(3) as usize } else { 1 + rng.below(5) as usize };
        let mut thread = Thread { classes: &classes, threads: others, kept: 0, left: most.min(left) };
        left -= thread.left;
        threads.push(thread.statements(&mut rng, 0));
    }
    let last_is_late = class.actions.is_none()
        && !class.wat
        && others > 1
        && rng.one_in(if class.name == "threads" { 2 } else { 6 });
    if last_is_late {
        let creator = &mut threads[1];
        let at = rng.below(creator.len() as u64 + 1) as usize;
        creator.insert(at, Statement::Text(start(others)));
    }
    Program {
        classes: classes.iter().map(|c| c.name).collect(),
        threads,
        last_is_late,
        joins: class.name != "threads" || !rng.one_in(4),
        tail: classes.iter().map(|c| c.tail).filter(|tail| !tail.is_empty()).collect::<Vec<_>>().join("\n  "),
        faults: classes.iter().any(|c| c.name == FAULTS || c.faults && rng.one_in(4)),
    }
}

struct Thread<'a> {
    classes: &'a [&'static Class],
    /// The greatest number of a thread.
    threads: usize,
    /// Places taken.
    kept: usize,
    /// Statements still to be drawn.
    left: usize,
}

impl Thread<'_> {
    fn statements(&mut self, rng: &mut ChoiceRng, depth: usize) -> Vec<Statement> {
        let mut statements = Vec::new();
        while self.left > 0 && !(depth > 0 && rng.one_in(2)) {
            self.left -= 1;
            statements.push(self.statement(rng, depth));
        }
        statements
    }

    fn statement(&mut self, rng: &mut ChoiceRng, depth: usize) -> Statement {
        // The places that a template's text and a tail may take.
        let full = self.kept + 6 >= KEPT;
        let class = self.classes[rng.below(self.classes.len() as u64) as usize];
        if let Some(draw) = class.actions {
            let mut action = draw(rng, &mut self.kept);
            if self.kept > KEPT - 1 {
                self.kept = KEPT - 1;
            }
            if action.body().is_some() {
                let body = self.statements(rng, depth + 1);
                *action.body_mut().expect("it has one") = body;
            }
            return Statement::Action(action);
        }
        let fits = |template: &&&str| {
            !(full && (template.contains("$r") || template.contains("?r")))
                && !(depth > 1 && template.contains("{*}"))
        };
        let templates: Vec<&&str> = class.templates.iter().filter(fits).collect();
        let template = match templates.len() {
            0 if class.wat => "(i32.store (i32.const 1200) (i32.const ?k))",
            0 => "o.x = $k;",
            count => templates[rng.below(count as u64) as usize],
        };
        match template.split_once("{*}") {
            None => Statement::Text(self.text(rng, template)),
            Some((open, close)) => {
                // What opens and closes draws the same.
                let mut same = rng.clone();
                let open = self.text(rng, open);
                let close = self.text(&mut same, close);
                let body = self.statements(rng, depth + 1);
                Statement::Block { open: open.trim().into(), body, close: close.trim().into() }
            }
        }
    }

    fn text(&mut self, rng: &mut ChoiceRng, template: &str) -> String {
        let mut text = String::new();
        let mut parts = template.split(if self.classes[0].wat { '?' } else { '$' });
        text += parts.next().unwrap_or_default();
        for part in parts {
            let mut number = |bound: u64| rng.below(bound).to_string();
            text += &match &part[..1] {
                "r" => {
                    self.kept += 1;
                    (self.kept - 1).to_string()
                }
                "k" => (1 + rng.below(3)).to_string(),
                "b" => number(2),
                "s" => number(3),
                "v" => ["x", "y"][rng.below(2) as usize].into(),
                "t" => (1 + rng.below(self.threads as u64)).to_string(),
                "i" => (58 + rng.below(8)).to_string(),
                "n" => (1 + rng.below(12)).to_string(),
                "f" => ["/a", "/d/b", "/shared"][rng.below(3) as usize].into(),
                other => unreachable!("${other} in {template}"),
            };
            text += &part[1..];
        }
        text
    }
}
