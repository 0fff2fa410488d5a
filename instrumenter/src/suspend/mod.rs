//! The suspend pass: a running worker can be unwound out of its native stack into bytes and rewound
//! from them.
//!
//! It takes a module in which scheduling points are calls of *suspending imports*, and works bytes to
//! bytes on `wasmparser` and `wasm-encoder`, function by function: operand types come from the
//! validator, indices stay as they are (entries are only appended), instructions are copied.
//!
//! # The idea, as pseudo code
//! A suspending import returns its results and a flag. Control words: `$state` (0 normal, 1 unwinding,
//! 2 rewinding), `$fsp` (end of the saved frames), `$result` (of the import that is resumed).
//!
//! ```text
//! before                       after
//! f(p) {                       f(p) {
//!   a;                           resume = 0
//!   r = import(p);               if state == 2 { p, r, resume = pop frame; if last frame { state = 0 } }
//!   if c {                       if resume == 1 goto L1; if resume == 2 goto L2
//!     g();                       a;
//!   }                            r, flag = import(p); if flag { resume = 1; goto unwind }
//!   b(r)                     L1: resume = 0                      // r comes from the frame or $result
//! }                          L2: if resume ? true : c {
//!                                  if resume == 2 goto L3
//!                              L3: resume = 0
//!                                  g(); if state == 1 { resume = 2; goto unwind }
//!                                }
//!                                b(r); return
//!                            unwind:
//!                                push frame { p, r, resume }; state = 1; return anything
//!                              }
//! ```
//! wasm has no goto into a construct, so a sequence of code with *items* (sites, or constructs with sites in
//! them) is put into nested blocks, one ending at each item, with a dispatch at its start; a construct passes
//! the dispatch on to its own sequences. Operands on the stack at such an end are moved to locals and back.
//! Only functions that may suspend are changed.
//!
//! # The stages
//! - `module`: sections, types and bodies of the input.
//! - `exceptions`: replaces references to exceptions by numbers.
//! - `closure`: finds the functions that may suspend.
//! - `body`: a body's live operators, its sites and items.
//! - `liveness`: locals live at each site.
//! - `coalesce`: merges locals that are never live at the same time.
//! - `rewrite`: the new body, with `code` (bytes and labels), `operands` (the operand stack),
//!   `locals` (added locals) and `dispatch`.
//! - `frame`: layout, saving and restoring.
//! - `run`: the entry from the host. `gate`: executes steps of a lease without the host.
//! - `assemble`: the output module.
//!
//! # What is not supported
//! References that are live across a site, legacy exception handling and stack switching in functions
//! that may suspend, tail calls of such functions inside of a `try_table`. Tail calls of functions
//! that may suspend become plain calls, so unbounded tail recursion through them exhausts the stack.

mod assemble;
mod body;
mod closure;
mod coalesce;
mod code;
mod dispatch;
mod exceptions;
mod frame;
mod gate;
mod liveness;
mod locals;
mod module;
mod operands;
mod rewrite;
mod run;

pub(crate) use assemble::ORDER;

use crate::{Error, Location};
use body::Body;
use closure::MaySuspend;
use module::Module;
use wasmparser::{FuncToValidate, FuncValidatorAllocations, FunctionBody, ValType, ValidatorResources};

/// Facts about the module that the pass needs.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Function imports that may suspend, by index. Their type is `(params..) -> ()` or has one i32 or
    /// i64 result; in the output an i32 result follows, the unwind flag.
    pub suspending: Vec<u32>,
    /// The suspending import that is called through a gate, of type `(i32, i32) -> ()`.
    pub gate: Option<Gate>,
    /// The import `coyote_rt.next`, of type `(i32) -> (i32, i32, i64, i32, i32, i32)`.
    pub next: u32,
    /// The import `coyote_rt.frames_overflow`, of type `() -> ()`.
    pub frames_overflow: u32,
    /// Mutable globals that each worker has its own copy of, in the order of their slots. No references.
    pub worker_globals: Vec<u32>,
    /// What `run` can start, by the number that `next` returns.
    pub entries: Vec<Entry>,
    /// A planted bug, so that tests can show that they detect it.
    #[doc(hidden)]
    pub mutant: Option<Mutant>,
}

/// A suspending import of scheduling points, `(site, address)`, that most steps do not call: see `gate`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gate {
    /// Its index.
    pub import: u32,
    /// How many sites there are.
    pub sites: u32,
}

/// A function that a worker can start with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Entry {
    /// The function of type `(i32) -> ()` at index `a` of table 0, called with `b`.
    Table,
    /// This function, called with as many of `a`, `b` as it has parameters (i32 all); its results are
    /// dropped.
    Function(u32),
}

