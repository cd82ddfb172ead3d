//! Axes: what they are made of, what became of them, and what their values are.

use super::{AxisId, Program, StageId};
use crate::diag::SpanId;
use crate::expr::{Binary, Expr, ExprId};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// An axis: an index that runs over `0..extent`.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name, unique within its stage among all axes that ever were.
    pub name: String,
    /// How many values it takes: an `i32` over dims and, for triangular ranges, over outer axes of its stage. At least
    /// 0 for legal dims.
    pub extent: ExprId,
    /// Whether its iterations are independent.
    pub kind: AxisKind,
    /// What it was made from.
    pub def: AxisDef,
    /// What became of it.
    pub fate: Fate,
    /// Where it was made: the definition, or a directive.
    pub span: SpanId,
}

/// Whether an axis's iterations are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxisKind {
    /// They are: each writes another element.
    Parallel,
    /// They contribute to one element.
    Reduction,
}

/// What an axis was made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AxisDef {
    /// The algorithm: an axis of this stage.
    Root(StageId),
    /// A split of `of`; part number `part` of it, outermost first.
    Part {
        /// The axis that was split.
        of: AxisId,
        /// Which part.
        part: usize,
    },
    /// A fusion, outermost first.
    Fused(Vec<AxisId>),
    /// A copy's dimension, or another axis that the compiler made up.
    Made,
}

/// What became of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It stands: loops bind it (or, with extent 1, none needs to).
    Live,
    /// It was split.
    Split(Split),
    /// It was fused.
    Fused {
        /// Into this axis.
        into: AxisId,
        /// As this one of its digits, outermost first.
        digit: usize,
        /// By this directive.
        span: SpanId,
    },
}

/// A split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The parts, outermost first. One part: the axis runs further than its extent (a hull), and only predicates differ.
    pub parts: Vec<AxisId>,
    /// Whether the product of the parts' extents is proved to be the axis's extent (or less, of a stage that is computed
    /// only where it is read). If not, it is at least that, and computes below need a predicate.
    pub exact: bool,
    /// What happens past the end.
    pub tail: Tail,
    /// By this directive.
    pub span: SpanId,
}

/// What happens where a split runs past its axis's extent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tail {
    /// Predicates at the leaves.
    Guard,
    /// It does not: proved.
    Exact,
    /// Whole tiles run: reads are filled, writes predicated.
    RoundUp,
    /// Of `[outer, inner]`: the last tile is moved back so that it lies inside. The value is
    /// `min(outer * extent(inner), extent - extent(inner)) + inner`, and some points are visited twice.
    Shift,
    /// Predicates at the leaves. Lowering leaves them out in a copy of the body for full tiles (`lower::peel`).
    Peel,
}

impl Split {
    /// The tile and the point, where the last tile is moved back: then the axis's value is not the sum of its parts.
    pub fn shifted(&self) -> Option<[AxisId; 2]> {
        let parts = <[AxisId; 2]>::try_from(self.parts.as_slice()).ok()?;
        (self.tail == Tail::Shift).then_some(parts)
    }
}

impl Program {
    /// The value of an axis over the axes that `bound` says are bound by loops: the meaning of [`crate::expr::Expr::Axis`]
    /// without clamps. An unbound axis that nothing was made of counts as 0.
    pub fn axis_value(&self, axis: AxisId, bound: &dyn Fn(AxisId) -> bool) -> ExprId {
        if bound(axis) {
            return self.exprs.axis(axis);
        }
        match self.axes[axis].fate.clone() {
            Fate::Live => self.exprs.int(0),
            Fate::Split(split) => {
                if let Some([tile, point]) = split.shifted() {
                    let (extent, length) = (self.axes[axis].extent, self.axes[point].extent);
                    let last = self.exprs.difference(extent, length);
                    let tile = self.axis_value(tile, bound);
                    let tile = self.exprs.product(tile, length);
                    let start = self.exprs.binary(Binary::Min, tile, last);
                    let offset = self.axis_value(point, bound);
                    return self.exprs.sum(start, offset);
                }
                let mut value = self.exprs.int(0);
                for part in split.parts {
                    let (extent, digit) = (self.axes[part].extent, self.axis_value(part, bound));
                    let scaled = self.exprs.product(value, extent);
                    value = self.exprs.sum(scaled, digit);
                }
                value
            }
            Fate::Fused { into, digit, .. } => {
                let whole = self.axis_value(into, bound);
                self.digit(into, digit, whole)
            }
        }
    }

