//! Memory orderings of Rust's atomics, of every method with every legal ordering, by every installed toolchain.
//!
//! The expected orderings come from the name of the function around each access: `swap_u8_acquire`. Without
//! optimisation the orderings are values at run time, and each function of `atomic.rs` must have all legal
//! ones.

use coyote_orderings::{Ordering, toolchain};
use coyote_wasm::instrumenter::{Options, SiteTable, instrument};
use coyote_wasm::orderings::{Atomicity, Order, Orderings};
use coyote_wasm::strategies::OpKind;
use coyote_wasm::symbols::Lines;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

const THREADS: &str = "wasm32-wasip1-threads";
const BARE: &str = "wasm32-unknown-unknown";
const LEVELS: [&str; 4] = ["opt-level=1", "opt-level=2", "opt-level=3", "opt-level=s"];
const LOADS: [Ordering; 3] = [Ordering::Relaxed, Ordering::Acquire, Ordering::SeqCst];
const STORES: [Ordering; 3] = [Ordering::Relaxed, Ordering::Release, Ordering::SeqCst];
const INTEGERS: [(&str, &str); 4] =
    [("AtomicU8", "u8"), ("AtomicI16", "i16"), ("AtomicU32", "u32"), ("AtomicI64", "i64")];

/// The accesses that each function of the program must consist of, in any order.
type Expected = BTreeMap<String, Vec<(OpKind, Order)>>;

/// The program, and what each of its functions must consist of if atomics are instructions.
#[derive(Default)]
struct Program {
    code: String,
    expected: Expected,
}

impl Program {
    fn add(&mut self, name: String, signature: &str, body: String, sites: &[(OpKind, Order)]) {
        let name = name.to_lowercase();
        writeln!(self.code, "#[no_mangle] pub fn {name}{signature} {{ {body} }}").unwrap();
        self.expected.insert(name, sites.to_vec());
    }

    /// Every method of a type: `T` is the type of its values.
    fn methods(&mut self, atomic: &str, value: &str) {
        let short = atomic.trim_start_matches("Atomic").trim_end_matches("<u8>").to_lowercase();
        for o in LOADS {
            let (name, signature) = (format!("load_{short}_{o:?}"), format!("(a: &{atomic}) -> {value}"));
            self.add(name, &signature, format!("a.load({o:?})"), &[(OpKind::AtomicLoad, Order::always(o))]);
        }
        for o in STORES {
            let (name, signature) = (format!("store_{short}_{o:?}"), format!("(a: &{atomic}, v: {value})"));
            self.add(
                name,
                &signature,
                format!("a.store(v, {o:?})"),
                &[(OpKind::AtomicStore, Order::always(o))],
            );
        }
        let arithmetic: &[&str] = match atomic {
            "AtomicBool" => &["swap", "fetch_and", "fetch_or", "fetch_xor"],
            "AtomicPtr<u8>" => &["swap"],
            _ => &["swap", "fetch_add", "fetch_sub", "fetch_and", "fetch_or", "fetch_xor"],
        };
        for (method, o) in arithmetic.iter().flat_map(|m| Ordering::ALL.map(|o| (m, o))) {
            let signature = format!("(a: &{atomic}, v: {value}) -> {value}");
            let body = format!("a.{method}(v, {o:?})");
            self.add(format!("{method}_{short}_{o:?}"), &signature, body, &[(OpKind::Rmw, Order::always(o))]);
        }
        // These have no instruction, but a loop around a compare-exchange that begins with a load.
        let integer = INTEGERS.contains(&(atomic, value));
        let looped: &[&str] = if integer { &["fetch_max", "fetch_min", "fetch_nand"] } else { &[] };
        for (method, o) in looped.iter().flat_map(|m| Ordering::ALL.map(|o| (m, o))) {
            let signature = format!("(a: &{atomic}, v: {value}) -> {value}");
            let sites =
                [(OpKind::Load, Order::always(o.of_load())), (OpKind::CompareExchange, Order::always(o))];
            self.add(format!("{method}_{short}_{o:?}"), &signature, format!("a.{method}(v, {o:?})"), &sites);
        }
        for (success, failure) in Ordering::ALL.into_iter().flat_map(|s| LOADS.map(|f| (s, f))) {
            let order = Order { success, failure };
            for (method, end) in [("compare_exchange", "is_ok"), ("compare_exchange_weak", "is_err")] {
                let signature = format!("(a: &{atomic}, o: {value}, n: {value}) -> bool");
                let body = format!("a.{method}(o, n, {success:?}, {failure:?}).{end}()");
                let name = format!("{method}_{short}_{success:?}_{failure:?}");
                self.add(name, &signature, body, &[(OpKind::CompareExchange, order)]);
            }
            let signature = format!("(a: &{atomic}, n: {value}) -> bool");
            let body = format!("a.fetch_update({success:?}, {failure:?}, |_| Some(n)).is_ok()");
            let sites = [(OpKind::AtomicLoad, Order::always(failure)), (OpKind::CompareExchange, order)];
            self.add(format!("fetch_update_{short}_{success:?}_{failure:?}"), &signature, body, &sites);
        }
        self.code += &format!(
            "#[no_mangle] pub fn plain_get_mut_{0}(a: &mut {atomic}, v: {value}) -> {value} {{ \
                 let old = *a.get_mut(); *a.get_mut() = v; old }}
             #[no_mangle] pub fn plain_new_{0}(a: &mut {atomic}, v: {value}) {{ *a = <{atomic}>::new(v); }}
             #[no_mangle] pub fn plain_into_inner_{0}(a: {atomic}, v: &mut {value}) {{ *v = a.into_inner(); }}\n",
            short
        );
    }

