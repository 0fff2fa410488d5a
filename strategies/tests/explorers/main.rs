//! Delaying explorers and the searches with them, on the toy machine.

mod effort;
mod naive;
mod programs;
mod schedules;
mod ses;
mod soundness;
mod spy;
mod ss;
