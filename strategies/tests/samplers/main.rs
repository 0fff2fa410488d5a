//! The samplers on the toy machine.

mod chi_square;
mod contract;
mod distribution;
mod exact;
mod fairness;
mod programs;
mod sampling;
mod send_messages;
