//! Which accesses of a guest are atomic, and their memory orderings.
//!
//! WebAssembly has no orderings: all of its atomic instructions are sequentially consistent. A module without the
//! feature `atomics` has no atomic instructions at all, and compilers translate its atomics to plain loads and stores.
//! This module therefore determines how the guest was built (`build`), and for each memory access the line of Rust's
//! `atomic.rs` from which it stems (`rust`, with the tables of `coyote-orderings`). Code that coyote-cc or coyote-cxx
//! compiled states the ordering itself (`coyote_order.h`, and the instrumenter's pass `orders`).
//!
//! # What is certain, and the consequences of what is not
//!
//! | access | is |
//! |---|---|
//! | atomic instruction or fence, behind a call of `coyote.order` | atomic, with the ordering that the call says |
//! | any, on a line of a `match` arm over orderings in Rust's `atomic.rs` | atomic, with the arm's ordering |
//! | atomic instruction or fence without such a call, in a unit whose compiler names itself `.. coyote-order`, as coyote-cc has it | atomic, sequentially consistent: an operator of an `_Atomic` variable, `__sync_synchronize` |
//! | atomic instruction of the linker's `__wasm_init_memory` | atomic, sequentially consistent |
//! | atomic instruction or fence, elsewhere or of an unknown compiler | atomic, ordering unknown |
//! | plain, in a function of a C library that reads locks through pointers to `volatile` (`volatile`) | not known |
//! | plain, in a function of the C or C++ library on memory of its caller (`of_caller`) | plain; a load of a whole word, where bytes are meant, is no access |
//! | plain, of a module with shared memory that another linker than coyote-cc made | plain: linkers demand atomic instructions of all objects |
//! | plain, of a module that no compiler made | plain |
//! | plain, of a unit with debug information in a module with the feature `atomics` | plain, unless the unit is Rust's distributed standard library or the system's libc or libc++ |
//! | plain, of another unit of Rust, on a line elsewhere than in `atomic.rs`, or in its other functions, as `get_mut` | plain, unless it is a load that converts |
//! | plain, otherwise | not known: may be atomic |
//!
//! What is not known must be treated as sequentially consistent. This adds happens-before edges that the program may
//! not have, so races may be missed, but no false race is reported. An instruction that the optimiser merged from two
//! arms has no line, so its ordering is not known (3 of 925 in four release builds). Accesses of its own frame that
//! unoptimised code makes on an arm's line count as atomic; only their worker makes them.
//!
//! An answer would be wrong in these cases:
//!
//! - An instruction has the line of another arm of the same operation. None was seen in the comparisons of
//!   `tests/host/orderings`: every method with every legal ordering, by several compilers, with the name of the
//!   function around it.
//! - Where atomics became plain accesses, code generation treats them as such. A load that is widened or read as
//!   another type gets the line of the conversion: such loads count as not known. Two adjacent stores, one of them
//!   atomic, can become one store with the line of either.
//!
//! **Fences** are instructions only with the feature `atomics`. Without it they leave no trace
//! ([`Orderings::fences_are_lost`]): relaxed accesses must then be treated as acquire and release, or a program that
//! orders them by fences would be reported to have a race that it does not have. `compiler_fence` and
//! `atomic_signal_fence` are no fences, and leave no trace.

mod build;
mod of_caller;
mod rust;
mod validations;
mod volatile;

use crate::symbols::{Lines, SourceFrame, Symbols, Unit, is_library, library_file};
use build::Build;
use coyote_abi::OpKind;
pub use coyote_abi::Ordering;
use coyote_instrumenter::{Location, Site, SiteTable};
use coyote_orderings::Operation;
use rust::Sources;
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The meaning of an operation in the memory model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Atomicity {
    /// An access that is in a race with an unordered one of the same memory if at least one of them writes.
    Plain,
    /// An access that may be atomic. Must be treated as an atomic access of unknown ordering.
    Unknown,
    /// An atomic access; `None` if its ordering is not known and must be treated as sequentially consistent.
    Atomic(Option<Order>),
    /// A fence, possibly with an unknown ordering.
    Fence(Option<Ordering>),
    /// Not an access of memory of its own: an operation on locks, workers or time.
    None,
}

/// The orderings of an atomic access.
///
/// Where an atomic access of the source is plain in the module, a read-modify-write is a load and a store, each with
/// its part of the ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Order {
    /// The ordering; for a compare-exchange, the one if it succeeds.
    pub success: Ordering,
    /// The ordering of a compare-exchange that fails; for other accesses the same as `success`.
    pub failure: Ordering,
}

impl Order {
    /// The orderings of an access that cannot fail.
    pub const fn always(ordering: Ordering) -> Order {
        Order { success: ordering, failure: ordering }
    }
}

