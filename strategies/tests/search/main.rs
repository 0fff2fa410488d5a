//! The searches on the toy machine, against naive enumeration.

mod dfs;
mod dpor;
mod golden;
mod oracle;
