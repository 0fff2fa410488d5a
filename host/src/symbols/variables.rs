//! Variables by address: their names, and the path of fields to an address.
//!
//! From DWARF: global variables, whose location is a constant address, which in wasm is one of memory; and local
//! variables in a frame. A name is given only if it is certain: the path ends before unions of several members, enums
//! with fields and bit-fields, and memory outside of all variables has no name.
//!
//! Fields of wrappers in libraries that hold nothing but a value (`UnsafeCell`, `AtomicU32`, `Mutex`) are left out:
//! programmers write `COUNTER` for `COUNTER.v.value`.
//!
//! - `locations`: where a global variable lies in memory.
//! - `locals`: local variables in frames.
//! - `values`: the opposite direction, from a name to its value.

mod locals;
mod locations;
mod values;

use super::demangle::demangle;
use super::library::library_file;
use gimli::constants as dw;
use gimli::{AttributeValue, DebuggingInformationEntry, EndianArcSlice, LittleEndian, UnitRef};
pub use locals::InFrame;
use locals::Locals;
use locations::{Content, Part};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
pub use values::Place;
pub(crate) use values::{number_text, slice};

pub(super) type Section = EndianArcSlice<LittleEndian>;
pub(super) type Entry = DebuggingInformationEntry<Section>;

/// Roots of namespaces whose types are a library's.
const LIBRARIES: [&str; 6] = ["core", "std", "alloc", "coyote", "__gnu_cxx", "crossbeam_utils"];

/// Roots of namespaces whose variables are of no interest to the author of the program.
const RUNTIMES: [&str; 12] = [
    "core",
    "std",
    "alloc",
    "coyote",
    "__gnu_cxx",
    "crossbeam_utils",
    "dlmalloc",
    "std_detect",
    "panic_unwind",
    "gimli",
    "test",
    "getopts",
];

/// Fields of libraries' types that stand for the whole.
const TRANSPARENT: [&str; 7] = ["value", "v", "p", "data", "__0", "__a_", "__a_value"];

/// Types of C that count as objects, whatever their fields.
const OBJECTS: [&str; 12] = [
    "pthread_mutex_t",
    "pthread_cond_t",
    "pthread_rwlock_t",
    "pthread_barrier_t",
    "pthread_once_t",
    "sem_t",
    "mtx_t",
    "cnd_t",
    "coyote_mutex",
    "coyote_condvar",
    "coyote_mutex_t",
    "coyote_condvar_t",
];

/// Maximum depth to which nested types are followed.
const DEPTH_MAX: usize = 64;

/// The encoding of a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Encoding {
    /// Not known: read as a number without a sign.
    #[default]
    Unknown,
    /// A number without a sign.
    Unsigned,
    /// A number in two's complement.
    Signed,
    /// 0 is false and 1 is true.
    Bool,
    /// Shown as null or not.
    Pointer,
    /// Shown by the names of its values; a value without a name has no meaning to a reader.
    Enumeration(Arc<BTreeMap<u64, String>>),
    /// Any other encoding: reports show no value, and the debugger shows a hexadecimal number.
    Other,
}

impl Encoding {
    /// Whether the bytes, read as a number, may mean something to a reader.
    pub fn is_number(&self) -> bool {
        !matches!(self, Encoding::Pointer | Encoding::Enumeration(_) | Encoding::Other)
    }
}

/// The name and encoding of the memory at an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryName {
    /// The path, such as `slots[3].ready`.
    pub name: String,
    /// The encoding of the bytes.
    pub encoding: Encoding,
}

/// A variable with an address, or a piece of one.
#[derive(Debug)]
struct Variable {
    address: u64,
    bytes: u64,
    name: String,
    ty: TypeId,
    /// Where it begins within the variable, if it is a piece.
    piece: Option<u64>,
    /// Whether it belongs to a library.
    is_library: bool,
}

/// Offset in `.debug_info`.
type TypeId = usize;

