//! The samplers on the toy machine.

mod chains;
mod chi_square;
mod contract;
mod distribution;
mod exact;
mod fairness;
mod faults;
mod learning;
mod naive;
mod portfolio;
mod ports;
mod programs;
mod sampling;
mod send_messages;
