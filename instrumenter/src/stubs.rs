//! Imports that the user declared with `--stub MODULE.NAME=ANSWER`: a call does nothing, is a scheduling
//! point, and gives an answer that is always the same or chosen by the strategy. The rest of what the
//! function would do is not modelled.
//!
//! ```wat
//! ;; before, with --stub env.read=-1,7
//! local.get 0 call $env.read
//! ;; after
//! local.get 0 drop
//! i32.const 2
//! i32.const 1000 global.set $__cy_budget
//! i32.const 0 (; site ;) call $coyote_rt.choose_int
//! local.set 1
//! i32.const -1 i32.const 7
//! local.get 1 i32.const 0 i32.eq select
//! ```
//!
//! A stub without an answer stays an import: the host reports its call as a bug.

use crate::code::Code;
use crate::draft::Draft;
use crate::threads::{announce, call_site};
use crate::{Error, Options};
use coyote_abi::{OpKind, guest};
use walrus::ir::{BinaryOp, Call, Const, Drop, InstrLocId, Select, UnaryOp, Value};
use walrus::{FunctionId, ValType};

/// The longest list of values: each costs code at every call.
const VALUES_MAX: usize = 100;

/// What a stub answers.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// A call is a bug.
    None,
    /// The function returns nothing.
    Nothing,
    /// One of the numbers below the bound, which the strategy chooses.
    Below(u32),
    /// The only one of these, or one that the strategy chooses.
    Values(Vec<String>),
}

impl Options {
    /// What stands behind `MODULE.NAME=` for this import; empty if nothing does. `None` if the import is
    /// not stubbed. coyote's own imports cannot be.
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
    /// Reads what an option says of an import.
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

    /// Whether a function of this type can give the answer.
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

/// A number of a type: integers may be written with or without a sign.
fn number(ty: &str, text: &str) -> Option<Value> {
    let integer = || text.parse::<i128>().ok();
    Some(match ty {
        "i32" => Value::I32(integer().filter(|i| (-(1 << 31)..1 << 32).contains(i))? as i32),
        "i64" => Value::I64(integer().filter(|i| (-(1 << 63)..1 << 64).contains(i))? as i64),
        "f32" => Value::F32(text.parse().ok()?),
        "f64" => Value::F64(text.parse().ok()?),
        _ => return None,
    })
}

/// A stub with an answer, for an import of this type.
pub struct Stub {
    answer: Answer,
    params: usize,
    result: Option<ValType>,
}

impl Stub {
    /// `check` has seen that the answer fits.
    pub fn of(draft: &Draft, module: &str, name: &str, import: FunctionId) -> Option<Stub> {
        let answer = Answer::of(draft.options, module, name).expect("`check` read it")?;
        let ty = draft.module.types.get(draft.module.funcs.get(import).ty());
        let stub = Stub { answer, params: ty.params().len(), result: ty.results().first().copied() };
        (stub.answer != Answer::None).then_some(stub)
    }

    fn bound(&self) -> u32 {
        match &self.answer {
            Answer::Below(bound) => *bound,
            Answer::Values(values) => values.len() as u32,
            _ => 1,
        }
    }

    pub fn kind(&self) -> OpKind {
        if self.bound() > 1 { OpKind::ChooseInt } else { OpKind::Stub }
    }

    /// The code that takes the place of a call, whose arguments are on the stack.
    pub fn call(&self, draft: &mut Draft, code: &mut Code, site: u32, at: InstrLocId) {
        (0..self.params).for_each(|_| {
            code.add(Drop {});
        });
        let chosen = draft.module.locals.add(ValType::I32);
        if self.bound() > 1 {
            let choose = draft.suspending("choose_int", &[ValType::I32; 2], &[ValType::I32]);
            code.i32(self.bound() as i32);
            call_site(draft, code, site);
            code.push(Call { func: choose }, at).set(chosen);
        } else {
            code.i32(0);
            announce(draft, code, site, at);
        }
        let Some(result) = self.result else { return };
        match &self.answer {
            Answer::Values(values) => {
                for value in values {
                    let value = number(&result.to_string(), value).expect("`check` read it");
                    code.add(Const { value });
                }
                for index in (0..values.len() as i32 - 1).rev() {
                    code.get(chosen).i32(index).binary(BinaryOp::I32Eq).add(Select { ty: None });
                }
            }
            _ => {
                code.get(chosen);
                match result {
                    ValType::I64 => code.unary(UnaryOp::I64ExtendUI32),
                    ValType::F32 => code.unary(UnaryOp::F32ConvertUI32),
                    ValType::F64 => code.unary(UnaryOp::F64ConvertUI32),
                    _ => code,
                };
            }
        }
    }
}
