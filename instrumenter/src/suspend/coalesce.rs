//! Merges locals that are never live at the same time.
//!
//! ```wat
//! ;; before                      ;; after
//! (local $a i32) (local $b i32)  (local $ab i32)
//! ... local.set $a               ... local.set $ab
//! local.get $a  call $f          local.get $ab  call $f
//! ... local.set $b               ... local.set $ab
//! local.get $b  call $g          local.get $ab  call $g
//! ```
//!
//! Unoptimised code has a local for every value that it ever computes: nearly 10,000 in SQLite's interpreter.
//! A frame has a place for each local that is live at some site, and the code that saves the frame reads all
//! of them. A compiler then has to keep all of them from every site to that code, which takes minutes and
//! gigabytes.
//!
//! Two locals clash if one is assigned while the other is live. The value that a local has without an
//! assignment, zero or an argument, counts as assigned at the function's beginning. Colours are given
//! greedily in the order of the locals, as in Chaitin's register allocation, but without its spilling and its
//! simplifying order, because the number of colours is not limited. A local that holds a reference is never
//! merged.

use super::body::Body;
use super::liveness::{Analysis, Clashes, Locals};
use wasmparser::{Operator, ValType};

/// Renumbers the locals of a body; its parameters keep their numbers. Returns the locals that are live after
/// each site, by their new numbers.
pub(super) fn coalesce(
    body: &mut Body,
    parameters: &[ValType],
    analysis: Analysis,
    forget_beginning: bool,
) -> Vec<Locals> {
    let declared = body.locals.iter().flat_map(|(count, ty)| std::iter::repeat_n(*ty, *count as usize));
    let types: Vec<ValType> = parameters.iter().copied().chain(declared).collect();
    let Analysis { sites, beginning, mut clashes } = analysis;
    if !forget_beginning {
        let at_beginning: Vec<u32> = (0..parameters.len() as u32).chain(beginning.iter()).collect();
        at_beginning.iter().for_each(|local| clashes.assigned(*local, &beginning));
    }
    clashes.make_symmetric();

    let colours = colour(&types, parameters.len(), &clashes);
    let (numbers, locals) = declare(&types, parameters.len(), &colours);
    body.locals = locals;
    let count = parameters.len() as u32 + body.locals.iter().map(|l| l.0).sum::<u32>();
    for instr in &mut body.instrs {
        if let Operator::LocalGet { local_index }
        | Operator::LocalSet { local_index }
        | Operator::LocalTee { local_index } = &mut instr.operator
        {
            *local_index = numbers[*local_index as usize];
        }
    }
    let renumbered = |live: Locals| {
        let mut new = Locals::none(count);
        live.iter().for_each(|local| new.insert(numbers[local as usize]));
        new
    };
    sites.into_iter().map(renumbered).collect()
}

/// For each local, the first of the locals that it is merged with.
fn colour(types: &[ValType], parameters: usize, clashes: &Clashes) -> Vec<u32> {
    let mut colours: Vec<u32> = Vec::with_capacity(types.len());
    // The first local of each colour.
    let mut firsts: Vec<u32> = Vec::new();
    // For each first local: the last local that clashed with one of its colour.
    let mut taken = vec![u32::MAX; types.len()];
    for local in 0..types.len() as u32 {
        let ty = types[local as usize];
        let own = (local as usize) < parameters || matches!(ty, ValType::Ref(_));
        for other in clashes.of(local).iter().take_while(|other| *other < local) {
            taken[colours[other as usize] as usize] = local;
        }
        let free = |first: &&u32| types[**first as usize] == ty && taken[**first as usize] != local;
        let colour = firsts.iter().find(free).filter(|_| !own).copied();
        colours.push(colour.unwrap_or(local));
        if colour.is_none() {
            firsts.push(local);
        }
    }
    colours
}

/// The new number of each local, and the declarations: colours by type, in the order of their first locals.
fn declare(types: &[ValType], parameters: usize, colours: &[u32]) -> (Vec<u32>, Vec<(u32, ValType)>) {
    let mut groups: Vec<(ValType, Vec<u32>)> = Vec::new();
    for first in parameters..types.len() {
        if colours[first] as usize != first {
            continue;
        }
        match groups.iter_mut().find(|(ty, _)| *ty == types[first]) {
            Some((_, firsts)) => firsts.push(first as u32),
            None => groups.push((types[first], vec![first as u32])),
        }
    }
    let mut numbers: Vec<u32> = (0..types.len() as u32).collect();
    for (number, first) in (parameters as u32..).zip(groups.iter().flat_map(|(_, firsts)| firsts)) {
        numbers[*first as usize] = number;
    }
    // A local's colour is never above the local, so the first locals have their numbers at this point.
    let new = |local: usize| numbers[colours[local] as usize];
    let numbers = (0..types.len()).map(new).collect();
    (numbers, groups.into_iter().map(|(ty, firsts)| (firsts.len() as u32, ty)).collect())
}
