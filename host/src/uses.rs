//! Properties of a module that determine the defaults of some options and the assumptions of verdicts: known libraries,
//! by the names of their functions, and imports.

use crate::runtime::{FaultClass, Faults};
use coyote_abi::guest;
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use std::str::FromStr;
use std::sync::OnceLock;
use wasmparser::{KnownCustom, Parser, Payload};

/// Properties of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// The module can request random bytes.
    pub random: bool,
    /// The module can have sockets.
    pub sockets: bool,
    /// The module contains the runtime of tokio.
    pub tokio: bool,
    /// The module asks tokio how often it polls or schedules tasks, which tells a postponed poll from none.
    pub counts_polls: bool,
    /// The module contains the thread pool of rayon.
    pub rayon: bool,
    /// The module contains functions of a C library that print.
    pub prints: bool,
    /// The module contains functions for atomic objects that no instruction accesses as a whole.
    pub large_atomics: bool,
}

/// Libraries that ask for the number of processors, which the target does not provide, and would therefore use one
/// thread: a part of their functions' mangled names, and the variable that sets the number of threads.
const POOLS: [(&str, &str); 2] =
    [("5tokio7runtime", "TOKIO_WORKER_THREADS"), ("10rayon_core", "RAYON_NUM_THREADS")];

/// Parts of the mangled names of tokio's functions that count polls, or say when there is one. A poll that is postponed
/// has begun for tokio, and its task is scheduled once more.
const COUNTS_OF_POLLS: [&str; 3] = ["RuntimeMetrics", "_before_task_poll", "_after_task_poll"];

/// The beginning of the names of our C library's functions for large atomic objects.
const LARGE_ATOMICS: &str = "__coyote_atomic_";

/// Enough threads for concurrency.
const THREADS: u32 = 2;

/// The names of functions that print.
fn prints() -> &'static GlobSet {
    static NAMES: OnceLock<GlobSet> = OnceLock::new();
    NAMES.get_or_init(|| {
        let mut names = GlobSetBuilder::new();
        for pattern in coyote_instrumenter::PRINTS {
            let pattern = GlobBuilder::new(pattern).empty_alternates(true).build();
            names.add(pattern.expect("the instrumenter uses it too"));
        }
        names.build().expect("as above")
    })
}

impl Uses {
    /// The properties of a module; none if it cannot be read.
    pub fn of(wasm: &[u8]) -> Uses {
        let mut uses = Uses::default();
        for payload in Parser::new(0).parse_all(wasm).map_while(Result::ok) {
            match payload {
                Payload::ImportSection(imports) => {
                    for import in imports.into_imports().map_while(Result::ok) {
                        uses.random |= import.name == "random_get";
                        uses.sockets |= ["sock_accept", guest::NET_CONNECT].contains(&import.name);
                    }
                }
                Payload::CustomSection(custom) => {
                    let KnownCustom::Name(names) = custom.as_known() else { continue };
                    for subsection in names.into_iter().map_while(Result::ok) {
                        let wasmparser::Name::Function(functions) = subsection else { continue };
                        for function in functions.into_iter().map_while(Result::ok) {
                            uses.see(function.name);
                        }
                    }
                }
                _ => {}
            }
        }
        uses
    }

    fn see(&mut self, function: &str) {
        let of_tokio = function.contains(POOLS[0].0);
        self.tokio |= of_tokio;
        self.counts_polls |= of_tokio && COUNTS_OF_POLLS.iter().any(|part| function.contains(part));
        self.rayon |= function.contains(POOLS[1].0);
        self.prints |= prints().is_match(function);
        self.large_atomics |= function.starts_with(LARGE_ATOMICS) && !function.ends_with("is_lock_free");
    }

    /// Environment variables for the guest, except those that the user has set.
    pub fn environment(self, given: &[String]) -> Vec<String> {
        let used = POOLS.iter().zip([self.tokio, self.rayon]).filter(|(_, used)| *used);
        let variables = used.map(|((_, variable), _)| format!("{variable}="));
        let missing =
            variables.filter(|variable| !given.iter().any(|other| other.starts_with(variable.as_str())));
        missing.map(|variable| format!("{variable}{THREADS}")).collect()
    }

    /// Fault budgets for behaviour that platforms and runtimes leave open, for exploration by a sampler.
    pub fn budgets(self, random: Option<Random>) -> Faults {
        let usual = |class: FaultClass, used| if used { class.row().usual } else { 0 };
        Faults::default()
            .with(
                FaultClass::Seed,
                usual(FaultClass::Seed, self.random && !matches!(random, Some(Random::Stream(_)))),
            )
            .with(FaultClass::Poll, usual(FaultClass::Poll, self.tokio && !self.counts_polls))
            .with(FaultClass::Split, usual(FaultClass::Split, self.sockets))
    }
}

/// The random bytes of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Random {
    /// They vary between iterations, by choice.
    Vary,
    /// The bytes of this stream, in every iteration.
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
        assert_eq!(both, Uses { tokio: true, rayon: true, ..Uses::default() });
        let counts = [
            "_RNvMNtNtNtCs41_5tokio7runtime7metrics7runtimeNtB2_14RuntimeMetrics27worker_local_schedule_count",
            "_RINvMNtNtCs41_5tokio7runtime7builderNtB3_7Builder18on_after_task_pollNCNv4main0EB1i_",
            "_ZN5tokio7runtime7builder7Builder19on_before_task_poll17h0123456789abcdefE",
        ];
        for name in counts {
            let uses = of(&format!("(module (func ${name}))"));
            assert_eq!(uses, Uses { tokio: true, counts_polls: true, ..Uses::default() });
            assert!(!uses.budgets(None).has(FaultClass::Poll));
        }
        let sockets = of("(module (import \"coyote\" \"net_connect\" (func (param i32) (result i32))))");
        assert_eq!(sockets, Uses { sockets: true, ..Uses::default() });
        assert!(sockets.budgets(None).has(FaultClass::Split) && !both.budgets(None).has(FaultClass::Split));
        assert_eq!(both.environment(&["RAYON_NUM_THREADS=7".into()]), ["TOKIO_WORKER_THREADS=2"]);
        assert_eq!(both.budgets(None).budget(FaultClass::Poll), FaultClass::Poll.row().usual);
        assert!(
            !both.budgets(None).has(FaultClass::Seed)
                && random.budgets(Some(Random::Vary)).has(FaultClass::Seed)
        );
        assert!(!random.budgets(Some(Random::Stream(0))).any());
    }
}
