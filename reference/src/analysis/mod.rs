//! Facts about a module that are computed before it runs, so that it runs fast.
//!
//! [`graph`] orders the blocks. [`defined`] refuses values that are used before they are defined. [`pointers`] folds access chains.
//! [`uniform`] finds the values that are the same in all invocations of a workgroup and need to be computed only once. [`demand`] finds the
//! parts of a loaded vector that are used. [`assigned`] finds the loads of registers that are certainly written before. [`lives`] finds the
//! last use of each value.

pub(crate) mod assigned;
pub(crate) mod defined;
pub(crate) mod demand;
pub(crate) mod graph;
pub(crate) mod lives;
pub(crate) mod pointers;
pub(crate) mod uniform;

use crate::module::Module;
use crate::module::types::Type;
use crate::words::{Id, Inst};
use spirv::Op;

/// Returns the ids of the values among an instruction's operands.
pub(crate) fn operands(inst: &Inst) -> Vec<Id> {
    let take = |list: &[u32]| list.to_vec();
    match inst.op {
        Op::Load | Op::CompositeExtract => take(inst.from(0).get(..1).unwrap_or_default()),
        Op::Store | Op::CompositeInsert | Op::VectorShuffle => take(inst.from(0).get(..2).unwrap_or_default()),
        // The format of the operands follows them.
        Op::SDot | Op::UDot | Op::SUDot => take(inst.args.get(..2).unwrap_or_default()),
        Op::ExtInst => take(inst.from(2)),
        // The function is not a value.
        Op::FunctionCall => take(inst.from(1)),
        Op::Phi => inst.args.iter().step_by(2).copied().collect(),
        Op::GroupNonUniformElect | Op::ControlBarrier | Op::MemoryBarrier | Op::Variable | Op::Undef => Vec::new(),
        // The first two operands are the scope, and a literal that selects one of several operations.
        Op::GroupNonUniformBallotBitCount => take(inst.from(2)),
        op if is_group_arithmetic(op) => take(inst.from(2)),
        op if is_group(op) => take(inst.from(1)),
        Op::BranchConditional | Op::Switch => take(inst.from(0).get(..1).unwrap_or_default()),
        Op::Branch | Op::Return | Op::Unreachable | Op::CooperativeMatrixLengthKHR => Vec::new(),
        // The values precede the memory operands, or the mask of signed operands. A function among the operands is not a value.
        Op::CooperativeMatrixReduceNV => take(inst.args.get(..1).unwrap_or_default()),
        Op::CooperativeMatrixPerElementOpNV => inst.args.iter().take(1).chain(inst.from(2)).copied().collect(),
        Op::CooperativeMatrixLoadKHR | Op::CooperativeMatrixMulAddKHR => take(inst.args.get(..3).unwrap_or(&inst.args)),
        Op::CooperativeMatrixStoreKHR => take(inst.args.get(..4).unwrap_or(&inst.args)),
        _ => inst.args.clone(),
    }
}

/// True for reductions and scans over a subgroup.
pub(crate) fn is_group_arithmetic(op: Op) -> bool {
    (Op::GroupNonUniformIAdd as u32..=Op::GroupNonUniformLogicalXor as u32).contains(&(op as u32))
}

/// True for all operations over a subgroup.
pub(crate) fn is_group(op: Op) -> bool {
    (Op::GroupNonUniformElect as u32..=Op::GroupNonUniformQuadSwap as u32).contains(&(op as u32))
        || op == Op::GroupNonUniformRotateKHR
}

/// True for atomic operations.
pub(crate) fn is_atomic(op: Op) -> bool {
    let plain = (Op::AtomicLoad as u32..=Op::AtomicXor as u32).contains(&(op as u32));
    plain || matches!(op, Op::AtomicFAddEXT | Op::AtomicFMinEXT | Op::AtomicFMaxEXT)
}

/// True for access chains.
pub(crate) fn is_chain(op: Op) -> bool {
    matches!(op, Op::AccessChain | Op::InBoundsAccessChain | Op::PtrAccessChain | Op::InBoundsPtrAccessChain)
}

/// True if an instruction computes with cooperative matrices, or moves them.
pub(crate) fn is_of_matrices(module: &Module, inst: &Inst) -> bool {
    let is_one = |id: &Id| module.type_of(*id).is_ok_and(|ty| module.types.has_matrices(ty));
    module.types.has_matrices(inst.ty) || operands(inst).iter().any(is_one)
}

/// True for instructions that compute addresses. They are folded into the loads and stores that use them.
pub(crate) fn is_folded(module: &Module, inst: &Inst) -> bool {
    is_chain(inst.op) || inst.op == Op::ConvertUToPtr || matches!(module.types.get(inst.ty), Ok(Type::Wide))
}