/// The number of operations of a module by their atomicity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Accesses and fences that are known to be atomic.
    pub atomic: usize,
    /// Those among them whose ordering is not known.
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
    /// For each site, whether it is an alternative site of the instruction before it.
    alternatives: Vec<bool>,
    fences_are_lost: bool,
    is_of_languages_with_races: bool,
}

impl Orderings {
    /// Determines the atomicity of all sites of an original module. Reads the debug information of every unit that has
    /// a site, and the source of an installed toolchain if that made a unit and is no known release.
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
                    // A program may have functions of the same names.
                    let of_library = || module.is_of_library(site.location.offset);
                    let known =
                        function.and_then(|f| of_caller::atomicity(&f.name, site, module.build.unchecked));
                    if let Some(known) = known.filter(|_| of_library()) {
                        return known;
                    }
                    match atomicity(site, &module, &mut sources) {
                        Atomicity::Plain
                            if function.is_some_and(|f| volatile::is_one(&f.name)) && of_library() =>
                        {
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
            fences_are_lost: module.build.lowers_all(),
            is_of_languages_with_races: module.build.has_sections,
        }
    }

    /// The atomicity of a site's operation. For an instruction whose ordering is known only at run time, pass the site
    /// of [`crate::runtime::Runtime::ordered_site`]: the first site, which operations contain, has no ordering.
    ///
    /// # Panics
    /// If the module has no such site.
    pub fn of(&self, site: u32) -> Atomicity {
        self.sites[site as usize]
    }

    /// Whether some access is known to be plain. If none is, no race can be found, and its absence must not be claimed.
    pub fn knows_plain(&self) -> bool {
        self.sites.contains(&Atomicity::Plain)
    }

    /// Whether there are accesses that may be plain or atomic.
    pub fn has_unknown(&self) -> bool {
        self.sites.contains(&Atomicity::Unknown)
    }

    /// Whether the module is certainly written in a language in which a data race is an error, such as C, C++ or Rust. A
    /// stripped module may be, too, but its plain accesses may have been atomic in the source.
    pub fn is_of_languages_with_races(&self) -> bool {
        self.is_of_languages_with_races
    }

    /// Whether the module was compiled without the feature `atomics`, so that its fences left no trace.
    pub fn fences_are_lost(&self) -> bool {
        self.fences_are_lost
    }

    /// The number of sites of each kind. Alternatives of one instruction are counted once.
    pub fn counts(&self) -> Counts {
        self.counts_with(&|_| true)
    }

    /// As [`Orderings::counts`], where operations of which something is unknown are counted only if the function says so
    /// about their site.
    fn counts_with(&self, counts_unknown: &dyn Fn(u32) -> bool) -> Counts {
        let is_counted = |i: usize| usize::from(counts_unknown(i as u32));
        let mut counts = Counts::default();
        for (i, site) in self.sites.iter().enumerate().filter(|(i, _)| !self.alternatives[*i]) {
            // Every alternative ordering of the instruction has a site.
            let told = self.alternatives.get(i + 1) == Some(&true);
            match site {
                Atomicity::Plain => counts.plain += 1,
                Atomicity::Unknown => counts.unknown += is_counted(i),
                Atomicity::Atomic(order) => {
                    counts.atomic += 1;
                    counts.without_ordering += if order.is_none() && !told { is_counted(i) } else { 0 };
                }
                Atomicity::Fence(ordering) => {
                    counts.atomic += 1;
                    counts.without_ordering += if ordering.is_none() && !told { is_counted(i) } else { 0 };
                }
                Atomicity::None => {}
            }
        }
        counts
    }
}

/// The orderings of a module and the names of its places, computed when they are needed.
pub struct OnDemand {
    original: Arc<[u8]>,
    table: Arc<SiteTable>,
    orderings: OnceLock<Orderings>,
    symbols: OnceLock<Mutex<Symbols>>,
    validations: OnceLock<Vec<u32>>,
}

impl std::fmt::Debug for OnDemand {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("OnDemand").field("orderings", &self.orderings).finish_non_exhaustive()
    }
}

impl OnDemand {
    /// Does not compute anything yet.
    pub fn new(original: Arc<[u8]>, table: Arc<SiteTable>) -> OnDemand {
        OnDemand {
            original,
            table,
            orderings: OnceLock::new(),
            symbols: OnceLock::new(),
            validations: OnceLock::new(),
        }
    }

    /// The frames of a place, including functions that are inlined there.
    fn frames(&self, place: Location) -> Vec<SourceFrame> {
        let symbols =
            self.symbols.get_or_init(|| Mutex::new(Symbols::relative_to(&self.original, Path::new(""))));
        symbols.lock().unwrap_or_else(PoisonError::into_inner).frames(place)
    }

