//! Code that throws and catches.

use super::{Generator, NUMERIC, PAYLOADS, Scope};
use wasm_encoder::*;

impl Generator<'_> {
    /// Throws, now and then.
    pub(super) fn throw(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        self.value(out, scope, ValType::I32, depth);
        out.i32_const(3).i32_and().i32_eqz().if_(BlockType::Empty);
        let tag = self.random.below(PAYLOADS.len() as u64) as usize;
        scope.labels.push(false);
        PAYLOADS[tag].iter().for_each(|ty| self.value(out, scope, *ty, depth));
        scope.labels.pop();
        out.throw(tag as u32).end();
    }

    /// Throws what was caught, now and then; drops it otherwise.
    pub(super) fn throw_again(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        let reference = self.reference(scope);
        out.local_get(reference).ref_is_null().i32_eqz();
        self.value(out, scope, ValType::I32, depth);
        out.i32_const(1).i32_and().i32_and().if_(BlockType::Empty);
        out.local_get(reference).throw_ref().end();
        if self.random.one_in(4) {
            out.ref_null(HeapType::Abstract { shared: false, ty: AbstractHeapType::Exn })
                .local_set(reference);
        }
    }

    fn reference(&mut self, scope: &Scope) -> u32 {
        scope.first_reference + self.random.below(3) as u32
    }

    /// A `try_table` with up to four clauses, and what comes after each. Where a reference is caught it is put
    /// into a local, thrown on after some clean-up, or stays on the stack meanwhile.
    pub(super) fn catching(&mut self, out: &mut InstructionSink, scope: &mut Scope, depth: u32) {
        let tags = PAYLOADS.len() as u64;
        let clauses: Vec<(Option<usize>, bool)> = (0..1 + self.random.below(4))
            .map(|_| {
                let tag = self.random.below(tags + 1) as usize;
                ((tag < PAYLOADS.len()).then_some(tag), self.random.one_in(2))
            })
            .collect();
        let exception = ValType::Ref(RefType::EXNREF);
        let values = |(tag, reference): (Option<usize>, bool)| {
            let payload = tag.map_or(&[][..], |tag| PAYLOADS[tag]);
            payload.iter().copied().chain(reference.then_some(exception)).collect::<Vec<_>>()
        };
        let params = self.types_of_some(3);
        let result = *self.random.pick(&NUMERIC);
        out.block(BlockType::Empty);
        scope.labels.push(true);
        for clause in clauses.iter().rev() {
            let ty = self.block_type(&[], &values(*clause));
            out.block(ty);
            scope.labels.push(false);
        }
        params.iter().for_each(|p| self.value(out, scope, *p, depth));
        let catches = clauses.iter().zip(0..).map(|((tag, reference), label)| match (tag, reference) {
            (Some(tag), true) => Catch::OneRef { tag: *tag as u32, label },
            (Some(tag), false) => Catch::One { tag: *tag as u32, label },
            (None, true) => Catch::AllRef { label },
            (None, false) => Catch::All { label },
        });
        let catches: Vec<Catch> = catches.collect();
        let ty = self.block_type(&params, &[result]);
        out.try_table(ty, catches);
        scope.labels.push(false);
        self.use_up(out, scope, depth, &params, result);
        if self.random.one_in(2) {
            self.call(out, scope, depth);
        }
        scope.labels.pop();
        out.end();
        out.local_set(self.local(scope, result));
        out.br(clauses.len() as u32);
        for (done, clause) in (1..).zip(&clauses) {
            scope.labels.pop();
            out.end();
            if clause.1 {
                match self.random.below(3) {
                    0 => out.local_set(self.reference(scope)),
                    1 => {
                        // Clean up and go on.
                        self.statements(out, scope, depth);
                        out.throw_ref()
                    }
                    _ => {
                        self.statements(out, scope, depth);
                        out.local_set(self.reference(scope))
                    }
                };
            }
            let payload = clause.0.map_or(&[][..], |tag| PAYLOADS[tag]);
            for ty in payload.iter().rev() {
                out.local_set(self.local(scope, *ty));
            }
            self.statements(out, scope, depth);
            out.br((clauses.len() - done) as u32);
        }
        scope.labels.pop();
        out.end();
    }
}
