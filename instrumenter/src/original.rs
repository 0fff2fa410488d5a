//! Facts about the original module that the passes need and that walrus' form does not show.

use crate::libtest;
use crate::stack_pointer::{self, Candidate};
use crate::{Error, Function};
use coyote_abi::{guest, rt};
use std::collections::BTreeMap;
use wasmparser::{
    CustomSectionReader, ExternalKind, FunctionBody, ImportSectionReader, KnownCustom, Name, Parser, Payload,
    TypeRef, TypeSectionReader, ValType, WasmFeatures,
};

/// Exports that show that a linker wrote the module and not a person.
const LINKED_EXPORTS: &[&str] =
    &["__heap_base", "__data_end", "__wasm_call_ctors", "_start", "_initialize", "wasi_thread_start"];

/// Functions that `_start` calls before `main`, in this order: the first by wasi-libc for threads only, the
/// second by all linkers.
pub const INITIALISERS: &[&str] = &["__wasi_init_tp", "__wasm_call_ctors"];

/// Facts about the original module that the passes need.
#[derive(Debug, Default)]
pub struct Original {
    /// All functions, imports first.
    pub functions: Vec<Function>,
    /// Names under which each function is exported, by index.
    pub exported_as: BTreeMap<u32, Vec<String>>,
    /// Whether it imports `wasi.thread-spawn`: then every mutable global belongs to a worker.
    pub wasi_threads: bool,
    /// Whether it is a program that runs Rust's test harness.
    pub libtest: bool,
    /// Whether it imports `coyote.spawn`.
    pub spawns: bool,
    /// Whether it imports `coyote.wait_until` or `coyote.watch`.
    pub waits_until: bool,
    /// Index of the global that is the shadow stack pointer.
    pub stack_pointer: Option<u32>,
    /// Names of the globals that have one, by index.
    pub global_names: BTreeMap<u32, String>,
    /// End of the code section: the passes do not need the custom sections after it.
    code_end: usize,
}

impl Original {
    /// The function whose body contains an offset.
    pub fn function_at(&self, offset: usize) -> Option<u32> {
        let inside = |f: &Function| (f.start as usize..f.end as usize).contains(&offset);
        self.functions.iter().position(inside).map(|i| i as u32)
    }

    /// A function's name, or its number where it has none.
    pub fn display_name(&self, index: u32) -> String {
        match self.functions.get(index as usize).map(|f| f.name.as_str()) {
            None | Some("") => format!("func[{index}]"),
            Some(name) => name.to_string(),
        }
    }

    /// The module without debug sections, all offsets of code unchanged: reading DWARF costs more
    /// than all passes together.
    pub fn without_debug(&self, wasm: &[u8]) -> Result<Vec<u8>, Error> {
        let mut kept = wasm[..self.code_end].to_vec();
        for payload in Parser::new(0).parse_all(wasm) {
            let payload = payload?;
            if let Some((id, range)) = payload.as_section()
                && range.start >= self.code_end
                && !matches!(&payload, Payload::CustomSection(s) if s.name() != "name")
            {
                kept.push(id);
                wasm_encoder::Encode::encode(&(range.end - range.start), &mut kept);
                kept.extend_from_slice(&wasm[range]);
            }
        }
        Ok(kept)
    }
}

/// Parameters and results of a function.
pub type FunctionType = (Vec<ValType>, Vec<ValType>);

/// An import. The type of a function is in [`Contents::types`].
pub struct Import<'a> {
    pub module: &'a str,
    pub name: &'a str,
    pub ty: TypeRef,
}

/// An export.
pub struct Export<'a> {
    pub name: &'a str,
    pub kind: ExternalKind,
    /// The function's type, if a function with a known type is exported.
    pub ty: Option<FunctionType>,
}

/// The original module, and the parts of it that are to be checked.
#[derive(Default)]
pub struct Contents<'a> {
    pub original: Original,
    pub imports: Vec<Import<'a>>,
    pub exports: Vec<Export<'a>>,
    /// By index; `None` if the type is not that of a function.
    pub types: Vec<Option<FunctionType>>,
    pub memories: Vec<wasmparser::MemoryType>,
    pub tables: Vec<wasmparser::TableType>,
}

/// State that is only needed while reading.
#[derive(Default)]
struct Reader<'a> {
    contents: Contents<'a>,
    bodies: Vec<FunctionBody<'a>>,
    globals: Vec<Candidate>,
    exports: Vec<wasmparser::Export<'a>>,
    function_types: Vec<u32>,
    /// Whether a linker made the module.
    linked: bool,
}

/// Reads every section once. Bodies are read only to find the stack pointer.
pub fn read(wasm: &[u8]) -> Result<Contents<'_>, Error> {
    let mut reader = Reader::default();
    reader.contents.original.code_end = wasm.len();
    let mut parser = Parser::new(0);
    parser.set_features(WasmFeatures::all());
    for payload in parser.parse_all(wasm) {
        reader.section(payload?)?;
    }
    reader.finish()
}

