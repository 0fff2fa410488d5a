//! Which accesses of a guest are atomic, and their memory orderings.
//!
//! WebAssembly has no orderings: all of its atomic instructions are sequentially consistent. A module without the
//! feature `atomics` has no atomic instructions at all, and compilers make plain loads and stores of its atomics.
//! So this asks how the module was built (`build`), and of each memory access which line of Rust's `atomic.rs` it
//! stems from (`rust`, by the tables of `coyote-orderings`). What coyote-cc and coyote-cxx compiled says the
//! ordering itself (`coyote_order.h`, and the pass `orders` of the instrumenter).
//!
//! # What is certain, and what it costs where something is not
//!
//! | access | is |
//! |---|---|
//! | atomic instruction or fence, behind a call of `coyote.order` | atomic, with the ordering that the call says |
//! | any, on a line of a `match` arm over orderings in Rust's `atomic.rs` | atomic, with the arm's ordering |
//! | atomic instruction of the linker's `__wasm_init_memory` | atomic, sequentially consistent |
//! | atomic instruction or fence, elsewhere or of an unknown compiler | atomic, ordering unknown |
//! | plain, in a function of a C library that reads locks through pointers to `volatile` (`volatile`) | not known |
//! | plain, of a module with shared memory that another linker than coyote-cc made | plain: linkers demand atomic instructions of all objects |
//! | plain, of a module that no compiler made | plain |
//! | plain, of a unit with debug information in a module with the feature `atomics` | plain, unless the unit is Rust's distributed standard library or the system's libc or libc++ |
//! | plain, of another unit of Rust, on a line elsewhere than in `atomic.rs`, or in its other functions, as `get_mut` | plain, unless it is a load that converts |
//! | plain, otherwise | not known: may be atomic |
//!
//! Operators of C's `_Atomic` variables, inline assembly and wasi-libc's own atomics have no call, and are sequentially
//! consistent in their source.
//!
//! What is not known must be taken for sequentially consistent. That makes edges that the program may not have, so
//! races are missed and none is invented. An instruction whose line the optimiser made of two arms has none (3 of
//! 925 in four release builds); frames of unoptimised code that stand on an arm's line count as atomic, and are their
//! worker's own.
//!
//! What would make an answer wrong:
//!
//! - An instruction that has the line of another arm of the same operation. None was seen in what
//!   `tests/host/orderings` compares: every method with every legal ordering, by several compilers, with the name of
//!   the function around it.
//! - Where atomics became plain accesses, code generation treats them as such. A load that is widened or read as
//!   another type gets the line of the conversion: such loads are not known. Two stores next to each other, of which
//!   one is atomic, can become one with the line of either.
//!
//! **Fences** have an instruction with the feature `atomics` only. Without it nothing is left of them
//! ([`Orderings::fences_are_lost`]): relaxed accesses must then be taken for acquire and release ones, or a program
//! that orders them by fences would be accused of a race that it does not have. `compiler_fence` and
//! `atomic_signal_fence` are no fences, and leave nothing.

mod build;
mod rust;
mod volatile;

use crate::symbols::{Lines, Symbols, Unit};
use build::Build;
use coyote_abi::OpKind;
pub use coyote_abi::Ordering;
use coyote_instrumenter::{Location, Site, SiteTable};
use coyote_orderings::Operation;
use rust::Sources;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// What an operation is to the memory model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Atomicity {
    /// An access that is in a race with an unordered one of the same memory if one of both writes.
    Plain,
    /// An access of which is not known whether it is atomic. Must be taken for an atomic one of unknown ordering.
    Unknown,
    /// An atomic access; `None` if its ordering is not known and must be taken for sequentially consistent.
    Atomic(Option<Order>),
    /// A fence, also with an unknown ordering.
    Fence(Option<Ordering>),
    /// No access of memory of its own: of locks, workers, time.
    None,
}

/// The orderings of an atomic access.
///
/// Where an access is plain in the module and atomic in the source, a read-modify-write is a load and a store, and
/// each has its part of the ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// The ordering; of a compare-exchange, the one where it stores.
    pub success: Ordering,
    /// Of a compare-exchange that fails. Of all others the same as `success`.
    pub failure: Ordering,
}

impl Order {
    /// Of an access that cannot fail.
    pub const fn always(ordering: Ordering) -> Order {
        Order { success: ordering, failure: ordering }
    }
}

/// How many operations of a module are of which sort.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accesses and fences that are known to be atomic.
    pub atomic: usize,
    /// Those of them whose ordering is not known.
    pub without_ordering: usize,
    /// Accesses that are known to be plain.
    pub plain: usize,
    /// Accesses that may be plain or atomic.
    pub unknown: usize,
}

