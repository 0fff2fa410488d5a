//! Finds the value of a variable by its name: fields, elements, targets of pointers.
//!
//! An expression is `VARIABLE`, then any of `.FIELD`, `[INDEX]`; `*EXPRESSION` is the target of a pointer. `0xADDRESS`
//! is a number of 4 bytes, `0xADDRESS:BYTES` a range.

use super::{DEPTH_MAX, Encoding, Field, Type, TypeId, Variable, Variables};
use coyote_instrumenter::Location;

/// A piece of memory with a name, and a type if it is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// An expression for the place.
    pub name: String,
    /// Its address.
    pub address: u64,
    /// Its size in bytes.
    pub bytes: u64,
    ty: Option<TypeId>,
}

/// Maximum number of elements of an array that are shown.
const ELEMENTS_MAX: u64 = 16;
/// Maximum depth to which nested values are shown.
const SHOWN_DEPTH_MAX: usize = 4;

impl Variables {
    /// The program's own variables, by address.
    pub fn globals(&self) -> impl Iterator<Item = Place> {
        let own = |variable: &&Variable| {
            !variable.is_library && !variable.name.starts_with('<') && !variable.name.contains("{vtable")
        };
        self.whole().filter(own).map(place)
    }

    /// Variables that are not in pieces.
    fn whole(&self) -> impl Iterator<Item = &Variable> {
        self.variables.values().filter(|variable| variable.piece.is_none())
    }

    /// The local variables in scope in a frame that begins at this address, in the order of declaration; of those with the
    /// same name the last one. `function`: where its function is; `inlined`: the number of functions around the one in
    /// question that are inlined there, too, or of which it is.
    pub fn locals(&self, function: Location, inlined: usize, begin: u64) -> Vec<Place> {
        let code = function.offset.checked_sub(self.code_start).map_or(u64::MAX, u64::from);
        let mut places: Vec<Place> = Vec::new();
        for (_, local) in self.locals.at(code).into_iter().filter(|(of, _)| *of == inlined) {
            let Some(bytes) = self.size(local.ty, 0).filter(|bytes| *bytes > 0) else { continue };
            let Some(address) = begin.checked_add(local.offset) else { continue };
            places.retain(|place| place.name != local.name);
            places.push(Place { name: local.name.clone(), address, bytes, ty: Some(local.ty) });
        }
        places
    }

