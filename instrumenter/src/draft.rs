//! The module that the passes change, and the facts that they pass on to each other.

use crate::code::instructions;
use crate::libraries::AtomicKind;
use crate::marked::{Marked, orders_of_sites};
use crate::options::Mutant;
use crate::original::Original;
use crate::stack_frame::StackFrame;
use crate::{Error, Location, Options, Site};
use coyote_abi::{OpKind, rt};
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::{Instr, InstrLocId};
use walrus::{
    ConstExpr, FunctionId, FunctionKind, GlobalId, ImportKind, LocalFunction, LocalId, MemoryId, Module,
    ModuleConfig, ValType, ir::Value,
};

/// Locations from this one on are not offsets: they contain a site's number, for calls that a pass added.
const SITE_LOCATIONS: u32 = 1 << 31;

/// The location of an added call that announces a site. Each site has at most one such call, since
/// walrus keeps one output offset for each location.
pub fn site_location(site: u32) -> InstrLocId {
    InstrLocId::new(SITE_LOCATIONS | site)
}

/// The inverse of [`site_location`]; `Err` is an offset in the original module.
pub fn site_of_location(location: u32) -> Result<u32, u32> {
    if location & SITE_LOCATIONS != 0 { Ok(location & !SITE_LOCATIONS) } else { Err(location) }
}

/// How a function's own memory accesses are treated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PointPolicy {
    /// They are scheduling points.
    #[default]
    Points,
    /// The function is atomic, by this pattern.
    Atomic(AtomicKind, String),
    /// A function of a C library that takes a path: atomic, and announced as an operation on files.
    FileFunction,
    /// A function of coyote-cc's library that is announced, and whose accesses are no scheduling points.
    Operation,
    /// The function is only reached through an atomic one.
    OnlyFromAtomic,
    /// Excluded by this pattern of `--no-points-in`.
    Excluded(String),
    /// Not matched by `--points-only-in`.
    NotIncluded,
}

/// A mutable global that each worker has its own copy of.
#[derive(Debug)]
pub struct OwnGlobal {
    pub id: GlobalId,
    pub name: String,
    pub stack_pointer: bool,
}

/// Items that the code which checks the ownership of memory refers to.
#[derive(Clone, Copy, Debug)]
pub struct Owners {
    pub table: MemoryId,
    /// The running worker's byte.
    pub me: GlobalId,
    /// The injected function that an access calls if the granule is not the worker's. It asks the host only
    /// if the owner table does not answer.
    pub touched: FunctionId,
    /// The import [`coyote_abi::rt::TOUCH`].
    pub touch: FunctionId,
    /// The countdown, as [`Draft::budget`].
    pub budget: GlobalId,
    /// A planted defect, for tests.
    pub mutant: Option<Mutant>,
}

/// Which of a function's accesses that are no scheduling points are reported to the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tells {
    Nothing,
    /// Those that order other accesses: see [`Options::edges`].
    Edges,
    /// All of them: see [`Options::footprints`].
    Footprints,
}

