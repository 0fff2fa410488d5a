//! The output of the guest.

use super::Runtime;
use super::stream::Event;
use coyote_strategies::WorkerId;

/// One piece of captured output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    pub worker: WorkerId,
    /// Number of steps executed before it.
    pub step: u64,
    pub stream: Stream,
    pub text: Vec<u8>,
}

/// The streams to which the guest prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Stream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
    /// The SDKs' `log`, for the report alone.
    Log,
}

impl Runtime {
    pub fn print(&mut self, worker: WorkerId, stream: Stream, text: Vec<u8>) {
        if self.harness_reports(worker) {
            self.harness_report.extend(text);
        } else {
            self.stream.push(Event::Output { index: self.output.len() });
            self.output.push(Output { worker, step: self.steps, stream, text });
        }
    }

    /// All that was written to these streams.
    pub fn printed(&self, streams: &[Stream]) -> String {
        let pieces = self.output.iter().filter(|o| streams.contains(&o.stream));
        let bytes: Vec<u8> = pieces.flat_map(|o| &o.text).copied().collect();
        String::from_utf8_lossy(&bytes).into_owned()
    }
}
