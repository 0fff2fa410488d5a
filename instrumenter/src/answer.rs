//! The answers that `--stub MODULE.NAME=ANSWER` gives to calls of an import.

use crate::{Error, Options};
use coyote_abi::guest;
use walrus::ir::Value;

/// The longest list of values: each adds code to every call.
const VALUES_MAX: usize = 100;

/// What a call of a stub returns.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A call is a bug.
    None,
    /// The function returns nothing.
    Nothing,
    /// One of the numbers below the bound, which the strategy chooses.
    Below(u32),
    /// The only one of these values, or one that the strategy chooses.
    Values(Vec<String>),
}

impl Options {
    /// What the option says of this import, from its `=` on; empty if it gives no answer. `None` if the
    /// import is not stubbed. coyote's own imports cannot be.
    pub fn stub(&self, module: &str, name: &str) -> Option<&str> {
        let of = |stub: &'_ String| -> Option<usize> {
            let rest = stub.strip_prefix(module)?.strip_prefix('.')?.strip_prefix(name)?;
            (rest.is_empty() || rest.starts_with('=')).then_some(stub.len() - rest.len())
        };
        let mut found = self.stubs.iter().filter_map(|stub| Some(&stub[of(stub)?..]));
        if module == guest::MODULE { None } else { found.next() }
    }
}

impl Answer {
    /// Reads the answer that the options give for an import.
    pub fn of(options: &Options, module: &str, name: &str) -> Result<Option<Answer>, Error> {
        let Some(text) = options.stub(module, name) else { return Ok(None) };
        let Some(text) = text.strip_prefix('=') else { return Ok(Some(Answer::None)) };
        let wrong = |what: &str| Error::Option(format!("--stub {module}.{name}={text}: {what}"));
        if text.is_empty() {
            return Ok(Some(Answer::Nothing));
        }
        if let Some(bound) = text.strip_prefix("choose:") {
            let bound = bound.parse().ok().filter(|bound| *bound > 0);
            let bound = bound.ok_or_else(|| wrong("give choose:N with a number N from 1 to 4294967295"))?;
            return Ok(Some(Answer::Below(bound)));
        }
        let values: Vec<String> = text.split(',').map(str::to_string).collect();
        match values.len() > VALUES_MAX {
            true => Err(wrong(&format!("give at most {VALUES_MAX} values, or choose:N"))),
            false => Ok(Some(Answer::Values(values))),
        }
    }

    /// Checks that a function with these results can give the answer.
    pub fn check<T: std::fmt::Display>(&self, module: &str, name: &str, results: &[T]) -> Result<(), Error> {
        let types: Vec<String> = results.iter().map(T::to_string).collect();
        let refuse = |what: String| Err(Error::Option(format!("--stub {module}.{name}: {what}")));
        match (self, &types[..]) {
            (Answer::None, _) | (Answer::Nothing, []) => Ok(()),
            (Answer::Nothing, _) => refuse(format!(
                "it returns {}: give --stub {module}.{name}=VALUE or --stub {module}.{name}=choose:N",
                types.join(", ")
            )),
            (_, []) => refuse(format!("it returns nothing: give --stub {module}.{name}=")),
            (Answer::Below(_), [ty]) if zero(ty).is_some() => Ok(()),
            (Answer::Values(values), [ty]) if zero(ty).is_some() => {
                match values.iter().find(|value| number(ty, value).is_none()) {
                    Some(value) => refuse(format!("`{value}` is no number of its result's type, {ty}")),
                    None => Ok(()),
                }
            }
            _ => refuse(format!("a stub cannot return {}", types.join(", "))),
        }
    }
}

fn zero(ty: &str) -> Option<Value> {
    number(ty, "0")
}

/// Parses a number of a type: integers may be written with or without a sign.
pub fn number(ty: &str, text: &str) -> Option<Value> {
    let integer = || text.parse::<i128>().ok();
    Some(match ty {
        "i32" => Value::I32(integer().filter(|i| (-(1 << 31)..1 << 32).contains(i))? as i32),
        "i64" => Value::I64(integer().filter(|i| (-(1 << 63)..1 << 64).contains(i))? as i64),
        "f32" => Value::F32(text.parse().ok()?),
        "f64" => Value::F64(text.parse().ok()?),
        _ => return None,
    })
}
