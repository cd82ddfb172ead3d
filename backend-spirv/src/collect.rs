//! Reductions across invocations: by subgroup arithmetic, or by a tree in shared memory. Both work for any size of a
//! workgroup, and both leave the result with every invocation. What has no subgroup operation (tuples, f16) takes the
//! tree.

use crate::emit::{Chunks, Emit, Result};
use crate::module::{Id, Type};
use crate::values::{Coordinate, Kind, Op as ValueOp, ValueId};
use rspirv::spirv::{Capability, GroupOperation, Op, Scope as SpirvScope, StorageClass};
use tilewright_dsl::expr::{Binary, Expr, ExprId};
use tilewright_dsl::launch::{DType, Feature};
use tilewright_dsl::lower::launch::slot_index;
use tilewright_dsl::nest::{Collect, How, Level, Monoid, Scope, Slot};

/// The invocations that share a reduction: those that differ only in some coordinates of the workgroup.
struct Team {
    /// How many.
    size: u32,
    /// How many teams.
    teams: u32,
    /// Which of the team, and which team.
    member: ValueId,
    team: ValueId,
}

impl Emit<'_> {
    pub(crate) fn collect(&mut self, c: &Collect) -> Result<()> {
        self.resolved.clear();
        self.preds.clear();
        let monoid = self.monoid(c.stage)?.clone();
        let mut state: Vec<ValueId> = c.src.iter().map(|place| self.load_state(place)).collect::<Result<_>>()?;
        if state.iter().any(|v| self.values.width(*v) > 1) {
            return Err(self.error("a reduction across invocations cannot be in lanes"));
        }
        state = match (c.how, c.scope) {
            (How::Atomic, _) => {
                return Err(self.error("`by: atomic` is not supported yet").help("`by: tree` or `by: subgroup` are"));
            }
            (_, Scope::Invocation) => state,
            (How::Subgroup, Scope::Subgroup) => match self.group_op(&monoid) {
                Some(op) => {
                    self.check_lanes(c)?;
                    vec![self.across_subgroup(op, state[0])?]
                }
                None => self.tree(c, &monoid, state)?,
            },
            (How::Subgroup, Scope::Workgroup) => match self.group_op(&monoid).filter(|_| self.over_all(c)) {
                Some(op) => vec![self.across_subgroups(op, &monoid, state[0])?],
                None => self.tree(c, &monoid, state)?,
            },
            (How::Tree, _) => self.tree(c, &monoid, state)?,
        };
        self.resolved.clear();
        c.dst.iter().zip(state).try_for_each(|(to, value)| self.store(to, value))
    }

    /// The combination of two states.
    pub(crate) fn combined(&mut self, monoid: &Monoid, state: Vec<ValueId>, item: Vec<ValueId>) -> Result<Vec<ValueId>> {
        // States and items are others in each combination: what names them is not to be remembered.
        std::mem::swap(&mut self.resolved, &mut self.scratch);
        self.resolved.clear();
        (self.state, self.item) = (state, item);
        let combined: Result<Vec<ValueId>> = monoid.combine.iter().map(|e| self.resolve(*e)).collect();
        std::mem::swap(&mut self.resolved, &mut self.scratch);
        Ok(combined?.into_iter().map(|v| self.fused(v)).collect())
    }

    /// `a * b + c` as one operation.
    fn fused(&mut self, sum: ValueId) -> ValueId {
        let Kind::Op(ValueOp::Binary(Binary::Add), operands) = &self.values.node(sum).kind else { return sum };
        let (a, b) = (operands[0], operands[1]);
        if !crate::math::FUSE || !self.values.dtype(sum).is_float() {
            return sum;
        }
        for (product, other) in [(b, a), (a, b)] {
            if let Kind::Op(ValueOp::Binary(Binary::Mul), factors) = &self.values.node(product).kind {
                let (x, y) = (factors[0], factors[1]);
                return self.values.apply(ValueOp::Fma, &[x, y, other]);
            }
        }
        sum
    }

    /// The invocations that take part, as coordinates of the workgroup.
    fn team(&mut self, c: &Collect) -> Result<Team> {
        let local = self.local;
        if c.scope == Scope::Subgroup {
            self.check_lanes(c)?;
            let size = self.fixed_subgroup()?;
            let teams = local.iter().product::<u32>().div_ceil(size);
            let member = self.coordinate_value(Coordinate::SubgroupLane, Some(size.into()));
            let team = self.coordinate_value(Coordinate::Subgroup, Some(teams.into()));
            return Ok(Team { size, teams, member, team });
        }
        let reduced = self.reduced(c);
        let (mut size, mut teams) = (1, 1);
        let (mut member, mut team) = (self.values.int(0), self.values.int(0));
        for (dim, count) in local.into_iter().enumerate() {
            let at = self.coordinate_value(Coordinate::Local(dim as u8), Some(count.into()));
            let (total, place) = if reduced[dim] { (&mut size, &mut member) } else { (&mut teams, &mut team) };
            let scaled = self.values.scaled(at, *total as i32);
            *place = self.values.plus(*place, scaled);
            *total *= count;
        }
        Ok(Team { size, teams, member, team })
    }

    /// Which coordinates of the workgroup are reduced.
    fn reduced(&self, c: &Collect) -> [bool; 3] {
        let mut reduced = [false; 3];
        for axis in &c.over {
            match self.grid.threads.iter().find(|(a, _)| a == axis) {
                Some((_, Slot::Linear)) | None => reduced = [true; 3],
                Some((_, slot)) => reduced[slot_index(*slot)] = true,
            }
        }
        reduced
    }

    /// Whether all invocations of the workgroup reduce to one state.
    fn over_all(&self, c: &Collect) -> bool {
        self.reduced(c).iter().zip(self.local).all(|(reduced, count)| *reduced || count == 1)
    }

    /// A reduction in a subgroup is over all of its lanes.
    fn check_lanes(&self, c: &Collect) -> Result<()> {
        let lanes = self.grid.subgroups.iter().filter(|(_, level, _)| *level == Level::Lane);
        if lanes.clone().all(|(axis, ..)| c.over.contains(axis)) {
            return Ok(());
        }
        Err(self.error("a reduction over some lanes of a subgroup is not supported yet").help("reduce over all of its lanes"))
    }

    /// A tree in shared memory: with each step half of the members take another's state in.
    fn tree(&mut self, c: &Collect, monoid: &Monoid, state: Vec<ValueId>) -> Result<Vec<ValueId>> {
        let team = self.team(c)?;
        if team.size == 1 {
            return Ok(state);
        }
        let dtypes: Vec<DType> = state.iter().map(|v| self.values.dtype(*v)).collect();
        let arrays = self.scratch_arrays(&dtypes, team.size * team.teams)?;
        let base = self.values.scaled(team.team, team.size as i32);
        let own = self.values.plus(base, team.member);
        self.put(&arrays, &dtypes, own, &state)?;
        self.barrier(c.scope)?;
        let mut half = team.size.next_power_of_two() / 2;
        while half > 0 {
            // In a team that is no power of two, the last members have no partner.
            let active = self.values.int(half.min(team.size - half).into());
            let cond = self.values.less(team.member, active);
            let cond = self.scalar(cond)?;
            let then = self.region(true, |e| {
                let mine = e.get(&arrays, &dtypes, own)?;
                let step = e.values.int(half.into());
                let other = e.values.plus(own, step);
                let theirs = e.get(&arrays, &dtypes, other)?;
                let combined = e.combined(monoid, mine, theirs)?;
                e.put(&arrays, &dtypes, own, &combined)
            })?;
            self.branch_if(cond, &then);
            self.barrier(c.scope)?;
            half /= 2;
        }
        let result = self.get(&arrays, &dtypes, base)?;
        // The next reduction may overwrite what is read here.
        self.barrier(c.scope)?;
        Ok(result)
    }

    /// Shared arrays for states, of at least so many elements.
    fn scratch_arrays(&mut self, dtypes: &[DType], elements: u32) -> Result<Vec<Id>> {
        let mut arrays = Vec::new();
        for (n, dtype) in dtypes.iter().enumerate() {
            let held = if *dtype == DType::Bool { DType::U32 } else { *dtype };
            let key = (n, held, elements);
            if let Some((_, id)) = self.arrays.iter().find(|(k, _)| *k == key) {
                arrays.push(*id);
                continue;
            }
            let of = self.scalar_type(held)?;
            let array = self.module.ty(Type::Array(of, elements, None));
            let id = self.module.global(StorageClass::Workgroup, array, None);
            self.module.name(id, "partial");
            let bytes = if held == DType::F16 && self.native_f16() { 2 } else { 4 };
            self.shared_bytes = self.shared_bytes.saturating_add(elements.saturating_mul(bytes));
            self.arrays.push((key, id));
            arrays.push(id);
        }
        Ok(arrays)
    }

    fn element(&mut self, array: Id, dtype: DType, at: ValueId) -> Result<(Id, Id)> {
        let of = self.scalar_type(if dtype == DType::Bool { DType::U32 } else { dtype })?;
        let pointer = self.module.pointer(StorageClass::Workgroup, of);
        let (level, at) = (self.level(), self.scalar(at)?);
        Ok((self.ins(level, Op::AccessChain, pointer, &[array, at]), of))
    }

    fn put(&mut self, arrays: &[Id], dtypes: &[DType], at: ValueId, state: &[ValueId]) -> Result<()> {
        for ((array, dtype), value) in arrays.iter().zip(dtypes).zip(state) {
            let value = self.scalar(*value)?;
            let (place, _) = self.element(*array, *dtype, at)?;
            let value = self.before_store(&[value], *dtype, 1, false)?;
            self.here().op(Op::Store, &[place, value]);
        }
        Ok(())
    }

    fn get(&mut self, arrays: &[Id], dtypes: &[DType], at: ValueId) -> Result<Vec<ValueId>> {
        let mut state = Vec::new();
        for (array, dtype) in arrays.iter().zip(dtypes) {
            let (place, of) = self.element(*array, *dtype, at)?;
            let level = self.level();
            let loaded = self.ins(level, Op::Load, of, &[place]);
            let chunks = self.after_load(loaded, *dtype, 1, level, false)?;
            state.push(self.now(*dtype, chunks));
        }
        Ok(state)
    }

    /// A value that was computed here.
    fn now(&mut self, dtype: DType, chunks: Chunks) -> ValueId {
        let level = self.level();
        let value = self.values.moment(dtype, 1, level);
        self.define(value, chunks);
        value
    }
}

