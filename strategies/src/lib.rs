//! Exploration strategies for controlled concurrency testing, over plain data.
//!
//! The crate depends on no wasm, no clock and no files: a strategy sees which operations the workers are
//! about to execute, and answers which worker makes the next step. Two shapes exist:
//!
//! - a [`Strategy`] is asked at every choice of one execution (samplers, replay);
//! - a [`Search`] drives a [`System`], which it can step, snapshot and restore.
//!
//! The modules, in the order of the data:
//! - [`access`]: what steps touch.
//! - [`view`]: what can be known at a choice: pending operations and enabled workers.
//! - [`paths`]: names of workers that mean the same in every schedule.
//! - [`iteration`]: the number of an execution, and the events in it.
//! - [`strategy`]: the trait of samplers.
//! - [`system`]: the trait of programs that can be searched.
//! - [`rng`]: the only source of randomness. [`mod@mix`]: hashing of single numbers.
//! - [`profile`]: what samplers learn from a profiling run.
//! - [`sample`]: the samplers.
//! - [`search`]: the searches.
//! - [`catalog`]: both by name. [`entry`]: a row of it.
//! - [`toy`]: a small machine, the subject of this crate's tests.

pub mod access;
pub mod catalog;
pub mod entry;
pub mod iteration;
pub mod mix;
pub mod paths;
pub mod profile;
pub mod rng;
pub mod sample;
pub mod search;
pub mod strategy;
pub mod system;
pub mod toy;
pub mod view;

pub use access::{Access, Class, Effect};
pub use catalog::{Context, by_name};
pub use coyote_abi::OpKind;
pub use iteration::{Event, Iteration, Summary};
pub use mix::mix;
pub use paths::{Paths, WorkerPath};
pub use profile::Profile;
pub use sample::chess_fair::ChessFair;
pub use sample::delay_bounding::DelayBounding;
pub use sample::faults::Faults;
pub use sample::feedback::Feedback;
pub use sample::greedy::Greedy;
pub use sample::guided::{Guided, Preference, Segment, Weight};
pub use sample::lenient::Lenient;
pub use sample::pct::Pct;
pub use sample::pct_t::PctT;
pub use sample::portfolio::Portfolio;
pub use sample::pos::Pos;
pub use sample::probabilistic::Probabilistic;
pub use sample::profiler::Profiler;
pub use sample::q_learning::QLearning;
pub use sample::random::RandomWalk;
pub use sample::random_depth::RandomDepth;
pub use sample::replay::{Divergence, Recorded, Replay};
pub use sample::round_robin::RoundRobin;
pub use sample::sequence::Sequence;
pub use sample::surw::Surw;
pub use sample::sweep::{Attempt, Sweep};
pub use sample::urw::Urw;
pub use sample::watchers::Watchers;
pub use search::Search;
pub use strategy::Strategy;
pub use system::{Decision, Status, System};
pub use view::{Operation, Pending, Pick, View, WorkerId, WorkerState};
