//! What a module uses that some options have other defaults for: known libraries by their functions' names, and imports.

use crate::runtime::{FaultClass, Faults};
use std::str::FromStr;
use wasmparser::{KnownCustom, Parser, Payload};

/// What a module uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// It can ask for random bytes.
    pub random: bool,
    /// It has the runtime of tokio.
    pub tokio: bool,
    /// It has the thread pool of rayon.
    pub rayon: bool,
}

/// Libraries that ask how many processors there are, which the target does not say, and would have one thread: a part of
/// their functions' mangled names, and the variable that says how many threads there are to be.
const POOLS: [(&str, &str); 2] =
    [("5tokio7runtime", "TOKIO_WORKER_THREADS"), ("10rayon_core", "RAYON_NUM_THREADS")];

/// Enough for them to meet each other.
const THREADS: u32 = 2;

impl Uses {
    /// What a module uses; of one that cannot be read, nothing.
    pub fn of(wasm: &[u8]) -> Uses {
        let mut uses = Uses::default();
        for payload in Parser::new(0).parse_all(wasm).map_while(Result::ok) {
            match payload {
                Payload::ImportSection(imports) => {
                    let mut imports = imports.into_imports().map_while(Result::ok);
                    uses.random |= imports.any(|import| import.name == "random_get");
                }
                Payload::CustomSection(custom) => {
                    let KnownCustom::Name(names) = custom.as_known() else { continue };
                    for subsection in names.into_iter().map_while(Result::ok) {
                        let wasmparser::Name::Function(functions) = subsection else { continue };
                        for function in functions.into_iter().map_while(Result::ok) {
                            uses.tokio |= function.name.contains(POOLS[0].0);
                            uses.rayon |= function.name.contains(POOLS[1].0);
                        }
                    }
                }
                _ => {}
            }
        }
        uses
    }

    /// Variables of the guest's environment that the user has not set.
    pub fn environment(self, given: &[String]) -> Vec<String> {
        let used = POOLS.iter().zip([self.tokio, self.rayon]).filter(|(_, used)| *used);
        let variables = used.map(|((_, variable), _)| format!("{variable}="));
        let missing =
            variables.filter(|variable| !given.iter().any(|other| other.starts_with(variable.as_str())));
        missing.map(|variable| format!("{variable}{THREADS}")).collect()
    }

    /// Budgets for what is left open to platforms and runtimes, where a sampler explores.
    pub fn budgets(self, random: Option<Random>) -> Faults {
        let usual = |class: FaultClass, used| if used { class.row().usual } else { 0 };
        Faults::default()
            .with(
                FaultClass::Seed,
                usual(FaultClass::Seed, self.random && !matches!(random, Some(Random::Stream(_)))),
            )
            .with(FaultClass::Poll, usual(FaultClass::Poll, self.tokio))
    }
}

/// Which random bytes the guest gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Random {
    /// Others in each iteration, by choice.
    Vary,
    /// Those of this number, in every iteration.
    Stream(u64),
}

impl FromStr for Random {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Random, &'static str> {
        match text {
            "vary" => Ok(Random::Vary),
            _ => text.parse().map(Random::Stream).map_err(|_| "give a number, or vary"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_known_by_names_and_imports() {
        let of = |text: &str| Uses::of(&wat::parse_str(text).unwrap());
        assert_eq!(of("(module (func $main))"), Uses::default());
        let random = of(
            "(module (import \"wasi_snapshot_preview1\" \"random_get\" (func (param i32 i32) (result i32))))",
        );
        assert_eq!(random, Uses { random: true, ..Uses::default() });
        let both = of("(module (func $_ZN5tokio7runtime2rtE) (func $_RNvCs1_10rayon_core4join))");
        assert_eq!(both, Uses { tokio: true, rayon: true, random: false });
        assert_eq!(both.environment(&["RAYON_NUM_THREADS=7".into()]), ["TOKIO_WORKER_THREADS=2"]);
        assert_eq!(both.budgets(None).budget(FaultClass::Poll), FaultClass::Poll.row().usual);
        assert!(
            !both.budgets(None).has(FaultClass::Seed)
                && random.budgets(Some(Random::Vary)).has(FaultClass::Seed)
        );
        assert!(!random.budgets(Some(Random::Stream(0))).any());
    }
}