#[derive(Clone, Debug)]
enum Type {
    Number {
        bytes: u64,
        encoding: Encoding,
        /// The target of a pointer, if it is known.
        target: Option<TypeId>,
    },
    Record {
        bytes: u64,
        fields: Vec<Field>,
        is_library: bool,
    },
    Array {
        element: TypeId,
        counts: Vec<u64>,
    },
    /// Another type under a name.
    Alias {
        of: TypeId,
        is_object: bool,
    },
    /// A type of which only the size is known.
    Opaque {
        bytes: u64,
    },
}

#[derive(Clone, Debug)]
struct Field {
    /// `None` for a base class, whose fields count as fields of the record.
    name: Option<String>,
    offset: u64,
    ty: TypeId,
    /// Number of bytes that contain a bit-field, possibly with others; these bytes have no name. 0 for other
    /// fields.
    bit_bytes: u64,
}

/// See the module's documentation.
#[derive(Debug, Default)]
pub struct Variables {
    /// Global variables by address.
    variables: BTreeMap<u64, Variable>,
    locals: Locals,
    types: BTreeMap<TypeId, Type>,
    /// Offset of the contents of the code section, from which DWARF counts.
    code_start: u32,
}

/// The result so far of a walk through a type.
struct Walk {
    name: String,
    /// The name up to where a library's own fields begin.
    own: Option<String>,
    encoding: Encoding,
}

impl Walk {
    fn memory(self) -> MemoryName {
        MemoryName { name: self.name, encoding: self.encoding }
    }

    /// The name of a sync object that begins there.
    fn object(self) -> String {
        self.own.unwrap_or(self.name)
    }
}

impl Variables {
    /// Reads all units. Entries that are damaged or not understood are left out.
    pub(super) fn read(dwarf: &gimli::Dwarf<Section>, code_start: u32) -> Variables {
        let mut read = Reading::default();
        let mut units = dwarf.units();
        while let Ok(Some(header)) = units.next() {
            if let Ok(unit) = dwarf.unit(header) {
                // Variables that were read before the damage count.
                let _ = read.unit(unit.unit_ref(dwarf));
            }
        }
        Variables { code_start, ..read.finish() }
    }

    /// The name of the memory that an access of `bytes` bytes touches, if a global variable holds it.
    pub fn at(&self, address: u64, bytes: u32) -> Option<MemoryName> {
        self.walk(address, bytes.into()).map(Walk::memory)
    }

    /// The global variable, or its field, that is, or begins with, the sync object at an address.
    pub fn object_at(&self, address: u64) -> Option<String> {
        self.walk(address, 1).map(Walk::object)
    }

    /// The name of bytes of a frame, if a local variable holds them.
    pub fn local_at(&self, at: &InFrame<'_>, bytes: u32) -> Option<MemoryName> {
        self.walk_local(at, bytes.into()).map(Walk::memory)
    }

    /// The local variable, or its field, that is, or begins with, the sync object at a place in a frame.
    pub fn local_object_at(&self, at: &InFrame<'_>) -> Option<String> {
        self.walk_local(at, 1).map(Walk::object)
    }

    /// Whether an address is that of a library's own variable.
    pub fn is_of_library(&self, address: u64) -> bool {
        self.holding(address, 1).is_some_and(|(_, variable)| variable.is_library)
    }

    /// The variable that contains these bytes, and the offset within it.
    fn holding(&self, address: u64, bytes: u64) -> Option<(u64, &Variable)> {
        let (start, variable) = self.variables.range(..=address).next_back()?;
        let offset = address - start;
        let within = offset.checked_add(bytes)? <= variable.bytes;
        within.then_some((variable.piece.unwrap_or_default() + offset, variable))
    }

    fn walk(&self, address: u64, bytes: u64) -> Option<Walk> {
        let (offset, variable) = self.holding(address, bytes)?;
        Some(self.walk_into(&variable.name, variable.ty, offset, bytes))
    }

    fn walk_local(&self, at: &InFrame<'_>, bytes: u64) -> Option<Walk> {
        let (offset, local) = self.local_holding(at, bytes)?;
        Some(self.walk_into(&local.name, local.ty, offset, bytes))
    }

