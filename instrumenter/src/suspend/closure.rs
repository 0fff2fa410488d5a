//! Finds the functions that may suspend: those that call a suspending import, or a function that may suspend.
//!
//! An indirect call may reach every function whose address is taken somewhere in the module and whose type is
//! the call's type or a subtype of it. A function in another table also counts: tables can be copied and
//! exported.

use super::module::{Module, ModuleBody};
use crate::Error;
use std::collections::{BTreeMap, BTreeSet};
use wasmparser::types::CoreTypeId;
use wasmparser::{
    BinaryReader, ConstExpr, ElementItems, ElementSectionReader, GlobalSectionReader, Operator,
    OperatorsReader, TableInit, TableSectionReader,
};

pub(super) struct MaySuspend {
    /// By function index. Includes the suspending imports.
    pub functions: Vec<bool>,
    /// By type index: whether an indirect call of this type may suspend.
    pub types: Vec<bool>,
}

impl MaySuspend {
    pub fn compute(module: &Module, bodies: &[ModuleBody], suspending: &[u32]) -> Result<MaySuspend, Error> {
        let types = module.types.as_ref();
        let graph = CallGraph::read(module, bodies)?;
        let mut functions = vec![false; types.function_count() as usize];
        let mut reached: BTreeSet<CoreTypeId> = BTreeSet::new();
        let mut work: Vec<u32> = suspending.to_vec();
        while let Some(function) = work.pop() {
            if std::mem::replace(&mut functions[function as usize], true) {
                continue;
            }
            work.extend(&graph.callers[function as usize]);
            if graph.taken[function as usize] {
                let mut ty = Some(types.core_function_at(function));
                while let Some(id) = ty {
                    if reached.insert(id) {
                        work.extend(graph.indirect.get(&id).into_iter().flatten());
                    }
                    ty = types.supertype_of(id);
                }
            }
        }
        let types = (0..types.core_type_count_in_module())
            .map(|index| reached.contains(&types.core_type_at_in_module(index)))
            .collect();
        if let Some(import) = suspending.iter().find(|f| graph.taken[**f as usize]) {
            return Err(Error::UnsupportedModule(format!(
                "the address of suspending import {import} is taken; call it from a function instead"
            )));
        }
        Ok(MaySuspend { functions, types })
    }
}

struct CallGraph {
    /// Direct callers of each function.
    callers: Vec<Vec<u32>>,
    /// Functions with an indirect call of a type.
    indirect: BTreeMap<CoreTypeId, Vec<u32>>,
    /// Functions that a table or a reference can hold.
    taken: Vec<bool>,
}

impl CallGraph {
    fn read(module: &Module, bodies: &[ModuleBody]) -> Result<CallGraph, Error> {
        let types = module.types.as_ref();
        let count = types.function_count() as usize;
        let mut graph =
            CallGraph { callers: vec![vec![]; count], indirect: BTreeMap::new(), taken: vec![false; count] };
        for (id, range) in &module.sections {
            let reader = || BinaryReader::new(&module.wasm[range.clone()], range.start);
            match *id {
                4 => {
                    for table in TableSectionReader::new(reader())? {
                        if let TableInit::Expr(init) = table?.init {
                            graph.take_constant(init)?;
                        }
                    }
                }
                6 => {
                    for global in GlobalSectionReader::new(reader())? {
                        graph.take_constant(global?.init_expr)?;
                    }
                }
                9 => {
                    for element in ElementSectionReader::new(reader())? {
                        match element?.items {
                            ElementItems::Functions(items) => {
                                for function in items {
                                    graph.taken[function? as usize] = true;
                                }
                            }
                            ElementItems::Expressions(_, items) => {
                                for item in items {
                                    graph.take_constant(item?)?;
                                }
                            }
                        }
                    }
                }
                _ => {}
            }
        }
        for (function, body) in bodies {
            let caller = function.index;
            let mut operators = body.get_operators_reader()?;
            while !operators.eof() {
                match operators.read()? {
                    Operator::Call { function_index } | Operator::ReturnCall { function_index } => {
                        push_once(&mut graph.callers[function_index as usize], caller);
                    }
                    Operator::CallIndirect { type_index, .. }
                    | Operator::ReturnCallIndirect { type_index, .. }
                    | Operator::CallRef { type_index }
                    | Operator::ReturnCallRef { type_index } => {
                        let id = types.core_type_at_in_module(type_index);
                        push_once(graph.indirect.entry(id).or_default(), caller);
                    }
                    Operator::RefFunc { function_index } => {
                        graph.taken[function_index as usize] = true;
                    }
                    _ => {}
                }
            }
        }
        Ok(graph)
    }

    fn take_constant(&mut self, constant: ConstExpr) -> Result<(), Error> {
        let mut operators: OperatorsReader = constant.get_operators_reader();
        while !operators.eof() {
            if let Operator::RefFunc { function_index } = operators.read()? {
                self.taken[function_index as usize] = true;
            }
        }
        Ok(())
    }
}

/// Adds a caller unless it is the last one: callers are added in ascending order.
fn push_once(callers: &mut Vec<u32>, caller: u32) {
    if callers.last() != Some(&caller) {
        callers.push(caller);
    }
}
