//! The bytes that local buffers and all-reduces take. `promote` uses them before it makes a copy, lowering when everything is
//! made, and the verifier at the end.

use super::{AllReduce, BufferId, How, Program, Scope, Space};
use crate::launch::{DType, Feature};
use crate::profile::Profile;

impl Program {
    /// Returns the bytes of an element in local memory. Without the feature for 16-bit float arithmetic, `f16` is stored as `f32` there.
    pub fn element_bytes(&self, buffer: BufferId, profile: &Profile) -> i64 {
        match self.buffers[buffer].dtype {
            DType::F16 if !profile.has(Feature::F16) => 4,
            dtype => i64::from(dtype.bytes()),
        }
    }

    /// Returns the bytes of a local buffer, with its padding and versions. `None` if its shape has other extents than literals.
    pub fn local_bytes(&self, buffer: BufferId, profile: &Profile) -> Option<i64> {
        let b = &self.buffers[buffer];
        let mut shape: Vec<i64> = b.shape.iter().map(|n| self.exprs.as_int(*n)).collect::<Option<_>>()?;
        if let Some(row) = shape.last_mut() {
            *row = row.checked_add(i64::from(b.row_pad))?;
        }
        let one = self.element_bytes(buffer, profile).checked_mul(i64::from(self.versions(buffer)))?;
        shape.iter().try_fold(one, |product, n| product.checked_mul(*n))
    }

    /// Returns the shared memory that an all-reduce needs in a workgroup of this many invocations. For each lane it holds one state
    /// for each invocation or subgroup. For the rows of matrices, it holds the results of each subgroup and all elements, unless
    /// the elements reuse the storage of a buffer.
    pub fn all_reduce_bytes(&self, reduction: &AllReduce, lanes: i64, invocations: i64, profile: &Profile) -> i64 {
        let state: i64 = reduction.src.iter().map(|place| self.element_bytes(place.buffer, profile)).sum();
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