    fn walk_into(&self, name: &str, ty: TypeId, offset: u64, bytes: u64) -> Walk {
        let mut walk = Walk { name: name.into(), own: None, encoding: Encoding::Other };
        self.descend(ty, offset, bytes, &mut walk, 0);
        walk
    }

    fn descend(&self, ty: TypeId, offset: u64, bytes: u64, walk: &mut Walk, depth: usize) {
        let Some(ty) = self.types.get(&ty).filter(|_| depth < DEPTH_MAX) else { return };
        match ty {
            Type::Alias { of, is_object } => {
                if *is_object && walk.own.is_none() {
                    walk.own = Some(walk.name.clone());
                }
                self.descend(*of, offset, bytes, walk, depth + 1);
            }
            Type::Number { bytes: size, encoding, .. } => {
                if offset == 0 && bytes == *size {
                    walk.encoding = encoding.clone();
                }
            }
            Type::Array { element, counts } => {
                let Some(size) = self.size(*element, depth).filter(|size| *size > 0) else { return };
                if offset / size != (offset + bytes - 1) / size {
                    return;
                }
                let mut index = offset / size;
                let mut indices = Vec::new();
                for count in counts.iter().rev() {
                    indices.push(index % (*count).max(1));
                    index /= (*count).max(1);
                }
                for index in indices.iter().rev() {
                    walk.name += &format!("[{index}]");
                }
                self.descend(*element, offset % size, bytes, walk, depth + 1);
            }
            Type::Record { fields, is_library, .. } => {
                let holds = |field: &&Field| {
                    let size = self.size(field.ty, depth).unwrap_or_default();
                    field.offset <= offset && offset + bytes <= field.offset + size
                };
                let bits =
                    |field: &Field| offset < field.offset + field.bit_bytes && field.offset < offset + bytes;
                let mut holding = fields.iter().filter(holds);
                // Members of a union overlap.
                let (Some(field), None) = (holding.next(), holding.next()) else { return };
                if fields.iter().any(bits) {
                    return;
                }
                match &field.name {
                    // Only the library knows what this is.
                    Some(name)
                        if *is_library && name.starts_with("__") && !TRANSPARENT.contains(&name.as_str()) =>
                    {
                        walk.own.get_or_insert(walk.name.clone());
                        return;
                    }
                    Some(name) if !(*is_library && TRANSPARENT.contains(&name.as_str())) => {
                        if *is_library && walk.own.is_none() {
                            walk.own = Some(walk.name.clone());
                        }
                        walk.name += &format!(".{name}");
                    }
                    _ => {}
                }
                self.descend(field.ty, offset - field.offset, bytes, walk, depth + 1);
            }
            Type::Opaque { .. } => {}
        }
    }

    fn is_bool(&self, ty: TypeId, depth: usize) -> bool {
        match self.types.get(&ty).filter(|_| depth < DEPTH_MAX) {
            Some(Type::Number { encoding, .. }) => *encoding == Encoding::Bool,
            Some(Type::Alias { of, .. }) => self.is_bool(*of, depth + 1),
            _ => false,
        }
    }

    fn size(&self, ty: TypeId, depth: usize) -> Option<u64> {
        if depth > DEPTH_MAX {
            return None;
        }
        match self.types.get(&ty)? {
            Type::Number { bytes, .. } | Type::Record { bytes, .. } | Type::Opaque { bytes } => Some(*bytes),
            Type::Alias { of, .. } => self.size(*of, depth + 1),
            Type::Array { element, counts } => counts
                .iter()
                .try_fold(self.size(*element, depth + 1)?, |size, count| size.checked_mul(*count)),
        }
    }
}

/// A variable as it was declared.
struct Declared {
    name: String,
    /// A namespace or a file.
    qualifier: String,
    ty: TypeId,
    is_library: bool,
    parts: Vec<Part>,
}

/// The data that was read so far.
#[derive(Default)]
struct Reading {
    variables: Vec<Declared>,
    locals: Locals,
    types: BTreeMap<TypeId, Type>,
}

