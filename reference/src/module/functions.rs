//! The functions of a module: the entry, which runs, and those that are called or given to operations on cooperative matrices, which are
//! put in where they are used.

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

/// A function of values alone, in one block.
#[derive(Debug)]
pub(crate) struct Callee {
    pub(crate) params: Vec<Id>,
    pub(crate) insts: Vec<Inst>,
    pub(crate) result: Id,
}

impl Module {
    /// Takes the functions of a module: the entry's blocks, and the others.
    pub(super) fn take_functions(&mut self, functions: Vec<Function>, entry: Option<Id>) -> Result<()> {
        for function in functions {
            // Where no entry is named, it is the first.
            if entry == Some(function.id) || entry.is_none() && self.blocks.is_empty() {
                self.blocks = function.blocks;
            } else {
                self.others.insert(function.id, self.callee(function)?);
            }
        }
        Ok(())
    }

    /// The function of an id, with so many parameters.
    pub(crate) fn callee_of(&self, id: Id, params: usize) -> Result<&Callee> {
        match self.others.get(&id) {
            Some(callee) if callee.params.len() == params => Ok(callee),
            Some(callee) => malformed(format!("the function %{id} has {} parameters, not {params}", callee.params.len())),
            None => malformed(format!("%{id} is no function")),
        }
    }

    fn callee(&self, Function { id, params, blocks }: Function) -> Result<Callee> {
        let [Block { insts, end, .. }] = blocks.as_slice() else {
            return unknown(format!("the function %{id} beside the entry, which is not of one block"));
        };
        if end.op != Op::ReturnValue {
            return unknown(format!("the function %{id} beside the entry, which returns nothing"));
        }
        let mut known: HashSet<Id> = params.iter().copied().collect();
        for inst in insts.iter().chain([end]) {
            if !is_pure(self, inst) {
                return unknown(format!("Op{:?} in the function %{id} beside the entry", inst.op));
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

/// Whether an instruction makes a value of values, and does nothing else.
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
