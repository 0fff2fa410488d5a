//! Which modules may not know which.

/// A crate whose modules are looked at.
pub struct Crate {
    pub folder: &'static str,
    /// Modules from below: none imports one of a later row. What is in no row is held to be free of circles alone.
    pub floors: &'static [&'static [&'static str]],
    /// Besides: modules, each with others that it must not know.
    pub apart: &'static [(&'static str, &'static [&'static str])],
    /// Imports that are in circles, or run up, and are still there. None may be added.
    pub known: &'static [(&'static str, &'static str)],
}

pub const CRATES: &[Crate] = &[
    Crate { folder: "guest-sdk/abi", floors: &[], apart: &[], known: &[] },
    Crate { folder: "guest-sdk/c", floors: &[], apart: &[], known: &[] },
    Crate { folder: "guest-sdk/rust", floors: &[], apart: &[], known: &[] },
    Crate {
        folder: "instrumenter",
        floors: &[
            &["error", "sites", "nearest", "libraries"],
            &["options", "answer"],
            &["original", "stack_pointer"],
            &["check"],
            &["draft"],
            &["analysis"],
            &["pass"],
            &["passes"],
            &["pipeline"],
            &["explain", "dump"],
        ],
        apart: &[],
        known: &[],
    },
    Crate { folder: "orderings", floors: &[], apart: &[], known: &[] },
    Crate { folder: "strategies", floors: &[&["search", "sample"], &["catalog"]], apart: &[], known: &[] },
    Crate {
        folder: "host",
        floors: &[
            &["results"],
            &["execution"],
            &["diagnose"],
            &["explore"],
            &["tester"],
            &["cli"],
            &["cargo"],
        ],
        // Reports are made of results alone, and what finds does not know how it is told.
        apart: &[
            ("report", &["execution", "diagnose", "explore"]),
            ("diagnose", &["report"]),
            ("explore", &["report"]),
        ],
        known: &[
            ("artifact", "machine"),
            ("evidence", "outcome"),
            ("evidence", "runtime"),
            ("lasso", "execution"),
            ("livelock", "execution"),
            ("machine::host", "machine::wasi"),
            ("machine::scheduler", "machine::host"),
            ("machine::scheduler", "machine::stack"),
            ("options", "execution"),
            ("record", "execution"),
            ("runtime::files::stat", "runtime::files::session"),
            ("world", "machine"),
        ],
    },
    Crate { folder: "xtask", floors: &[], apart: &[], known: &[] },
];
