//! Translates operations over a subgroup.

use super::{Lower, Slot};
use crate::analysis::is_group_arithmetic;
use crate::code::{Combine, From, Group, GroupOp, Op, Spread};
use crate::module::types::Scalar;
use crate::words::{Id, Inst, Result, malformed, unknown};
use spirv::{GroupOperation, Op as Spv};

/// The value that a shuffle takes from an inactive lane. It is a NaN as a float, and is out of bounds as an index.
const POISON: u32 = 0x7fc0_dead;

/// The form of an instruction's operand.
#[derive(Clone, Copy)]
enum Operand {
    /// As many words as the result.
    Same(usize),
    /// A single word.
    Word(usize),
    /// Four words of bits.
    Ballot(usize),
}

impl Lower<'_> {
    pub(super) fn group(&mut self, inst: &Inst) -> Result<()> {
        if self.module.literal(inst.arg(0)?)? != 3 {
            return unknown(format!("Op{:?} over anything but a subgroup", inst.op));
        }
        let to = self.result(inst)?;
        let scalar = self.module.types.scalar(inst.ty)?;
        if matches!(scalar, Scalar::Byte | Scalar::Short | Scalar::BF16) {
            return unknown(format!("Op{:?} of 8 or 16 bits, or of bfloat16", inst.op));
        }
        let (op, operands) = self.group_op(inst)?;
        let mut slots = [0; 2];
        for (slot, operand) in slots.iter_mut().zip(&operands) {
            *slot = self.group_operand(inst, *operand, to.planes)?;
        }
        // The four words of a ballot come from one vote. An operation that is not computed plane by plane has a result
        // of one word.
        let wanted = match op {
            GroupOp::Ballot => 4,
            _ if matches!(operands.first(), Some(Operand::Same(_))) => to.planes,
            _ => 1,
        };
        if to.planes != wanted {
            return malformed(format!("the result of Op{:?} has {} scalars, not {wanted}", inst.op, to.planes));
        }
        let planes = if op == GroupOp::Ballot { 1 } else { to.planes };
        self.code.groups.push(Group {
            op,
            dst: to.at,
            a: slots[0],
            b: slots[1],
            planes,
            half: scalar == Scalar::F16,
            poison: if scalar == Scalar::Bool { 1 } else { POISON },
            word: inst.word,
        });
        let at = self.code.groups.len() as u32 - 1;
        self.op(Op::Group(at));
        self.computed(inst, to)
    }

    fn group_operand(&mut self, inst: &Inst, operand: Operand, planes: u32) -> Result<Slot> {
        let (at, planes) = match operand {
            Operand::Same(at) => (at, planes),
            Operand::Word(at) => (at, 1),
            Operand::Ballot(at) => (at, 4),
        };
        self.check_planes(inst.arg(at)?, planes)?;
        self.operand(inst.arg(at)?, true)
    }

    fn group_op(&mut self, inst: &Inst) -> Result<(GroupOp, Vec<Operand>)> {
        use Operand::{Ballot, Same, Word};
        let take = |from| Ok((GroupOp::Take(from), vec![Same(1), Word(2)]));
        match inst.op {
            Spv::GroupNonUniformElect => Ok((GroupOp::Elect, vec![])),
            Spv::GroupNonUniformAll => Ok((GroupOp::All, vec![Word(1)])),
            Spv::GroupNonUniformAny => Ok((GroupOp::Any, vec![Word(1)])),
            Spv::GroupNonUniformAllEqual if self.value(inst.arg(1)?)?.planes > 1 => unknown("OpGroupNonUniformAllEqual of vectors"),
            Spv::GroupNonUniformAllEqual => Ok((GroupOp::AllEqual, vec![Word(1)])),
            Spv::GroupNonUniformBroadcastFirst => Ok((GroupOp::BroadcastFirst, vec![Same(1)])),
            Spv::GroupNonUniformBroadcast => take(From::Broadcast),
            Spv::GroupNonUniformShuffle => take(From::Shuffle),
            Spv::GroupNonUniformShuffleXor => take(From::Xor),
            Spv::GroupNonUniformShuffleUp => take(From::Up),
            Spv::GroupNonUniformShuffleDown => take(From::Down),
            Spv::GroupNonUniformQuadBroadcast => take(From::Quad),
            Spv::GroupNonUniformQuadSwap => take(From::QuadSwap),
            Spv::GroupNonUniformRotateKHR => {
                let cluster = inst.args.get(3).map(|size| self.cluster(inst, *size)).transpose()?;
                take(From::Rotate(cluster.unwrap_or(0)))
            }
            Spv::GroupNonUniformBallot => Ok((GroupOp::Ballot, vec![Word(1)])),
            Spv::GroupNonUniformInverseBallot => Ok((GroupOp::InverseBallot, vec![Ballot(1)])),
            Spv::GroupNonUniformBallotBitExtract => Ok((GroupOp::BallotBit, vec![Ballot(1), Word(2)])),
            Spv::GroupNonUniformBallotBitCount => match spread(inst.arg(1)?) {
                Some(spread) => Ok((GroupOp::BallotCount(spread), vec![Ballot(2)])),
                None => unknown(format!("Op{:?} of the group operation number {}", inst.op, inst.arg(1)?)),
            },
            Spv::GroupNonUniformBallotFindLSB => Ok((GroupOp::BallotFirst, vec![Ballot(1)])),
            Spv::GroupNonUniformBallotFindMSB => Ok((GroupOp::BallotLast, vec![Ballot(1)])),
            op if is_group_arithmetic(op) => Ok((self.arithmetic(inst)?, vec![Same(2)])),
            op => unknown(format!("Op{op:?}")),
        }
    }

    fn arithmetic(&self, inst: &Inst) -> Result<GroupOp> {
        let Some(combine) = combination(inst.op) else { return unknown(format!("Op{:?}", inst.op)) };
        let number = inst.arg(1)?;
        match (spread(number), GroupOperation::from_u32(number)) {
            (Some(spread), _) => Ok(GroupOp::Combine(combine, spread)),
            (None, Some(GroupOperation::ClusteredReduce)) => Ok(GroupOp::Clustered(combine, self.cluster(inst, inst.arg(3)?)?)),
            _ => unknown(format!("Op{:?} of the group operation number {number}", inst.op)),
        }
    }

    fn cluster(&self, inst: &Inst, size: Id) -> Result<u32> {
        match self.module.literal(size)? {
            size if size.is_power_of_two() => Ok(size),
            size => malformed(format!("Op{:?} over clusters of {size}, which is not a power of two", inst.op)),
        }
    }
}