/// A module on its way through the passes.
#[derive(Debug)]
pub struct Draft<'a> {
    /// The module in walrus' form, which passes change.
    pub module: Module,
    /// The user's options.
    pub options: &'a Options,
    /// Facts about the module before the first pass.
    pub original: &'a Original,
    /// Sites so far; a site's index is what is passed to the host.
    pub sites: Vec<Site>,
    /// The guest's memory. A guest without one gets an empty one.
    pub memory: MemoryId,
    /// Rounds left until the countdown forces a scheduling point.
    pub budget: GlobalId,
    /// The shadow stack pointer.
    pub stack_pointer: Option<GlobalId>,
    /// Globals that a worker saves with its frames.
    pub own_globals: Vec<OwnGlobal>,
    /// Mutable globals that all workers share.
    pub shared_globals: Vec<GlobalId>,
    /// How many of the shared globals a pass added.
    pub segment_flags: u32,
    /// Whether some instruction changes a table or a reference-typed global.
    pub changes_tables: bool,
    /// The policy for points of each original function, by index.
    pub policies: Vec<PointPolicy>,
    /// Functions whose accesses belong to an allocator.
    pub allocating: BTreeSet<u32>,
    /// Atomic functions, and functions that only they call, of which each access is checked: see `passes::checks`.
    pub checked: BTreeSet<u32>,
    /// See [`crate::SiteTable::tells_memory_size`].
    pub tells_memory_size: bool,
    /// Functions none of whose accesses is reported: see `libraries::UNTOLD`.
    pub untold: BTreeSet<u32>,
    /// The owner table, if points are left out where memory is not shared.
    pub owners: Option<Owners>,
    /// Accesses, by the offsets of their instructions, that are no scheduling points, and of which the host is not told: see
    /// `passes::libc_locks`.
    pub unseen: BTreeSet<u32>,
    /// Memory orders that C or C++ gives atomic instructions, by their offsets in the original module.
    pub orders: BTreeMap<u32, Marked>,
    /// See [`crate::SiteTable::counters`].
    pub counters: Vec<u32>,
    /// How many accesses are no scheduling points because they touch only the function's own frame, by
    /// function.
    pub private_accesses: BTreeMap<u32, u32>,
    /// The frames in the shadow stack of functions, by their original index, if their sizes are known.
    pub stack_frames: BTreeMap<u32, StackFrame>,
    /// Index in the original module of each function that it contained.
    origin: BTreeMap<FunctionId, u32>,
    /// Runtime imports so far, by name.
    imports: BTreeMap<&'static str, (FunctionId, bool)>,
}