/// Subgroup arithmetic.
impl Emit<'_> {
    /// The subgroup operation that a monoid is, if there is one.
    fn group_op(&self, monoid: &Monoid) -> Option<Op> {
        let exprs = &self.program.exprs;
        let [combine] = monoid.combine.as_slice() else { return None };
        let Expr::Binary(op, a, b) = exprs.get(*combine) else { return None };
        let is = |e: ExprId, what: Expr| *exprs.get(e) == what;
        let plain = (is(*a, Expr::State(0)) && is(*b, Expr::Item(0))) || (is(*a, Expr::Item(0)) && is(*b, Expr::State(0)));
        if !plain {
            return None;
        }
        Some(match (op, exprs.dtype(*combine)) {
            (Binary::Add, DType::F32) => Op::GroupNonUniformFAdd,
            (Binary::Mul, DType::F32) => Op::GroupNonUniformFMul,
            (Binary::Min, DType::F32) => Op::GroupNonUniformFMin,
            (Binary::Max, DType::F32) => Op::GroupNonUniformFMax,
            (Binary::And, DType::Bool) => Op::GroupNonUniformLogicalAnd,
            (Binary::Or, DType::Bool) => Op::GroupNonUniformLogicalOr,
            (Binary::Xor, DType::Bool) => Op::GroupNonUniformLogicalXor,
            (Binary::Add, DType::I32 | DType::U32) => Op::GroupNonUniformIAdd,
            (Binary::Mul, DType::I32 | DType::U32) => Op::GroupNonUniformIMul,
            (Binary::And, DType::I32 | DType::U32) => Op::GroupNonUniformBitwiseAnd,
            (Binary::Or, DType::I32 | DType::U32) => Op::GroupNonUniformBitwiseOr,
            (Binary::Xor, DType::I32 | DType::U32) => Op::GroupNonUniformBitwiseXor,
            (Binary::Min, DType::I32) => Op::GroupNonUniformSMin,
            (Binary::Max, DType::I32) => Op::GroupNonUniformSMax,
            (Binary::Min, DType::U32) => Op::GroupNonUniformUMin,
            (Binary::Max, DType::U32) => Op::GroupNonUniformUMax,
            _ => return None,
        })
    }

    /// One state of a subgroup, in each of its invocations.
    fn across_subgroup(&mut self, op: Op, state: ValueId) -> Result<ValueId> {
        self.need(Feature::SubgroupArithmetic, "a reduction by subgroup", "reduce `by: tree`")?;
        self.module.capability(Capability::GroupNonUniform);
        self.module.capability(Capability::GroupNonUniformArithmetic);
        let dtype = self.values.dtype(state);
        let (ty, scope, state) = (self.scalar_type(dtype)?, self.module.uint(SpirvScope::Subgroup as u32), self.scalar(state)?);
        let level = self.level();
        let id = self.ins(level, op, ty, &[scope, GroupOperation::Reduce as u32, state]);
        Ok(self.now(dtype, Chunks::from_slice(&[id])))
    }

    /// One state of a workgroup: that of its subgroups, each of which leaves its own in shared memory. However many
    /// there are, and however full: only those that run count.
    fn across_subgroups(&mut self, op: Op, monoid: &Monoid, state: ValueId) -> Result<ValueId> {
        let dtype = self.values.dtype(state);
        let partial = self.across_subgroup(op, state)?;
        let local: u32 = self.local.iter().product();
        // A device may run subgroups of any size, of one invocation even.
        let arrays = self.scratch_arrays(&[dtype], local)?;
        let subgroup = self.coordinate_value(Coordinate::Subgroup, Some(local.into()));
        let count = self.coordinate_value(Coordinate::Subgroups, Some(i64::from(local) + 1));
        // All lanes have the partial state; one of them stores it.
        let lane = self.coordinate_value(Coordinate::SubgroupLane, Some(local.into()));
        let one = self.values.int(1);
        let first = self.values.less(lane, one);
        self.under(first, |e| e.put(&arrays, &[dtype], subgroup, &[partial]))?;
        self.barrier(Scope::Workgroup)?;
        let ty = self.scalar_type(dtype)?;
        let total = self.variable(ty);
        let zero = self.values.int(0);
        let first = self.get(&arrays, &[dtype], zero)?;
        let first = self.scalar(first[0])?;
        self.here().op(Op::Store, &[total, first]);
        let others = self.values.minus(count, one);
        self.counted(others, true, (0, i64::from(local)), |e, n| {
            let at = e.values.plus(n, one);
            let next = e.get(&arrays, &[dtype], at)?;
            let level = e.level();
            let before = e.ins(level, Op::Load, ty, &[total]);
            let before = e.now(dtype, Chunks::from_slice(&[before]));
            let combined = e.combined(monoid, vec![before], next)?;
            let combined = e.scalar(combined[0])?;
            e.here().op(Op::Store, &[total, combined]);
            Ok(())
        })?;
        let level = self.level();
        let id = self.ins(level, Op::Load, ty, &[total]);
        self.barrier(Scope::Workgroup)?;
        Ok(self.now(dtype, Chunks::from_slice(&[id])))
    }
}
