//! Reductions by subgroup: a single operation if there is one, otherwise a butterfly of shuffles, in which every lane combines
//! with the lane whose number differs in one bit. Integers always use the butterfly, because NVIDIA's driver computes their
//! operations wrongly (`docs/drivers.md`). If there are several subgroups, each leaves its state in shared memory.
//!
//! Subgroups have the size that the variant requires, and are full. The device decides which invocations belong to a subgroup.
//! So if a team is smaller than the workgroup, threads are numbered by subgroup and lane (see `Resolver::thread`).

use super::all_reduce::State;
use crate::Result;
use crate::chunks::Chunks;
use crate::context::BlockContext;
use crate::control::Structured;
use crate::module::Id;
use spirv::{Capability, GroupOperation, Op, Scope as SpirvScope};
use tilewright_codegen::values::{Coordinate, ValueId};
use tilewright_dsl::expr::Binary;
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::nest::{AllReduce, Monoid, Scope};

impl BlockContext<'_> {
    /// Reduces each of several states across a subgroup. Each invocation gets the results.
    pub(crate) fn across_lanes(&mut self, monoid: &Monoid, states: Vec<State>) -> Result<Vec<State>> {
        let size = self.resolver.fixed_subgroup()?;
        self.module.capability(Capability::GroupNonUniform);
        let op = monoid.of_subgroups(&self.program.exprs).and_then(|(op, dtype)| group_op(op, dtype));
        if op.is_some() {
            self.need(Feature::SubgroupArithmetic, "a reduction by subgroup", "reduce `by: tree`")?;
            self.module.capability(Capability::GroupNonUniformArithmetic);
        } else {
            self.need(Feature::SubgroupShuffle, "a reduction of this kind by subgroup", "reduce `by: tree`")?;
            self.module.capability(Capability::GroupNonUniformShuffle);
        }
        let one = |e: &mut Self, state: State| match (op, state.as_slice()) {
            (Some(op), [value]) => Ok(vec![e.group_operation(op, GroupOperation::Reduce as u32, *value, true)?]),
            _ => e.butterfly(monoid, state, size),
        };
        states.into_iter().map(|state| one(self, state)).collect()
    }

    /// Combines every lane with the lane whose number differs in one bit, bit by bit.
    fn butterfly(&mut self, monoid: &Monoid, mut state: State, size: u32) -> Result<State> {
        for bit in (0..size.trailing_zeros()).map(|n| 1 << n) {
            let mask = self.module.uint(bit);
            let others: Result<State> =
                state.iter().map(|v| self.group_operation(Op::GroupNonUniformShuffleXor, mask, *v, false)).collect();
            state = self.combined(monoid, state, others?)?;
        }
        Ok(state)
    }

    /// Writes a group operation on one value. Its other operand precedes the value if `before` is true. Halves are converted
    /// to f32, because devices need not support these operations for halves.
    fn group_operation(&mut self, op: Op, operand: u32, value: ValueId, before: bool) -> Result<ValueId> {
        let (dtype, level) = (self.resolver.values.dtype(value), self.level());
        let halves = dtype == DType::F16 && self.native_f16();
        let ty = self.scalar_type(if halves { DType::F32 } else { dtype })?;
        let mut id: Id = self.scalar(value)?;
        if halves {
            id = self.ins(level, Op::FConvert, ty, &[id]);
        }
        let scope = self.module.uint(SpirvScope::Subgroup as u32);
        let operands = if before { [scope, operand, id] } else { [scope, id, operand] };
        let mut id = self.ins(level, op, ty, &operands);
        if halves {
            // The other operations return one of their operands, so their result is exact.
            let rounds = matches!(op, Op::GroupNonUniformFAdd | Op::GroupNonUniformFMul);
            let half = self.scalar_type(dtype)?;
            id = if rounds { self.narrowed(level, 1, id)? } else { self.ins(level, Op::FConvert, half, &[id]) };
        }
        Ok(self.now(dtype, Chunks::one(id)))
    }

    /// Reduces states across a team of subgroups. Each invocation gets the results. Each subgroup leaves its own states in
    /// shared memory. Then each subgroup combines all of them: every lane takes the state with its number, and those further
    /// by multiples of the subgroup size.
    pub(crate) fn across_subgroups(&mut self, c: &AllReduce, monoid: &Monoid, states: Vec<State>) -> Result<Vec<State>> {
        let size = self.resolver.fixed_subgroup()?;
        let states = self.across_lanes(monoid, states)?;
        let of = self.resolving(|r| r.team_of_subgroups(c, size))?;
        if of.size == 1 {
            return Ok(states);
        }
        let shared = self.shared_states(&states, of.size * of.teams)?;
        let base = self.resolver.values.scaled(of.team, of.size.into());
        let own = self.resolver.values.plus(base, of.member);
        let (lane, one) = (self.resolver.coordinate_value(Coordinate::SubgroupLane, size.into()), self.resolver.values.int(1));
        let first = self.resolver.values.less(lane, one);
        self.under(first, |e| e.put(&shared, own, &states))?;
        self.barrier(Scope::Workgroup)?;
        let mut all: Option<Vec<State>> = None;
        for begin in (0..of.size).step_by(size as usize) {
            let begin = self.resolver.values.int(begin.into());
            let member = self.resolver.values.plus(begin, lane);
            let next = self.get_or_identity(&shared, monoid, (base, member, of.size))?;
            all = Some(match all {
                Some(before) => self.combined_each(monoid, before, next)?,
                None => next,
            });
        }
        let all = self.across_lanes(monoid, all.unwrap_or_default())?;
        // A barrier is needed here, because the next reduction may overwrite the states that were just read.
        self.barrier(Scope::Workgroup)?;
        Ok(all)
    }

    /// Returns the states of a member, or the identity if `member` is not less than the count.
    fn get_or_identity(
        &mut self,
        shared: &[Vec<(Id, DType)>],
        monoid: &Monoid,
        (base, member, count): (ValueId, ValueId, u32),
    ) -> Result<Vec<State>> {
        let (count, last) = (self.resolver.values.int(count.into()), self.resolver.values.int((count - 1).into()));
        let inside = self.resolver.values.less(member, count);
        let clamped = self.resolver.values.extreme(Binary::Min, member, last);
        let at = self.resolver.values.plus(base, clamped);
        let found = self.get(shared, at)?;
        let identity: State = monoid.identity.iter().map(|e| self.resolve(*e)).collect::<Result<_>>()?;
        let one = |e: &mut Self, state: State| {
            state.into_iter().zip(&identity).map(|(found, identity)| e.resolver.choose(inside, found, *identity)).collect()
        };
        Ok(found.into_iter().map(|state| one(self, state)).collect())
    }
}

/// Returns the subgroup operation that performs an operation on values.
fn group_op(op: Binary, dtype: DType) -> Option<Op> {
    Some(match (op, dtype) {
        (Binary::Add, DType::F32 | DType::F16) => Op::GroupNonUniformFAdd,
        (Binary::Mul, DType::F32 | DType::F16) => Op::GroupNonUniformFMul,
        (Binary::Min, DType::F32 | DType::F16) => Op::GroupNonUniformFMin,
        (Binary::Max, DType::F32 | DType::F16) => Op::GroupNonUniformFMax,
        (Binary::And, DType::Bool) => Op::GroupNonUniformLogicalAnd,
        (Binary::Or, DType::Bool) => Op::GroupNonUniformLogicalOr,
        (Binary::Xor, DType::Bool) => Op::GroupNonUniformLogicalXor,
        _ => return None,
    })
}
