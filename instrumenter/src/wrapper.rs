//! Code around a function of the guest.

use crate::code::Code;
use crate::draft::Draft;
use walrus::ir::{Call, InstrLocId};
use walrus::{FunctionBuilder, FunctionId, FunctionKind, LocalFunction, LocalId, ValType};

/// A function that takes the place of one of the guest's functions and calls it.
pub struct Wrapper {
    /// The wrapped function's own code.
    pub inner: FunctionId,
    /// The locals with the arguments.
    pub args: Vec<LocalId>,
    /// Types of the results.
    pub results: Vec<ValType>,
    /// The wrapper itself, to which blocks and locals can be added.
    pub body: LocalFunction,
}

impl Wrapper {
    /// Calls the wrapped function with the arguments of the wrapper.
    pub fn forward(&self, at: InstrLocId) -> Code {
        let mut code = Code::default();
        self.args.iter().for_each(|arg| {
            code.get(*arg);
        });
        code.push(Call { func: self.inner }, at);
        code
    }
}

impl Draft<'_> {
    /// Replaces a function by a wrapper with the code that `fill` returns: all references then mean the wrapper.
    /// The function's own code, whose name gets the suffix, still counts as the original function.
    pub fn wrap(&mut self, id: FunctionId, suffix: &str, fill: impl FnOnce(&mut Self, &mut Wrapper) -> Code) {
        let function = self.module.funcs.get_mut(id);
        let ty = function.ty();
        let FunctionKind::Local(body) =
            std::mem::replace(&mut function.kind, FunctionKind::Uninitialized(ty))
        else {
            panic!("this is a bug in coyote-wasm: an import is not wrapped")
        };
        let name = function.name.as_ref().map(|name| format!("{name}{suffix}"));
        let inner = self.module.funcs.add_local(body);
        self.module.funcs.get_mut(inner).name = name;
        if let Some(origin) = self.origin(id) {
            self.set_origin(inner, origin);
        }
        let ty = self.module.types.get(ty);
        let (params, results) = (ty.params().to_vec(), ty.results().to_vec());
        let args: Vec<_> = params.iter().map(|ty| self.module.locals.add(*ty)).collect();
        let body = FunctionBuilder::new(&mut self.module.types, &params, &results).local_func(args.clone());
        let mut wrapper = Wrapper { inner, args, results, body };
        let code = fill(self, &mut wrapper);
        let mut body = wrapper.body;
        let entry = body.entry_block();
        body.block_mut(entry).instrs = code.into();
        self.module.funcs.get_mut(id).kind = FunctionKind::Local(body);
    }
}
