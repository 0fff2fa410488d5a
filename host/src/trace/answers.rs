//! A line for each answer of a directory of the host: `answer FUNCTION CALL ERRNO RESULT DATA`.
//!
//! `CALL` is a hash of the call's arguments, by which a replay notices another call. `RESULT` and `DATA` are
//! bytes in hex, `-` for none.

use super::numbers::{digits, hex};
use super::{HostAnswer, Problem};
use crate::runtime::files::{Answer, Errno};
use coyote_abi::file;
use std::fmt::{self, Write};

/// The beginning of such a line.
pub(super) const ANSWER: &str = "answer ";

pub(super) fn write(answer: &HostAnswer, text: &mut String) -> fmt::Result {
    let HostAnswer { function, call, answer } = answer;
    write!(text, "{ANSWER}{function} {call:016x} {}", answer.errno())?;
    for bytes in [&answer.result, &answer.data] {
        text.push(' ');
        if bytes.is_empty() {
            text.push('-');
        }
        bytes.iter().try_for_each(|byte| write!(text, "{byte:02x}"))?;
    }
    text.push('\n');
    Ok(())
}

/// The inverse of `write`, for the text that follows [`ANSWER`].
pub(super) fn read(line: &str) -> Result<HostAnswer, Problem> {
    let wrong = || Problem::malformed("an answer `FUNCTION CALL ERRNO RESULT DATA`", line);
    let mut words = line.split(' ');
    let mut next = || words.next().ok_or_else(wrong);
    let function = file::call(next()?).ok_or_else(wrong)?.name.to_string();
    let call = next()?;
    let call = (call.len() == 16).then(|| hex(call)).flatten().ok_or_else(wrong)? as u64;
    let errno: u16 = digits(next()?).and_then(|n| n.try_into().ok()).ok_or_else(wrong)?;
    let result = bytes(next()?).ok_or_else(wrong)?;
    let data = bytes(next()?).ok_or_else(wrong)?;
    if words.next().is_some() {
        return Err(wrong());
    }
    let error = (errno != 0).then_some(Errno(errno));
    Ok(HostAnswer { function, call, answer: Answer { error, result, data } })
}

fn bytes(text: &str) -> Option<Vec<u8>> {
    if text == "-" {
        return Some(Vec::new());
    }
    let digit = |d: &u8| char::from(*d).to_digit(16).filter(|_| !d.is_ascii_uppercase());
    let digits: Option<Vec<u32>> = text.as_bytes().iter().map(digit).collect();
    let digits = digits.filter(|d| !d.is_empty() && d.len().is_multiple_of(2))?;
    Some(digits.chunks_exact(2).map(|pair| (pair[0] << 4 | pair[1]) as u8).collect())
}
