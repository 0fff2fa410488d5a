//! What may survive a crash.

use std::fmt;
use std::str::FromStr;

/// What may survive a crash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CrashModel {
    /// What may survive of a queue of pending operations.
    pub rule: CrashRule,
    /// Whether operations on names become durable in the order in which they were done, and also by `fsync` of the
    /// file, as in ext4. Otherwise each directory has to be synced itself.
    pub ordered_names: bool,
}

/// What may survive of a queue of pending operations: see [`crate::runtime::files::disk`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CrashRule {
    /// Nothing.
    None,
    /// Any number of operations, the earlier ones first.
    Prefix,
    /// Any subset of the operations on a file's bytes, in their order; of operations on names as
    /// [`CrashRule::Prefix`].
    Subset,
    /// As [`CrashRule::Prefix`]; of the first write that does not survive as a whole, any number of its first
    /// sectors, of this size in bytes, may survive.
    Torn(u32),
}

/// The sizes of a sector, in bytes.
const SECTORS: [u32; 2] = [512, 4096];
const ORDERED: &str = "ext4";

impl Default for CrashModel {
    fn default() -> CrashModel {
        CrashModel { rule: CrashRule::Prefix, ordered_names: false }
    }
}

impl fmt::Display for CrashModel {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self.rule {
            CrashRule::None => f.write_str("none")?,
            CrashRule::Prefix => f.write_str("prefix")?,
            CrashRule::Subset => f.write_str("subset")?,
            CrashRule::Torn(bytes) => write!(f, "torn:{bytes}")?,
        }
        if self.ordered_names { write!(f, "+{ORDERED}") } else { Ok(()) }
    }
}

/// The text names no crash model.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is no crash model: give none, prefix, subset, torn or torn:4096, and +ext4 behind it for ordered names"
)]
pub struct NoCrashModel(String);

impl FromStr for CrashModel {
    type Err = NoCrashModel;

    fn from_str(text: &str) -> Result<CrashModel, NoCrashModel> {
        let (rule, ordered_names) = match text.split_once('+') {
            Some((rule, ORDERED)) => (rule, true),
            Some(_) => return Err(NoCrashModel(text.into())),
            None => (text, false),
        };
        let sector = |bytes: &str| bytes.parse().ok().filter(|bytes| SECTORS.contains(bytes));
        let rule = match rule.split_once(':').unwrap_or((rule, "")) {
            ("none", "") => CrashRule::None,
            ("prefix", "") => CrashRule::Prefix,
            ("subset", "") => CrashRule::Subset,
            ("torn", "") => CrashRule::Torn(SECTORS[0]),
            ("torn", bytes) => CrashRule::Torn(sector(bytes).ok_or_else(|| NoCrashModel(text.into()))?),
            _ => return Err(NoCrashModel(text.into())),
        };
        Ok(CrashModel { rule, ordered_names })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        for text in ["none", "prefix", "subset", "torn:512", "torn:4096", "prefix+ext4", "torn:4096+ext4"] {
            assert_eq!(text.parse::<CrashModel>().unwrap().to_string(), text);
        }
        assert_eq!("torn".parse::<CrashModel>().unwrap().to_string(), "torn:512");
        for text in ["", "all", "torn:1000", "prefix:512", "prefix+xfs", "none+"] {
            assert_eq!(text.parse::<CrashModel>(), Err(NoCrashModel(text.into())));
        }
    }
}
