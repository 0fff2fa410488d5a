//! Whether bugs of two versions of a program are the same, as far as can be known.

use crate::identity::Identity;
use crate::symbols::is_library_function;
use crate::trace::Trace;
use std::collections::BTreeSet;

/// How near two bugs are, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Likeness {
    /// The same functions and, but for numbers, the same message.
    Same,
    /// Nothing but the same kind.
    Kind,
    None,
}

/// What is known of a bug in any version of its program.
#[derive(Debug, PartialEq, Eq)]
pub struct Known {
    kind: String,
    /// The message without its numbers, which may be lines and values.
    message: String,
    /// The innermost functions of the program itself in which its workers were, as far as they are known.
    functions: BTreeSet<String>,
}

impl Known {
    /// `name`: the names of functions, by index.
    pub fn of<'a>(
        kind: &str,
        message: &str,
        identity: &Identity,
        name: impl Fn(u32) -> Option<&'a str>,
    ) -> Known {
        let own = |stack: &[coyote_instrumenter::Location]| {
            let names = stack.iter().filter_map(|place| name(place.function));
            names.map(str::to_string).find(|name| !name.is_empty() && !is_library_function(name))
        };
        let functions = identity.places().into_iter().filter_map(own).collect();
        Known { kind: kind.into(), message: without_numbers(message), functions }
    }

    pub fn of_trace(trace: &Trace) -> Known {
        let header = &trace.header;
        let identity = header.identity.clone().unwrap_or_default();
        let name = |function| header.functions.get(&function).map(String::as_str);
        Known::of(&header.outcome, &header.message, &identity, name)
    }

    pub fn likeness(&self, other: &Known) -> Likeness {
        let is_known = [self, other].iter().all(|known| !known.functions.is_empty());
        match () {
            () if self.kind != other.kind => Likeness::None,
            () if self.message != other.message => Likeness::Kind,
            () if is_known && self.functions != other.functions => Likeness::Kind,
            () => Likeness::Same,
        }
    }
}

/// Replaces each word that begins with a digit.
fn without_numbers(text: &str) -> String {
    let mut plain = String::new();
    let mut in_number = false;
    let mut before = ' ';
    for c in text.chars() {
        let in_word = before.is_alphanumeric() || before == '_';
        in_number = c.is_ascii_digit() && !in_word || in_number && c.is_alphanumeric();
        match in_number {
            true if !plain.ends_with('#') || !in_word => plain.push('#'),
            true => {}
            false => plain.push(c),
        }
        before = c;
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;
    use coyote_instrumenter::Location;
    use coyote_strategies::WorkerPath;

    #[test]
    fn numbers_of_messages_do_not_count() {
        for (text, plain) in [
            ("a.c:29: assertion failed: x==2 (worker 0)", "a.c:#: assertion failed: x==# (worker #)"),
            ("read of 4 bytes at 0x4012f", "read of # bytes at #"),
            ("x1 is 12ab", "x1 is #"),
            ("", ""),
        ] {
            assert_eq!(without_numbers(text), plain);
        }
    }

    #[test]
    fn a_bug_is_the_same_in_the_same_functions_with_the_same_words() {
        let party = |function| crate::identity::Party {
            worker: WorkerPath::default(),
            stack: vec![Location { function: 9, offset: 1 }, Location { function, offset: 7 }],
        };
        let known = |kind: &str, message: &str, function| {
            let identity = Identity::new(String::new(), vec![party(function)]);
            let name = |function| ["put", "take", ""].get(function as usize).copied().or(Some("std::panic"));
            Known::of(kind, message, &identity, name)
        };
        let bug = known("assertion", "a.c:29: assertion failed: x==2", 0);
        assert_eq!(bug.likeness(&known("assertion", "a.c:31: assertion failed: x==2", 0)), Likeness::Same);
        assert_eq!(bug.likeness(&known("assertion", "a.c:31: assertion failed: y==2", 0)), Likeness::Kind);
        assert_eq!(bug.likeness(&known("assertion", "a.c:29: assertion failed: x==2", 1)), Likeness::Kind);
        assert_eq!(bug.likeness(&known("trap", "a.c:29: assertion failed: x==2", 0)), Likeness::None);
    }
}