impl<'a> Draft<'a> {
    /// Reads the original into walrus' form.
    ///
    /// # Errors
    /// [`Error::UnsupportedModule`] if walrus does not support something in it.
    pub fn new(wasm: &[u8], original: &'a Original, options: &'a Options) -> Result<Draft<'a>, Error> {
        let mut config = ModuleConfig::new();
        config.preserve_code_transform(true).generate_producers_section(false).legacy_exceptions(false);
        let mut module = config.parse(&original.without_debug(wasm)?).map_err(|e| {
            Error::UnsupportedModule(format!("the module cannot be read: {e:#}: build without what it names"))
        })?;
        for id in module.customs.iter().map(|(id, _)| id).collect::<Vec<_>>() {
            module.customs.delete(id);
        }
        let memory = module.memories.iter().next().map(|memory| memory.id());
        let memory = memory.unwrap_or_else(|| module.memories.add_local(false, false, 0, Some(0), None));
        let budget =
            module.globals.add_local(ValType::I32, true, false, ConstExpr::Value(Value::I32(rt::COUNTDOWN)));
        module.globals.get_mut(budget).name = Some(rt::BUDGET.to_string());
        // Arena order is index order: imports first, as in the module.
        let origin = module.funcs.iter().enumerate().map(|(i, f)| (f.id(), i as u32)).collect();
        let stack_pointer = original
            .stack_pointer
            .and_then(|index| module.globals.iter().nth(index as usize))
            .map(|global| global.id());
        Ok(Draft {
            module,
            options,
            original,
            sites: Vec::new(),
            memory,
            budget,
            stack_pointer,
            own_globals: Vec::new(),
            shared_globals: Vec::new(),
            segment_flags: 0,
            changes_tables: false,
            policies: vec![PointPolicy::default(); original.functions.len()],
            allocating: BTreeSet::new(),
            tells_memory_size: false,
            checked: BTreeSet::new(),
            untold: BTreeSet::new(),
            unseen: BTreeSet::new(),
            owners: None,
            orders: BTreeMap::new(),
            counters: Vec::new(),
            private_accesses: BTreeMap::new(),
            stack_frames: BTreeMap::new(),
            origin,
            imports: BTreeMap::new(),
        })
    }

    /// Which of a function's accesses that are no scheduling points are reported to the host. Nothing that an
    /// allocator does to its own heap is: the host is told which block it returned after it has done so.
    pub fn tells(&self, origin: u32) -> Tells {
        match () {
            () if self.allocating.contains(&origin) || self.untold.contains(&origin) => Tells::Nothing,
            () if self.options.footprints => Tells::Footprints,
            () if self.options.edges => Tells::Edges,
            () => Tells::Nothing,
        }
    }

    /// Whether a function has no points because the user said so.
    pub fn is_left_out_by_user(&self, origin: u32) -> bool {
        match &self.policies[origin as usize] {
            PointPolicy::Atomic(kind, _) => *kind == AtomicKind::User,
            PointPolicy::OnlyFromAtomic => !self.options.atomic_fns.is_empty(),
            PointPolicy::Excluded(pattern) => self.options.no_points_in.contains(pattern),
            PointPolicy::NotIncluded => true,
            PointPolicy::Points | PointPolicy::FileFunction | PointPolicy::Operation => false,
        }
    }

    /// Index in the original module of the function that this one came from.
    pub fn origin(&self, id: FunctionId) -> Option<u32> {
        self.origin.get(&id).copied()
    }

    /// How the memory accesses of a function of the guest are treated.
    pub(crate) fn policy(&self, id: FunctionId) -> &PointPolicy {
        &self.policies[self.origin(id).expect("it is the guest's") as usize]
    }

    /// Functions with a body that came from the original module, in its order.
    pub fn guest_functions(&self) -> Vec<FunctionId> {
        let mut ids: Vec<(u32, FunctionId)> = self
            .module
            .funcs
            .iter_local()
            .filter_map(|(id, _)| self.origin(id).map(|index| (index, id)))
            .collect();
        ids.sort();
        ids.into_iter().map(|(_, id)| id).collect()
    }

    /// Whether some function of the guest has an instruction that satisfies `wanted`.
    pub(crate) fn has(&self, wanted: impl Fn(&Instr) -> bool) -> bool {
        self.guest_functions().into_iter().any(|id| self.has_within(id, &wanted))
    }

    /// Whether this function of the guest has an instruction that satisfies `wanted`.
    pub(crate) fn has_within(&self, id: FunctionId, wanted: impl Fn(&Instr) -> bool) -> bool {
        let function = self.module.funcs.get(id).kind.unwrap_local();
        instructions(function).any(|(instr, _)| wanted(instr))
    }

    /// The runtime import with this name, added at the first request.
    pub fn import(&mut self, name: &'static str, params: &[ValType], results: &[ValType]) -> FunctionId {
        self.add_import(name, params, results, false)
    }

    /// The same for a suspending runtime import; one of its parameters is the site.
    pub fn suspending(&mut self, name: &'static str, params: &[ValType], results: &[ValType]) -> FunctionId {
        self.add_import(name, params, results, true)
    }

    fn add_import(
        &mut self,
        name: &'static str,
        params: &[ValType],
        results: &[ValType],
        suspending: bool,
    ) -> FunctionId {
        if let Some((id, _)) = self.imports.get(name) {
            return *id;
        }
        let ty = self.module.types.add(params, results);
        let (id, _) = self.module.add_import_func(rt::MODULE, name, ty);
        self.module.funcs.get_mut(id).name = Some(format!("{}.{name}", rt::MODULE));
        self.imports.insert(name, (id, suspending));
        id
    }

    /// The suspending runtime imports so far.
    pub fn suspending_imports(&self) -> impl Iterator<Item = FunctionId> {
        self.imports.values().filter(|(_, suspending)| *suspending).map(|(id, _)| *id)
    }

    /// The place of an instruction of a function that came from the original module. An instruction
    /// that a pass added counts as the function's beginning.
    pub fn location(&self, function: u32, at: InstrLocId) -> Location {
        let offset = if at.is_default() { None } else { site_of_location(at.data()).err() };
        let start = self.original.functions[function as usize].start;
        Location { function, offset: offset.unwrap_or(start) }
    }

    /// The frame in the shadow stack of the function that is executed at a place, with its size there. `None` if that
    /// is not known.
    pub fn stack_frame(&self, place: Location) -> Option<(&StackFrame, u32)> {
        // What has no place of its own has the function's first one.
        let first = self.original.functions.get(place.function as usize)?.start;
        let frame = self.stack_frames.get(&place.function).filter(|_| place.offset != first)?;
        Some((frame, frame.bytes_at(place.offset)?))
    }

    /// Registers a scheduling point and returns its number; if it has several sites, the number of the first.
    pub fn site(&mut self, location: Location, kind: OpKind, size: u8, memory_offset: u64) -> u32 {
        let first = self.sites.len() as u32;
        let site = Site { location, kind: kind as u8, size, memory_offset, orders: 0, alternative: 0 };
        match self.orders_at(location, kind) {
            None => self.sites.push(site),
            Some(Marked::Known(orders)) => self.sites.push(Site { orders, ..site }),
            Some(Marked::Local(_)) => {
                let all = orders_of_sites(kind == OpKind::CompareExchange).zip(0..);
                self.sites.extend(all.map(|(orders, alternative)| Site { orders, alternative, ..site }));
            }
        }
        first
    }

    /// The memory orders that C or C++ gives an instruction.
    pub(crate) fn orders_at(&self, location: Location, kind: OpKind) -> Option<Marked> {
        let orders = self.orders.get(&location.offset).copied();
        orders.filter(|_| kind == OpKind::Fence || kind.accesses_memory() && kind.is_atomic())
    }

    /// Calls `edit` with the whole draft and the body of a function.
    pub fn edit<T>(
        &mut self,
        id: FunctionId,
        edit: impl FnOnce(&mut Draft<'a>, &mut LocalFunction) -> T,
    ) -> T {
        let function = self.module.funcs.get_mut(id);
        let placeholder = FunctionKind::Uninitialized(function.ty());
        let FunctionKind::Local(mut body) = std::mem::replace(&mut function.kind, placeholder) else {
            panic!("this is a bug in coyote-wasm: an import has no body")
        };
        let result = edit(self, &mut body);
        self.module.funcs.get_mut(id).kind = FunctionKind::Local(body);
        result
    }

    /// Adds a function that is not part of the guest.
    pub fn add_function(
        &mut self,
        name: &str,
        params: &[LocalId],
        results: &[ValType],
        code: impl FnOnce(&mut LocalFunction) -> crate::code::Code,
    ) -> FunctionId {
        let types: Vec<ValType> = params.iter().map(|l| self.module.locals.get(*l).ty()).collect();
        let builder = walrus::FunctionBuilder::new(&mut self.module.types, &types, results);
        let mut function = builder.local_func(params.to_vec());
        let entry = function.entry_block();
        let code = code(&mut function);
        function.block_mut(entry).instrs = code.into();
        let id = self.module.funcs.add_local(function);
        self.module.funcs.get_mut(id).name = Some(name.to_string());
        id
    }

    /// Lets a function that was added count as one of the original module.
    pub fn set_origin(&mut self, id: FunctionId, origin: u32) {
        self.origin.insert(id, origin);
    }

    /// Turns an import into a function with a body; all references to it remain.
    pub fn implement_import(&mut self, id: FunctionId, body: LocalFunction) {
        self.delete_import_entry(id);
        self.module.funcs.get_mut(id).kind = FunctionKind::Local(body);
    }

    /// Removes an import that has no references left.
    pub fn delete_import(&mut self, id: FunctionId) {
        self.delete_import_entry(id);
        self.module.funcs.delete(id);
    }

    fn delete_import_entry(&mut self, id: FunctionId) {
        let entry = self.module.imports.iter().find(|i| i.kind == ImportKind::Function(id)).map(|i| i.id());
        if let Some(entry) = entry {
            self.module.imports.delete(entry);
        }
    }
}
