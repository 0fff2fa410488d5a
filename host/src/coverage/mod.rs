//! Which lines and functions of a guest's own source were executed, and how often.
//!
//! A *counted* instruction is one at which a line begins in straight code: the first of a basic block, or the first of
//! another line. A line thus counts as executed when its code begins, and a line behind a call that does not return
//! does not.
//!
//! - [`instructions`]: the instructions that the instrumenter must count.
//! - `lines`: from counts of instructions to counts of lines and functions.
//! - [`lcov`]: lines and functions as a file.
//!
//! A line's count is that of the most often executed piece of its code: `for (..)` is executed once more than its body.
//! For a function that was compiled several times, because it is generic or inlined, all copies are added. If a line
//! has no code of its own because everything that it calls is inlined in it, the beginning of the inlined code counts.
//!
//! In optimised code, coverage is as precise as the line table: a line may be missing whose code the compiler has
//! merged with another line's.

pub mod lcov;
mod lines;
#[cfg(test)]
mod tests;

pub use lines::{Covered, FileCoverage};

use crate::symbols::{SourceFrame, Symbols, is_fetched, is_library};
use coyote_instrumenter::Location;
use wasmparser::{FunctionBody, Operator, Parser, Payload, TypeRef};

/// The place of a counted instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    /// One copy of a function's code.
    copy: CodeCopy,
    file: String,
    line: u32,
    /// Whether it is the function's own code, and not code inlined from another function.
    own: bool,
}

/// A source function's code within a function of the module, possibly inlined there.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CodeCopy {
    /// The function of the module.
    function: u32,
    /// The name of the source function.
    name: String,
    /// Lines and columns of the calls at which it is inlined, innermost first.
    calls: Vec<(String, Option<u32>, Option<u32>)>,
}

impl Place {
    /// The lines of the guest's own source that an instruction belongs to, innermost first; for inlined code also the
    /// lines of the calls. Empty for code that belongs to no line.
    fn all(symbols: &Symbols, location: Location) -> Vec<Place> {
        let frames = symbols.frames(location);
        let call = |frame: &SourceFrame| (frame.function.clone(), frame.line, frame.column);
        let place = |(at, frame): (usize, &SourceFrame)| {
            let file = frame.file.clone().filter(|file| !is_library(frame) && !is_fetched(file))?;
            let calls = frames[at + 1..].iter().map(call).collect();
            let copy = CodeCopy { function: location.function, name: frame.function.clone(), calls };
            Some(Place { copy, file, line: frame.line?, own: at == 0 })
        };
        frames.iter().enumerate().filter_map(place).collect()
    }
}

/// The instructions to count, as offsets in the original module, ascending. Empty if there are no line tables.
pub fn instructions(original_wasm: &[u8], symbols: &Symbols) -> Vec<u32> {
    let mut found = Vec::new();
    let mut function = 0;
    for payload in Parser::new(0).parse_all(original_wasm).map_while(Result::ok) {
        match payload {
            Payload::ImportSection(imports) => {
                let is_function = |ty: &TypeRef| matches!(ty, TypeRef::Func(_) | TypeRef::FuncExact(_));
                let imports = imports.into_imports().flatten();
                function += imports.filter(|import| is_function(&import.ty)).count() as u32;
            }
            Payload::CodeSectionEntry(body) => {
                // A function that cannot be read is not instrumented either.
                let _ = of_function(&body, function, symbols, &mut found);
                function += 1;
            }
            _ => {}
        }
    }
    found
}

fn of_function(
    body: &FunctionBody,
    function: u32,
    symbols: &Symbols,
    found: &mut Vec<u32>,
) -> Result<(), wasmparser::BinaryReaderError> {
    let range = body.range();
    let rows = symbols.row_starts(range.start as u32..range.end as u32);
    if rows.is_empty() {
        return Ok(());
    }
    let mut rows = rows.into_iter().peekable();
    // Whether a basic block begins here, and whether a row has begun since the last instruction.
    let (mut block_begins, mut row_begins) = (true, true);
    // The depth of nested blocks in unreachable code.
    let mut unreachable = 0u32;
    let mut last: Vec<Place> = Vec::new();
    let mut operators = body.get_operators_reader()?;
    while !operators.eof() {
        let (operator, offset) = operators.read_with_offset()?;
        if unreachable > 0 {
            match operator {
                Operator::Block { .. }
                | Operator::Loop { .. }
                | Operator::If { .. }
                | Operator::TryTable { .. } => unreachable += 1,
                Operator::End => unreachable -= 1,
                Operator::Else if unreachable == 1 => unreachable = 0,
                _ => {}
            }
            block_begins = true;
            continue;
        }
        while rows.next_if(|row| *row <= offset as u32).is_some() {
            row_begins = true;
        }
        match operator {
            Operator::End | Operator::Else => {
                block_begins = true;
                continue;
            }
            Operator::Nop => continue,
            _ => {}
        }
        if block_begins || row_begins {
            let places = Place::all(symbols, Location { function, offset: offset as u32 });
            if !places.is_empty() && (block_begins || places != last) {
                found.push(offset as u32);
            }
            last = places;
        }
        (block_begins, row_begins) = (false, false);
        match operator {
            Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::TryTable { .. }
            | Operator::BrIf { .. }
            | Operator::BrOnNull { .. }
            | Operator::BrOnNonNull { .. }
            | Operator::BrOnCast { .. }
            | Operator::BrOnCastFail { .. } => block_begins = true,
            Operator::Br { .. }
            | Operator::BrTable { .. }
            | Operator::Return
            | Operator::Unreachable
            | Operator::ReturnCall { .. }
            | Operator::ReturnCallIndirect { .. }
            | Operator::ReturnCallRef { .. }
            | Operator::Throw { .. }
            | Operator::ThrowRef => unreachable = 1,
            _ => {}
        }
    }
    Ok(())
}
