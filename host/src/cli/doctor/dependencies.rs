//! Crates that are known not to build for the target, or to behave differently there, and remedies.
//!
//! The table follows from the crates' own sources: what they compile, refuse or replace on `target_family = "wasm"`.

use super::{Finding, Severity, origins};
use serde_json::Value;
use std::collections::BTreeSet;

/// What is known about a crate.
struct Known {
    name: &'static str,
    /// If not empty: applies only with one of these features.
    features: &'static [&'static str],
    /// If not empty: does not apply with one of these features.
    without: &'static [&'static str],
    /// If not empty: does not apply where the compiler is given this `--cfg`.
    without_cfg: &'static str,
    severity: Severity,
    why: &'static str,
    help: &'static str,
}

const fn refused(name: &'static str, why: &'static str, help: &'static str) -> Known {
    Known { name, features: &[], without: &[], without_cfg: "", severity: Severity::Error, why, help }
}

/// With this flag, tokio does not refuse features that may not work.
const TOKIO_UNSTABLE: &str = "tokio_unstable";

const NOT_ON_WASM: &str = "[target.'cfg(not(target_family = \"wasm\"))'.dependencies]";
const UNIX: &str = "it is made for Unix or Windows and does not build for WASI";

const KNOWN: &[Known] = &[
    Known {
        name: "tokio",
        features: &["full", "net", "fs", "process", "signal", "io-std"],
        without: &[],
        without_cfg: TOKIO_UNSTABLE,
        severity: Severity::Error,
        why: "it refuses these features on wasm",
        help: "cargo coyote test, which builds it with --cfg tokio_unstable: docs/tokio.md; there are no processes, signals and sockets",
    },
    Known {
        name: "tokio",
        features: &["rt-multi-thread"],
        without: &[],
        without_cfg: TOKIO_UNSTABLE,
        severity: Severity::Error,
        why: "it refuses this feature on wasm without --cfg tokio_unstable",
        help: "cargo coyote test, or RUSTFLAGS=\"--cfg tokio_unstable\" cargo test --target wasm32-wasip1-threads",
    },
    Known {
        name: "wasm-bindgen-test",
        features: &[],
        without: &[],
        without_cfg: "",
        severity: Severity::Note,
        why: "the standard harness does not run tests that use wasm_bindgen_test in place of #[test] on wasm",
        help: "nothing: cargo coyote test makes them ordinary tests; for plain cargo test, use it in\n\
               browsers only: #[cfg_attr(target_os = \"unknown\", wasm_bindgen_test)] beside #[test]",
    },
    Known {
        name: "mio",
        features: &["net"],
        without: &[],
        without_cfg: "",
        severity: Severity::Warning,
        why: "there are no sockets in the guest: opening one fails",
        help: "leave out the tests that use the network: #[cfg(not(target_family = \"wasm\"))]",
    },
    refused("socket2", "it does not build for WASI preview 1", NOT_ON_WASM),
    refused("nix", UNIX, NOT_ON_WASM),
    refused("termion", UNIX, NOT_ON_WASM),
    refused("crossterm", UNIX, NOT_ON_WASM),
    refused("signal-hook", UNIX, NOT_ON_WASM),
    refused(
        "polling",
        "it waits for sockets, which WASI preview 1 lacks, and does not build; async-io and async-std need it",
        NOT_ON_WASM,
    ),
    Known {
        name: "wait-timeout",
        features: &[],
        without: &[],
        without_cfg: "",
        severity: Severity::Note,
        why: UNIX,
        help: "nothing: cargo coyote test puts one in its place that builds; for plain cargo test, if it comes with\n\
               proptest: proptest = { version = \"1\", default-features = false, features = [\"std\"] }",
    },
    Known {
        name: "rusty-fork",
        features: &[],
        without: &[],
        without_cfg: "",
        severity: Severity::Note,
        why: UNIX,
        help: "nothing: cargo coyote test puts one in its place that builds; for plain cargo test, if it comes with\n\
               proptest: proptest = { version = \"1\", default-features = false, features = [\"std\"] }",
    },
    refused("tikv-jemalloc-sys", "the allocator does not build for wasm", NOT_ON_WASM),
    refused("libmimalloc-sys", "the allocator does not build for wasm", NOT_ON_WASM),
    Known {
        name: "parking_lot_core",
        features: &[],
        without: &["nightly"],
        without_cfg: "",
        severity: Severity::Note,
        why: "without its feature nightly it panics on wasm where a thread would have to wait",
        help: "nothing: cargo coyote turns it on for this crate; for plain cargo test:\n\
               parking_lot = { version = \"0.12\", features = [\"nightly\"] }, and RUSTC_BOOTSTRAP=1 or a nightly toolchain",
    },
    Known {
        name: "rayon-core",
        features: &[],
        without: &[],
        without_cfg: "",
        severity: Severity::Note,
        why: "the target does not say how many processors there are, so the pool would have one thread",
        help: "nothing: coyote-wasm sets RAYON_NUM_THREADS=2, unless --env says otherwise",
    },
    Known {
        name: "assert_cmd",
        features: &[],
        without: &[],
        without_cfg: "",
        severity: Severity::Warning,
        why: "the guest cannot start processes: tests that do so fail",
        help: "leave them out: #[cfg(not(target_family = \"wasm\"))]",
    },
];