    /// Two programs: the optimiser merges equal functions, such as those for numbers and for pointers.
    fn all() -> [Program; 2] {
        let mut programs = [Program::default(), Program::default()];
        for program in &mut programs {
            program.code += "use std::sync::atomic::*; use std::sync::atomic::Ordering::*;\n";
        }
        let [numbers, pointers] = &mut programs;
        for (atomic, value) in INTEGERS {
            numbers.methods(atomic, value);
        }
        numbers.methods("AtomicBool", "bool");
        pointers.methods("AtomicPtr<u8>", "*mut u8");
        for o in &Ordering::ALL[1..] {
            let fence = [(OpKind::Fence, Order::always(*o))];
            pointers.add(format!("fence_{o:?}"), "()", format!("fence({o:?})"), &fence);
            pointers.add(format!("compiler_fence_{o:?}"), "()", format!("compiler_fence({o:?})"), &[]);
        }
        programs
    }

    /// The same if atomics are plain accesses.
    fn lowered(&self) -> Expected {
        let parts = |(kind, order): &(OpKind, Order)| {
            let loads = Order::always(order.success.of_load().join(order.failure.of_load()));
            let stores = Order::always(order.success.of_store());
            match kind {
                OpKind::AtomicLoad | OpKind::Load => vec![(OpKind::Load, loads)],
                OpKind::AtomicStore => vec![(OpKind::Store, stores)],
                OpKind::Fence => vec![],
                _ => vec![(OpKind::Load, loads), (OpKind::Store, stores)],
            }
        };
        let lowered = |(name, sites): (&String, &Vec<(OpKind, Order)>)| {
            // The load of a loop becomes part of the read-modify-write, which needs no loop.
            let looped = ["fetch_max", "fetch_min", "fetch_nand"].iter().any(|m| name.starts_with(m));
            let sites = if looped { &sites[1..] } else { sites };
            (name.clone(), sites.iter().flat_map(parts).collect())
        };
        self.expected.iter().map(lowered).collect()
    }
}

