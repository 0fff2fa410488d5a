//! The arms of an `atomic.rs`, read from its tokens.
//!
//! Only tokens are looked at, not Rust's grammar, so that syntax that a later release adds does no harm. An arm
//! counts if its pattern names one ordering, or two in parentheses, and its body names an intrinsic
//! `atomic_*` with the same orderings, as constants (`AO::Relaxed`) or in its name (`atomic_load_relaxed`, up to
//! Rust 1.88). Whatever differs is an error and not an arm: a wrong ordering would be a wrong verdict.

use crate::{Arm, Operation, Ordering, Table};
use proc_macro2::{Delimiter, TokenStream, TokenTree};
use std::str::FromStr;

/// Why a source has no table.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Tokens that Rust does not have, or parentheses that do not match; with the parser's words.
    #[error("it is not Rust: {0}")]
    Tokens(String),
    /// The arm that begins in this line (from 1), or one that shares a line with another.
    #[error("line {0}: an arm with an atomic intrinsic has a pattern or orderings that are not understood")]
    Arm(u32),
    /// No arm has an operation of this name ([`Operation::NAMES`]).
    #[error("it has no arm for {0}")]
    Missing(&'static str),
}

/// Reads the arms of all functions of an `atomic.rs`.
///
/// # Errors
/// What is not understood: then there is no table, since part of one could be wrong.
pub fn table(source: &str) -> Result<Table, Error> {
    let tokens = TokenStream::from_str(source).map_err(|e| Error::Tokens(e.to_string()))?;
    let mut table = Table::default();
    arms_in(tokens, &mut table)?;
    table.arms.sort_by_key(|arm| arm.first);
    if let Some(pair) = table.arms.windows(2).find(|pair| pair[1].first <= pair[0].last) {
        return Err(Error::Arm(pair[1].first));
    }
    let has = |operation| table.arms.iter().any(|arm| arm.operation == operation);
    match Operation::NAMES.iter().find(|(operation, _)| !has(*operation)) {
        Some((_, name)) => Err(Error::Missing(name)),
        None => Ok(table),
    }
}

/// Adds the arms of a group and of all groups in it.
fn arms_in(tokens: TokenStream, table: &mut Table) -> Result<(), Error> {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut start = 0;
    let mut at = 0;
    while at < tokens.len() {
        if is(&tokens, at, '=') && is(&tokens, at + 1, '>') {
            let end = match tokens.get(at + 2) {
                Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => at + 3,
                _ => end_of_expression(&tokens, at + 2),
            };
            table.arms.extend(arm(&tokens[start..at], &tokens[at + 2..end])?);
            start = end;
        }
        if is(&tokens, at, ',') || is(&tokens, at, ';') {
            start = at + 1;
        }
        if let TokenTree::Group(group) = &tokens[at] {
            arms_in(group.stream(), table)?;
        }
        at += 1;
    }
    Ok(())
}

/// Where the comma behind an expression is that has no comparisons, as arms with an intrinsic have none.
fn end_of_expression(tokens: &[TokenTree], start: usize) -> usize {
    let mut depth = 0;
    for at in start..tokens.len() {
        if is(tokens, at, '<') {
            depth += 1;
        } else if is(tokens, at, '>') {
            depth -= 1;
        } else if is(tokens, at, ',') && depth == 0 {
            return at;
        }
    }
    tokens.len()
}

fn is(tokens: &[TokenTree], at: usize, punctuation: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == punctuation)
}

