//! Reductions across invocations: by [subgroup](super::subgroups), by a tree in shared memory, or by [atomics](super::atomics).
//! The first two leave the result with every invocation. A tree works for any number of invocations.

use crate::Result;
use crate::chunks::Chunks;
use crate::emit::Emit;
use crate::module::{Id, Type};
use rspirv::spirv::{Op, StorageClass};
use tilewright_codegen::values::{Op as ValueOp, Operands, ValueId};
use tilewright_dsl::launch::DType;
use tilewright_dsl::nest::{AllReduce, How, Monoid, Scope};

/// Shared arrays of reductions, by component of the state, element type and number of elements.
pub(crate) type Arrays = Vec<((usize, DType, u32), Id)>;

/// The components of a reduction's state.
pub(crate) type State = Vec<ValueId>;

impl Emit<'_> {
    pub(crate) fn all_reduce(&mut self, c: &AllReduce) -> Result<()> {
        self.resolver.begin(&[]);
        if self.in_matrices() {
            return self.reduce_rows(c);
        }
        let monoid = self.resolver.monoid(c.stage)?.clone();
        let state: Vec<ValueId> = c.src.iter().map(|place| self.resolving(|r| r.load_state(place))).collect::<Result<_>>()?;
        let lanes = state.iter().map(|v| self.resolver.values.width(*v)).max().unwrap_or(1);
        let one = |e: &mut Self, lane| state.iter().map(|v| e.resolver.values.extract(*v, lane)).collect::<State>();
        let states: Vec<State> = (0..lanes).map(|lane| one(self, lane)).collect();
        let states = match (c.how, c.scope) {
            (How::Atomic, _) => return self.atomic(c, &monoid, &state),
            (_, Scope::Invocation | Scope::Device) => states,
            (How::Subgroup, Scope::Subgroup) => self.across_lanes(&monoid, states)?,
            (How::Subgroup, Scope::Workgroup) => self.across_subgroups(c, &monoid, states)?,
            (How::Tree, _) => self.tree(c, &monoid, states)?,
            (How::Matrix, _) => return Err(self.defect("rows of matrices are combined outside of their loops")),
        };
        self.resolver.forget();
        c.dst.iter().enumerate().try_for_each(|(component, to)| {
            let parts: Operands = states.iter().map(|state| state[component]).collect();
            let value = if parts.len() == 1 { parts[0] } else { self.resolver.values.op(ValueOp::Join, parts) };
            self.store(to, value)
        })
    }

    /// Combines each state with another one.
    pub(crate) fn combined_each(&mut self, monoid: &Monoid, states: Vec<State>, others: Vec<State>) -> Result<Vec<State>> {
        states.into_iter().zip(others).map(|(state, other)| self.combined(monoid, state, other)).collect()
    }

    /// Returns the combination of two states.
    pub(crate) fn combined(&mut self, monoid: &Monoid, state: Vec<ValueId>, item: Vec<ValueId>) -> Result<Vec<ValueId>> {
        let combined = self.resolving(|r| r.combination(monoid, state, item))?;
        self.fuse.note_combined(&self.resolver.values, &combined);
        Ok(combined)
    }

    /// Reduces by a tree in shared memory. In each step, half of the members combine another member's states into their own.
    fn tree(&mut self, c: &AllReduce, monoid: &Monoid, states: Vec<State>) -> Result<Vec<State>> {
        let team = self.resolving(|r| r.team(c))?;
        if team.size == 1 {
            return Ok(states);
        }
        let shared = self.shared_states(&states, team.size * team.teams)?;
        let base = self.resolver.values.scaled(team.team, team.size.into());
        let own = self.resolver.values.plus(base, team.member);
        self.put(&shared, own, &states)?;
        self.barrier(c.scope)?;
        let mut half = team.size.next_power_of_two() / 2;
        while half > 0 {
            // If the size of a team is not a power of two, the last members do not have a partner.
            let active = self.resolver.values.int(half.min(team.size - half).into());
            let cond = self.resolver.values.less(team.member, active);
            let cond = self.scalar(cond)?;
            let then = self.region(true, |e| {
                let mine = e.get(&shared, own)?;
                let step = e.resolver.values.int(half.into());
                let other = e.resolver.values.plus(own, step);
                let theirs = e.get(&shared, other)?;
                let combined = e.combined_each(monoid, mine, theirs)?;
                e.put(&shared, own, &combined)
            })?;
            self.branch_if(cond, &then);
            self.barrier(c.scope)?;
            half /= 2;
        }
        let result = self.get(&shared, base)?;
        // A barrier is needed here, because the next reduction may overwrite the result that was just read.
        self.barrier(c.scope)?;
        Ok(result)
    }

    /// Returns shared arrays of `elements` elements for the components of these states.
    pub(crate) fn shared_states(&mut self, states: &[State], elements: u32) -> Result<Vec<Vec<(Id, DType)>>> {
        let mut arrays = Vec::new();
        for (lane, state) in states.iter().enumerate() {
            let mut of = Vec::new();
            for (component, value) in state.iter().enumerate() {
                let dtype = self.resolver.values.dtype(*value);
                of.push((self.shared_array(lane * state.len() + component, dtype, elements)?, dtype));
            }
            arrays.push(of);
        }
        Ok(arrays)
    }

    /// Returns the `n`-th shared array of this type and length.
    pub(crate) fn shared_array(&mut self, n: usize, dtype: DType, elements: u32) -> Result<Id> {
        let held = if dtype == DType::Bool { DType::U32 } else { dtype };
        let key = (n, held, elements);
        if let Some((_, id)) = self.arrays.iter().find(|(k, _)| *k == key) {
            return Ok(*id);
        }
        let of = self.scalar_type(held)?;
        let array = self.module.ty(Type::Array(of, elements, None));
        let id = self.module.global(StorageClass::Workgroup, array, None);
        let bytes = if held == DType::F16 && self.native_f16() { 2 } else { 4 };
        self.buffers.shared_bytes = self.buffers.shared_bytes.saturating_add(elements.saturating_mul(bytes));
        self.arrays.push((key, id));
        Ok(id)
    }

    fn element(&mut self, array: Id, dtype: DType, at: ValueId) -> Result<(Id, Id)> {
        let of = self.scalar_type(if dtype == DType::Bool { DType::U32 } else { dtype })?;
        let pointer = self.module.pointer(StorageClass::Workgroup, of);
        let (level, at) = (self.level(), self.scalar(at)?);
        Ok((self.ins(level, Op::AccessChain, pointer, &[array, at]), of))
    }

    pub(crate) fn put(&mut self, shared: &[Vec<(Id, DType)>], at: ValueId, states: &[State]) -> Result<()> {
        for ((array, dtype), value) in shared.iter().flatten().zip(states.iter().flatten()) {
            let value = self.scalar(*value)?;
            let (place, _) = self.element(*array, *dtype, at)?;
            let value = self.before_store(&[value], *dtype, 1, false)?;
            let operands: Vec<u32> = [place, value].into_iter().chain(self.shared_operands()).collect();
            self.function.here().op(Op::Store, &operands);
        }
        Ok(())
    }

    pub(crate) fn get(&mut self, shared: &[Vec<(Id, DType)>], at: ValueId) -> Result<Vec<State>> {
        let level = self.level();
        let one = |e: &mut Self, (array, dtype): &(Id, DType)| {
            let (place, of) = e.element(*array, *dtype, at)?;
            let operands: Vec<u32> = [place].into_iter().chain(e.shared_operands()).collect();
            let loaded = e.ins(level, Op::Load, of, &operands);
            let chunks = e.after_load(loaded, *dtype, 1, level, false)?;
            Ok(e.now(*dtype, chunks))
        };
        shared.iter().map(|arrays| arrays.iter().map(|array| one(self, array)).collect()).collect()
    }

    /// Defines a value that is computed here.
    pub(crate) fn now(&mut self, dtype: DType, chunks: Chunks) -> ValueId {
        let level = self.level();
        let value = self.resolver.values.moment(dtype, 1, level);
        self.define(value, chunks);
        value
    }
}
