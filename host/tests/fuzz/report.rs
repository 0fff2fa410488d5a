//! A mismatch, and how to see it from the command line.

use super::compare::Comparison;
use super::compile::{FLAGS, wat};
use super::program::Program;
use coyote_wasm::instrumenter::Points;

/// The program with a test that fails at the first end that somebody lacks.
pub fn source(program: &Program, comparison: &Comparison) -> String {
    if program.is_wat() {
        return wat(&[("program".into(), program)]);
    }
    let lacking = comparison.lacking();
    let condition = lacking.first().and_then(|(_, ends)| ends.iter().find_map(|end| end.condition()));
    let check = condition.map(|condition| format!("COYOTE_ASSERT(!({condition}));")).unwrap_or_default();
    format!("#include \"fuzz.h\"\n\n{}", program.c("program", &check))
}

/// The class, what is wrong, the source and the commands.
pub fn report(
    class: &str,
    seed: u64,
    index: u64,
    program: &Program,
    points: Points,
    comparison: &Comparison,
) -> String {
    let lacking = comparison.lacking();
    let who = lacking.first().map_or("dpor", |(found, _)| found.name.trim_end_matches(" in pieces"));
    let finder = lacking.first().and_then(|(_, ends)| {
        comparison.found.iter().find(|found| found.ends.contains(ends[0])).map(|found| found.name.as_str())
    });
    let faults =
        if program.faults { " --faults spurious=1,try-lock=1,point=1,io=1,alloc=1,clock=1" } else { "" };
    let (make, module) = match program.is_wat() {
        true => ("# program.wat is as above".into(), "program.wat"),
        false => {
            let flags = FLAGS.join(" ");
            (format!("coyote-cc {flags} -I host/tests/fuzz program.c -o program.wasm"), "program.wasm")
        }
    };
    let points = format!("{points:?}").to_lowercase();
    let test =
        format!("coyote-wasm test {module} --points {points} --no-points-in keep --max-memory 5{faults} -s");
    format!(
        "## {class}, seed {seed}, program {index}, points {points}\n\n{comparison}\n```\n{}```\n\n    \
         {make}\n    \
         {test} {who}        # says that there is no bug\n    \
         {test} {}        # finds it, and writes a trace\n\n",
        source(program, comparison),
        finder.unwrap_or("stateful"),
    )
}
