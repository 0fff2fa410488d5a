//! The report model itself, as one JSON document.

use super::Renderer;
use crate::report::model::RunReport;
use serde::Serialize;
use std::io::{self, Write};

/// See the module's documentation.
pub struct Json;

impl Renderer for Json {
    fn run_finished(&mut self, out: &mut dyn Write, run: &RunReport) -> io::Result<()> {
        writeln!(out, "{}", serde_json::to_string_pretty(&Document { schema: SCHEMA, run })?)
    }
}

/// The version of the document's schema, `docs/report.schema.json`. It changes when a field is removed or changes its
/// meaning; new fields do not change it.
pub const SCHEMA: u32 = 1;

#[derive(Serialize)]
struct Document<'a> {
    schema: u32,
    #[serde(flatten)]
    run: &'a RunReport,
}
