//! Loads that validate an optimistic read, for weak memory.
//!
//! A sequence lock reads memory that others may be writing, and then loads the lock's word to see whether that was so.
//! Where the data are plain, that is a data race, which some crates know and state (`detect/races/rules.rs`). With weak
//! memory, a plain read takes the newest store and, other than a relaxed atomic one, passes nothing on to the acquire
//! fence behind it. So the load after the fence might read an older word, and half-written data would pass as valid.
//! No processor does that, since fences order all accesses, and users of these crates could not do anything about it.
//! Such a load therefore reads the newest store. Nothing else is lost: the plain reads were of the newest stores, too.

use coyote_abi::OpKind;
use coyote_instrumenter::names::without_generics;
use coyote_instrumenter::{Location, Site};

/// Functions whose loads validate, by their names and the last part of these.
const FUNCTIONS: [(&str, &str); 1] =
    [("crossbeam_utils::atomic::seq_lock::SeqLock::validate_read", "validate_read")];

/// The sites of loads in these functions, ascending, also where the functions are inlined. `names` are the functions
/// of a place.
pub fn sites(wasm: &[u8], sites: &[Site], names: impl Fn(Location) -> Vec<String>) -> Vec<u32> {
    // Debug information costs milliseconds, and most modules have no such function.
    let contains = |name: &str| wasm.windows(name.len()).any(|bytes| bytes == name.as_bytes());
    let functions: Vec<&str> =
        FUNCTIONS.iter().filter(|(_, last)| contains(last)).map(|(whole, _)| *whole).collect();
    if functions.is_empty() {
        return Vec::new();
    }
    let validates = |site: &Site| {
        let names = names(site.location);
        names.iter().any(|name| functions.iter().any(|function| without_generics(name).contains(function)))
    };
    let loads = (0_u32..).zip(sites).filter(|(_, site)| site.kind() == OpKind::AtomicLoad);
    loads.filter(|(_, site)| validates(site)).map(|(number, _)| number).collect()
}
