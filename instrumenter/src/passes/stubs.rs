//! Imports that the user declared with `--stub MODULE.NAME=ANSWER`: a call is a scheduling point and returns
//! an answer, which is always the same or chosen by the strategy. Other effects of the function are not
//! modelled.
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

use crate::announce::{announce, call_site};
use crate::answer::{Answer, number};
use crate::code::Code;
use crate::draft::Draft;
use coyote_abi::OpKind;
use walrus::ir::{BinaryOp, Call, Const, Drop, InstrLocId, Select, UnaryOp};
use walrus::{FunctionId, ValType};

/// A stub with an answer, for an import of this type.
pub struct Stub {
    answer: Answer,
    params: usize,
    result: Option<ValType>,
}

impl Stub {
    /// The stub that the options declare, if they give an answer. `check` has seen that the answer fits.
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

    /// Adds the code that replaces a call, whose arguments are on the stack.
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
