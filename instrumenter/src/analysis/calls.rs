//! The call graph. An indirect call may reach every function of its type whose address is taken.

use crate::code::instructions;
use std::collections::{BTreeMap, BTreeSet};
use walrus::ir::Instr;
use walrus::{ConstExpr, ConstOp, ElementItems, ExportItem, FunctionId, GlobalKind, Module, TypeId, ValType};

type Signature = (Vec<ValType>, Vec<ValType>);

/// Which functions call which. Nodes `0..functions.len()` are functions; the others stand for "some function
/// of this signature whose address is taken", so that the graph stays small.
#[derive(Debug)]
pub struct Calls {
    /// Functions whose address is taken: any indirect call of their type can reach them.
    pub taken: BTreeSet<FunctionId>,
    functions: Vec<FunctionId>,
    node_of: BTreeMap<FunctionId, usize>,
    edges: Vec<Vec<usize>>,
}

/// Functions whose address is taken outside of code: by element segments, globals and tables.
pub fn taken_by_constants(module: &Module) -> BTreeSet<FunctionId> {
    let mut taken = BTreeSet::new();
    let constant = |taken: &mut BTreeSet<FunctionId>, expr: &ConstExpr| match expr {
        ConstExpr::RefFunc(f) => {
            taken.insert(*f);
        }
        ConstExpr::Extended(ops) => taken.extend(ops.iter().filter_map(|op| match op {
            ConstOp::RefFunc(f) => Some(*f),
            _ => None,
        })),
        _ => {}
    };
    for element in module.elements.iter() {
        match &element.items {
            ElementItems::Functions(functions) => taken.extend(functions),
            ElementItems::Expressions(_, exprs) => exprs.iter().for_each(|e| constant(&mut taken, e)),
        }
    }
    for global in module.globals.iter() {
        if let GlobalKind::Local(expr) = &global.kind {
            constant(&mut taken, expr);
        }
    }
    module.tables.iter().filter_map(|t| t.init.as_ref()).for_each(|expr| constant(&mut taken, expr));
    taken
}

/// Functions that run without being called by the module: exports and the start function.
pub fn roots(module: &Module) -> BTreeSet<FunctionId> {
    let exports = module.exports.iter().filter_map(|export| match export.item {
        ExportItem::Function(f) => Some(f),
        _ => None,
    });
    exports.chain(module.start).collect()
}

impl Calls {
    /// Builds the graph of a module: a node for each function and for each signature of indirect calls.
    pub fn new(module: &Module) -> Calls {
        let functions: Vec<FunctionId> = module.funcs.iter().map(|f| f.id()).collect();
        let node_of: BTreeMap<_, _> = functions.iter().enumerate().map(|(i, f)| (*f, i)).collect();
        let taken = taken_by_constants(module);
        let mut calls = Calls { taken, edges: vec![Vec::new(); functions.len()], functions, node_of };
        let mut by_signature: BTreeMap<Signature, usize> = BTreeMap::new();
        let mut by_type: BTreeMap<TypeId, usize> = BTreeMap::new();
        let mut node_of_type = |edges: &mut Vec<Vec<usize>>, ty: TypeId| {
            *by_type.entry(ty).or_insert_with(|| {
                let ty = module.types.get(ty);
                let signature = (ty.params().to_vec(), ty.results().to_vec());
                *by_signature.entry(signature).or_insert_with(|| {
                    edges.push(Vec::new());
                    edges.len() - 1
                })
            })
        };
        for (id, function) in module.funcs.iter_local() {
            let caller = calls.node_of[&id];
            let mut callees = BTreeSet::new();
            for (instr, _) in instructions(function) {
                match instr {
                    Instr::Call(i) => callees.insert(calls.node_of[&i.func]),
                    Instr::ReturnCall(i) => callees.insert(calls.node_of[&i.func]),
                    Instr::CallIndirect(i) => callees.insert(node_of_type(&mut calls.edges, i.ty)),
                    Instr::ReturnCallIndirect(i) => callees.insert(node_of_type(&mut calls.edges, i.ty)),
                    Instr::CallRef(i) => callees.insert(node_of_type(&mut calls.edges, i.ty)),
                    Instr::ReturnCallRef(i) => callees.insert(node_of_type(&mut calls.edges, i.ty)),
                    Instr::RefFunc(i) => calls.taken.insert(i.func),
                    _ => continue,
                };
            }
            calls.edges[caller].extend(callees);
        }
        for f in &calls.taken {
            let node = node_of_type(&mut calls.edges, module.funcs.get(*f).ty());
            calls.edges[node].push(calls.node_of[f]);
        }
        calls
    }

