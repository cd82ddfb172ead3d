//! The bytes that local buffers and all-reduces take. `promote` uses them before it makes a copy, lowering when everything is
//! made, and the verifier at the end.

use super::{Access, AllReduce, BufferId, How, Program, Scope, Space};
use crate::launch::{DType, Feature};
use crate::profile::Profile;

impl Program {
    /// Returns the bytes of an element in local memory. Registers hold narrow elements packed if their rows are whole words, which is
    /// an estimate: they are if lanes access the rows.
    pub fn element_bytes(&self, buffer: BufferId, profile: &Profile) -> i64 {
        let b = &self.buffers[buffer];
        let bytes = i64::from(b.dtype.bytes());
        let is_packed = match b.space {
            Space::Register if b.dtype.bytes() < 4 && b.dtype.is_narrow() => {
                b.shape.last().and_then(|row| self.exprs.as_int(*row)).is_some_and(|row| row * bytes % 4 == 0)
            }
            _ => is_stored_narrow(b.dtype, profile),
        };
        if is_packed { bytes } else { 4 }
    }

    /// Returns the elements of a local buffer, with its padding and versions. `None` if its shape has other extents than literals.
    pub fn local_elements(&self, buffer: BufferId) -> Option<i64> {
        let b = &self.buffers[buffer];
        let mut shape: Vec<i64> = b.shape.iter().map(|n| self.exprs.as_int(*n)).collect::<Option<_>>()?;
        if let Some(row) = shape.last_mut() {
            *row = row.checked_add(i64::from(b.row_pad))?;
        }
        shape.iter().try_fold(i64::from(self.versions(buffer)), |product, n| product.checked_mul(*n))
    }

    /// Returns the bytes of a local buffer, with its padding and versions. `None` if its shape has other extents than literals.
    pub fn local_bytes(&self, buffer: BufferId, profile: &Profile) -> Option<i64> {
        self.local_elements(buffer)?.checked_mul(self.element_bytes(buffer, profile))
    }

    /// Returns the shared memory that an all-reduce needs in a workgroup of this many invocations. For each lane it holds one state
    /// for each invocation or subgroup. For the rows of matrices, it holds the results of each subgroup and all elements, unless
    /// the elements reuse the storage of a buffer.
    pub fn all_reduce_bytes(&self, reduction: &AllReduce, lanes: i64, invocations: i64, profile: &Profile) -> i64 {
        let bytes = |place: &Access| match self.buffers[place.buffer].dtype {
            dtype if dtype.is_narrow() => i64::from(dtype.computed().bytes()),
            _ => self.element_bytes(place.buffer, profile),
        };
        let state: i64 = reduction.src.iter().map(bytes).sum();
        let subgroup = profile.subgroup.map_or(1, i64::from);
        let subgroups = (invocations / subgroup).max(1);
        let of_matrix = reduction.src.first().and_then(|place| match self.buffers[place.buffer].space {
            Space::Fragment { rows, columns, .. } => {
                let own = if reduction.scratch.is_some() { 0 } else { i64::from(columns) };
                Some(i64::from(rows).saturating_mul(own + 1))
            }
            _ => None,
        });
        let states = match (reduction.how, reduction.scope, of_matrix) {
            (How::Tree, _, Some(elements)) => elements.saturating_mul(subgroups),
            (How::Tree, _, None) => invocations,
            (How::Subgroup, Scope::Workgroup, _) => subgroups,
            _ => 0,
        };
        states.saturating_mul(state).saturating_mul(lanes)
    }
}

/// True if shared memory and registers hold elements of a dtype in the dtype's own bytes. Otherwise they hold it in 32 bits, because the
/// profile does not have the feature for the type, or because the type is `i64`, whose values have 32 bits.
pub fn is_stored_narrow(dtype: DType, profile: &Profile) -> bool {
    match dtype {
        DType::F32 | DType::I32 | DType::U32 | DType::Bool => true,
        DType::F16 => profile.has(Feature::F16),
        DType::BF16 | DType::I16 | DType::U16 => profile.has(Feature::I16),
        DType::I8 | DType::U8 => profile.has(Feature::I8),
        DType::I64 => false,
    }
}