/// The atomicity of all sites of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orderings {
    sites: Vec<Atomicity>,
    /// Whether a site is one more of an instruction.
    alternatives: Vec<bool>,
    fences_are_lost: bool,
    is_of_languages_with_races: bool,
}

impl Orderings {
    /// Looks all sites of an original module up. Reads the debug information of every unit that has a site, and the source of an installed
    /// toolchain if one made a unit and is no known release.
    pub fn of_module(original_wasm: &[u8], table: &SiteTable) -> Orderings {
        let build = Build::of(original_wasm);
        let module = Module { wasm: original_wasm, build, lines: Lines::read(original_wasm) };
        let mut sources = Sources::default();
        Orderings {
            sites: table
                .sites
                .iter()
                .map(|site| {
                    let function = table.functions.get(site.location.function as usize);
                    match atomicity(site, &module, &mut sources) {
                        Atomicity::Plain if function.is_some_and(|f| volatile::is_one(&f.name)) => {
                            Atomicity::Unknown
                        }
                        Atomicity::Atomic(None) if function.is_some_and(|f| f.name == OF_THE_LINKER) => {
                            Atomicity::Atomic(Some(Order::always(Ordering::SeqCst)))
                        }
                        atomicity => atomicity,
                    }
                })
                .collect(),
            alternatives: table.sites.iter().map(|site| site.alternative > 0).collect(),
            fences_are_lost: build.lowers_all(),
            is_of_languages_with_races: build.has_sections,
        }
    }

    /// What the operation of a site is. Of an instruction whose ordering is known at run time only, the site is that
    /// of [`crate::runtime::Runtime::ordered_site`]; the first one, which stands in operations, has none.
    ///
    /// # Panics
    /// If the site is none of the module's.
    pub fn of(&self, site: u32) -> Atomicity {
        self.sites[site as usize]
    }

    /// Whether some access is known to be plain. If none is, no race can be found, and none of its absence is said.
    pub fn knows_plain(&self) -> bool {
        self.sites.contains(&Atomicity::Plain)
    }

    /// Whether the module is certain to be of a language in which a data race is an error, such as C, C++ and Rust. A
    /// stripped one may be, too, but then its plain accesses may have been atomic in the source.
    pub fn is_of_languages_with_races(&self) -> bool {
        self.is_of_languages_with_races
    }

    /// Whether the module was compiled without the feature `atomics`, so that its fences left nothing.
    pub fn fences_are_lost(&self) -> bool {
        self.fences_are_lost
    }

    /// How many sites there are of each kind, alternatives of one instruction counted once.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (i, site) in self.sites.iter().enumerate().filter(|(i, _)| !self.alternatives[*i]) {
            // Every order of the instruction has a site.
            let told = self.alternatives.get(i + 1) == Some(&true);
            match site {
                Atomicity::Plain => counts.plain += 1,
                Atomicity::Unknown => counts.unknown += 1,
                Atomicity::Atomic(order) => {
                    counts.atomic += 1;
                    counts.without_ordering += usize::from(order.is_none() && !told);
                }
                Atomicity::Fence(ordering) => {
                    counts.atomic += 1;
                    counts.without_ordering += usize::from(ordering.is_none() && !told);
                }
                Atomicity::None => {}
            }
        }
        counts
    }
}

/// The orderings of a module, and the names of its places, looked up when they are asked for.
pub struct OnDemand {
    original: Arc<[u8]>,
    table: Arc<SiteTable>,
    orderings: OnceLock<Orderings>,
    symbols: OnceLock<Mutex<Symbols>>,
}

impl std::fmt::Debug for OnDemand {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("OnDemand").field("orderings", &self.orderings).finish_non_exhaustive()
    }
}

impl OnDemand {
    /// Looks nothing up yet.
    pub fn new(original: Arc<[u8]>, table: Arc<SiteTable>) -> OnDemand {
        OnDemand { original, table, orderings: OnceLock::new(), symbols: OnceLock::new() }
    }

    /// The functions and files of a place, also of those that are inlined there.
    pub fn names(&self, place: Location) -> Vec<String> {
        let symbols =
            self.symbols.get_or_init(|| Mutex::new(Symbols::relative_to(&self.original, Path::new(""))));
        let frames = symbols.lock().unwrap_or_else(PoisonError::into_inner).frames(place);
        frames.into_iter().flat_map(|frame| std::iter::once(frame.function).chain(frame.file)).collect()
    }

    /// The orderings; the first call looks them up.
    pub fn get(&self) -> &Orderings {
        self.orderings.get_or_init(|| Orderings::of_module(&self.original, &self.table))
    }
}

/// What wasm-ld writes itself, so that one worker initialises shared memory: no source says less than its instructions.
const OF_THE_LINKER: &str = "__wasm_init_memory";

/// What is looked into.
struct Module<'a> {
    wasm: &'a [u8],
    build: Build,
    lines: Lines,
}

