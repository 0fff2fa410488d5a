//! A pass of one's own: every function whose name contains a word begins with a scheduling point, made by
//! a read of memory that has no other effect. For code whose own accesses are left out of `--points`.
//!
//!     cargo run --release -p coyote-wasm --example custom_pass

use coyote_wasm::instrumenter::walrus::InstrLocId;
use coyote_wasm::instrumenter::walrus::ir::{Const, Drop, Instr, Load, LoadKind, MemArg, Value};
use coyote_wasm::instrumenter::{Analyses, Draft, Error, Options, Pass, Pipeline};
use coyote_wasm::tester::Tester;

struct PointAtEntry {
    word: &'static str,
}

/// Some address that every module has. Nobody writes it, so the point commutes with everything.
const ADDRESS: i32 = 2048;

impl Pass for PointAtEntry {
    fn name(&self) -> &str {
        "point-at-entry"
    }

    fn run(&self, draft: &mut Draft, _: &mut Analyses) -> Result<(), Error> {
        let memory = draft.memory;
        for id in draft.guest_functions() {
            let name = draft.module.funcs.get(id).name.clone().unwrap_or_default();
            if !name.contains(self.word) {
                continue;
            }
            draft.edit(id, |_, function| {
                let arg = MemArg { align: 4, offset: 0 };
                let load = Load { memory, kind: LoadKind::I32 { atomic: false }, arg };
                let read: [Instr; 3] =
                    [Const { value: Value::I32(ADDRESS) }.into(), load.into(), Drop {}.into()];
                let entry = function.entry_block();
                let instrs = &mut function.block_mut(entry).instrs;
                instrs.splice(0..0, read.map(|instr| (instr, InstrLocId::default())));
            });
        }
        Ok(())
    }
}

fn main() -> anyhow::Result<()> {
    let wasm = std::fs::read("examples/wasm/account.wasm")?;
    let options = Options::default();
    let plain = Tester::with(&wasm, &options, Pipeline::new())?.explore("overdraft_fixed", "random")?;
    let pipeline = Pipeline::new().with(PointAtEntry { word: "withdraw" });
    let more = Tester::with(&wasm, &options, pipeline)?.explore("overdraft_fixed", "random")?;
    let steps = |e: &coyote_wasm::results::TestResult| e.statistics.fair.steps.map_or(0, |s| s.avg());
    println!("steps an iteration: {} without the pass, {} with it", steps(&plain), steps(&more));
    anyhow::ensure!(steps(&more) > steps(&plain), "the pass added no point");
    Ok(())
}