/// Findings about the packages in cargo's metadata, as resolved for the target. `flags`: the compiler's flags, as far
/// as they are known.
pub fn inspect(metadata: &Value, flags: &str) -> Vec<Finding> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_string();
    let packages = list(&metadata["packages"]);
    let mut findings = Vec::new();
    for node in list(&metadata["resolve"]["nodes"]) {
        let Some(package) = packages.iter().find(|p| p["id"] == node["id"]) else { continue };
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let features: BTreeSet<String> = list(&node["features"]).iter().map(text).collect();
        let subject = format!("{name} {version}");
        let has = |wanted: &[&str]| wanted.iter().any(|f| features.contains(*f));
        let applies = |k: &&Known| {
            let with = k.features.is_empty() || has(k.features);
            with && !has(k.without) && (k.without_cfg.is_empty() || !flags.contains(k.without_cfg))
        };
        let mut known = KNOWN.iter().filter(|k| k.name == name).peekable();
        let is_known = known.peek().is_some();
        match known.find(applies) {
            Some(known) => {
                let mut why = known.why.to_string();
                let given: Vec<&str> =
                    known.features.iter().copied().filter(|f| features.contains(*f)).collect();
                if !given.is_empty() {
                    why = format!("{why} ({})", given.join(", "));
                }
                let (mut severity, mut help) = (known.severity, known.help);
                if severity == Severity::Error
                    && let Some(by) = origins::brought_by(metadata, &node["id"])
                {
                    why = format!("{why}; {}", by.clause);
                    if by.left_out {
                        (severity, help) = (Severity::Note, "nothing: cargo coyote test leaves it out");
                    }
                }
                findings.push(Finding::new(severity, subject, why, help));
            }
            None if !is_known && builds_c(package) => findings.push(Finding::new(
                Severity::Warning,
                subject,
                "its build script compiles C or links a library, which needs a C compiler for WASI",
                "CC_wasm32_wasip1_threads=WASI_SDK/bin/clang AR_wasm32_wasip1_threads=WASI_SDK/bin/llvm-ar",
            )),
            _ => {}
        }
    }
    findings
}

/// Whether a package links a native library, or builds one.
fn builds_c(package: &Value) -> bool {
    // Packages whose `links` key only prevents that they are linked twice.
    const NOT_NATIVE: &[&str] = &["rayon-core", "wasm_bindgen", "prettyplease"];
    let native =
        package["links"].as_str().is_some_and(|links| !NOT_NATIVE.iter().any(|n| links.starts_with(n)));
    let is_cc = |d: &Value| d["name"] == "cc" && d["kind"] == "build" && d["optional"] != true;
    native && package["dependencies"].as_array().is_some_and(|all| all.iter().any(is_cc))
}
