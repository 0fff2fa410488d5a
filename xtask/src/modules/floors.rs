//! The rules about which modules must not import which.

/// A crate whose imports are checked.
pub struct Crate {
    pub folder: &'static str,
    /// Rows of modules, the lowest first: none imports a module of a later row. Modules in no row only must
    /// not form circles.
    pub floors: &'static [&'static [&'static str]],
    /// Further rules: a module, and the modules that it must not import.
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
            &["original", "stack_pointer", "stack_frame"],
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
        // Reports are made from results alone, and code that finds bugs does not depend on how they are
        // reported.
        apart: &[
            ("report", &["execution", "diagnose", "explore"]),
            ("diagnose", &["report"]),
            ("explore", &["report"]),
        ],
    },
    Crate { folder: "xtask", floors: &[], apart: &[] },
];
