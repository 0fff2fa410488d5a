//! Attribute macros of the Rust SDK. Use them through the crate `coyote`.
//!
//! ```text
//! #[coyote::test]              fn two_deposits() { .. }
//! fn two_deposits() { .. }     const _: () = {
//!                                  #[unsafe(export_name = "coyote.test.two_deposits")]
//!                                  extern "C" fn export() { ::coyote::__private::enter(two_deposits) }
//!                              };
//! ```
//! The function stays as it is. The export exists in wasm builds only. Elsewhere, the function becomes an
//! ordinary test of `cargo test`.

mod export;

use proc_macro::TokenStream;

/// Makes a function a test: coyote-wasm finds it by its export `coyote.test.<name>` and runs it under
/// many schedules.
///
/// The function takes no arguments and returns nothing; it fails by panicking. Its name must be unique
/// in the module that is linked, as for any export.
#[proc_macro_attribute]
pub fn test(arguments: TokenStream, item: TokenStream) -> TokenStream {
    export::expand(export::Kind::Test, arguments.into(), item.into()).into()
}

/// Makes a function the module's setup: it runs once, before the snapshot that every iteration of
/// every test starts from. What it does is not explored.
///
/// The function takes no arguments and returns nothing. A module has one setup function at most.
#[proc_macro_attribute]
pub fn setup(arguments: TokenStream, item: TokenStream) -> TokenStream {
    export::expand(export::Kind::Setup, arguments.into(), item.into()).into()
}

/// Makes a function the module's recovery: it runs after a crash (`--faults crash`) instead of the test that
/// crashed, and checks the files that survived.
///
/// The function takes no arguments and returns nothing; it fails by panicking. Of the crashed program, only
/// its files are left: memory is as it was when the test began. A module has one recovery function at most.
#[proc_macro_attribute]
pub fn recover(arguments: TokenStream, item: TokenStream) -> TokenStream {
    export::expand(export::Kind::Recover, arguments.into(), item.into()).into()
}
