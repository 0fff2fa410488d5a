//! The searches on the toy machine, against naive enumeration.

mod dfs;
mod dpor;
mod effort;
mod faults;
mod golden;
mod oracle;
mod spins;
mod unfinished;