    /// Functions that can run when those in `from` do, including these, on paths that avoid `except`.
    pub fn reachable(
        &self,
        from: impl IntoIterator<Item = FunctionId>,
        except: &BTreeSet<FunctionId>,
    ) -> BTreeSet<FunctionId> {
        let mut seen = vec![false; self.edges.len()];
        except.iter().for_each(|f| seen[self.node_of[f]] = true);
        let mut reached = BTreeSet::new();
        let mut work: Vec<usize> = from.into_iter().map(|f| self.node_of[&f]).collect();
        while let Some(node) = work.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            reached.extend(self.functions.get(node));
            work.extend(&self.edges[node]);
        }
        reached
    }

    /// Functions that `callers` call directly.
    pub fn called_by<'a>(
        &self,
        callers: impl IntoIterator<Item = &'a FunctionId>,
    ) -> impl Iterator<Item = FunctionId> {
        let nodes = callers.into_iter().flat_map(|caller| &self.edges[self.node_of[caller]]);
        nodes.filter_map(|node| self.functions.get(*node).copied())
    }

    /// For each function from which one of `goals` can be reached: the first function called on a shortest
    /// path to a goal. Goals themselves are not listed.
    pub fn leading_to(&self, goals: &BTreeSet<FunctionId>) -> BTreeMap<FunctionId, FunctionId> {
        let mut callers = vec![Vec::new(); self.edges.len()];
        for (caller, callees) in self.edges.iter().enumerate() {
            callees.iter().for_each(|callee| callers[*callee].push(caller));
        }
        // `via[n]`: the function that a call from `n` reaches.
        let mut via: Vec<Option<FunctionId>> = vec![None; self.edges.len()];
        let mut work: std::collections::VecDeque<usize> = goals.iter().map(|f| self.node_of[f]).collect();
        let mut seen = vec![false; self.edges.len()];
        work.iter().for_each(|n| seen[*n] = true);
        while let Some(node) = work.pop_front() {
            let target = self.functions.get(node).copied().or(via[node]);
            for caller in &callers[node] {
                if !std::mem::replace(&mut seen[*caller], true) {
                    via[*caller] = target;
                    work.push_back(*caller);
                }
            }
        }
        let functions = self.functions.iter().enumerate();
        functions.filter_map(|(node, f)| via[node].map(|target| (*f, target))).collect()
    }

    /// Functions that can call themselves, directly or through others: the strongly connected
    /// components of the graph (Tarjan 1972, without recursion).
    pub fn cyclic(&self) -> BTreeSet<FunctionId> {
        const NEW: usize = usize::MAX;
        let count = self.edges.len();
        let mut order = vec![NEW; count];
        let mut low = vec![0; count];
        let mut open = vec![false; count];
        let mut component: Vec<usize> = Vec::new();
        let mut next = 0;
        let mut cyclic = BTreeSet::new();
        for root in 0..count {
            if order[root] != NEW {
                continue;
            }
            let mut path = vec![(root, 0)];
            while let Some((node, edge)) = path.last_mut() {
                let node = *node;
                if *edge == 0 {
                    (order[node], low[node]) = (next, next);
                    next += 1;
                    component.push(node);
                    open[node] = true;
                }
                if let Some(&callee) = self.edges[node].get(*edge) {
                    *edge += 1;
                    if order[callee] == NEW {
                        path.push((callee, 0));
                    } else if open[callee] {
                        low[node] = low[node].min(order[callee]);
                    }
                    continue;
                }
                path.pop();
                if let Some((caller, _)) = path.last() {
                    low[*caller] = low[*caller].min(low[node]);
                }
                if low[node] == order[node] {
                    let start = component.iter().rposition(|n| *n == node).expect("it was pushed");
                    let members = component.split_off(start);
                    members.iter().for_each(|n| open[*n] = false);
                    if members.len() > 1 || self.edges[node].contains(&node) {
                        cyclic.extend(members.iter().filter_map(|n| self.functions.get(*n)));
                    }
                }
            }
        }
        cyclic
    }
}