/// An entry that contains other entries.
struct Parent {
    depth: isize,
    /// The name, if it is a namespace.
    namespace: Option<String>,
    /// The type, if its parts follow.
    ty: Option<TypeId>,
    /// The scope, if it is within a function.
    scope: Option<locals::Within>,
}

impl Reading {
    fn unit(&mut self, unit: UnitRef<'_, Section>) -> gimli::Result<()> {
        let start = unit.header.debug_info_offset().map_or(0, |offset| offset.0);
        let path = unit.name.as_ref().map(text).unwrap_or_default();
        let is_library_unit = library_file(&path).is_some();
        let file = path.rsplit('/').next().unwrap_or_default().to_string();
        let mut parents: Vec<Parent> = Vec::new();
        let mut opaque: BTreeSet<TypeId> = BTreeSet::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            while parents.last().is_some_and(|parent| parent.depth >= entry.depth()) {
                parents.pop();
            }
            let id = start + entry.offset().0;
            let namespaces: Vec<&str> = parents.iter().filter_map(|p| p.namespace.as_deref()).collect();
            let parent = parents.last().and_then(|parent| parent.ty);
            let around = parents.last().and_then(|parent| parent.scope);
            let target = entry.attr_value(dw::DW_AT_type).and_then(|value| reference(start, &value));
            let bytes = entry.attr_value(dw::DW_AT_byte_size).and_then(|value| value.udata_value());
            let name = name(unit, entry);
            let mut of_type = None;
            let mut scope = None;
            match entry.tag() {
                dw::DW_TAG_subprogram | dw::DW_TAG_inlined_subroutine | dw::DW_TAG_lexical_block => {
                    let root = namespaces.first().copied().unwrap_or_default();
                    if !is_library_unit && !RUNTIMES.contains(&root) {
                        scope = self.locals.enter(unit, entry, around);
                    }
                }
                dw::DW_TAG_variable | dw::DW_TAG_formal_parameter => {
                    if let Some(within) = around {
                        self.locals.add(unit, entry, within);
                    }
                    let location = entry.attr_value(dw::DW_AT_location);
                    let member = || static_member(unit, entry);
                    let declared = name.clone().zip(target).or_else(member);
                    if let (Some(AttributeValue::Exprloc(location)), Some((name, ty))) = (location, declared)
                    {
                        let qualifier =
                            if namespaces.is_empty() { file.clone() } else { namespaces.join("::") };
                        let root = name.split_once("::").map(|(root, _)| root);
                        let root = root.or(namespaces.first().copied()).unwrap_or_default();
                        let is_library = is_library_unit || RUNTIMES.contains(&root);
                        let parts = locations::parts(unit, location);
                        if !parts.is_empty() {
                            self.variables.push(Declared { name, qualifier, ty, is_library, parts });
                        }
                    }
                }
                dw::DW_TAG_base_type => {
                    let encoding = entry.attr_value(dw::DW_AT_encoding);
                    let encoding = match encoding {
                        Some(AttributeValue::Encoding(dw::DW_ATE_signed | dw::DW_ATE_signed_char)) => {
                            Encoding::Signed
                        }
                        Some(AttributeValue::Encoding(dw::DW_ATE_unsigned | dw::DW_ATE_unsigned_char)) => {
                            Encoding::Unsigned
                        }
                        Some(AttributeValue::Encoding(dw::DW_ATE_boolean)) => Encoding::Bool,
                        _ => Encoding::Other,
                    };
                    let bytes = bytes.unwrap_or_default();
                    self.types.insert(id, Type::Number { bytes, encoding, target: None });
                }
                dw::DW_TAG_pointer_type | dw::DW_TAG_reference_type | dw::DW_TAG_rvalue_reference_type => {
                    let bytes = bytes.unwrap_or(4);
                    self.types.insert(id, Type::Number { bytes, encoding: Encoding::Pointer, target });
                }
                dw::DW_TAG_structure_type | dw::DW_TAG_class_type | dw::DW_TAG_union_type => {
                    let root = namespaces.first().copied().unwrap_or_default();
                    let is_library = LIBRARIES.contains(&root);
                    let bytes = bytes.unwrap_or_default();
                    self.types.insert(id, Type::Record { bytes, fields: Vec::new(), is_library });
                    of_type = Some(id);
                }
                dw::DW_TAG_enumeration_type => {
                    let (bytes, encoding) =
                        (bytes.unwrap_or_default(), Encoding::Enumeration(Arc::default()));
                    self.types.insert(id, Type::Number { bytes, encoding, target: None });
                    of_type = Some(id);
                }
                dw::DW_TAG_enumerator => {
                    if let Some(Type::Number { bytes, encoding: Encoding::Enumeration(names), .. }) =
                        parent.and_then(|parent| self.types.get_mut(&parent))
                        && let Some(name) = name
                        && let Some(value) = entry.attr_value(dw::DW_AT_const_value)
                        && let Some(value) =
                            value.sdata_value().map(|value| value as u64).or(value.udata_value())
                    {
                        let unused = 64 - 8 * (*bytes).clamp(1, 8);
                        // Of two names of a value the first one.
                        Arc::make_mut(names).entry(value << unused >> unused).or_insert(name);
                    }
                }
                dw::DW_TAG_array_type => {
                    if let Some(element) = target {
                        self.types.insert(id, Type::Array { element, counts: Vec::new() });
                        of_type = Some(id);
                    }
                }
                dw::DW_TAG_typedef
                | dw::DW_TAG_const_type
                | dw::DW_TAG_volatile_type
                | dw::DW_TAG_atomic_type
                | dw::DW_TAG_restrict_type => {
                    if let Some(of) = target {
                        let is_object = name.as_deref().is_some_and(|name| OBJECTS.contains(&name));
                        self.types.insert(id, Type::Alias { of, is_object });
                    }
                }
                dw::DW_TAG_subrange_type => {
                    if let Some(Type::Array { counts, .. }) =
                        parent.and_then(|parent| self.types.get_mut(&parent))
                    {
                        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
                        // An array of unknown length has no known elements.
                        let last = || number(dw::DW_AT_upper_bound).and_then(|last| last.checked_add(1));
                        counts.push(number(dw::DW_AT_count).or_else(last).unwrap_or_default());
                    }
                }
                dw::DW_TAG_member | dw::DW_TAG_inheritance => {
                    if let Some(Type::Record { fields, .. }) =
                        parent.and_then(|parent| self.types.get_mut(&parent))
                    {
                        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
                        let location = entry.attr_value(dw::DW_AT_data_member_location);
                        let offset = location.map_or(Some(0), |value| value.udata_value());
                        let bits = number(dw::DW_AT_bit_size);
                        let first_bit = number(dw::DW_AT_data_bit_offset);
                        let name = if entry.tag() == dw::DW_TAG_inheritance { None } else { name };
                        match (target, offset, bits) {
                            // A static member of C++ has no place in the record.
                            _ if entry.has_attr(dw::DW_AT_external) => {}
                            (Some(ty), Some(offset), None) => {
                                fields.push(Field { name, offset, ty, bit_bytes: 0 });
                            }
                            (Some(ty), Some(_), Some(bits)) if first_bit.is_some() => {
                                let first = first_bit.unwrap_or_default();
                                let offset = first / 8;
                                let bit_bytes = (first + bits).div_ceil(8) - offset;
                                fields.push(Field { name, offset, ty, bit_bytes });
                            }
                            (Some(ty), Some(offset), Some(_)) => {
                                // Older DWARF says which number contains the bit-field.
                                let bit_bytes = bytes.unwrap_or(8);
                                fields.push(Field { name, offset, ty, bit_bytes });
                            }
                            _ => drop(parent.map(|parent| opaque.insert(parent))),
                        }
                    }
                }
                dw::DW_TAG_variant_part => drop(parent.map(|parent| opaque.insert(parent))),
                _ => {}
            }
            let namespace = match entry.tag() {
                dw::DW_TAG_namespace => name_of_namespace(unit, entry),
                _ => None,
            };
            let depth = entry.depth();
            if entry.has_children() {
                parents.push(Parent { depth, namespace, ty: of_type, scope });
            }
        }
        for id in opaque {
            if let Some(Type::Record { bytes, .. }) = self.types.get(&id) {
                let bytes = *bytes;
                self.types.insert(id, Type::Opaque { bytes });
            }
        }
        Ok(())
    }

    fn finish(mut self) -> Variables {
        self.types.extend(bytes_of_two_values());
        let Reading { variables: declared, locals, types } = self;
        let mut variables = Variables { locals, types, ..Variables::default() };
        let mut named: BTreeMap<String, BTreeSet<u64>> = BTreeMap::new();
        for Declared { name, parts, .. } in &declared {
            named.entry(name.clone()).or_default().extend(parts.first().map(|part| part.address));
        }
        for Declared { name, qualifier, ty, is_library, parts } in declared {
            let name = match named[&name].len() {
                0 | 1 => name,
                _ if qualifier.contains('.') => format!("{name} ({qualifier})"),
                _ => format!("{qualifier}::{name}"),
            };
            for Part { address, offset, bytes, content } in parts {
                let ty = match content {
                    Content::Value => ty,
                    Content::Bit if variables.is_bool(ty, 0) => BOOL,
                    Content::Bit => BIT,
                    Content::OneOfTwo => ONE_OF_TWO,
                };
                let piece = bytes.map(|_| offset);
                let size = bytes.or_else(|| variables.size(ty, 0)).filter(|bytes| *bytes > 0);
                let Some(bytes) = size else { continue };
                // Linkers give 0 or the largest number to variables that they left out.
                if address == 0 || address.checked_add(bytes).is_none_or(|end| end > 1 << 32) {
                    continue;
                }
                let variable = Variable { address, bytes, name: name.clone(), ty, piece, is_library };
                variables.variables.insert(address, variable);
            }
        }
        variables
    }
}

