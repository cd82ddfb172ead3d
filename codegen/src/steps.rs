//! The layout of a place's elements along some axes: their steps in memory.

use crate::Result;
use crate::expr::Mask;
use crate::values::ValueId;
use crate::values::poly::{Sum, Term};
use crate::{BoundAxis, Resolver, View};
use smallvec::SmallVec;
use tilewright_dsl::arena::Id as _;
use tilewright_dsl::expr::{Expr, ExprId, Outside, Read};
use tilewright_dsl::launch::Bounds;
use tilewright_dsl::nest::{AxisDef, AxisId, AxisKind, Fate, Tail};

/// Elements at fixed steps, or a value that changes by fixed steps.
pub struct Steps {
    /// The index of the first element, or the value there.
    pub first: ValueId,
    /// The step along each axis.
    pub along: SmallVec<[ValueId; 3]>,
}

impl Resolver<'_> {
    /// Returns the steps of a place along axes of these extents. `None`: the steps are not fixed, or elements must be replaced out of
    /// bounds.
    pub fn steps(&mut self, place: &Read, axes: &[(AxisId, u32)]) -> Result<Option<Steps>> {
        let (bound, resolved) = (self.bound.clone(), std::mem::take(&mut self.resolved));
        let mut unknowns: SmallVec<[ValueId; 3]> = SmallVec::new();
        for (axis, extent) in axes {
            let value = self.values.unknown(Bounds(0, i64::from(*extent) - 1), 0);
            self.bound[axis.index()] = Some(BoundAxis { value, owner: false });
            unknowns.push(value);
        }
        let flat = self.flat_inside(place);
        (self.bound, self.resolved) = (bound, resolved);
        let Some(flat) = flat? else { return Ok(None) };
        let sum = self.values.as_sum(flat);
        Ok(if sum.lost { None } else { self.by_steps(&sum, &unknowns) })
    }

    /// Returns a value at the start of axes of these extents, and its steps along them, if these are fixed.
    pub fn affine(&mut self, value: ExprId, axes: &[(AxisId, u32)]) -> Result<Option<Steps>> {
        let (bound, resolved) = (self.bound.clone(), std::mem::take(&mut self.resolved));
        let mut unknowns: SmallVec<[ValueId; 3]> = SmallVec::new();
        for (axis, extent) in axes {
            let value = self.values.unknown(Bounds(0, i64::from(*extent) - 1), 0);
            self.bound[axis.index()] = Some(BoundAxis { value, owner: false });
            unknowns.push(value);
        }
        let value = self.resolve_in(value, View::ALL);
        (self.bound, self.resolved) = (bound, resolved);
        let sum = self.values.as_sum(value?.0);
        Ok(if sum.lost { None } else { self.by_steps(&sum, &unknowns) })
    }

    /// Returns the row-major index of a place. `None`: the place is filled out of bounds, so that clamping its indices is not enough.
    fn flat_inside(&mut self, place: &Read) -> Result<Option<ValueId>> {
        let (mut index, mut mask) = (Vec::with_capacity(place.index.len()), 0);
        for i in &place.index {
            let (value, m) = self.resolve_in(*i, View::ALL)?;
            index.push(value);
            mask |= m;
        }
        let inside = self.keep_inside(place, &mut index, View::ALL)?;
        let is_filled = matches!(place.outside, Outside::Fill(..)) && self.values.as_bool(inside) != Some(true);
        if is_filled || self.is_rounded_up(mask) {
            return Ok(None);
        }
        if place.outside == Outside::Never
            && let Some(flat) = self.flat_of_digits(place)?
        {
            return Ok(Some(flat));
        }
        Ok(Some(self.flat(place.buffer, &index)?))
    }

    /// Returns the row-major index in a tensor without gaps if some dimensions are the components of one fused axis. That axis then indexes
    /// them together, by [`QUOTIENT_AND_REST`](tilewright_dsl::expr::rules::QUOTIENT_AND_REST).
    fn flat_of_digits(&mut self, place: &Read) -> Result<Option<ValueId>> {
        let program = self.program;
        let b = &program.buffers[place.buffer];
        if !b.space.is_global() || program.strides(place.buffer).is_some() {
            return Ok(None);
        }
        let (mut flat, mut found, mut at) = (self.values.int(0), false, 0);
        while at < place.index.len() {
            let fused = self.fused_from(place, at)?;
            let count = fused.map_or(1, |(_, count)| count);
            for extent in &b.shape[at..at + count] {
                let extent = self.resolve_in(*extent, View::ALL)?.0;
                flat = self.values.times(flat, extent);
            }
            let value = match fused {
                Some((axis, _)) => self.resolve_in(program.exprs.axis(axis), View::ALL)?.0,
                None => self.resolve_in(place.index[at], View::ALL)?.0,
            };
            let value = self.values.as_index(value);
            flat = self.values.plus(flat, value);
            found |= fused.is_some();
            at += count;
        }
        Ok(found.then_some(flat))
    }

    /// Returns the fused axis whose components index the dimensions from one on, and their number. The outermost component may be shorter
    /// than its dimension.
    fn fused_from(&mut self, place: &Read, at: usize) -> Result<Option<(AxisId, usize)>> {
        let program = self.program;
        let digit = |n: usize| match place.index.get(at + n).map(|index| program.exprs.get(*index)) {
            Some(Expr::Axis(axis)) => match program.axes[*axis].fate {
                Fate::Fused { into, digit, .. } if digit == n && self.bound(*axis).is_none() => Some((*axis, into)),
                _ => None,
            },
            _ => None,
        };
        let Some((_, into)) = digit(0) else { return Ok(None) };
        let AxisDef::Fused(digits) = &program.axes[into].def else { return Ok(None) };
        let is_all = (0..digits.len()).all(|n| digit(n).is_some_and(|(axis, of)| axis == digits[n] && of == into));
        if !is_all || self.preds.iter().any(|pred| digits.contains(&pred.axis)) {
            return Ok(None);
        }
        for (n, axis) in digits.iter().enumerate().skip(1) {
            let (own, dimension) = (self.extent_in(*axis, View::ALL)?, program.buffers[place.buffer].shape[at + n]);
            if own != self.resolve_in(dimension, View::ALL)?.0 {
                return Ok(None);
            }
        }
        Ok(Some((into, digits.len())))
    }

    /// True if a place depends on axes past whose ends reads are 0.
    fn is_rounded_up(&self, mask: Mask) -> bool {
        let mut preds = self.preds.iter().enumerate().filter(|(n, _)| mask >> n & 1 == 1);
        preds.any(|(_, pred)| pred.tail == Tail::RoundUp && self.program.axes[pred.axis].kind == AxisKind::Reduction)
    }

    /// Splits a sum into the factor of each unknown, and the remaining terms.
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
