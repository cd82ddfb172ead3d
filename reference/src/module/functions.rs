//! The functions of a module: the entry point, which runs, and functions that are called or passed to operations on cooperative
//! matrices. The latter are inlined where they are used.

use super::{Block, Module};
use crate::analysis::{is_atomic, is_chain, is_group, operands};
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::Op;
use std::collections::HashSet;

/// A function as it was read.
#[derive(Debug)]
pub(super) struct Function {
    pub(super) id: Id,
    pub(super) params: Vec<Id>,
    pub(super) blocks: Vec<Block>,
}

/// A function in a single block that only computes values.
#[derive(Debug)]
pub(crate) struct Callee {
    pub(crate) params: Vec<Id>,
    pub(crate) insts: Vec<Inst>,
    pub(crate) result: Id,
}

impl Module {
    /// Separates the functions of a module into the entry point's blocks and the other functions.
    pub(super) fn take_functions(&mut self, functions: Vec<Function>, entry: Option<Id>) -> Result<()> {
        for function in functions {
            // If no entry point is named, it is the first function.
            if entry == Some(function.id) || entry.is_none() && self.blocks.is_empty() {
                self.blocks = function.blocks;
            } else {
                self.others.insert(function.id, self.callee(function)?);
            }
        }
        Ok(())
    }

    /// Returns the function with an id, which must have `params` parameters.
    pub(crate) fn callee_of(&self, id: Id, params: usize) -> Result<&Callee> {
        match self.others.get(&id) {
            Some(callee) if callee.params.len() == params => Ok(callee),
            Some(callee) => malformed(format!("the function %{id} has {} parameters, not {params}", callee.params.len())),
            None => malformed(format!("%{id} is not a function")),
        }
    }

    fn callee(&self, Function { id, params, blocks }: Function) -> Result<Callee> {
        let [Block { insts, end, .. }] = blocks.as_slice() else {
            return unknown(format!("the function %{id}, which does not have a single block"));
        };
        if end.op != Op::ReturnValue {
            return unknown(format!("the function %{id}, which does not return a value"));
        }
        let mut known: HashSet<Id> = params.iter().copied().collect();
        for inst in insts.iter().chain([end]) {
            if !is_pure(self, inst) {
                return unknown(format!("Op{:?} in the function %{id}, which is not the entry point", inst.op));
            }
            let local = |id: &&Id| self.result_types.contains_key(id) && !known.contains(id);
            if let Some(missing) = operands(inst).iter().find(local) {
                return malformed(format!("%{missing} is used in the function %{id}, where it is not defined"));
            }
            known.insert(inst.id);
        }
        Ok(Callee { params, result: end.arg(0)?, insts: insts.clone() })
    }
}

/// True if an instruction only computes a value from values.
fn is_pure(module: &Module, inst: &Inst) -> bool {
    use Op::*;
    match inst.op {
        ReturnValue => true,
        Variable | Load | Store | Phi | Undef | FunctionCall | ControlBarrier | MemoryBarrier | CopyMemory => false,
        op => {
            let kept = module.types.planes(inst.ty).is_ok() && !module.types.has_matrices(inst.ty);
            kept && !is_chain(op) && !is_atomic(op) && !is_group(op)
        }
    }
}
