//! The samplers on the toy machine.

mod chi_square;
mod distribution;
mod exact;
mod sampling;
mod send_messages;
