//! The display of variables, with the reference numbers by which a client requests their parts.

use crate::debug::Debugger;
use crate::symbols::Place;
use coyote_strategies::{WorkerId, WorkerState};
use serde_json::{Value, json};

/// A value that has parts.
#[derive(Clone)]
enum Whole {
    Globals,
    Locals(Of),
    Worker(WorkerId),
    /// With the frame whose variables its expression names.
    Place(Place, Option<Of>),
}

/// A worker, and a frame of its stack by its index.
pub type Of = (WorkerId, usize);

/// The reference numbers, which are valid until the next motion.
#[derive(Default)]
pub struct Values {
    wholes: Vec<Whole>,
}

impl Values {
    /// The scopes of a worker's frame.
    pub fn scopes(&mut self, (worker, frame): Of) -> Value {
        let locals = self.number(Whole::Locals((worker, frame)));
        let globals = self.number(Whole::Globals);
        let own = self.number(Whole::Worker(worker));
        json!({ "scopes": [
            { "name": "Locals", "presentationHint": "locals", "variablesReference": locals, "expensive": false },
            { "name": "Worker", "presentationHint": "registers", "variablesReference": own, "expensive": false },
            { "name": "Globals", "presentationHint": "globals", "variablesReference": globals, "expensive": false },
        ] })
    }

    fn number(&mut self, whole: Whole) -> usize {
        self.wholes.push(whole);
        self.wholes.len()
    }

    /// The parts of the value with this number.
    pub fn parts(&mut self, debugger: &Debugger, number: u64) -> Result<Value, String> {
        let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
        let whole = index.and_then(|index| self.wholes.get(index)).cloned();
        let variables: Vec<Value> = match whole {
            None => return Err(format!("there is nothing of the number {number} at this position")),
            Some(Whole::Worker(worker)) => worker_variables(debugger, worker),
            Some(Whole::Globals) => {
                let places = debugger.globals().into_iter();
                places.map(|place| self.variable(debugger, place.name.clone(), place, None)).collect()
            }
            Some(Whole::Locals(of)) => {
                let places = debugger.locals(of.0, of.1).unwrap_or_default().into_iter();
                places.map(|place| self.variable(debugger, place.name.clone(), place, Some(of))).collect()
            }
            Some(Whole::Place(place, of)) => {
                let parts = debugger.children(&place).into_iter();
                parts.map(|(name, part)| self.variable(debugger, name, part, of)).collect()
            }
        };
        Ok(json!({ "variables": variables }))
    }

    /// The value of an expression.
    pub fn evaluated(&mut self, debugger: &Debugger, place: Place, of: Option<Of>) -> Value {
        let variable = self.variable(debugger, String::new(), place, of);
        json!({
            "result": variable["value"],
            "variablesReference": variable["variablesReference"],
            "memoryReference": variable["memoryReference"],
        })
    }

    fn variable(&mut self, debugger: &Debugger, name: String, place: Place, of: Option<Of>) -> Value {
        let value = debugger.show(&place);
        let memory = format!("{:#x}", place.address);
        // No expression if the name alone means something else.
        let is_known = debugger.find(&place.name, of).is_ok_and(|found| found == place);
        let expression = is_known.then(|| place.name.clone());
        let number = match debugger.children(&place).is_empty() {
            true => 0,
            false => self.number(Whole::Place(place, of)),
        };
        json!({
            "name": name,
            "value": value,
            "evaluateName": expression,
            "memoryReference": memory,
            "variablesReference": number,
        })
    }

    /// The memory of the part with this name of the value with this number.
    pub fn part(&self, debugger: &Debugger, number: u64, name: &str) -> Option<Place> {
        match self.wholes.get(usize::try_from(number).ok()?.checked_sub(1)?)? {
            Whole::Globals => debugger.find(name, None).ok(),
            Whole::Locals(of) => debugger.find(name, Some(*of)).ok(),
            Whole::Worker(_) => None,
            Whole::Place(place, _) => {
                debugger.children(place).into_iter().find(|(part, _)| part == name).map(|(_, part)| part)
            }
        }
    }
}

/// The properties of a worker, as variables.
fn worker_variables(debugger: &Debugger, worker: WorkerId) -> Vec<Value> {
    let Some(view) = debugger.workers().into_iter().find(|view| view.id == worker) else { return Vec::new() };
    let state = match view.state {
        WorkerState::Enabled => "can go on",
        WorkerState::Blocked => "blocked",
        WorkerState::Ended => "has ended",
    };
    let held = debugger.held_by(worker);
    let held = if held.is_empty() { "nothing".to_string() } else { held.join(", ") };
    let rows = [("worker", view.title), ("state", state.to_string()), ("doing", view.doing), ("holds", held)];
    rows.into_iter()
        .map(|(name, value)| json!({ "name": name, "value": value, "variablesReference": 0 }))
        .collect()
}
