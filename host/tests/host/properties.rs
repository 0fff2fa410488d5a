//! Invariants of generated programs: each strategy and search finds a violation exactly where an enumeration of all orders
//! of the stores, which knows nothing of this tool, comes to a forbidden state.

use super::c_programs::build;
use super::{guest, process};
use coyote_wasm::strategies::Iteration;
use coyote_wasm::strategies::rng::ChoiceRng;

/// The number of generated programs.
fn programs() -> u64 {
    guest::scaled(8, 100)
}

/// A store: the cell and the value.
type Store = (usize, u32);

#[derive(Debug)]
struct Program {
    threads: [Vec<Store>; 2],
    forbidden: [u32; 2],
}

impl Program {
    fn generate(seed: u64) -> Program {
        let mut rng = ChoiceRng::new(Iteration { seed, index: 0 });
        let mut thread = || (0..1 + rng.below(3)).map(|_| store(&mut rng)).collect();
        let threads = [thread(), thread()];
        Program { threads, forbidden: [rng.below(3) as u32, 1 + rng.below(2) as u32] }
    }

    /// Whether some order of the stores comes to the forbidden state.
    fn can_fail(&self) -> bool {
        self.fails_from([0, 0], [0, 0])
    }

    fn fails_from(&self, cells: [u32; 2], done: [usize; 2]) -> bool {
        cells == self.forbidden
            || (0..2).any(|thread| {
                self.threads[thread].get(done[thread]).is_some_and(|(cell, value)| {
                    let (mut cells, mut done) = (cells, done);
                    cells[*cell] = *value;
                    done[thread] += 1;
                    self.fails_from(cells, done)
                })
            })
    }

    fn arguments(&self) -> Vec<String> {
        let packed = |stores: &Vec<Store>| {
            stores.iter().rev().fold(1, |rest, (cell, value)| rest << 3 | value << 1 | *cell as u32)
        };
        let numbers = [packed(&self.threads[0]), packed(&self.threads[1])];
        numbers.iter().chain(&self.forbidden).map(u32::to_string).collect()
    }
}

fn store(rng: &mut ChoiceRng) -> Store {
    (rng.below(2) as usize, rng.below(3) as u32)
}

#[test]
fn invariants_are_judged_in_every_state() {
    let Some(built) = build(include_str!("programs/invariant.c"), &["-g", "-O1"]) else { return };
    let mut wrong = Vec::new();
    let mut failing = 0;
    for program in (0..programs()).map(Program::generate) {
        let expected = program.can_fail();
        failing += u64::from(expected);
        for how in ["-s dfs", "-s dpor", "-s stateful", "-s random -i 2000", "-s pct:3 -i 2000"] {
            let arguments = program.arguments();
            let command = ["test", built.module.to_str().unwrap(), "--no-shrink"]
                .into_iter()
                .chain(how.split(' '))
                .chain(["--"]);
            let command: Vec<&str> = command.chain(arguments.iter().map(String::as_str)).collect();
            let ended = process::run(built.directory.path(), &command);
            let says = "the invariant `allowed` does not hold";
            let right = match expected {
                true => ended.code == Some(2) && ended.stdout.contains(says),
                false => ended.code == Some(0),
            };
            if !right {
                wrong.push(format!("{program:?}, {how}: {expected}\n{}{}", ended.stdout, ended.stderr));
            }
        }
    }
    assert!(failing > programs() / 5 && failing < programs() * 4 / 5, "{failing}");
    assert!(wrong.is_empty(), "{} wrong, such as {}", wrong.len(), wrong[0]);
}
