//! How the elements of a place lie along some axes: by which steps in memory.

use super::expr::Mask;
use super::values::ValueId;
use super::values::poly::{Sum, Term};
use super::{Bound, Resolver, View};
use crate::Result;
use smallvec::SmallVec;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::{Outside, Read};
use tilewright_dsl::launch::Bounds;
use tilewright_dsl::nest::{AxisId, AxisKind, Tail};

/// Elements at fixed steps.
pub(crate) struct Steps {
    /// Where the first one is, in elements.
    pub(crate) first: ValueId,
    /// By how many elements the place moves along each axis.
    pub(crate) along: SmallVec<[ValueId; 3]>,
}

impl Resolver<'_> {
    /// The steps of a place along axes of these extents; `None`: it moves otherwise, or does not stay inside by itself.
    pub(crate) fn steps(&mut self, place: &Read, axes: &[(AxisId, u32)]) -> Result<Option<Steps>> {
        let (bound, resolved) = (self.bound.clone(), std::mem::take(&mut self.resolved));
        let mut unknowns: SmallVec<[ValueId; 3]> = SmallVec::new();
        for (axis, extent) in axes {
            let value = self.values.unknown(Bounds(0, i64::from(*extent) - 1));
            self.bound[axis.index()] = Some(Bound { value, owner: false });
            unknowns.push(value);
        }
        let flat = self.flat_inside(place);
        (self.bound, self.resolved) = (bound, resolved);
        let Some(flat) = flat? else { return Ok(None) };
        let sum = self.values.as_sum(flat);
        Ok(if sum.lost { None } else { self.by_steps(&sum, &unknowns) })
    }

    /// The row-major index of a place that is not filled and, as far as it can leave its buffer, kept inside by numbers alone.
    fn flat_inside(&mut self, place: &Read) -> Result<Option<ValueId>> {
        let (mut index, mut mask) = (Vec::with_capacity(place.index.len()), 0);
        for i in &place.index {
            let (value, m) = self.resolve_in(*i, View::ALL)?;
            index.push(value);
            mask |= m;
        }
        let inside = self.keep_inside(place, &mut index, View::ALL)?;
        let is_filled = matches!(place.outside, Outside::Fill(..)) && self.values.as_bool(inside) != Some(true);
        Ok(if is_filled || self.is_rounded_up(mask) { None } else { Some(self.flat(place.buffer, &index)?) })
    }

    /// Whether a place depends on axes past whose ends reads are 0.
    fn is_rounded_up(&self, mask: Mask) -> bool {
        let mut preds = self.preds.iter().enumerate().filter(|(n, _)| mask >> n & 1 == 1);
        preds.any(|(_, pred)| pred.tail == Tail::RoundUp && self.program.axes[pred.axis].kind == AxisKind::Reduction)
    }

    /// Takes a sum apart into what each unknown is multiplied by, and the rest.
    fn by_steps(&mut self, sum: &Sum, unknowns: &[ValueId]) -> Option<Steps> {
        let mut first = Sum { constant: sum.constant, ..Sum::default() };
        let mut along: SmallVec<[ValueId; 3]> = unknowns.iter().map(|_| self.values.int(0)).collect();
        for term in &sum.terms {
            let depends = |factor: &ValueId, on: &ValueId| self.values.depends(*factor, *on);
            let mut moving = unknowns.iter().enumerate().filter(|(_, u)| term.factors.iter().any(|f| depends(f, u)));
            let Some((n, unknown)) = moving.next() else {
                first.terms.push(term.clone());
                continue;
            };
            let mut factors = term.factors.clone();
            let at = factors.iter().position(|factor| factor == unknown)?;
            factors.remove(at);
            if moving.next().is_some() || factors.iter().any(|factor| depends(factor, unknown)) {
                return None;
            }
            let step = match factors.is_empty() {
                true => self.values.int(term.by),
                false => self.values.sum(Sum::of(Term { order: self.values.order(&factors), factors, by: term.by })),
            };
            along[n] = self.values.plus(along[n], step);
        }
        Some(Steps { first: self.values.sum(first), along })
    }
}
