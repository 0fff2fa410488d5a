//! Reads a frontier from bytes, or determines what is wrong with them.

use super::sections::{self, Content};
use super::{Frontier, FrontierError, HASH_BYTES, Header, MAGIC, Part, version_1};
use coyote_strategies::search::division::Work;
use coyote_strategies::search::stored;
use std::path::Path;
use std::sync::Arc;

/// The frontier in a file of any version. `path` is for messages.
pub fn frontier(path: &Path, bytes: &[u8]) -> Result<Frontier, FrontierError> {
    let malformed = |reason: String| FrontierError::Malformed { path: path.into(), reason };
    let damaged = |reason: String| FrontierError::Damaged { path: path.into(), reason };
    let frontier = match bytes.strip_prefix(MAGIC.as_bytes()) {
        Some(rest) => version_2(path, bytes, rest).map_err(damaged)?,
        None if bytes.trim_ascii_start().starts_with(b"{") => {
            version_1::frontier(path, bytes).map_err(malformed)?
        }
        None => return Err(malformed("it does not begin as one".into())),
    };
    stored::check(&frontier.identity.strategy, &frontier.work.items).map_err(damaged)?;
    frontier.work.shared().map_err(damaged)?;
    Ok(frontier)
}

/// `rest`: the part of `bytes` behind its first line.
fn version_2(path: &Path, bytes: &[u8], rest: &[u8]) -> Result<Frontier, String> {
    let (content, hash) = rest.split_last_chunk::<HASH_BYTES>().ok_or("it is cut off")?;
    if blake3::hash(&bytes[..bytes.len() - HASH_BYTES]) != *hash {
        return Err("its checksum does not match".into());
    }
    let end = content.iter().position(|byte| *byte == b'\n').ok_or("its header does not end")?;
    let header: Header = serde_json::from_slice(&content[..end]).map_err(|e| format!("its header: {e}"))?;
    let mut left = &content[end + 1..];
    let mut content = Content::default();
    for length in header.sections {
        let length = usize::try_from(length).ok().filter(|length| *length <= left.len());
        let (section, rest) = left.split_at(length.ok_or("a section is longer than the file")?);
        left = rest;
        sections::read(section, &mut content)?;
    }
    if !left.is_empty() {
        return Err(format!("{} bytes belong to no section", left.len()));
    }
    let Content { items, states, visited } = content;
    let Header { identity, done, part, .. } = header;
    let is_part = part.is_some();
    let Part { common, visited: visited_in, turn } = part.unwrap_or_default();
    let work = Work { items, states, common, visited: Arc::new(visited), turn };
    Ok(Frontier { identity, from: path.into(), done, work, is_part, visited_in })
}
