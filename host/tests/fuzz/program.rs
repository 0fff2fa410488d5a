//! Programs: what each thread does, and as C.

use super::actions::Action;
use super::classes::by_name;
use coyote_wasm::runtime::{FaultClass, Faults};

/// One fault of each of these may happen where faults are on.
pub const FAULTED: &[FaultClass] = &[
    FaultClass::Spurious,
    FaultClass::TryLock,
    FaultClass::Point,
    FaultClass::Io,
    FaultClass::Alloc,
    FaultClass::Clock,
    FaultClass::Net,
    FaultClass::Split,
];
use std::fmt::Write;

/// Numbers of other threads are at 1 and up.
const LOCALS: &str = "(local i32 i32 i32 i32)";
const NO_STACK: &str = "(i32.const 0) (i32.const 0) (i32.const 0)";

/// A piece of a thread's function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// C, with `@` for the program's prefix.
    Text(String),
    /// C around other statements.
    Block { open: String, body: Vec<Statement>, close: String },
    /// What the model knows, too.
    Action(Action),
}

/// See the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// The classes of effect that it was drawn from.
    pub classes: Vec<&'static str>,
    /// The first thread's statements come after it has started the others.
    pub threads: Vec<Vec<Statement>>,
    /// The last thread is started by another one, not by the first.
    pub last_is_late: bool,
    /// Whether the first thread joins those that it started.
    pub joins: bool,
    /// C after that.
    pub tail: String,
    /// Whether waits may end and try-locks may fail for no reason, once.
    pub faults: bool,
}

impl Program {
    /// What may go wrong in its executions.
    pub fn faults(&self) -> Faults {
        match self.faults {
            true => FAULTED.iter().fold(Faults::default(), |all, class| all.with(*class, 1)),
            false => Faults::default(),
        }
    }

    /// Whether the model knows all of it.
    pub fn is_modelled(&self) -> bool {
        let all_actions = |thread: &Vec<Statement>| thread.iter().all(|s| matches!(s, Statement::Action(_)));
        self.threads.iter().all(all_actions) && self.joins && !self.faults
    }

    /// Whether it is WebAssembly text.
    pub fn is_wat(&self) -> bool {
        self.classes.iter().any(|class| by_name(class).wat)
    }

    /// Its functions and its test as WebAssembly text. `first`: the place of its first function in the table of
    /// threads.
    pub fn wat(&self, name: &str, first: usize) -> String {
        let mut text = String::new();
        for (number, statements) in self.threads.iter().enumerate() {
            match number {
                0 => writeln!(text, "  (func (export \"coyote.test.{name}\") {LOCALS}").unwrap(),
                _ => writeln!(text, "  (func ${name}_{number} (param i32)").unwrap(),
            }
            for other in (1..self.threads.len()).filter(|_| number == 0) {
                let place = first + other - 1;
                writeln!(text, "    (local.set {other} (call $spawn (i32.const {place}) {NO_STACK}))")
                    .unwrap();
            }
            for statement in statements {
                let Statement::Text(statement) = statement else { unreachable!("it has no others") };
                writeln!(text, "    {}", statement.replace('%', &number.to_string())).unwrap();
            }
            for other in (1..self.threads.len()).filter(|_| number == 0) {
                writeln!(text, "    (call $join (local.get {other}))").unwrap();
            }
            text += "  )\n";
        }
        text
    }

    /// Its functions and its test. `check`: C at the very end.
    pub fn c(&self, name: &str, check: &str) -> String {
        let mut text =
            format!("/* {}{} */\n", self.classes.join(", "), if self.faults { ", faults" } else { "" });
        for number in 1..self.threads.len() {
            writeln!(text, "static void *{name}_{number}(void *);").unwrap();
        }
        for (number, statements) in self.threads.iter().enumerate().skip(1) {
            write!(text, "static void *{name}_{number}(void *unused) {{\n  enum {{ T = {number} }};\n")
                .unwrap();
            write_all(&mut text, statements, name, 1);
            writeln!(text, "  return (void *)(100 + T);\n}}").unwrap();
        }
        write!(text, "COYOTE_TEST({name}) {{\n  enum {{ T = 0 }};\n  prepare();\n").unwrap();
        let mine = 1..self.threads.len() - usize::from(self.last_is_late && self.threads.len() > 1);
        for number in mine.clone() {
            writeln!(text, "  {}", start(number).replace('@', name)).unwrap();
        }
        write_all(&mut text, &self.threads[0], name, 1);
        for number in mine.filter(|_| self.joins) {
            writeln!(text, "  pthread_join(thread[{number}], NULL);").unwrap();
        }
        // Nothing comes behind an exit.
        let (first, second) =
            if self.tail.contains("exit(") { (check, &*self.tail) } else { (&*self.tail, check) };
        for line in [first, second].into_iter().filter(|line| !line.is_empty()) {
            writeln!(text, "  {line}").unwrap();
        }
        text + "}\n"
    }
}

/// Starts a thread.
pub fn start(number: usize) -> String {
    format!("pthread_create(&thread[{number}], NULL, @_{number}, NULL);")
}

impl Statement {
    /// The statements within.
    pub fn body(&self) -> Option<&Vec<Statement>> {
        match self {
            Statement::Text(_) => None,
            Statement::Block { body, .. } => Some(body),
            Statement::Action(action) => action.body(),
        }
    }

    pub fn body_mut(&mut self) -> Option<&mut Vec<Statement>> {
        match self {
            Statement::Text(_) => None,
            Statement::Block { body, .. } => Some(body),
            Statement::Action(action) => action.body_mut(),
        }
    }
}

fn write_all(text: &mut String, statements: &[Statement], name: &str, depth: usize) {
    let indent = "  ".repeat(depth);
    for statement in statements {
        let (open, close) = match statement {
            Statement::Text(text) => (text.clone(), String::new()),
            Statement::Block { open, close, .. } => (open.clone(), close.clone()),
            Statement::Action(action) => action.c(),
        };
        writeln!(text, "{indent}{}", open.replace('@', name)).unwrap();
        if let Some(body) = statement.body() {
            write_all(text, body, name, depth + 1);
            writeln!(text, "{indent}{close}").unwrap();
        }
    }
}
