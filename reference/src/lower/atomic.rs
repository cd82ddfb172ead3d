//! Atomic operations.
//!
//! Their memory semantics are ignored: only barriers order other accesses here. So a race is reported for a module that
//! hands data from one workgroup to another by an atomic flag.

use super::Lower;
use super::access::Variable;
use super::slots::Value;
use crate::code::{Atomic, AtomicOp, Combine, Op};
use crate::module::types::Scalar;
use crate::words::{Inst, Result, malformed, unknown};
use spirv::Op as Spv;

impl Lower<'_> {
    pub(super) fn atomic(&mut self, inst: &Inst) -> Result<()> {
        let pointer = self.pointers.get(self.module, inst.arg(0)?)?;
        let place = self.place(&pointer)?;
        let shared = matches!(place, Some(Variable::Shared { .. }));
        if !shared && !matches!(place, None | Some(Variable::Binding(_))) {
            return malformed(format!("an Op{:?} of memory that is private to an invocation", inst.op));
        }
        if !matches!(self.module.types.scalar(pointer.of)?, Scalar::Int | Scalar::F32) || self.module.types.planes(pointer.of)? != 1
        {
            return unknown(format!("Op{:?} of anything but 32 bits", inst.op));
        }
        // Allowed are the scopes of all devices, the device and the queue family. For the workgroup's own memory, the
        // scope of the workgroup is allowed too.
        let scope = self.module.literal(inst.arg(1)?)?;
        if !(matches!(scope, 0 | 1 | 5) || (scope == 2 && shared)) {
            return unknown(format!("Op{:?} of the scope number {scope} there", inst.op));
        }
        let Some((op, value)) = operation(inst.op) else { return unknown(format!("Op{:?}", inst.op)) };
        let value = match value {
            Operand::None => 0,
            Operand::One => self.ones(true)?,
            Operand::At(at) => self.atomic_operand(inst, at)?,
        };
        let comparator = if op == AtomicOp::CompareExchange { self.atomic_operand(inst, 5)? } else { 0 };
        let to = if inst.id == 0 { self.temporary(1, true)? } else { self.result(inst)? };
        self.check_result(inst, to)?;
        let access = self.access(inst, &pointer, place, to)?;
        self.code.atomics.push(Atomic { access, op, value, comparator });
        let at = self.code.atomics.len() as u32 - 1;
        self.op(Op::Atomic(at));
        if inst.id == 0 { Ok(()) } else { self.computed(inst, to) }
    }

    fn atomic_operand(&mut self, inst: &Inst, at: usize) -> Result<u32> {
        self.check_planes(inst.arg(at)?, 1)?;
        self.operand(inst.arg(at)?, true)
    }

    fn check_result(&self, inst: &Inst, to: Value) -> Result<()> {
        if to.planes == 1 && to.lanes { Ok(()) } else { malformed(format!("Op{:?} is not of its pointer's type", inst.op)) }
    }
}

/// The source of the operand of an operation.
enum Operand {
    None,
    One,
    At(usize),
}

fn operation(op: Spv) -> Option<(AtomicOp, Operand)> {
    let combine = |combine| Some((AtomicOp::Combine(combine), Operand::At(3)));
    match op {
        Spv::AtomicLoad => Some((AtomicOp::Load, Operand::None)),
        Spv::AtomicStore => Some((AtomicOp::Store, Operand::At(3))),
        Spv::AtomicExchange => Some((AtomicOp::Exchange, Operand::At(3))),
        Spv::AtomicCompareExchange => Some((AtomicOp::CompareExchange, Operand::At(4))),
        Spv::AtomicIIncrement => Some((AtomicOp::Combine(Combine::IAdd), Operand::One)),
        Spv::AtomicIDecrement => Some((AtomicOp::Combine(Combine::ISub), Operand::One)),
        Spv::AtomicISub => Some((AtomicOp::Combine(Combine::ISub), Operand::At(3))),
        Spv::AtomicIAdd => combine(Combine::IAdd),
        Spv::AtomicSMin => combine(Combine::SMin),
        Spv::AtomicUMin => combine(Combine::UMin),
        Spv::AtomicSMax => combine(Combine::SMax),
        Spv::AtomicUMax => combine(Combine::UMax),
        Spv::AtomicAnd => combine(Combine::And),
        Spv::AtomicOr => combine(Combine::Or),
        Spv::AtomicXor => combine(Combine::Xor),
        Spv::AtomicFAddEXT => combine(Combine::FAdd),
        Spv::AtomicFMinEXT => combine(Combine::FMin),
        Spv::AtomicFMaxEXT => combine(Combine::FMax),
        _ => None,
    }
}