/// Planted bugs of the pass.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// One live local is not saved.
    LoseLocal,
    /// One spilled operand is not saved.
    LoseSpill,
    /// When resuming, an `if` takes the arm that its condition selects.
    WrongArm,
    /// Nested constructs use the same spill locals.
    ShareSpills,
    /// The parameters of a construct are 0 in it.
    LoseBlockParameters,
    /// The index of a `call_indirect` is not saved.
    LoseCalleeIndex,
    /// `$resume` stays set after resumption.
    KeepResume,
    /// A live local is listed as dead.
    CallLiveDead,
    /// A local may be merged with another whose value, zero or an argument, is set at the beginning.
    ForgetBeginning,
    /// Every exception that is caught by reference has the first tag.
    WrongTag,
}

/// The output of the pass.
#[derive(Clone, Debug)]
pub struct Suspended {
    /// The module, in which every function that can reach a suspending import is resumable.
    pub wasm: Vec<u8>,
    /// By suspension site.
    pub frames: Vec<Frame>,
    /// `(offset in the output, offset in the input)` of every live instruction of the input, ascending by the
    /// first; a function's beginning counts as an instruction. The last entry has offset 0 in the input: the
    /// code that begins there belongs to no original function.
    pub code: Vec<(u32, u32)>,
    /// Counts of functions and sites.
    pub stats: Stats,
}

/// A suspension site.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Function index of the call.
    pub function: u32,
    /// Byte offset of the call in the input.
    pub call: u32,
    /// Bytes of the saved frame, a multiple of 8; the last word is the site.
    pub size: u32,
    /// Ranges `(start, length)` of the frame whose contents do not matter at this site.
    pub dead: Vec<(u32, u32)>,
}

/// How much of a module can suspend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// Functions with a body.
    pub functions: u32,
    /// Those of them that may suspend.
    pub suspendable: u32,
    /// Calls at which a frame can be saved.
    pub sites: u32,
}

/// Indices of what the pass adds.
#[derive(Clone, Copy)]
struct Control {
    /// Globals.
    state: u32,
    fsp: u32,
    result: u32,
    /// The frame memory.
    frames: u32,
    /// The lease memory, if there is a gate, and the gate's function.
    lease: u32,
    gate: u32,
}

struct Context<'m, 'a> {
    module: &'m Module<'a>,
    config: &'m Config,
    control: Control,
    /// Address of the innermost frame: that after the worker's globals.
    frames_begin: u32,
}

/// A body of the output.
struct NewBody {
    bytes: Vec<u8>,
    /// `(offset in bytes, offset in the input)`.
    map: Vec<(u32, u32)>,
}

/// Makes the module's workers suspendable: see the module's documentation.
///
/// # Errors
/// `Invalid` if the input does not validate; `Unsupported` with function index and byte offset in the
/// input.
pub fn suspend(wasm: &[u8], config: &Config) -> Result<Suspended, Error> {
    let mut module = Module::read(wasm)?;
    let Some(lowered) = exceptions::lower(&mut module, config.mutant)? else {
        return suspend_module(module, config);
    };
    let origin = |offset| lowered.origin(offset).unwrap_or(offset);
    let suspended = Module::read(&lowered.wasm).and_then(|module| suspend_module(module, config));
    let mut suspended = suspended.map_err(|error| match error {
        Error::Unsupported { what, function, location } => {
            let location = Location { offset: origin(location.offset), ..location };
            Error::Unsupported { what, function, location }
        }
        other => other,
    })?;
    suspended.frames.iter_mut().for_each(|frame| frame.call = origin(frame.call));
    let code = suspended.code.into_iter();
    suspended.code =
        code.filter_map(|(out, at)| Some((out, if at == 0 { 0 } else { lowered.origin(at)? }))).collect();
    Ok(suspended)
}

/// As [`suspend`], with references to exceptions treated like all other references.
fn suspend_module(mut module: Module, config: &Config) -> Result<Suspended, Error> {
    let bodies = std::mem::take(&mut module.bodies);
    let may = MaySuspend::compute(&module, &bodies, &config.suspending)?;
    check_imports(&module, config)?;
    let types = module.types.as_ref();
    let control = Control {
        state: types.global_count(),
        fsp: types.global_count() + 1,
        result: types.global_count() + 2,
        frames: types.memory_count(),
        lease: types.memory_count() + 1,
        // Its index is the one after that of `run`.
        gate: types.function_count() + 1,
    };
    let frames_begin = run::frames_begin(config);
    let cx = Context { module: &module, config, control, frames_begin };
    let mut frames = vec![];
    let mut stats = Stats { functions: bodies.len() as u32, ..Stats::default() };
    let mut allocations = FuncValidatorAllocations::default();
    let mut new_bodies = vec![];
    for (function, body) in bodies {
        if may.functions[function.index as usize] {
            stats.suspendable += 1;
            new_bodies.push(rewrite_body(&cx, &may, function, &body, &mut frames, &mut allocations)?);
        } else {
            new_bodies.push(copy_body(&body)?);
        }
    }
    stats.sites = frames.len() as u32;
    let (wasm, code) = assemble::assemble(&cx, new_bodies)?;
    Ok(Suspended { wasm, frames, code, stats })
}

