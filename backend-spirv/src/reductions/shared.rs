//! Arrays in shared memory that do not belong to a buffer of the nest, and the states of reductions in them.

use super::all_reduce::State;
use crate::Result;
use crate::context::BlockContext;
use crate::module::Id;
use spirv::{Op, StorageClass};
use tilewright_codegen::values::ValueId;
use tilewright_dsl::launch::DType;

/// The arrays, by use, element type and number of elements.
#[derive(Default)]
pub(crate) struct SharedArrays(Vec<((SharedUse, DType, u32), Id)>);

/// The use of an array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SharedUse {
    /// A component of the states of a reduction, by its number.
    State(usize),
    /// The numbers 0, 1, 2 …, which are rows and columns of a matrix.
    Numbers,
    /// The matrices of subgroups, while their rows are combined.
    Matrices,
    /// The combined rows of matrices.
    Rows,
}

impl BlockContext<'_> {
    /// Returns shared arrays of `elements` elements for the components of these states.
    pub(crate) fn shared_states(&mut self, states: &[State], elements: u32) -> Result<Vec<Vec<(Id, DType)>>> {
        let mut of = |n: usize, value: ValueId| {
            let dtype = self.resolver.values.dtype(value);
            Ok((self.array(SharedUse::State(n), dtype, elements)?, dtype))
        };
        let mut one =
            |(lane, state): (usize, &State)| (0..).zip(state).map(|(n, value)| of(lane * state.len() + n, *value)).collect();
        states.iter().enumerate().map(&mut one).collect()
    }

    /// Returns the shared array of this use, type and length.
    pub(crate) fn array(&mut self, of: SharedUse, dtype: DType, elements: u32) -> Result<Id> {
        let held = if dtype == DType::Bool { DType::U32 } else { dtype };
        let key = (of, held, elements);
        if let Some((_, id)) = self.arrays.0.iter().find(|(k, _)| *k == key) {
            return Ok(*id);
        }
        let id = self.shared_array(held, elements, 1)?;
        self.arrays.0.push((key, id));
        Ok(id)
    }

    fn element(&mut self, array: Id, dtype: DType, at: ValueId) -> Result<(Id, Id)> {
        let of = self.shared_type(dtype)?;
        let pointer = self.module.pointer(StorageClass::Workgroup, of);
        let at = self.scalar(at)?;
        Ok((self.ins_here(Op::AccessChain, pointer, &[array, at]), of))
    }

    pub(crate) fn put(&mut self, shared: &[Vec<(Id, DType)>], at: ValueId, states: &[State]) -> Result<()> {
        for ((array, dtype), value) in shared.iter().flatten().zip(states.iter().flatten()) {
            let value = self.scalar(*value)?;
            let (place, _) = self.element(*array, *dtype, at)?;
            let value = self.before_store(&[value], *dtype, 1, false)?;
            let operands = [&[place, value], &self.memory_model.shared_operands()[..]].concat();
            self.function.here().op(Op::Store, &operands);
        }
        Ok(())
    }

    pub(crate) fn get(&mut self, shared: &[Vec<(Id, DType)>], at: ValueId) -> Result<Vec<State>> {
        let one = |e: &mut Self, (array, dtype): &(Id, DType)| {
            let (place, of) = e.element(*array, *dtype, at)?;
            e.load_shared(place, of, *dtype)
        };
        shared.iter().map(|arrays| arrays.iter().map(|array| one(self, array)).collect()).collect()
    }

    /// Loads an element of type `of` in shared memory.
    pub(crate) fn load_shared(&mut self, place: Id, of: Id, dtype: DType) -> Result<ValueId> {
        let (level, operands) = (self.level(), [&[place], &self.memory_model.shared_operands()[..]].concat());
        let loaded = self.ins(level, Op::Load, of, &operands);
        let chunks = self.after_load(loaded, dtype, 1, level, false)?;
        Ok(self.now(dtype, chunks))
    }
}