fn spread(operation: u32) -> Option<Spread> {
    match GroupOperation::from_u32(operation)? {
        GroupOperation::Reduce => Some(Spread::Reduce),
        GroupOperation::InclusiveScan => Some(Spread::Inclusive),
        GroupOperation::ExclusiveScan => Some(Spread::Exclusive),
        _ => None,
    }
}

fn combination(op: Spv) -> Option<Combine> {
    Some(match op {
        Spv::GroupNonUniformIAdd => Combine::IAdd,
        Spv::GroupNonUniformFAdd => Combine::FAdd,
        Spv::GroupNonUniformIMul => Combine::IMul,
        Spv::GroupNonUniformFMul => Combine::FMul,
        Spv::GroupNonUniformSMin => Combine::SMin,
        Spv::GroupNonUniformUMin => Combine::UMin,
        Spv::GroupNonUniformFMin => Combine::FMin,
        Spv::GroupNonUniformSMax => Combine::SMax,
        Spv::GroupNonUniformUMax => Combine::UMax,
        Spv::GroupNonUniformFMax => Combine::FMax,
        Spv::GroupNonUniformBitwiseAnd => Combine::And,
        Spv::GroupNonUniformLogicalAnd => Combine::LogicalAnd,
        Spv::GroupNonUniformBitwiseOr | Spv::GroupNonUniformLogicalOr => Combine::Or,
        Spv::GroupNonUniformBitwiseXor | Spv::GroupNonUniformLogicalXor => Combine::Xor,
        _ => return None,
    })
}