/// A module with the orderings of its sites.
struct Module {
    wasm: Vec<u8>,
    table: SiteTable,
    orderings: Orderings,
}

impl Module {
    /// Accesses that are not known to be plain or atomic, except for those in the C library's own functions,
    /// which read its locks through pointers to `volatile`.
    fn unknown_outside_of_libc(&self) -> usize {
        let libc = ["__", "pthread_", "wasi_thread_start", "sem_", "dl", "call_once"];
        let sites = self.table.sites.iter().enumerate();
        let unknown = sites.filter(|(i, _)| self.orderings.of(*i as u32) == Atomicity::Unknown);
        let names = unknown.map(|(_, site)| &self.table.functions[site.location.function as usize].name);
        names.filter(|name| !libc.iter().any(|beginning| name.starts_with(beginning))).count()
    }

    fn read(path: &Path) -> Module {
        Module::of(std::fs::read(path).unwrap())
    }

    fn of(wasm: Vec<u8>) -> Module {
        let table = instrument(&wasm, &Options::default()).unwrap().table;
        Module { orderings: Orderings::of_module(&wasm, &table), table, wasm }
    }

    /// The same, compiled by an unknown release.
    fn of_unknown_release(mut self) -> Module {
        let commits = toolchain::installed().into_iter().filter_map(|sysroot| commit(&sysroot));
        for commit in commits.collect::<BTreeSet<_>>() {
            // Paths contain the whole commit, the compiler's own version its beginning.
            let starts =
                self.wasm.windows(9).enumerate().filter(|(_, bytes)| *bytes == &commit.as_bytes()[..9]);
            let starts: Vec<usize> = starts.map(|(at, _)| at).collect();
            starts.into_iter().for_each(|at| self.wasm[at..at + 9].fill(b'0'));
        }
        Module::of(self.wasm)
    }

    /// The sites of each function that access memory.
    fn by_function(&self) -> BTreeMap<&str, Vec<(OpKind, Atomicity)>> {
        let mut functions: BTreeMap<&str, Vec<_>> = BTreeMap::new();
        for (i, site) in self.table.sites.iter().enumerate() {
            let atomicity = self.orderings.of(i as u32);
            if atomicity != Atomicity::None {
                let name = self.table.functions[site.location.function as usize].name.as_str();
                functions.entry(name).or_default().push((site.kind(), atomicity));
            }
        }
        functions
    }

    /// Compares each function with its name. Where atomics became plain accesses, the ordering of a load of
    /// less than 32 bits, which is widened, may be lost.
    fn compare(&self, what: &str, expected: &Expected, lowered: bool) {
        let found = self.by_function();
        for (name, sites) in expected {
            let of = |order: &Order, kind: &OpKind| match kind {
                OpKind::Fence => Atomicity::Fence(Some(order.success)),
                _ => Atomicity::Atomic(Some(*order)),
            };
            let key = |(kind, atomicity): &(OpKind, Atomicity)| (*kind, format!("{atomicity:?}"));
            let mut sites: Vec<_> = sites.iter().map(|(kind, order)| (*kind, of(order, kind))).collect();
            let mut found = found.get(name.as_str()).cloned().unwrap_or_default();
            // From LLVM 23 on, such loops begin with an atomic load.
            for (kind, _) in found.iter_mut().filter(|_| sites.iter().any(|(kind, _)| *kind == OpKind::Load))
            {
                *kind = if *kind == OpKind::AtomicLoad { OpKind::Load } else { *kind };
            }
            sites.sort_by_key(key);
            found.sort_by_key(key);
            // The optimiser may rotate a loop, which then contains its instructions twice.
            sites.dedup();
            found.dedup();
            let narrow = ["_u8_", "_i16_", "_bool_"].iter().any(|ty| name.contains(ty));
            if lowered && narrow && found.contains(&(OpKind::Load, Atomicity::Unknown)) {
                found.retain(|(kind, _)| *kind != OpKind::Load);
                sites.retain(|(kind, _)| *kind != OpKind::Load);
            }
            assert_eq!(found, sites, "{what}: {name}");
        }
    }

