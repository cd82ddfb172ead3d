//! Predicates: axes that run past their extents (see the documentation of the nest).

use crate::Resolver;
use crate::Result;
use crate::expr::{Mask, View};
use crate::values::poly::ByLane;
use crate::values::{Op, ValueId};
use tilewright_dsl::expr::{Binary, Const};
use tilewright_dsl::nest::{AxisId, AxisKind, Tail};

impl Resolver<'_> {
    /// Returns `min(value, extent - 1)`. If each vector is entirely inside or outside, the number of the vector is
    /// clamped, so that it stays one access.
    pub(crate) fn clamped(&mut self, value: ValueId, extent: ValueId) -> ValueId {
        let one = self.values.int(1);
        let (at, count, width) = self.vectors(value, extent);
        let mut last = self.values.minus(count, one);
        // Loops do not run over an empty axis. A literal index must not be negative.
        if self.values.as_int(last).is_some_and(|last| last < 0) {
            last = self.values.int(0);
        }
        let clamped = self.values.extreme(Binary::Min, at, last);
        if width == 1 {
            return clamped;
        }
        let (base, lane) = (self.values.scaled(clamped, width.into()), self.values.lane(width));
        self.values.plus(base, lane)
    }

    /// Returns whether a value is below an extent, as a single bool if it is the same in all lanes.
    fn inside(&mut self, value: ValueId, extent: ValueId) -> ValueId {
        let (at, count, _) = self.vectors(value, extent);
        self.values.less(at, count)
    }

    /// Returns the number of a vector of consecutive values, the number of vectors in the extent, and their width. If
    /// the extent cuts vectors, or the values are not such a vector, it returns the values themselves, the extent, and
    /// 1. The numbers decide by [`VECTOR_INSIDE`](tilewright_dsl::expr::rules::VECTOR_INSIDE).
    pub(crate) fn vectors(&mut self, value: ValueId, extent: ValueId) -> (ValueId, ValueId, u32) {
        let width = self.values.width(value);
        if let ByLane::Linear { base, step: 1 } = self.values.by_lane(value)
            && self.values.is_multiple(base, width.into())
            && self.values.is_multiple(extent, width.into())
        {
            return (self.values.divided(base, width.into()), self.values.divided(extent, width.into()), width);
        }
        (value, extent, 1)
    }

    /// Returns whether predicate number `n` of the compute holds.
    fn holds(&mut self, n: usize, view: View) -> Result<ValueId> {
        self.within(self.preds[n].axis, view)
    }

    /// Returns whether an axis is within its extent. The axes that it is composed of are clamped.
    pub(crate) fn new_within(&mut self, axis: AxisId, view: View) -> Result<ValueId> {
        let value = self.axis_unclamped(axis, view)?.0;
        let extent = self.extent_in(axis, view)?;
        Ok(self.inside(value, extent))
    }

    /// Returns whether all predicates that `which` selects hold.
    fn all_hold(&mut self, view: View, which: impl Fn(&Self, usize) -> bool) -> Result<ValueId> {
        let mut all = self.values.boolean(true);
        for n in 0..self.preds.len() {
            if which(self, n) {
                let one = self.holds(n, view)?;
                all = self.values.and(all, one);
            }
        }
        Ok(all)
    }

    /// Returns whether the compute is in range, which guards its writes.
    pub fn in_range(&mut self, view: View) -> Result<ValueId> {
        self.all_hold(view, |_, _| true)
    }

    /// Returns whether an update's item counts: only predicates of the reduction that are not filled are tested.
    pub fn item_counts(&mut self) -> Result<ValueId> {
        self.all_hold(View::ALL, |r, n| r.of_reduction(n) && r.preds[n].tail != Tail::RoundUp)
    }

    fn of_reduction(&self, n: usize) -> bool {
        self.program.axes[self.preds[n].axis].kind == AxisKind::Reduction
    }

    /// Returns a read's value, or 0 past the end of a reduction whose tiles are rounded up.
    pub(crate) fn filled(&mut self, value: ValueId, mask: Mask, view: View) -> Result<ValueId> {
        let rounded = |r: &Self, n: usize| mask >> n & 1 == 1 && r.of_reduction(n) && r.preds[n].tail == Tail::RoundUp;
        if !(0..self.preds.len()).any(|n| rounded(self, n)) {
            return Ok(value);
        }
        let inside = self.all_hold(view, rounded)?;
        let zero = self.values.constant(Const { dtype: self.values.dtype(value), bits: 0 });
        Ok(self.values.select(inside, value, zero))
    }

    /// Selects, for each lane, one of two values by a condition.
    pub fn choose(&mut self, cond: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        match self.values.as_bool(cond) {
            Some(true) => yes,
            Some(false) => no,
            None => self.values.apply(Op::Select, &[cond, yes, no]),
        }
    }
}
