//! The site table: what the host must know about an instrumented module.
//!
//! It connects three numberings: sites (announced operations), suspension sites (calls at which a worker's
//! frame can be saved) and byte offsets of the original and of the instrumented module. Everything that a
//! user sees refers to the original module.

use crate::Error;
use coyote_abi::{OpKind, Ordering};
use serde::{Deserialize, Serialize};

/// A place in the original module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Location {
    /// Index in the original function index space (imports first).
    pub function: u32,
    /// Byte offset from the beginning of the original module.
    pub offset: u32,
}

/// A scheduling point: its index in [`SiteTable::sites`] is the `site` argument of runtime imports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Site {
    /// The instruction, or the call of the import, that is announced.
    pub location: Location,
    /// [`OpKind`] as a number.
    pub kind: u8,
    /// Bytes accessed; 0 if the operation has no fixed size.
    pub size: u8,
    /// The instruction's constant offset: the announced address does not include it.
    pub memory_offset: u64,
    /// The memory orders that C or C++ gives an atomic operation. The low four bits are the order of success:
    /// C's number plus 1, or 0 if it is unknown. The high four bits are the order of a compare-exchange that
    /// fails, in the same form; 0 if it is the same.
    pub orders: u8,
    /// How many sites before this one is the first site of the same instruction. An instruction whose order
    /// is known only at run time has a site for each order; operations and traces refer to the first.
    pub alternative: u8,
}

impl Site {
    /// The operation that is announced here.
    pub fn kind(&self) -> OpKind {
        OpKind::from_u8(self.kind).expect("checked when the table was read")
    }

    /// The memory orders of success and of failure, if C or C++ gives them.
    pub fn orders(&self) -> Option<(Ordering, Ordering)> {
        let order = |part: u8| Ordering::from_c(u32::from(part).checked_sub(1)?);
        let success = order(self.orders & 15)?;
        match self.orders >> 4 {
            0 => Some((success, success)),
            failure => Some((success, order(failure)?)),
        }
    }
}

/// A call at which a worker can be suspended. Its index in [`SiteTable::frames`] ends the saved frame.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameSite {
    /// The call that was suspended.
    pub location: Location,
    /// Size of the saved frame in bytes, its last word (the site) included.
    pub size: u32,
    /// Ranges `(start, length)` of the frame that contain dead values or padding: equal states may differ
    /// there, so a fingerprint leaves them out.
    pub dead: Vec<(u32, u32)>,
    /// Size of the function's frame in the shadow stack, in bytes; `None` if unknown.
    pub stack_bytes: Option<u32>,
    /// Whether other functions may have the address of that frame.
    pub escapes: bool,
    /// Whether the function may have data below the stack pointer.
    pub red_zone: bool,
    /// How far below the stack pointer they begin, if that is known.
    pub red_zone_bytes: Option<u32>,
}

/// A function of the original module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Function {
    /// The function's name, from the name section, the import or the export; empty if it has none.
    pub name: String,
    /// Offsets of its body in the original module, end exclusive; (0, 0) for an import.
    pub start: u32,
    /// Offset of the first byte behind its body.
    pub end: u32,
}

/// What `run` can start, in the order of the numbers that `next` returns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Entry {
    /// `a` is an index into table 0 of a function of type `(i32) -> ()`, `b` its argument.
    Table,
    /// `wasi_thread_start(a, b)`.
    WasiThread,
    /// The export of this name, of type `() -> ()`.
    Export(String),
}

/// A mutable global that each worker has its own copy of.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerGlobal {
    /// The name by which `Draft` knows the global, for messages and for the tool's own globals.
    pub name: String,
    /// The value in a new instance, zero-extended.
    pub initial: u128,
    /// Whether this is the shadow stack pointer.
    pub stack_pointer: bool,
}

