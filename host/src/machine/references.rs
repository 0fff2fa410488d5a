//! Identifies the targets of the guest's references. The engine's identity of a function is valid only within one
//! instance, so a function is identified by its index in the table of all functions that a reference can have as its
//! target.

use super::Machine;
use super::host::Host;
use coyote_abi::rt;
use std::collections::BTreeMap;
use wasmtime::{AsContextMut, Extern, Func, Instance, Ref, Store, Table, Val};

/// The number that stands for a reference to anything but a function. Such references are distinguished from
/// null, but not from each other.
const OTHER: i32 = -1;

/// The guest's tables, and its mutable globals that hold references, if any of them can change.
pub(super) fn exported(instance: &Instance, store: &mut Store<Host>) -> Vec<Extern> {
    let names = (0..).map(|number| format!("{}{number}", rt::REFERENCES_PREFIX));
    names.map_while(|name| instance.get_export(&mut *store, &name)).collect()
}

/// The index of a function in `functions`, which is the table [`rt::FUNCTIONS`]; null comes last.
pub(super) fn function_index(
    mut store: impl AsContextMut<Data = Host>,
    functions: Table,
    function: Option<Func>,
) -> i32 {
    let mut store = store.as_context_mut();
    if store.data().functions.is_empty() {
        let size = functions.size(&store);
        let entries: Vec<_> = (0..size).map(|i| functions.get(&mut store, i)).collect();
        let mut identity = |entry: Option<Ref>| match entry {
            Some(Ref::Func(function)) => raw(&mut store, function),
            _ => 0,
        };
        let functions: BTreeMap<usize, i32> = entries.into_iter().map(&mut identity).zip(0..).collect();
        store.data_mut().functions = functions;
    }
    let function = raw(&mut store, function);
    *store.data().functions.get(&function).expect("all functions are there")
}

/// The engine's identity of a function within an instance; 0 for null.
fn raw(store: impl AsContextMut<Data = Host>, function: Option<Func>) -> usize {
    function.map_or(0, |function| function.to_raw(store) as usize)
}

impl Machine {
    /// The entries of the guest's tables, each table preceded by its size, and of globals that hold references: equal
    /// for equal states.
    pub(super) fn references(&mut self) -> Vec<i64> {
        let functions = self.exports.instance.get_table(&mut self.store, rt::FUNCTIONS);
        let (Some(functions), false) = (functions, self.exports.references.is_empty()) else {
            return Vec::new();
        };
        let store = &mut self.store;
        let mut entries = Vec::new();
        let identity = |store: &mut Store<Host>, reference: Option<Ref>| match reference {
            Some(Ref::Func(function)) => function_index(store, functions, function),
            Some(reference) if reference.is_null() => 0,
            _ => OTHER,
        };
        for port in &self.exports.references {
            match port {
                Extern::Table(table) => {
                    let size = table.size(&mut *store);
                    entries.push(size as i64);
                    for at in 0..size {
                        let entry = table.get(&mut *store, at);
                        entries.push(identity(store, entry).into());
                    }
                }
                Extern::Global(global) => {
                    let value = global.get(&mut *store);
                    let reference = match value {
                        Val::FuncRef(function) => Some(Ref::Func(function)),
                        Val::ExternRef(value) => Some(Ref::Extern(value)),
                        Val::AnyRef(value) => Some(Ref::Any(value)),
                        Val::ExnRef(value) => Some(Ref::Exn(value)),
                        _ => None,
                    };
                    entries.push(identity(store, reference).into());
                }
                _ => {}
            }
        }
        entries
    }
}
