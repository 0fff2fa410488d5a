//! Refuses to build a guest without real atomics, and sets cfg `std_threads` where std brings threads
//! of its own: also outside of wasm. Built-in cfgs tell neither: `target_feature = "atomics"` is set on nightly only, and
//! wasm32-wasip1-threads looks like wasm32-wasip1.

use std::env::var;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=CARGO_ENCODED_RUSTFLAGS");
    println!("cargo::rustc-check-cfg=cfg(std_threads)");
    let target = var("TARGET").unwrap_or_default();
    let flags = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    if target.ends_with("-threads") || !target.starts_with("wasm") {
        println!("cargo::rustc-cfg=std_threads");
    } else if target.starts_with("wasm") && !flags.contains("+atomics") {
        println!(
            "cargo::error=a guest of coyote-wasm needs real atomics: put `rustflags = [\"-C\", \
             \"target-feature=+atomics\"]` under `[target.{target}]` in .cargo/config.toml. Without it, Arc \
             and std::sync::atomic compile to plain loads and stores, and the tool would report bugs that \
             are not in your program"
        );
    }
}
