//! The report model itself, as one JSON document.

use super::Renderer;
use crate::report::model::RunReport;
use std::io::{self, Write};

/// See the module's documentation.
pub struct Json;

impl Renderer for Json {
    fn run_finished(&mut self, out: &mut dyn Write, run: &RunReport) -> io::Result<()> {
        writeln!(out, "{}", serde_json::to_string_pretty(run)?)
    }
}