    /// Functions without atomic accesses; for widened loads this is not known where atomics became plain
    /// accesses.
    fn check_plain(&self, what: &str, lowered: bool) {
        let found = self.by_function();
        let plain: Vec<_> = found.iter().filter(|(name, _)| name.starts_with("plain_")).collect();
        assert!(plain.len() >= 3, "{what}: {plain:?}");
        for (name, sites) in plain {
            let plain = |(kind, atomicity): &(OpKind, Atomicity)| match atomicity {
                Atomicity::Plain => true,
                Atomicity::Unknown => lowered && *kind == OpKind::Load,
                _ => false,
            };
            assert!(sites.iter().all(plain), "{what}: {name}: {sites:?}");
        }
    }

    /// Compares the functions of `atomic.rs`, which choose the ordering at run time: each one with atomic
    /// accesses must have all orderings that are legal for it.
    fn compare_unoptimised(&self, what: &str, lowered: bool) {
        let mut functions = 0;
        for (name, sites) in self.by_function() {
            if !name.contains("core4sync6atomic") {
                continue;
            }
            // Plain accesses of the function's frame are on the same lines.
            let accesses = sites.iter().filter(|(kind, _)| lowered || kind.is_atomic());
            let mut found = BTreeSet::new();
            for (_, atomicity) in accesses {
                match atomicity {
                    Atomicity::Atomic(Some(order)) => drop(found.insert((order.success, order.failure))),
                    Atomicity::Fence(Some(ordering)) => drop(found.insert((*ordering, *ordering))),
                    Atomicity::Plain | Atomicity::None => {}
                    Atomicity::Unknown if lowered => {}
                    other => panic!("{what}: {name}: {other:?}"),
                }
            }
            if found.is_empty() {
                continue;
            }
            let all = |orderings: &[Ordering]| orderings.iter().map(|o| (*o, *o)).collect();
            let expected: BTreeSet<_> = if name.contains("fence") {
                all(&Ordering::ALL[1..])
            } else if name.contains("load") {
                all(&LOADS)
            } else if name.contains("store") {
                all(&STORES)
            } else if lowered {
                // These consist of loads and stores.
                all(&[&LOADS[..], &STORES[..]].concat())
            } else if name.contains("compare_exchange") {
                Ordering::ALL.into_iter().flat_map(|s| LOADS.map(|f| (s, f))).collect()
            } else {
                all(&Ordering::ALL)
            };
            assert_eq!(found, expected, "{what}: {name}");
            functions += 1;
        }
        assert!(functions >= 40, "{what}: only {functions}");
    }
}

/// The commit that a toolchain was built from.
fn commit(sysroot: &Path) -> Option<String> {
    let said = Command::new(sysroot.join("bin/rustc")).arg("-vV").output().ok()?;
    let said = String::from_utf8(said.stdout).ok()?;
    Some(said.lines().find_map(|line| line.strip_prefix("commit-hash: "))?.to_string())
}

/// Compilers with installed libraries for a target.
fn compilers(target: &str) -> Vec<PathBuf> {
    let installed = toolchain::installed().into_iter();
    let with = installed.filter(|sysroot| sysroot.join("lib/rustlib").join(target).is_dir());
    let compilers: Vec<_> = with.map(|sysroot| sysroot.join("bin/rustc")).collect();
    if compilers.is_empty() {
        println!("skipped: rustup target add {target}");
    }
    compilers
}

fn build(rustc: &Path, code: &str, target: &str, options: &[&str]) -> Module {
    let directory = tempfile::tempdir().unwrap();
    let (source, module) = (directory.path().join("atomics.rs"), directory.path().join("atomics.wasm"));
    std::fs::write(&source, code).unwrap();
    let built = Command::new(rustc)
        .args(["--crate-type", "cdylib", "--edition", "2021", "--target", target])
        .args(["-C", "debuginfo=line-tables-only"])
        .args(options)
        .arg("-o")
        .args([&module, &source])
        .output()
        .expect("rustc starts");
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    Module::read(&module)
}

