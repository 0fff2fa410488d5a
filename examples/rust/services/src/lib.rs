//! Services as tasks, after samples of Microsoft's Coyote: requests come at the same time, and each of them is several
//! requests to a database and to a store of blobs.
//!
//! - [`database`]: the stores, as a test would mock them.
//! - [`account_manager`]: what was looked up is no longer true when it is acted upon.
//! - [`coffee_machine`]: what was measured is below zero after a power failure.
//! - [`discount`]: 280 tasks, of which those of one order all go before another one begins.
//! - [`image_gallery`]: an account is deleted while it is used.
//! - [`pet_images`]: two uploads share a blob.
//!
//! Expected: tests whose names end with `_fixed` pass, all others fail an assertion or panic.

mod account_manager;
mod coffee_machine;
mod database;
mod discount;
mod image_gallery;
mod pet_images;
