//! The searches on the toy machine, against naive enumeration.

mod dpor;
mod golden;
mod oracle;