impl<'a> Reader<'a> {
    fn section(&mut self, payload: Payload<'a>) -> Result<(), Error> {
        let contents = &mut self.contents;
        match payload {
            Payload::TypeSection(section) => self.types(section)?,
            Payload::ImportSection(section) => self.imports(section)?,
            Payload::FunctionSection(section) => {
                for ty in section {
                    self.function_types.push(ty?);
                }
            }
            Payload::TableSection(section) => {
                for table in section {
                    contents.tables.push(table?.ty);
                }
            }
            Payload::MemorySection(section) => {
                for memory in section {
                    contents.memories.push(memory?);
                }
            }
            Payload::GlobalSection(section) => {
                for global in section {
                    self.globals.push(Candidate::of(global?.ty));
                }
            }
            Payload::ExportSection(section) => {
                for export in section {
                    self.exports.push(export?);
                }
            }
            Payload::CodeSectionStart { range, .. } => contents.original.code_end = range.end,
            Payload::CodeSectionEntry(body) => {
                contents.original.functions.push(Function {
                    name: String::new(),
                    start: body.range().start as u32,
                    end: body.range().end as u32,
                });
                self.bodies.push(body);
            }
            Payload::CustomSection(section) => self.custom(&section)?,
            _ => {}
        }
        Ok(())
    }

    fn types(&mut self, section: TypeSectionReader<'a>) -> Result<(), Error> {
        for group in section {
            for ty in group?.into_types() {
                self.contents.types.push(match &ty.composite_type.inner {
                    wasmparser::CompositeInnerType::Func(f) => {
                        Some((f.params().to_vec(), f.results().to_vec()))
                    }
                    _ => None,
                });
            }
        }
        Ok(())
    }

    fn imports(&mut self, section: ImportSectionReader<'a>) -> Result<(), Error> {
        let contents = &mut self.contents;
        for import in section.into_imports() {
            let wasmparser::Import { module, name, ty } = import?;
            match ty {
                TypeRef::Func(ty) | TypeRef::FuncExact(ty) => {
                    let name = format!("{module}.{name}");
                    contents.original.functions.push(Function { name, start: 0, end: 0 });
                    self.function_types.push(ty);
                }
                TypeRef::Memory(memory) => contents.memories.push(memory),
                TypeRef::Global(_) => self.globals.push(Candidate::default()),
                TypeRef::Table(_) | TypeRef::Tag(_) => {}
            }
            contents.imports.push(Import { module, name, ty });
        }
        Ok(())
    }

    fn custom(&mut self, section: &CustomSectionReader<'a>) -> Result<(), Error> {
        if section.name() == rt::SITES_SECTION {
            return Err(Error::Instrumented);
        }
        self.linked |= section.name() == "producers";
        // Names are a convenience: a damaged section counts as none.
        let KnownCustom::Name(names) = section.as_known() else { return Ok(()) };
        let original = &mut self.contents.original;
        for subsection in names.into_iter().map_while(Result::ok) {
            match subsection {
                Name::Function(map) => {
                    for naming in map.into_iter().map_while(Result::ok) {
                        if let Some(f) = original.functions.get_mut(naming.index as usize)
                            && f.start != 0
                        {
                            f.name = naming.name.to_string();
                        }
                    }
                }
                Name::Global(map) => {
                    let names = map.into_iter().map_while(Result::ok);
                    original.global_names.extend(names.map(|n| (n.index, n.name.to_string())));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Derives the facts that need several sections.
    fn finish(mut self) -> Result<Contents<'a>, Error> {
        let Contents { original, imports, exports, types, .. } = &mut self.contents;
        if imports.iter().any(|i| i.module == rt::MODULE) {
            return Err(Error::Instrumented);
        }
        original.wasi_threads = imports.iter().any(|i| i.module == "wasi" && i.name == "thread-spawn");
        let waits =
            |i: &Import| i.module == guest::MODULE && [guest::WAIT_UNTIL, guest::WATCH].contains(&i.name);
        original.waits_until = imports.iter().any(waits);
        original.spawns = imports.iter().any(|i| i.module == guest::MODULE && i.name == "spawn");
        for wasmparser::Export { name, kind, index } in self.exports {
            self.linked |= LINKED_EXPORTS.contains(&name);
            let mut ty = None;
            match kind {
                ExternalKind::Func => {
                    original.exported_as.entry(index).or_default().push(name.to_string());
                    if let Some(f) = original.functions.get_mut(index as usize)
                        && f.name.is_empty()
                    {
                        f.name = name.to_string();
                    }
                    let number = self.function_types.get(index as usize);
                    ty = number.and_then(|number| types.get(*number as usize)).and_then(Option::clone);
                }
                ExternalKind::Global => {
                    let known = original.global_names.entry(index).or_insert(name.to_string());
                    if name == stack_pointer::NAME {
                        *known = name.to_string();
                    }
                }
                _ => {}
            }
            exports.push(Export { name, kind, ty });
        }
        original.libtest = original.functions.iter().any(|f| libtest::is_main(&f.name));
        original.stack_pointer = stack_pointer::find(
            &original.global_names,
            self.globals,
            &self.bodies,
            self.linked,
            original.spawns,
        )?;
        Ok(self.contents)
    }
}