fn atomicity(site: &Site, module: &Module, sources: &mut Sources) -> Atomicity {
    let (lines, offset) = (&module.lines, site.location.offset);
    match (site.kind(), site.orders()) {
        (OpKind::Fence, Some((ordering, _))) => return Atomicity::Fence(Some(ordering)),
        (_, Some((success, failure))) => return Atomicity::Atomic(Some(Order { success, failure })),
        (_, None) => {}
    }
    match site.kind() {
        OpKind::AtomicLoad | OpKind::AtomicStore | OpKind::Rmw | OpKind::CompareExchange => {
            Atomicity::Atomic(in_source(site.kind(), sources.place(lines, offset)))
        }
        OpKind::Fence => match sources.place(lines, offset) {
            rust::Place::Arm(arm) if arm.operation == Operation::Fence => Atomicity::Fence(Some(arm.success)),
            _ => Atomicity::Fence(None),
        },
        // The instruction reads its word, sequentially consistent in all languages.
        OpKind::FutexWait => Atomicity::Atomic(Some(Order::always(Ordering::SeqCst))),
        kind @ (OpKind::Load | OpKind::Store) => {
            let place = sources.place(lines, offset);
            match in_source(kind, place) {
                Some(order) => Atomicity::Atomic(Some(order)),
                None if module.build.tells_atomics_apart() => Atomicity::Plain,
                None => plain_of_lowered(site, place, module),
            }
        }
        // No language has atomic copies.
        OpKind::Copy | OpKind::Fill => Atomicity::Plain,
        _ => Atomicity::None,
    }
}

/// The ordering that the source gives an instruction, if that can be what became of it.
fn in_source(kind: OpKind, place: rust::Place) -> Option<Order> {
    let rust::Place::Arm(arm) = place else { return None };
    // A failed exchange is a load too: of both orderings the load has what either asks for.
    let loads = arm.success.of_load().join(arm.failure.of_load());
    match (kind, arm.operation) {
        (OpKind::AtomicLoad | OpKind::Load, Operation::Load) => Some(Order::always(arm.success)),
        (OpKind::AtomicStore | OpKind::Store, Operation::Store) => Some(Order::always(arm.success)),
        // It changes nothing, so that a load is left of it; or the first of a loop that there is no instruction for;
        // or there are no atomic instructions.
        (OpKind::AtomicLoad | OpKind::Load, Operation::ReadModifyWrite) => Some(Order::always(loads)),
        (OpKind::AtomicStore | OpKind::Store, Operation::ReadModifyWrite) => {
            Some(Order::always(arm.success.of_store()))
        }
        (OpKind::Rmw | OpKind::CompareExchange, Operation::ReadModifyWrite)
        | (OpKind::CompareExchange, Operation::CompareExchange) => {
            Some(Order { success: arm.success, failure: arm.failure })
        }
        (OpKind::Load, Operation::CompareExchange) => Some(Order::always(loads)),
        (OpKind::Store, Operation::CompareExchange) => Some(Order::always(arm.success.of_store())),
        _ => None,
    }
}

/// What a plain access is where atomics may have become plain ones.
fn plain_of_lowered(site: &Site, place: rust::Place, module: &Module) -> Atomicity {
    let offset = site.location.offset;
    let plain = module.lines.unit(offset).is_some_and(|unit| {
        let lowered = !module.build.atomics || rust::is_distributed(&unit) || is_of_system(&unit);
        !lowered || rust::is_rust(&unit) && place == rust::Place::Line && !converts(module.wasm, offset)
    });
    if plain { Atomicity::Plain } else { Atomicity::Unknown }
}

/// Whether a unit of C or C++ can be one of the system's libraries, which distributions build without atomics: nothing
/// tells in which units of a module atomics are instructions, and these are linked to units in which they are.
fn is_of_system(unit: &Unit) -> bool {
    const PARTS: &[&str] = &[
        "wasi-libc",
        "wasi-sdk",
        "wasisdk:",
        "libc-top-half",
        "libc-bottom-half",
        "dlmalloc/",
        "llvm-toolchain",
        "llvm-project",
        "libcxx/",
        "libcxxabi/",
    ];
    PARTS.iter().any(|part| unit.directory.contains(part) || unit.source.contains(part))
}

/// Whether an instruction is a load that widens, or of a float: it can stem from a load and a conversion.
fn converts(wasm: &[u8], offset: u32) -> bool {
    const FLOATS: std::ops::RangeInclusive<u8> = 0x2a..=0x2b;
    const WIDENING: std::ops::RangeInclusive<u8> = 0x2c..=0x35;
    const SIMD: u8 = 0xfd;
    wasm.get(offset as usize).is_none_or(|op| FLOATS.contains(op) || WIDENING.contains(op) || *op == SIMD)
}