    /// The functions and files of a place.
    pub fn names(&self, place: Location) -> Vec<String> {
        let frames = self.frames(place);
        frames.into_iter().flat_map(|frame| std::iter::once(frame.function).chain(frame.file)).collect()
    }

    /// Whether a load validates an optimistic read of plain memory, so that it reads the newest store with weak memory,
    /// too. The first call costs milliseconds.
    pub fn validates(&self, site: u32) -> bool {
        let names = |place| self.names(place);
        let sites =
            self.validations.get_or_init(|| validations::sites(&self.original, &self.table.sites, names));
        sites.binary_search(&site).is_ok()
    }

    /// The number of sites of each kind, in which accesses of libraries that are not known are left out: nobody can compile
    /// these anew.
    pub fn own_counts(&self) -> Counts {
        self.get().counts_with(&|site| {
            let frames = self.frames(self.table.sites[site as usize].location);
            // The C library of Rust's target has no debug information.
            let of_target = || self.table.libtest && frames.iter().all(|frame| frame.file.is_none());
            !frames.iter().all(is_library) && !of_target()
        })
    }

    /// The orderings, which the first call computes.
    pub fn get(&self) -> &Orderings {
        self.orderings.get_or_init(|| Orderings::of_module(&self.original, &self.table))
    }
}

/// A function that wasm-ld itself writes, so that one worker initialises shared memory: its instructions have no other
/// source.
const OF_THE_LINKER: &str = "__wasm_init_memory";

/// The module under examination.
struct Module<'a> {
    wasm: &'a [u8],
    build: Build,
    lines: Lines,
}

impl Module<'_> {
    /// Whether an instruction may belong to a library: it has no line, or its source file is one of a library.
    fn is_of_library(&self, offset: u32) -> bool {
        self.lines.row(offset).is_none_or(|row| library_file(row.file).is_some())
    }

    /// The ordering of an atomic instruction without a call of `coyote.order`, if its unit was compiled with
    /// `coyote_order.h`.
    fn unmarked(&self, offset: u32) -> Option<Ordering> {
        let unit = self.lines.unit(offset)?;
        unit.producer.ends_with(" coyote-order").then_some(Ordering::SeqCst)
    }
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
            let order = in_source(site.kind(), sources.place(lines, offset));
            Atomicity::Atomic(order.or_else(|| module.unmarked(offset).map(Order::always)))
        }
        OpKind::Fence => match sources.place(lines, offset) {
            rust::Place::Arm(arm) if arm.operation == Operation::Fence => Atomicity::Fence(Some(arm.success)),
            _ => Atomicity::Fence(module.unmarked(offset)),
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
        // Languages have no atomic copies.
        OpKind::Copy | OpKind::Fill => Atomicity::Plain,
        _ => Atomicity::None,
    }
}

/// The ordering that the source gives an instruction, if the source's operation can have become this instruction.
fn in_source(kind: OpKind, place: rust::Place) -> Option<Order> {
    let rust::Place::Arm(arm) = place else { return None };
    // A failed exchange is a load as well: the load has both orderings joined.
    let loads = arm.success.of_load().join(arm.failure.of_load());
    match (kind, arm.operation) {
        (OpKind::AtomicLoad | OpKind::Load, Operation::Load) => Some(Order::always(arm.success)),
        (OpKind::AtomicStore | OpKind::Store, Operation::Store) => Some(Order::always(arm.success)),
        // A load remains if the operation changes nothing; it is the first instruction of a loop if there is no
        // instruction for the operation; or it stands for the operation in a module without atomic instructions.
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

/// The atomicity of a plain access in a module whose atomics may have become plain accesses.
fn plain_of_lowered(site: &Site, place: rust::Place, module: &Module) -> Atomicity {
    let offset = site.location.offset;
    let plain = module.lines.unit(offset).is_some_and(|unit| {
        let lowered = !module.build.atomics || rust::is_distributed(&unit) || is_of_system(&unit);
        !lowered || rust::is_rust(&unit) && place == rust::Place::Line && !converts(module.wasm, offset)
    });
    if plain { Atomicity::Plain } else { Atomicity::Unknown }
}

/// Whether a unit of C or C++ may belong to the system's libraries, which distributions build without atomics. A module
/// does not say in which of its units atomics are instructions, and these libraries are linked to units in which they
/// are.
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

/// Whether an instruction is a widening load, or a load of a float: it may stem from a load and a conversion.
fn converts(wasm: &[u8], offset: u32) -> bool {
    const FLOATS: std::ops::RangeInclusive<u8> = 0x2a..=0x2b;
    const WIDENING: std::ops::RangeInclusive<u8> = 0x2c..=0x35;
    const SIMD: u8 = 0xfd;
    wasm.get(offset as usize).is_none_or(|op| FLOATS.contains(op) || WIDENING.contains(op) || *op == SIMD)
}
