//! Predicates: axes that run past their extents (the nest's page says what that means).

use super::Resolver;
use super::expr::{Mask, View};
use super::values::poly::ByLane;
use super::values::{Op, ValueId};
use crate::Result;
use tilewright_dsl::expr::{Binary, Const};
use tilewright_dsl::nest::{AxisId, AxisKind, Tail};

impl Resolver<'_> {
    /// `min(value, extent - 1)`. Where a whole vector is inside or outside, the number of the vector is clamped, so that
    /// it stays one access.
    pub(crate) fn clamped(&mut self, value: ValueId, extent: ValueId) -> ValueId {
        let one = self.values.int(1);
        let (at, count, width) = self.vectors(value, extent);
        let mut last = self.values.minus(count, one);
        // Nothing runs over an axis that has no values, and an index that is a literal is not negative.
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

    /// Whether a value is below an extent; one bool where that is the same in all lanes.
    fn inside(&mut self, value: ValueId, extent: ValueId) -> ValueId {
        let (at, count, _) = self.vectors(value, extent);
        self.values.less(at, count)
    }

    /// The number of a vector of consecutive values, how many vectors the extent is, and their width. Where the extent
    /// cuts vectors, or there are none: the values themselves, and 1.
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

    /// Whether predicate number `n` of the compute holds.
    fn holds(&mut self, n: usize, view: View) -> Result<ValueId> {
        self.within(self.preds[n].axis, view)
    }

    /// Whether an axis, made of clamped ones, is within its extent.
    pub(crate) fn new_within(&mut self, axis: AxisId, view: View) -> Result<ValueId> {
        let value = self.axis_unclamped(axis, view)?.0;
        let extent = self.extent_in(axis, view)?;
        Ok(self.inside(value, extent))
    }

    /// Whether those predicates that `which` picks all hold.
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

    /// Whether the compute is in range: what guards its writes.
    pub(crate) fn in_range(&mut self, view: View) -> Result<ValueId> {
        self.all_hold(view, |_, _| true)
    }

    /// Whether an update's item counts: the predicates of the reduction that are not filled.
    pub(crate) fn item_counts(&mut self) -> Result<ValueId> {
        self.all_hold(View::ALL, |r, n| r.of_reduction(n) && r.preds[n].tail != Tail::RoundUp)
    }

    fn of_reduction(&self, n: usize) -> bool {
        self.program.axes[self.preds[n].axis].kind == AxisKind::Reduction
    }

    /// A read's value, or 0 where it is past the end of a reduction whose tiles are rounded up.
    pub(crate) fn filled(&mut self, value: ValueId, mask: Mask, view: View) -> Result<ValueId> {
        let rounded = |r: &Self, n: usize| mask >> n & 1 == 1 && r.of_reduction(n) && r.preds[n].tail == Tail::RoundUp;
        if !(0..self.preds.len()).any(|n| rounded(self, n)) {
            return Ok(value);
        }
        let inside = self.all_hold(view, rounded)?;
        let zero = self.values.constant(Const { dtype: self.values.dtype(value), bits: 0 });
        Ok(self.values.select(inside, value, zero))
    }

    /// A value where a condition holds, else another; both by lane.
    pub(crate) fn choose(&mut self, cond: ValueId, yes: ValueId, no: ValueId) -> ValueId {
        match self.values.as_bool(cond) {
            Some(true) => yes,
            Some(false) => no,
            None => self.values.apply(Op::Select, &[cond, yes, no]),
        }
    }
}
