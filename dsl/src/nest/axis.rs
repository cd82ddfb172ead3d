//! Axes: their origins, how directives consumed them, and their values.

use super::meaning::{self, IndexAlgebra};
use super::{AxisId, Program, StageId};
use crate::diag::SpanId;
use crate::expr::{Binary, ExprId};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

/// An axis: an index that runs over `0..extent`.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name, unique within its stage among all axes that ever were.
    pub name: String,
    /// The number of values: an `i32` over dims and, for triangular ranges, over outer axes of its stage. It is at least 0 for
    /// legal dims.
    pub extent: ExprId,
    /// Parallel or reduction.
    pub kind: AxisKind,
    /// The origin of the axis.
    pub def: AxisDef,
    /// How the axis was consumed, if it was.
    pub fate: Fate,
    /// The definition or the directive that made it.
    pub span: SpanId,
}

/// Says whether the iterations of an axis are independent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AxisKind {
    /// The iterations are independent: each writes another element.
    Parallel,
    /// The iterations contribute to one element.
    Reduction,
}

/// The origin of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AxisDef {
    /// The algorithm: an axis of this stage.
    Root(StageId),
    /// A split of `of`. The parts are numbered from the outermost.
    Part {
        /// The axis that was split.
        of: AxisId,
        /// The number of the part.
        part: usize,
    },
    /// A fusion of these axes, outermost first.
    Fused(Vec<AxisId>),
    /// A dimension of a copy, or another axis that the compiler made.
    Made,
}

/// How an axis was consumed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It was not consumed: loops bind it, unless its extent is 1.
    Live,
    /// It was split.
    Split(Split),
    /// It was fused.
    Fused {
        /// The fused axis.
        into: AxisId,
        /// The component of the fused axis that gives this axis's value, counted from the outermost.
        digit: usize,
        /// The directive.
        span: SpanId,
    },
}

/// A split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Split {
    /// The parts, outermost first. If there is only one, the axis runs further than its extent (a hull), and only the predicates differ.
    pub parts: Vec<AxisId>,
    /// True if the product of the parts' extents provably equals the axis's extent. (For a stage that is computed only where it is
    /// read, the product may also be less.) Otherwise the product is at least the extent, and computes in these loops need a
    /// predicate.
    pub exact: bool,
    /// The treatment of points past the end.
    pub tail: Tail,
    /// The directive.
    pub span: SpanId,
}

/// The treatment of points past the end of a split axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tail {
    /// Predicates on the leaf computes.
    Guard,
    /// The split provably does not run past the end.
    Exact,
    /// Whole tiles run: reads are filled, and writes are predicated.
    RoundUp,
    /// For `[outer, inner]`, the last tile is moved back so that it is in bounds. The value is
    /// `min(outer * extent(inner), extent - extent(inner)) + inner`, and some points are visited twice.
    Shift,
    /// Predicates on the leaf computes. Lowering omits them in a copy of the body for full tiles (`lower::branches`).
    Peel,
}

impl Split {
    /// Returns the tile and the point if the last tile is moved back. Then the axis's value is not the sum of its parts.
    pub fn shifted(&self) -> Option<[AxisId; 2]> {
        let parts = <[AxisId; 2]>::try_from(self.parts.as_slice()).ok()?;
        (self.tail == Tail::Shift).then_some(parts)
    }
}

/// Expressions over the axes that loops bind.
struct OverBound<'p> {
    program: &'p Program,
    bound: &'p dyn Fn(AxisId) -> bool,
}

impl IndexAlgebra for OverBound<'_> {
    type Index = ExprId;
    type Failure = Infallible;

    const NESTED: bool = false;

    fn apply(&mut self, op: Binary, a: ExprId, b: ExprId) -> Result<ExprId, Infallible> {
        Ok(self.program.exprs.binary(op, a, b))
    }

    fn extent(&mut self, axis: AxisId) -> Result<ExprId, Infallible> {
        Ok(self.program.axes[axis].extent)
    }

    fn axis(&mut self, axis: AxisId) -> Result<ExprId, Infallible> {
        if (self.bound)(axis) { Ok(self.program.exprs.axis(axis)) } else { meaning::value(self.program, axis, self) }
    }

    fn live(&mut self, _: AxisId) -> Result<ExprId, Infallible> {
        Ok(self.program.exprs.int(0))
    }
}

impl Program {
    /// Returns the value of an axis over the axes for which `bound` is true, which loops bind. This is the meaning of
    /// [`crate::expr::Expr::Axis`] without clamps. An unbound axis that was not consumed counts as 0.
    pub fn axis_value(&self, axis: AxisId, bound: &dyn Fn(AxisId) -> bool) -> ExprId {
        let Ok(value) = OverBound { program: self, bound }.axis(axis);
        value
    }

    /// Returns an expression in which every axis that is not in `bound` is replaced by its value over the bound axes.
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
        self.exprs.with_axes(expr, &mut |a| values.get(&a).copied())
    }

    /// True if the value of `axis` is computed from the value of `of`, whatever loops there are.
    pub fn passes(&self, axis: AxisId, of: AxisId) -> bool {
        // Most axes are computed from few others, so a short list is searched linearly.
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

    /// The split axes that `axis` was made from, outermost first. A compute in a loop over `axis` needs a predicate for every
    /// inexact axis among these and the axes that make up their values.
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

    /// True if the value of an axis is computed from the value of `of`.
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