#[test]
fn every_method_has_the_ordering_that_its_source_says() {
    let programs = Program::all();
    let [numbers, _] = &programs;
    for rustc in compilers(THREADS) {
        for (level, program) in LEVELS.iter().flat_map(|level| programs.each_ref().map(|p| (level, p))) {
            let what = format!("{} {level}", rustc.display());
            let module = build(&rustc, &program.code, THREADS, &["-C", level]);
            module.compare(&what, &program.expected, false);
            module.check_plain(&what, false);
            assert!(!module.orderings.fences_are_lost());
        }
        let module = build(&rustc, &numbers.code, THREADS, &[]);
        module.compare_unoptimised(&rustc.display().to_string(), false);
        module.check_plain(&rustc.display().to_string(), false);
    }
}

#[test]
fn atomics_that_became_plain_accesses_are_told_by_their_lines() {
    let programs = Program::all();
    let [numbers, _] = &programs;
    for rustc in compilers(BARE) {
        for (level, program) in LEVELS.iter().flat_map(|level| programs.each_ref().map(|p| (level, p))) {
            let what = format!("{} {level}", rustc.display());
            let module = build(&rustc, &program.code, BARE, &["-C", level]);
            module.compare(&what, &program.lowered(), true);
            module.check_plain(&what, true);
            assert!(module.orderings.fences_are_lost());
            // With atomic instructions, together with a standard library without them.
            let module = build(&rustc, &program.code, BARE, &["-C", level, "-C", "target-feature=+atomics"]);
            module.compare(&what, &program.expected, false);
            module.check_plain(&what, false);
            assert!(!module.orderings.fences_are_lost());
        }
        let module = build(&rustc, &numbers.code, BARE, &[]);
        module.compare_unoptimised(&rustc.display().to_string(), true);
    }
}

#[test]
fn without_lines_nothing_is_known_and_nothing_is_plain() {
    let [program, _] = Program::all();
    for rustc in compilers(BARE) {
        let options = ["-C", "opt-level=2", "-C", "strip=debuginfo"];
        let module = build(&rustc, &program.code, BARE, &options);
        let counts = module.orderings.counts();
        assert!(!module.orderings.knows_plain() && counts.unknown > 100 && counts.atomic == 0, "{counts:?}");
    }
    for rustc in compilers(THREADS) {
        let options = ["-C", "opt-level=2", "-C", "strip=debuginfo"];
        let module = build(&rustc, &program.code, THREADS, &options);
        let counts = module.orderings.counts();
        assert!(module.orderings.knows_plain() && module.unknown_outside_of_libc() == 0, "{counts:?}");
        // Waiting for a futex needs no ordering.
        let known = counts.atomic - counts.without_ordering;
        assert!(counts.atomic > 100 && known < 10, "{counts:?}");
    }
}

#[test]
fn of_an_unknown_release_no_ordering_is_known_and_no_atomic_is_plain() {
    let [program, _] = Program::all();
    for rustc in compilers(THREADS) {
        let module = build(&rustc, &program.code, THREADS, &["-C", "opt-level=2"]).of_unknown_release();
        let counts = module.orderings.counts();
        let known = counts.atomic - counts.without_ordering;
        let unknown = module.unknown_outside_of_libc();
        assert!(counts.atomic > 100 && known < 10 && unknown == 0, "{}: {counts:?}", rustc.display());
    }
    for rustc in compilers(BARE) {
        let module = build(&rustc, &program.code, BARE, &["-C", "opt-level=2"]).of_unknown_release();
        let functions = module.by_function();
        for name in program.expected.keys() {
            let sites = functions.get(name.as_str()).into_iter().flatten();
            let unknown = sites.clone().filter(|(_, atomicity)| *atomicity == Atomicity::Unknown);
            assert_eq!(unknown.count(), sites.count(), "{}: {name}", rustc.display());
        }
    }
}