    /// A digit of a fused axis's value.
    pub fn digit(&self, fused: AxisId, digit: usize, whole: ExprId) -> ExprId {
        let AxisDef::Fused(digits) = self.axes[fused].def.clone() else { return whole };
        let mut later = self.exprs.int(1);
        for axis in &digits[digit + 1..] {
            let extent = self.axes[*axis].extent;
            later = self.exprs.product(later, extent);
        }
        let quotient = self.exprs.binary(Binary::FloorDiv, whole, later);
        if digit == 0 {
            return quotient;
        }
        let extent = self.axes[digits[digit]].extent;
        self.exprs.binary(Binary::FloorMod, quotient, extent)
    }

    /// An expression with every axis that is not in `bound` replaced by its value over those that are.
    pub fn over_leaves(&self, expr: ExprId, bound: &HashSet<AxisId>) -> ExprId {
        let mut values = HashMap::new();
        let mut open = Vec::new();
        self.exprs.uses_axis(expr, &mut |a| {
            open.push(a);
            false
        });
        open.retain(|a| !bound.contains(a));
        if open.is_empty() {
            return expr;
        }
        for axis in open {
            let value = self.axis_value(axis, &|a| bound.contains(&a));
            // The extents of parts may name other consumed axes (triangular ranges).
            let value = self.over_leaves(value, bound);
            values.insert(axis, value);
        }
        self.exprs.replace(expr, &mut |exprs, id| match exprs.get(id) {
            Expr::Axis(a) => values.get(a).copied(),
            _ => None,
        })
    }

    /// Whether the value of `axis` is made of that of `of`, over whatever loops there are.
    pub fn passes(&self, axis: AxisId, of: AxisId) -> bool {
        // Few are made of one.
        let (mut open, mut seen) = (SmallVec::<[AxisId; 8]>::from_slice(&[axis]), SmallVec::<[AxisId; 8]>::new());
        while let Some(axis) = open.pop() {
            if axis == of {
                return true;
            }
            if seen.contains(&axis) {
                continue;
            }
            seen.push(axis);
            match &self.axes[axis].fate {
                Fate::Live => {}
                Fate::Split(split) => open.extend_from_slice(&split.parts),
                Fate::Fused { into, .. } => open.push(*into),
            }
        }
        false
    }

    /// The axes that `axis` was made from, outermost first: of what they are made of, all that can be past its extent must be
    /// in the predicates of a compute under a loop over `axis`.
    pub fn split_ancestors(&self, axis: AxisId) -> Vec<AxisId> {
        let mut found = Vec::new();
        let mut open = vec![axis];
        while let Some(axis) = open.pop() {
            match &self.axes[axis].def {
                AxisDef::Root(_) | AxisDef::Made => {}
                AxisDef::Part { of, .. } => open.push(*of),
                AxisDef::Fused(digits) => open.extend(digits),
            }
            if matches!(self.axes[axis].fate, Fate::Split(_)) && !found.contains(&axis) {
                found.push(axis);
            }
        }
        found.reverse();
        found
    }

    /// Whether the value of an axis is made of another's.
    pub fn is_made_of(&self, axis: AxisId, of: AxisId) -> bool {
        axis == of
            || match &self.axes[axis].fate {
                Fate::Live => false,
                Fate::Split(split) => split.parts.iter().any(|part| self.is_made_of(*part, of)),
                Fate::Fused { into, .. } => self.is_made_of(*into, of),
            }
    }

    /// The root axes that `axis` was made from.
    pub fn roots(&self, axis: AxisId) -> Vec<AxisId> {
        match &self.axes[axis].def {
            AxisDef::Root(_) | AxisDef::Made => vec![axis],
            AxisDef::Part { of, .. } => self.roots(*of),
            AxisDef::Fused(digits) => digits.iter().flat_map(|d| self.roots(*d)).collect(),
        }
    }
}