/// The arm of a pattern and a body; `None` if its body is no atomic intrinsic.
fn arm(pattern: &[TokenTree], body: &[TokenTree]) -> Result<Option<Arm>, Error> {
    let mut words = Vec::new();
    words_of(body.iter().cloned().collect(), &mut words);
    let intrinsics: Vec<&str> = words.iter().filter_map(|word| word.strip_prefix("atomic_")).collect();
    let [intrinsic] = intrinsics[..] else { return Ok(None) };
    // What stands before the pattern, an attribute or a separator, names no ordering.
    let (Some(first), Some(last)) = (pattern.last(), body.last()) else { return Ok(None) };
    let (first, last) = (first.span().start().line as u32, last.span().end().line as u32);
    let mut named = Vec::new();
    words_of(pattern.iter().cloned().collect(), &mut named);
    let named: Vec<Ordering> = named.iter().filter_map(|word| Ordering::from_name(word)).collect();
    let mut parts = intrinsic.split('_');
    let operation = match parts.next().unwrap_or_default() {
        "load" => Operation::Load,
        "store" => Operation::Store,
        "cxchg" | "cxchgweak" => Operation::CompareExchange,
        "fence" => Operation::Fence,
        // For signal handlers of the same thread.
        "singlethreadfence" => return Ok(None),
        _ => Operation::ReadModifyWrite,
    };
    let in_name: Vec<Ordering> = parts.filter_map(by_suffix).collect();
    let constants: Vec<Ordering> = words.iter().filter_map(|word| Ordering::from_name(word)).collect();
    let chosen = if constants.is_empty() { in_name } else { constants };
    let expected = 1 + usize::from(operation == Operation::CompareExchange);
    if named.len() != expected || chosen != named || is(pattern, pattern.len().saturating_sub(2), '|') {
        return Err(Error::Arm(first));
    }
    let (success, failure) = (named[0], named[expected - 1]);
    Ok(Some(Arm { first, last, operation, success, failure }))
}

/// How the names of intrinsics end, up to Rust 1.88.
fn by_suffix(suffix: &str) -> Option<Ordering> {
    Ordering::ALL.into_iter().find(|ordering| ordering.name().eq_ignore_ascii_case(suffix))
}

/// All identifiers, also within groups.
fn words_of(tokens: TokenStream, words: &mut Vec<String>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => words.push(ident.to_string()),
            TokenTree::Group(group) => words_of(group.stream(), words),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All that the reader must know of, in the words of two releases.
    const SOURCE: &str = "
fn load(order: Ordering) -> u32 {
    unsafe {
        match order {
            Relaxed => intrinsics::atomic_load_relaxed(dst),
            Acquire => { intrinsics::atomic_load::<T, { AO::Acquire }>(dst) }
            Release => panic!(\"there is no such thing as a release load\"),
        }
    }
}
fn rest() {
    match order { Release => intrinsics::atomic_store_release(dst, val), _ => unreachable!() };
    match order {
        // A comment => with an arrow, and `atomic_load`.
        #[cfg(target)]
        AcqRel => intrinsics::atomic_xadd::<T, U, { AO::AcqRel }>(dst, val),
    };
    let (val, ok) = match (success, failure) {
        (Relaxed, SeqCst) => {
            intrinsics::atomic_cxchgweak::<T, { AO::Relaxed }, { AO::SeqCst }>(dst, old, new)
        }
        (_, AcqRel) => panic!(),
    };
    match order { SeqCst => intrinsics::atomic_fence_seqcst(), }
    match order { SeqCst => intrinsics::atomic_singlethreadfence_seqcst(), }
    match failure { Release => Relaxed, SeqCst => SeqCst }
}
";

    #[test]
    fn arms_have_their_lines_and_orderings() {
        let arms = table(SOURCE).unwrap().arms;
        let arms: Vec<_> =
            arms.iter().map(|a| (a.first, a.last, a.operation, a.success, a.failure)).collect();
        use Operation::*;
        use Ordering::*;
        assert_eq!(
            arms,
            [
                (5, 5, Load, Relaxed, Relaxed),
                (6, 6, Load, Acquire, Acquire),
                (12, 12, Store, Release, Release),
                (16, 16, ReadModifyWrite, AcqRel, AcqRel),
                (19, 21, CompareExchange, Relaxed, SeqCst),
                (24, 24, Fence, SeqCst, SeqCst),
            ]
        );
    }

    #[test]
    fn what_contradicts_itself_is_refused() {
        for (from, to, line) in [
            ("AO::Acquire", "AO::Relaxed", 6),
            ("atomic_store_release", "atomic_store_relaxed", 12),
            ("(Relaxed, SeqCst)", "(SeqCst, Relaxed)", 19),
            ("AcqRel => intr", "AcqRel | Acquire => intr", 16),
            ("AcqRel => intr", "_ => intr", 16),
        ] {
            assert_eq!(table(&SOURCE.replace(from, to)), Err(Error::Arm(line)), "{from}");
        }
        assert_eq!(table(&SOURCE.replace("fence_", "other_")), Err(Error::Missing("fence")));
        assert!(matches!(table("fn f() {"), Err(Error::Tokens(_))));
    }
}