/// Copies a function that cannot suspend, byte for byte.
fn copy_body(body: &FunctionBody) -> Result<NewBody, Error> {
    let start = body.range().start as u32;
    let mut map = vec![(0, start)];
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        let at = operators.original_position() as u32;
        operators.read()?;
        map.push((at - start, at));
    }
    Ok(NewBody { bytes: body.as_bytes().to_vec(), map })
}

/// Rewrites a function that may suspend and adds its sites to `frames`.
fn rewrite_body(
    cx: &Context,
    may: &MaySuspend,
    function: FuncToValidate<ValidatorResources>,
    body: &FunctionBody,
    frames: &mut Vec<Frame>,
    allocations: &mut FuncValidatorAllocations,
) -> Result<NewBody, Error> {
    let index = function.index;
    let mut validator = function.into_validator(std::mem::take(allocations));
    let mut read = Body::read(index, body, may, &cx.config.suspending)?;
    let parameters = cx.module.function_type(index).params();
    let declared = parameters.len() as u32 + read.locals.iter().map(|l| l.0).sum::<u32>();
    let analysis = liveness::analyse(&read, declared);
    let forget_beginning = cx.config.mutant == Some(Mutant::ForgetBeginning);
    let live_after = coalesce::coalesce(&mut read, parameters, analysis, forget_beginning);
    for (count, ty) in &read.locals {
        validator.define_locals(body.range().start, *count, *ty)?;
    }
    let local_count = validator.len_locals();

    let new = rewrite::Rewriter::new(cx, &read, &mut validator).run()?;

    // The live values at each site: locals that the code after it reads, and operands.
    let mut live = live_after;
    let mut slots = liveness::Locals::none(local_count);
    let mut spills = vec![];
    for ((live, saved), site) in live.iter_mut().zip(&new.saved).zip(&read.sites) {
        live.union(&saved.locals);
        for local in live.iter() {
            if let Some(ValType::Ref(_)) = validator.get_local_type(local) {
                let what = format!(
                    "local {local} holds a reference across a call that may suspend, which is not supported; \
                     keep the reference in a table"
                );
                return Err(unsupported(index, read.instrs[site.instr as usize].at, what));
            }
        }
        slots.union(live);
        spills.extend(&saved.spills);
    }
    spills.sort_unstable();
    spills.dedup();
    match cx.config.mutant {
        Some(Mutant::LoseLocal) => slots.remove_last(),
        Some(Mutant::LoseSpill) => drop(spills.pop()),
        _ => {}
    }
    let numeric = |local| cx.module.encode(validator.get_local_type(local).expect("counted"));
    let slots = slots.iter().map(|local| (local, numeric(local)));
    let layout = frame::Layout::new(slots.chain(spills.iter().map(|s| (*s, new.added.ty(*s)))).collect());

    let first_site = frames.len() as u32;
    for ((mut live, saved), site) in live.into_iter().zip(&new.saved).zip(&read.sites) {
        let mut spills = saved.spills.clone();
        spills.sort_unstable();
        if cx.config.mutant == Some(Mutant::CallLiveDead) {
            live.remove_last();
        }
        frames.push(Frame {
            function: index,
            call: read.instrs[site.instr as usize].at,
            size: layout.size,
            dead: layout.dead(|local| match local < local_count {
                true => live.contains(local),
                false => spills.binary_search(&local).is_ok(),
            }),
        });
    }
    let results: Vec<_> =
        cx.module.function_type(index).results().iter().map(|ty| cx.module.encode(*ty)).collect();
    *allocations = validator.into_allocations();
    let start = body.range().start as u32;
    frame::write_body(cx, start, &read.locals, &new, &layout, first_site, &results).ok_or_else(|| {
        let what = "a result that is a reference and cannot be null, of a function that may suspend, is \
                    not supported; make its type nullable";
        unsupported(index, start, what)
    })
}

impl Context<'_, '_> {
    /// The function that is called instead of a suspending import.
    fn callee(&self, import: u32) -> u32 {
        match self.config.gate {
            Some(gate) if gate.import == import => self.control.gate,
            _ => import,
        }
    }
}

/// Checks that the types of the suspending imports are as documented.
fn check_imports(module: &Module, config: &Config) -> Result<(), Error> {
    for import in &config.suspending {
        let results = module.function_type(*import).results();
        if *import >= module.imported || !matches!(results, [] | [ValType::I32] | [ValType::I64]) {
            return Err(Error::UnsupportedModule(format!(
                "function {import} cannot suspend: it must be an import with at most one result, an i32 or i64"
            )));
        }
    }
    Ok(())
}

fn unsupported(function: u32, offset: u32, what: impl Into<String>) -> Error {
    Error::Unsupported {
        what: what.into(),
        function: format!("function {function}"),
        location: Location { function, offset },
    }
}
