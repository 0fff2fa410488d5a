//! The pipeline: a user's passes in it, and the module between passes.

use coyote_instrumenter::walrus::ir::{Const, Drop, Instr, InstrLocId, Load, LoadKind, MemArg, Value};
use coyote_instrumenter::{
    Analyses, Draft, Error, Instrumented, Options, Pass, Pipeline, dump_after, instrument, instrument_with,
};

/// Reads address 64 at the beginning of each function.
struct Probe;

impl Pass for Probe {
    fn name(&self) -> &str {
        "probe"
    }

    fn run(&self, draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
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

fn run(wasm: &[u8], pipeline: &Pipeline) -> Result<Instrumented, Error> {
    instrument_with(wasm, &Options::default(), pipeline, &mut |_| {})
}

#[test]
fn added_accesses_become_points() {
    let wasm = wat::parse_str("(module (memory 1) (func $f) (func $g))").unwrap();
    let plain = instrument(&wasm, &Options::default()).unwrap().table;
    assert_eq!(plain.sites.len(), 0);
    let table = run(&wasm, &Pipeline::new().with(Probe)).unwrap().table;
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
    fn name(&self) -> &str {
        "refusing"
    }

    fn run(&self, _: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
        Err(Error::Option("the probe needs a table".into()))
    }
}

#[test]
fn a_refusal_of_a_pass_is_reported() {
    let wasm = wat::parse_str("(module)").unwrap();
    let error = run(&wasm, &Pipeline::new().with(Refusing)).unwrap_err();
    assert_eq!(error.to_string(), "the probe needs a table");
}

#[test]
fn a_pass_runs_where_it_is_put() {
    let wasm = wat::parse_str("(module (memory 1) (func $f))").unwrap();
    let sites = |pipeline: Pipeline| run(&wasm, &pipeline).unwrap().table.sites.len();
    assert_eq!(sites(Pipeline::new().before("points", Probe).unwrap()), 1);
    assert_eq!(
        sites(Pipeline::new().after("points", Probe).unwrap()),
        0,
        "the accesses are announced already"
    );
    let mut order = Vec::new();
    let pipeline = Pipeline::new().after("countdown", Probe).unwrap();
    let mut watch = |stage: coyote_instrumenter::Stage| order.push(stage.name().to_string());
    instrument_with(&wasm, &Options::default(), &pipeline, &mut watch).unwrap();
    let at = |name: &str| order.iter().position(|stage| stage == name).unwrap();
    assert_eq!((at("check"), at("read")), (0, 1));
    assert_eq!(at("probe"), at("countdown") + 1);
    assert_eq!(order.len(), pipeline.passes().count() + 5, "{order:?}");
    let error = Pipeline::new().before("point", Probe).err().unwrap();
    assert_eq!(error.to_string(), "there is no pass `point`; there is `points`");
}

/// Lets each function call itself, so that all are recursive.
struct Recursion;

impl Pass for Recursion {
    fn name(&self) -> &str {
        "recursion"
    }

    fn run(&self, draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
        for id in draft.guest_functions() {
            draft.edit(id, |_, function| {
                let entry = function.entry_block();
                let call: Instr = coyote_instrumenter::walrus::ir::Call { func: id }.into();
                function.block_mut(entry).instrs.push((call, InstrLocId::default()));
            });
        }
        Ok(())
    }
}

#[test]
fn the_call_graph_is_that_after_a_pass() {
    let wasm = wat::parse_str("(module (memory 1) (func $f))").unwrap();
    let loops = |pipeline: Pipeline| {
        let sites = run(&wasm, &pipeline).unwrap().table.sites;
        sites.iter().filter(|site| site.kind().name() == "loop").count()
    };
    assert_eq!(loops(Pipeline::new()), 0);
    // `policies` has asked for the graph by then.
    assert_eq!(loops(Pipeline::new().after("points", Recursion).unwrap()), 1);
}

#[test]
fn the_module_is_shown_after_every_pass() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/passes");
    let pipeline = Pipeline::new();
    let names: Vec<&str> = pipeline.passes().map(Pass::name).collect();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|e| e != "wat") {
            continue;
        }
        let options = Options::default();
        let Ok(wasm) = wat::parse_file(&path) else { panic!("{}", path.display()) };
        if instrument(&wasm, &options).is_err() {
            // It needs options of its own.
            continue;
        }
        for name in &names {
            let text = dump_after(&wasm, &options, name, None).unwrap();
            assert!(text.starts_with("(module"), "{}: {name}", path.display());
        }
    }
}

#[test]
fn a_function_is_shown_after_a_pass() {
    let wasm = wat::parse_str("(module (memory 1) (func $f i32.const 0 i32.load drop) (func $g))").unwrap();
    let after = |pass, function| dump_after(&wasm, &Options::default(), pass, function);
    let plain = after("policies", Some("f")).unwrap();
    assert!(plain.contains("i32.load") && !plain.contains("coyote_rt.point"), "{plain}");
    let points = after("points", Some("f")).unwrap();
    assert!(points.contains("call $coyote_rt.point") && !points.contains("func $g"), "{points}");
    assert!(after("points", None).unwrap().contains("func $g"));
    assert_eq!(
        after("pionts", None).unwrap_err().to_string(),
        "there is no pass `pionts`; there is `points`"
    );
    assert_eq!(
        after("points", Some("h")).unwrap_err().to_string(),
        "no function is called `h`; there is `f`, `g`"
    );
}