    /// The place that an expression means in this memory. `locals`: local variables, which hide global ones.
    ///
    /// # Errors
    /// There is no such variable, or it has no such part; the text says why, as half a sentence.
    pub fn find(&self, expression: &str, locals: &[Place], memory: &[u8]) -> Result<Place, String> {
        let expression = expression.trim();
        if let Some(rest) = expression.strip_prefix('*') {
            let pointer = self.find(rest, locals, memory)?;
            return self.pointee(&pointer, memory);
        }
        if expression.starts_with("0x") {
            return range(expression);
        }
        let ends = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[']);
        let end = expression.find(['.', '[']).unwrap_or(expression.len());
        if let Some(local) = locals.iter().find(|local| local.name == expression[..end]) {
            return self.part(local.clone(), &expression[end..], memory);
        }
        let named = |v: &&Variable| expression.strip_prefix(v.name.as_str()).is_some_and(ends);
        let last = |v: &&Variable| {
            v.name.rsplit_once("::").is_some_and(|(_, name)| expression.strip_prefix(name).is_some_and(ends))
        };
        let longest = self.whole().filter(named).max_by_key(|v| v.name.len());
        let Some(variable) = longest.or_else(|| self.whole().find(last)) else {
            return Err(match self.variables.is_empty() {
                true if self.locals.is_empty() => {
                    "the module has no debug information that names variables: compile it with -g".into()
                }
                _ => format!("there is no variable {expression} with a place in memory here"),
            });
        };
        let length = if named(&variable) {
            variable.name.len()
        } else {
            variable.name.rsplit_once("::").map_or(0, |(_, name)| name.len())
        };
        self.part(place(variable), &expression[length..], memory)
    }

    /// Follows fields and indices.
    fn part(&self, from: Place, path: &str, memory: &[u8]) -> Result<Place, String> {
        if path.is_empty() {
            return Ok(from);
        }
        let end = path[1..].find(['.', '[']).map_or(path.len(), |end| end + 1);
        let (part, rest) = path.split_at(end);
        let next = match part.strip_prefix('[') {
            Some(index) => {
                let index = index.strip_suffix(']').and_then(|index| index.trim().parse::<u64>().ok());
                let index = index.ok_or_else(|| format!("`{part}` is no index: write [NUMBER]"))?;
                self.element(&from, index).ok_or_else(|| format!("{} has no element {index}", from.name))?
            }
            None => {
                let field = &part[1..];
                let found = self.fields(&from).into_iter().find(|(name, _)| name == field).map(|(_, f)| f);
                let through = || {
                    let target = self.pointee(&from, memory).ok()?;
                    self.fields(&target).into_iter().find(|(name, _)| name == field).map(|(_, f)| f)
                };
                found.or_else(through).ok_or_else(|| format!("{} has no field {field}", from.name))?
            }
        };
        self.part(next, rest, memory)
    }

    /// The parts of a place: fields, elements, or the target of a pointer.
    pub fn children(&self, of: &Place, memory: &[u8]) -> Vec<(String, Place)> {
        match self.shape(of) {
            Some(Type::Record { .. }) => self.fields(of),
            Some(Type::Array { counts, .. }) => {
                let count = counts.first().copied().unwrap_or_default().min(ELEMENTS_MAX * 64);
                let element = |index| Some((format!("[{index}]"), self.element(of, index)?));
                (0..count).filter_map(element).collect()
            }
            Some(Type::Number { encoding: Encoding::Pointer, .. }) => {
                self.pointee(of, memory).ok().map(|target| ("*".into(), target)).into_iter().collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether it has parts.
    pub fn has_children(&self, of: &Place, memory: &[u8]) -> bool {
        !self.children(of, memory).is_empty()
    }

    /// The value at a place, as text.
    pub fn show(&self, of: &Place, memory: &[u8]) -> String {
        self.shown(of, memory, 0)
    }

    fn shown(&self, of: &Place, memory: &[u8], depth: usize) -> String {
        let Some(bytes) = slice(memory, of.address, of.bytes) else {
            return "beyond the end of memory".into();
        };
        match self.shape(of) {
            Some(Type::Number { encoding, .. }) => number(bytes, encoding),
            Some(Type::Record { .. }) => {
                if depth == SHOWN_DEPTH_MAX {
                    return "{..}".into();
                }
                let fields = self.fields(of).into_iter();
                let fields =
                    fields.map(|(name, field)| format!("{name}: {}", self.shown(&field, memory, depth + 1)));
                format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
            }
            Some(Type::Array { counts, .. }) => {
                if depth == SHOWN_DEPTH_MAX {
                    return "[..]".into();
                }
                let count = counts.first().copied().unwrap_or_default();
                let elements = (0..count.min(ELEMENTS_MAX)).filter_map(|index| self.element(of, index));
                let mut elements: Vec<String> =
                    elements.map(|element| self.shown(&element, memory, depth + 1)).collect();
                if count > ELEMENTS_MAX {
                    elements.push("..".into());
                }
                format!("[{}]", elements.join(", "))
            }
            Some(Type::Opaque { .. }) | None if bytes.len() <= 8 => number(bytes, &Encoding::Unknown),
            _ => hex(bytes),
        }
    }

    /// The type of a place, without aliases and without a library's wrappers around a value.
    fn shape(&self, of: &Place) -> Option<&Type> {
        self.unwrapped(of.ty?, 0)
    }

    fn unwrapped(&self, ty: TypeId, depth: usize) -> Option<&Type> {
        let found = self.types.get(&ty).filter(|_| depth < DEPTH_MAX)?;
        match found {
            Type::Alias { of, .. } => self.unwrapped(*of, depth + 1),
            Type::Record { fields, is_library: true, bytes } => {
                let sized = |f: &&Field| self.size(f.ty, depth).is_some_and(|size| size > 0);
                let mut sized = fields.iter().filter(sized);
                match (sized.next(), sized.next()) {
                    (Some(only), None) if self.size(only.ty, depth) == Some(*bytes) => {
                        self.unwrapped(only.ty, depth + 1)
                    }
                    _ => Some(found),
                }
            }
            _ => Some(found),
        }
    }

    fn fields(&self, of: &Place) -> Vec<(String, Place)> {
        let Some(Type::Record { fields, .. }) = self.shape(of) else { return Vec::new() };
        let field = |(index, field): (usize, &Field)| {
            let name = field.name.clone().unwrap_or_else(|| format!("base{index}"));
            // A field of a pointer's target is named through the pointer.
            let path = format!("{}.{name}", of.name.strip_prefix('*').unwrap_or(&of.name));
            let bytes = self.size(field.ty, 0).filter(|bytes| *bytes > 0)?;
            let address = of.address.checked_add(field.offset)?;
            // Bits within a number are shown as that number.
            Some((name, Place { name: path, address, bytes, ty: Some(field.ty) }))
        };
        fields.iter().enumerate().filter_map(field).collect()
    }

    fn element(&self, of: &Place, index: u64) -> Option<Place> {
        let Some(Type::Array { element, counts }) = self.shape(of) else { return None };
        let count = counts.first().copied().filter(|count| index < *count)?;
        let name = format!("{}[{index}]", of.name);
        let bytes = of.bytes.checked_div(count)?;
        let address = of.address.checked_add(bytes.checked_mul(index)?)?;
        match counts.len() {
            1 => Some(Place { name, address, bytes, ty: Some(*element) }),
            // A row of several dimensions has no type of its own.
            _ => Some(Place { name, address, bytes, ty: None }),
        }
    }

    fn pointee(&self, pointer: &Place, memory: &[u8]) -> Result<Place, String> {
        let Some(Type::Number { encoding: Encoding::Pointer, target, .. }) = self.shape(pointer) else {
            return Err(format!("{} is no pointer", pointer.name));
        };
        let stored = slice(memory, pointer.address, pointer.bytes);
        let address = number_of(stored.ok_or("it lies beyond the end of memory")?);
        if address == 0 {
            return Err(format!("{} is null", pointer.name));
        }
        let bytes = target.and_then(|target| self.size(target, 0)).filter(|bytes| *bytes > 0);
        let bytes = bytes.ok_or_else(|| format!("it is not known what {} points to", pointer.name))?;
        slice(memory, address, bytes).ok_or_else(|| format!("{} points to no memory", pointer.name))?;
        Ok(Place { name: format!("*{}", pointer.name), address, bytes, ty: *target })
    }
}

impl Place {
    /// Memory without a name.
    pub fn range(address: u64, bytes: u64) -> Place {
        Place { name: format!("{address:#x}:{bytes}"), address, bytes, ty: None }
    }
}

fn place(variable: &Variable) -> Place {
    let Variable { address, bytes, name, ty, .. } = variable;
    Place { name: name.clone(), address: *address, bytes: *bytes, ty: Some(*ty) }
}

fn range(expression: &str) -> Result<Place, String> {
    let (address, bytes) = expression.split_once(':').unwrap_or((expression, "4"));
    let address = address.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
    match (address, bytes.parse()) {
        (Some(address), Ok(bytes)) if bytes > 0 => Ok(Place::range(address, bytes)),
        _ => Err(format!("`{expression}` is no address: write 0xADDRESS or 0xADDRESS:BYTES")),
    }
}

/// A range of guest memory; `None` if a part of it is outside.
pub(crate) fn slice(memory: &[u8], address: u64, bytes: u64) -> Option<&[u8]> {
    let start = usize::try_from(address).ok()?;
    memory.get(start..start.checked_add(usize::try_from(bytes).ok()?)?)
}

fn number_of(bytes: &[u8]) -> u64 {
    bytes.iter().take(8).rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

fn number(bytes: &[u8], encoding: &Encoding) -> String {
    match bytes.len() {
        0..=8 => number_text(number_of(bytes), bytes.len() as u32, encoding),
        _ => hex(bytes),
    }
}

/// A number of `bytes` bytes as text, by its encoding.
pub(crate) fn number_text(value: u64, bytes: u32, encoding: &Encoding) -> String {
    let unused = 64 - 8 * bytes.clamp(1, 8);
    match encoding {
        Encoding::Signed => ((value << unused) as i64 >> unused).to_string(),
        Encoding::Bool if value < 2 => (value == 1).to_string(),
        Encoding::Pointer if value == 0 => "null".into(),
        Encoding::Enumeration(names) => names.get(&value).cloned().unwrap_or_else(|| value.to_string()),
        Encoding::Pointer | Encoding::Other => format!("{value:#x}"),
        _ => value.to_string(),
    }
}

/// Bytes in the order of their addresses.
fn hex(bytes: &[u8]) -> String {
    const BYTES_MAX: usize = 32;
    let shown: Vec<String> = bytes.iter().take(BYTES_MAX).map(|byte| format!("{byte:02x}")).collect();
    let more = if bytes.len() > BYTES_MAX { " .." } else { "" };
    format!("{}{more}", shown.join(" "))
}
