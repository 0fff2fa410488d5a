//! A user's pass: what it adds is instrumented like the guest's own code.

use coyote_instrumenter::walrus::ir::{Const, Drop, Instr, InstrLocId, Load, LoadKind, MemArg, Value};
use coyote_instrumenter::{Draft, Error, Options, Pass, instrument, instrument_with};

/// Reads address 64 at the beginning of each function.
struct Probe;

impl Pass for Probe {
    fn run(&self, draft: &mut Draft) -> Result<(), Error> {
        let memory = draft.memory;
        for id in draft.guest_functions() {
            draft.edit(id, |_, function| {
                let load = Load {
                    memory,
                    kind: LoadKind::I32 { atomic: false },
                    arg: MemArg { align: 4, offset: 0 },
                };
                let probe: [Instr; 3] = [Const { value: Value::I32(64) }.into(), load.into(), Drop {}.into()];
                let entry = function.entry_block();
                let instrs = &mut function.block_mut(entry).instrs;
                instrs.splice(0..0, probe.map(|instr| (instr, InstrLocId::default())));
            });
        }
        Ok(())
    }
}

#[test]
fn added_accesses_become_points() {
    let wasm = wat::parse_str("(module (memory 1) (func $f) (func $g))").unwrap();
    let plain = instrument(&wasm, &Options::default()).unwrap().table;
    assert_eq!(plain.sites.len(), 0);
    let table = instrument_with(&wasm, &Options::default(), &[&Probe]).unwrap().table;
    let places: Vec<_> = table.sites.iter().map(|s| (s.kind().name(), s.location)).collect();
    let start = |function: u32| coyote_instrumenter::Location {
        function,
        offset: table.functions[function as usize].start,
    };
    assert_eq!(places, [("load", start(0)), ("load", start(1))]);
}

/// A pass that refuses everything.
struct Refusing;

impl Pass for Refusing {
    fn run(&self, _: &mut Draft) -> Result<(), Error> {
        Err(Error::Option("the probe needs a table".into()))
    }
}

#[test]
fn a_refusal_of_a_pass_is_reported() {
    let wasm = wat::parse_str("(module)").unwrap();
    let error = instrument_with(&wasm, &Options::default(), &[&Refusing]).unwrap_err();
    assert_eq!(error.to_string(), "the probe needs a table");
}