/// The site table: see the module's documentation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteTable {
    /// [`coyote_abi::VERSION`] of the instrumenter that wrote it.
    pub abi: u32,
    /// Scheduling points, by the `site` argument of runtime imports.
    pub sites: Vec<Site>,
    /// Suspension sites, by the number that ends a saved frame.
    pub frames: Vec<FrameSite>,
    /// All functions of the original module, imports first.
    pub functions: Vec<Function>,
    /// What a worker can start with, by the number that `next` returns.
    pub entries: Vec<Entry>,
    /// In the order of their 16-byte slots at the start of a worker's saved bytes.
    pub worker_globals: Vec<WorkerGlobal>,
    /// How many shared mutable globals `save_globals` writes.
    pub shared_globals: u32,
    /// How many of them the instrumenter added: they tell which data segments the guest has dropped.
    pub segment_flags: u32,
    /// Whether the module imports `wasi.thread-spawn`.
    pub wasi_threads: bool,
    /// Whether the module is a program that runs Rust's test harness.
    pub libtest: bool,
    /// Whether an instruction can change a table or a reference-typed global: their state is not part of
    /// snapshots, so an iteration that may have changed it is followed by one in a fresh instance.
    pub changes_tables: bool,
    /// Whether a function outside of allocators asks for the size of memory or makes it larger: then the
    /// program can tell how much memory its allocator took.
    pub tells_memory_size: bool,
    /// Instructions that are counted, as offsets in the original module; the index is the number of the
    /// counter.
    pub counters: Vec<u32>,
    /// Pairs of offsets in the instrumented module and in the original one, ascending by the first.
    #[serde(with = "differences")]
    pub code: Vec<(u32, u32)>,
}

/// Stores each pair as its difference from the previous one: two bytes instead of eight for most.
mod differences {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(pairs: &[(u32, u32)], serializer: S) -> Result<S::Ok, S::Error> {
        let mut last = (0u32, 0u32);
        serializer.collect_seq(pairs.iter().map(|pair| {
            let difference = (pair.0.wrapping_sub(last.0), pair.1.wrapping_sub(last.1) as i32);
            last = *pair;
            difference
        }))
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(u32, u32)>, D::Error> {
        let differences = Vec::<(u32, i32)>::deserialize(deserializer)?;
        let mut last = (0u32, 0u32);
        let pairs = differences.into_iter().map(|(out, original)| {
            last = (last.0.wrapping_add(out), last.1.wrapping_add(original as u32));
            last
        });
        Ok(pairs.collect())
    }
}

impl SiteTable {
    /// The place in the original module for an offset in the instrumented one: that of the closest original
    /// instruction at or before it. `None` inside injected functions.
    pub fn original(&self, instrumented_offset: u32) -> Option<Location> {
        let next = self.code.partition_point(|(at, _)| *at <= instrumented_offset);
        let offset = self.code.get(next.checked_sub(1)?)?.1;
        let function = self.functions.iter().position(|f| (f.start..f.end).contains(&offset))? as u32;
        Some(Location { function, offset })
    }

    /// The shadow stack pointer, with its slot at the start of a worker's saved bytes. `None` if the guest has none.
    pub fn stack_pointer(&self) -> Option<(usize, &WorkerGlobal)> {
        self.worker_globals.iter().enumerate().find(|(_, global)| global.stack_pointer)
    }

    /// The table's bytes, as they stand in the custom section [`coyote_abi::rt::SITES_SECTION`].
    pub fn to_bytes(&self) -> Vec<u8> {
        postcard::to_stdvec(self).expect("plain data serialises")
    }

    /// Reads a table; fails on other versions and on damaged bytes.
    ///
    /// # Errors
    /// [`Error::SiteTable`].
    pub fn from_bytes(bytes: &[u8]) -> Result<SiteTable, Error> {
        let table: SiteTable = postcard::from_bytes(bytes).map_err(|e| Error::SiteTable(e.to_string()))?;
        if table.abi != coyote_abi::VERSION {
            return Err(Error::SiteTable(format!(
                "it has version {}, this tool reads version {}",
                table.abi,
                coyote_abi::VERSION
            )));
        }
        if let Some(s) = table.sites.iter().find(|s| OpKind::from_u8(s.kind).is_none()) {
            return Err(Error::SiteTable(format!("unknown operation kind {}", s.kind)));
        }
        match table.sites.iter().enumerate().any(|(i, s)| usize::from(s.alternative) > i) {
            true => Err(Error::SiteTable("a site is an alternative to none".into())),
            false => Ok(table),
        }
    }
}