/// Code generation gives a load that is converted the line of the conversion.
#[test]
fn no_atomic_that_is_converted_is_called_plain() {
    const CODE: &str = "
        use std::sync::atomic::*; use std::sync::atomic::Ordering::*;
        #[no_mangle] pub fn it_f32(a: &AtomicU32) -> f32 { f32::from_bits(a.load(Acquire)) }
        #[no_mangle] pub fn it_f64(a: &AtomicU64) -> f64 { f64::from_bits(a.load(Acquire)) }
        #[no_mangle] pub fn it_wide(a: &AtomicU32) -> u64 { a.load(Acquire) as u64 }
        #[no_mangle] pub fn it_signed(a: &AtomicI32) -> i64 { a.load(Acquire) as i64 }
        #[no_mangle] pub fn it_narrow(a: &AtomicU64) -> u32 { a.load(Acquire) as u32 }
        #[no_mangle] pub fn it_byte(a: &AtomicU32) -> u8 { (a.load(Acquire) >> 8) as u8 }
        #[no_mangle] pub fn it_masked(a: &AtomicU64) -> u64 { a.load(Acquire) & 0xffff }
        #[no_mangle] pub fn it_high(a: &AtomicU64) -> u32 { (a.load(Acquire) >> 32) as u32 }
        #[no_mangle] pub fn it_flag(a: &AtomicBool) -> u32 { if a.load(Acquire) { 5 } else { 7 } }
        #[no_mangle] pub fn it_either(a: &AtomicU32, b: bool) -> u32 { if b { a.load(Acquire) } else { a.load(Relaxed) } }
        #[no_mangle] pub fn it_sum(a: &[AtomicU32; 9]) -> u32 { a.iter().map(|a| a.load(Relaxed)).sum() }
        #[no_mangle] pub fn it_stores(a: &AtomicU64, v: f64) { a.store(v.to_bits(), Release) }
        #[no_mangle] pub fn it_stores_byte(a: &AtomicU8, v: u64) { a.store((v >> 8) as u8, Release) }
    ";
    for rustc in compilers(BARE) {
        for level in LEVELS {
            let module = build(&rustc, CODE, BARE, &["-C", level]);
            let functions = module.by_function();
            let converted: Vec<_> = functions.iter().filter(|(name, _)| name.starts_with("it_")).collect();
            assert_eq!(converted.len(), 13, "{converted:?}");
            for (name, sites) in converted {
                assert!(
                    sites.iter().all(|(_, atomicity)| *atomicity != Atomicity::Plain),
                    "{} {level}: {name}: {sites:?}",
                    rustc.display()
                );
            }
        }
    }
}

/// The standard library and the C library have no lines in the committed guests.
#[test]
fn atomics_of_published_crates_have_orderings_wherever_they_have_lines() {
    for name in ["crossbeam_channel_0_5_7", "crossbeam_channel_0_5_8", "flume_0_10_14", "flume_0_11_0"] {
        let path = format!("{}/../examples/wasm/{name}.wasm", env!("CARGO_MANIFEST_DIR"));
        let module = Module::read(Path::new(&path));
        let lines = Lines::read(&module.wasm);
        let counts = module.orderings.counts();
        let known = counts.atomic - counts.without_ordering;
        assert!(known > 150 && module.unknown_outside_of_libc() == 0, "{name}: {counts:?}");
        for (i, site) in module.table.sites.iter().enumerate() {
            if matches!(module.orderings.of(i as u32), Atomicity::Atomic(None) | Atomicity::Fence(None)) {
                assert_eq!(lines.row(site.location.offset), None, "{name}: {site:?}");
            }
        }
    }
}