/// Types of bytes that stand for one of two values, which no entry of DWARF has.
const BOOL: TypeId = usize::MAX;
const BIT: TypeId = usize::MAX - 1;
const ONE_OF_TWO: TypeId = usize::MAX - 2;

fn bytes_of_two_values() -> [(TypeId, Type); 3] {
    let number = |encoding| Type::Number { bytes: 1, encoding, target: None };
    [
        (BOOL, number(Encoding::Bool)),
        (BIT, number(Encoding::Unsigned)),
        (ONE_OF_TWO, Type::Opaque { bytes: 1 }),
    ]
}

fn text(bytes: &Section) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

pub(super) fn name(unit: UnitRef<'_, Section>, entry: &Entry) -> Option<String> {
    let name = unit.attr_string(entry.attr_value(dw::DW_AT_name)?).ok()?;
    Some(text(&name)).filter(|name| !name.is_empty())
}

fn name_of_namespace(unit: UnitRef<'_, Section>, entry: &Entry) -> Option<String> {
    name(unit, entry).or(Some("{anonymous}".into()))
}

/// The name of a static member of a class of C++ with its class, and its type: its definition refers to the declaration.
fn static_member(unit: UnitRef<'_, Section>, entry: &Entry) -> Option<(String, TypeId)> {
    let AttributeValue::UnitRef(offset) = entry.attr_value(dw::DW_AT_specification)? else { return None };
    let declaration = unit.entry(offset).ok()?;
    let start = unit.header.debug_info_offset().map_or(0, |offset| offset.0);
    let ty = reference(start, &declaration.attr_value(dw::DW_AT_type)?)?;
    let symbol = entry.attr_value(dw::DW_AT_linkage_name).and_then(|name| unit.attr_string(name).ok());
    let name = symbol.map(|symbol| demangle(&text(&symbol))).or_else(|| name(unit, &declaration))?;
    Some((name, ty))
}

/// The offset in `.debug_info` of an entry that is referred to.
pub(super) fn reference(start: usize, value: &AttributeValue<Section>) -> Option<TypeId> {
    match value {
        AttributeValue::UnitRef(offset) => Some(start + offset.0),
        AttributeValue::DebugInfoRef(offset) => Some(offset.0),
        _ => None,
    }
}
