//! The index of an element in its buffer: row-major, including versions, padding and swizzles.

use crate::Result;
use crate::indices::Extents;
use crate::values::poly::ByLane;
use crate::values::{Op, ValueId};
use crate::{Resolver, View};
use tilewright_dsl::expr::Binary;
use tilewright_dsl::expr::rules::VERSION_AHEAD;
use tilewright_dsl::nest::BufferId;

impl Resolver<'_> {
    /// Computes [`Resolver::flat`] for indices that were not requested before. `extents` are given if they are known.
    pub(crate) fn new_flat(&mut self, buffer: BufferId, index: &[ValueId], extents: Option<&Extents>) -> Result<ValueId> {
        let b = &self.program.buffers[buffer];
        let versions = usize::from(b.versions > 1);
        if index.len() != b.shape.len() + versions {
            return Err(self.error(format!("`{}` has {} dimensions, not {}", b.name, b.shape.len(), index.len() - versions)));
        }
        if self.program.strides(buffer).is_some() {
            return self.strided(buffer, index, extents);
        }
        let mut flat = self.values.int(0);
        if versions == 1 {
            flat = self.version(index[0], b.versions);
        }
        let row = index.len().checked_sub(2).map(|at| index[at]);
        for (n, (extent, index)) in b.shape.iter().zip(&index[versions..]).enumerate() {
            let last = n + 1 == b.shape.len();
            let index = if last && b.swizzle > 0 { self.swizzled(buffer, row, *index)? } else { *index };
            let mut extent = match extents {
                Some(extents) => extents[n],
                None => self.resolve_in(*extent, View::ALL)?.0,
            };
            if last && b.row_pad > 0 {
                let pad = self.values.int(b.row_pad.into());
                extent = self.values.plus(extent, pad);
            }
            let (rows, index) = (self.values.times(flat, extent), self.values.as_index(index));
            flat = self.values.plus(rows, index);
        }
        Ok(flat)
    }

    /// Returns which of several buffers a step uses. If a counter of the step's loop starts again at their number, no
    /// remainder is computed.
    fn version(&mut self, step: ValueId, of: u32) -> ValueId {
        let count = self.values.int(of.into());
        for (counter, turn) in
            self.turns.iter().filter(|turn| turn.of == of).map(|turn| (turn.counter, turn.value)).collect::<Vec<_>>()
        {
            let ahead = self.values.minus(step, counter);
            let Some(ahead) = self.values.as_int(ahead).filter(|n| *n >= 0) else { continue };
            let ahead = self.values.int(ahead % i64::from(of));
            if self.values.as_int(ahead) == Some(0) {
                return turn;
            }
            if let Some(version) = VERSION_AHEAD.result(&mut self.values, &[&turn, &ahead, &count]) {
                return version;
            }
        }
        self.values.floor_mod(step, count)
    }

    /// Returns the index of an element of a tensor with gaps. `strides` are given if they are known.
    fn strided(&mut self, buffer: BufferId, index: &[ValueId], strides: Option<&Extents>) -> Result<ValueId> {
        let program = self.program;
        let mut flat = self.values.int(0);
        for (n, (stride, index)) in program.strides(buffer).unwrap_or_default().iter().zip(index).enumerate() {
            let stride = match strides {
                Some(strides) => strides[n],
                None => self.resolve_in(*stride, View::ALL)?.0,
            };
            let index = self.values.as_index(*index);
            let step = self.values.times(index, stride);
            flat = self.values.plus(flat, step);
        }
        Ok(flat)
    }

    /// Returns the index of an element of a swizzled row: the number of its group is permuted by the number of the row
    /// ([`SWIZZLE_INSIDE`](tilewright_dsl::expr::rules::SWIZZLE_INSIDE), [`SWIZZLE_UNDONE`](tilewright_dsl::expr::rules::SWIZZLE_UNDONE)).
    /// Lanes within one group stay consecutive.
    fn swizzled(&mut self, buffer: BufferId, row: Option<ValueId>, index: ValueId) -> Result<ValueId> {
        let b = &self.program.buffers[buffer];
        let by = i64::from(b.swizzle);
        let length = b.shape.last().and_then(|e| self.program.exprs.as_int(*e)).unwrap_or(0);
        let groups = length / by;
        let (Some(row), true) = (row, groups > 0) else { return Ok(index) };
        let modulo = self.values.int(groups & groups.wrapping_neg());
        let permuted = self.values.floor_mod(row, modulo);
        let width = self.values.width(index);
        let (at, lane) = match self.values.by_lane(index) {
            ByLane::Linear { base, step: 1 } if by % i64::from(width) == 0 && self.values.is_multiple(base, width.into()) => {
                (base, Some(self.values.lane(width)))
            }
            _ => (index, None),
        };
        let group = self.values.int(by);
        let (number, within) = (self.values.floor_div(at, group), self.values.floor_mod(at, group));
        let number = self.values.apply(Op::Binary(Binary::Xor), &[number, permuted]);
        let start = self.values.times(number, group);
        let place = self.values.plus(start, within);
        Ok(match lane {
            Some(lane) => self.values.plus(place, lane),
            None => place,
        })
    }

    /// Returns the number of elements of a shared buffer, including padding and versions.
    pub fn local_elements(&mut self, buffer: BufferId) -> Result<u32> {
        let b = &self.program.buffers[buffer];
        let mut total = u64::from(b.versions.max(1));
        for (n, extent) in b.shape.iter().enumerate() {
            let value = self.resolve(*extent)?;
            let Some(extent) = self.values.as_int(value).and_then(|e| u64::try_from(e).ok()) else {
                return Err(self.error(format!("the shape of `{}` must be literal: it is local memory", b.name)));
            };
            let pad = if n + 1 == b.shape.len() { u64::from(b.row_pad) } else { 0 };
            total = total.saturating_mul(extent + pad);
        }
        u32::try_from(total).map_err(|_| self.error(format!("`{}` does not fit into any local memory", b.name)))
    }
}
