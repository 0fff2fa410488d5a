//! The searches on the toy machine, against naive enumeration.

mod cheapest;
mod dfs;
mod division;
mod dpor;
mod drawn;
mod effort;
mod faults;
mod golden;
mod oracle;
mod rounds;
mod sections;
mod sharing;
mod spins;
mod unfinished;
