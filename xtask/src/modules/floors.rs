//! Which modules may not know which.

/// A crate whose modules are looked at.
pub struct Crate {
    pub folder: &'static str,
    /// Modules from below: none imports one of a later row. What is in no row is held to be free of circles alone.
    pub floors: &'static [&'static [&'static str]],
    /// Besides: modules, each with others that it must not know.
    pub apart: &'static [(&'static str, &'static [&'static str])],
}

pub const CRATES: &[Crate] = &[
    Crate { folder: "guest-sdk/abi", floors: &[], apart: &[] },
    Crate { folder: "guest-sdk/c", floors: &[], apart: &[] },
    Crate { folder: "guest-sdk/rust", floors: &[], apart: &[] },
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
    },
    Crate { folder: "orderings", floors: &[], apart: &[] },
    Crate { folder: "strategies", floors: &[&["search", "sample"], &["catalog"]], apart: &[] },
    Crate {
        folder: "host",
        floors: &[
            &["evidence", "lasso", "livelock", "results"],
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
    },
    Crate { folder: "xtask", floors: &[], apart: &[] },
];
